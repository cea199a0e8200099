/** Unknown options are refused by name: a misspelt one would silently mean the default, or no check at all. */

import { invalidParameter, typeName } from "./input.js";

/** The names of options. */
export type Names = { [option: string]: 1 };

/** Every option of a type, or of each of several. TypeScript fails the build if one is missing or unknown. */
export type Every<O> = { [name in O extends unknown ? keyof O : never]: 1 };

/**
 * The first of the options that isn't among these names. A name counts whatever its value. Throws `invalid_parameter`
 * unless the options are an object, or undefined. Members of a class aren't seen here.
 */
function unknownOption(options: unknown, has: string[]): string | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== "object" || options === null)
    throw invalidParameter(`options must be an object, not ${typeName(options)}`);
  if (Symbol.iterator in options) return "[Symbol.iterator]";
  // A promise of options that wasn't awaited.
  if ("then" in options) return "then";
  // Inherited ones too: they are read like the others. Some programs add properties to Object.prototype.
  for (const name in options) if (!has.includes(name) && !(name in Object.prototype)) return name;
  return undefined;
}

/**
 * Throws `invalid_parameter` unless the options are an object, or undefined, and everything in it is an option of a
 * function.
 */
export function known(options: unknown, name: string, ...allowed: Names[]): void {
  const has = allowed.flatMap((names) => Object.keys(names));
  const unknown = unknownOption(options, has);
  if (unknown !== undefined)
    throw invalidParameter(`${name} has no option ${unknown.slice(0, 40)}; it has ${has.join(", ")}`);
}
