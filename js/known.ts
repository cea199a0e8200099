/**
 * Options that nobody knows are refused by name: a misspelt one would be taken for a default, or for no check at all.
 */

import type { FeedOptions, WatchOptions } from "./feed.js";
import type { DecodeOptions } from "./filter.js";
import { attempt, invalidParameter, typeName } from "./input.js";
import type { LoadOptions } from "./load.js";
import type { AskOptions, ShardedOptions } from "./sharded.js";

/** Every option of a type, or of each of several. TypeScript fails the build where one is missing or none. */
export type Every<O> = { [name in O extends unknown ? keyof O : never]: 1 };

/** `from` is refused elsewhere, by what it would take. */
const decoding = { secret: 1, from: 1 } satisfies Every<DecodeOptions | { from: string }>;

const loading = {
  ...decoding,
  signal: 1,
  onProgress: 1,
  maxBytes: 1,
  integrity: 1,
  fetch: 1,
} satisfies Every<LoadOptions | { from: string }>;

/** @internal The options of each function, of the reader's here. What has the builders adds theirs. */
export const functions: { [name: string]: { [option: string]: 1 } } = {
  decode: decoding,
  load: loading,
  openFeed: {
    publicKey: 1,
    secret: 1,
    cache: 1,
    signal: 1,
    fetch: 1,
    onProgress: 1,
    maxAge: 1,
    maxBytes: 1,
  } satisfies Every<FeedOptions>,
  openSharded: {
    publicKey: 1,
    secret: 1,
    cache: 1,
    signal: 1,
    fetch: 1,
    maxMemory: 1,
  } satisfies Every<ShardedOptions>,
  watch: { every: 1, onUpdate: 1, onError: 1 } satisfies Every<WatchOptions>,
  /** And every question of a sharded filter. */
  update: { signal: 1 } satisfies Every<AskOptions>,
};

/**
 * Throws `invalid_parameter` unless the options are an object, or undefined, and everything in it is an option of these
 * functions. A name counts whatever its value. What a class gives its objects isn't seen here.
 */
export function known(options: unknown, ...of: string[]): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null)
    throw invalidParameter(`options must be an object, not ${typeName(options)}`);
  const has = of.flatMap((name) => Object.keys(functions[name]!));
  const unknown = attempt("options must be an object", () => {
    if (Symbol.iterator in options) return "[Symbol.iterator]";
    // Inherited ones too: they are read like the others. Some programs give every object a further property.
    for (const name in options) if (!has.includes(name) && !(name in Object.prototype)) return name;
    return undefined;
  });
  if (unknown === undefined) return;
  const name = unknown.slice(0, 40);
  throw invalidParameter(`${of[0]} has no option ${name}; ${nearest(name, of) ?? `it has ${has.join(", ")}`}`);
}

/** Which option may be meant by a name, if one is near. */
function nearest(name: string, of: string[]): string | undefined {
  let found: string | undefined;
  let least = Infinity;
  // Its own ones first: of two that are equally near, the first is taken.
  for (const owner of new Set([...of, ...Object.keys(functions)])) {
    for (const option of Object.keys(functions[owner]!)) {
      const edits = distance(name.toLowerCase(), option.toLowerCase());
      if (edits >= least || edits > Math.max(1, option.length / 3)) continue;
      least = edits;
      found = of.includes(owner) ? `did you mean ${option}?` : `${option} is an option of ${owner}`;
    }
  }
  return found;
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
