/**
 * Options that nobody knows are refused by name: a misspelt one would be taken for a default, or for no check at all.
 */

import { attempt, invalidParameter, typeName } from "./input.js";

/** The names of options. */
export type Names = { [option: string]: 1 };

/** Every option of a type, or of each of several. TypeScript fails the build where one is missing or is none. */
export type Every<O> = { [name in O extends unknown ? keyof O : never]: 1 };

/**
 * The first of the options that isn't among these names. A name counts whatever its value. Throws `invalid_parameter`
 * unless the options are an object, or undefined. What a class gives its objects isn't seen here.
 */
export function unknownOption(options: unknown, has: string[]): string | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== "object" || options === null)
    throw invalidParameter(`options must be an object, not ${typeName(options)}`);
  return attempt("options must be an object", () => {
    if (Symbol.iterator in options) return "[Symbol.iterator]";
    // A promise of options, which nobody waited for.
    if ("then" in options) return "then";
    // Inherited ones too: they are read like the others. Some programs give every object a further property.
    for (const name in options) if (!has.includes(name) && !(name in Object.prototype)) return name;
    return undefined;
  });
}

/**
 * Throws `invalid_parameter` unless the options are an object, or undefined, and everything in it is an option of `its`
 * function: the first, with those of others that it has too. `others` are only named where one of theirs is meant.
 */
export function known(options: unknown, its: { [name: string]: Names }, others: { [name: string]: Names } = {}): void {
  const has = Object.values(its).flatMap((names) => Object.keys(names));
  const unknown = unknownOption(options, has);
  if (unknown === undefined) return;
  const name = unknown.slice(0, 40);
  let hint = `it has ${has.join(", ")}`;
  let least = Infinity;
  // Its own ones first: of two that are equally near, the first is taken.
  for (const [owner, names] of [...Object.entries(its), ...Object.entries(others)]) {
    for (const option of Object.keys(names)) {
      const edits = distance(name.toLowerCase(), option.toLowerCase());
      if (edits >= least || edits > Math.max(1, option.length / 3)) continue;
      least = edits;
      hint = has.includes(option) ? `did you mean ${option}?` : `${option} is an option of ${owner}`;
    }
  }
  throw invalidParameter(`${Object.keys(its)[0]} has no option ${name}; ${hint}`);
}

/** The Levenshtein distance: how many letters must be inserted, removed or replaced. */
function distance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const letter of one) {
    const row = [above[0]! + 1];
    for (let column = 0; column < other.length; column++) {
      const replaced = above[column]! + Number(letter !== other[column]);
      row.push(Math.min(replaced, above[column + 1]! + 1, row[column]! + 1));
    }
    above = row;
  }
  return above[other.length]!;
}
