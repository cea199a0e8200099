/** Tags: which lists a member is on. FORMAT.md section 13. */

import { TAG_NAME } from "../boundary/input.js";
import { holds } from "./level.js";
import { rule } from "./part.js";
import type { Ribbon } from "./ribbon.js";

/** The tags of what a base or an include holds. */
export interface Tags {
  /** The names that are new here. */
  readonly names: readonly string[];
  /** One more than the highest number of a name in its sets. */
  readonly known: number;
  /** The numbers of the names of a key. */
  of(digest: Int32Array): readonly number[];
}

/** Functions that read the fields of a blob. */
export interface Fields {
  u8(): number;
  u16(): number;
  rate(): number;
  bytes(length: number): Uint8Array;
  text(length: number): string;
  /** A level, which is a ribbon filter of this rate. */
  level(fpr: number): Ribbon;
}

/** The salt for the tags of a base, which has no layer's salt. */
export const BASE_SALT = 0xffff_ff00;

/** Whether a set of tags comes before another. */
function isBefore(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((number, i) => number !== other[i]);
  return at < 0 ? one.length < other.length : one[at]! < other[at]!;
}

/** Reads the tags of a base, or of an include with this salt. */
export function readTags({ u8, u16, rate, bytes, text, level }: Fields, salt: number): Tags {
  const names = Array.from({ length: u8() }, () => text(u8()));
  rule(names.every((name) => TAG_NAME.test(name)));
  const longest = u8();
  rule(longest < 33);
  const counts = Array.from({ length: longest + 1 }, u16);
  const total = counts.reduce((sum, count) => sum + count, 0);
  // A code of l bits takes 2^-l of all codes. These sums are exact.
  rule(total < 65_536 && counts[longest] && counts.reduce((sum, count, l) => sum + count / 2 ** l, 0) === 1);
  const sets: number[][] = [];
  let known = 0;
  for (const count of counts) {
    for (let i = 0; i < count; i++) {
      const set = [...bytes(u8())];
      rule(set.every((number, j) => j === 0 || set[j - 1]! < number));
      rule(i === 0 || isBefore(sets[sets.length - 1]!, set));
      if (set.length > 0) known = Math.max(known, set[set.length - 1]! + 1);
      sets.push(set);
    }
  }
  const place = u16();
  const usual = sets[place];
  const hasFilter = u8();
  rule(usual && (hasFilter === 0 || (hasFilter === 1 && longest)));
  const filter = hasFilter ? level(rate()) : undefined;
  const codes = longest ? level(0.5) : undefined;
  return {
    names,
    known,
    of(digest) {
      if (filter && !holds(filter, salt + 2, digest)) return usual;
      // The code so far, less the first code of its length; and the place of that one's set.
      let code = 0;
      let first = 0;
      for (let length = 0; length < longest; length++) {
        const count = counts[length]!;
        if (code < count) break;
        first += count;
        code = 2 * (code - count) + Number(holds(codes!, salt + 3 + length, digest));
      }
      return sets[first + code]!;
    },
  };
}

/**
 * The names of all tags of a filter: those kept elsewhere, and those of its parts, from the base on. Throws
 * `invalid_parameter` unless those of the parts differ, all numbers have a name, and no more than these are counted.
 * Names kept elsewhere aren't compared: a shard has no others.
 */
export function namesOf(
  elsewhere: readonly string[],
  parts: readonly (Tags | undefined)[],
  counted: number,
): readonly string[] {
  const names: string[] = [];
  for (const part of parts) {
    if (!part) continue;
    names.push(...part.names);
    rule(part.known <= elsewhere.length + names.length);
  }
  rule(names.length < 256 && new Set(names).size === names.length && counted <= elsewhere.length + names.length);
  // A thousand shards share theirs.
  return names.length > 0 ? [...elsewhere, ...names] : elsewhere;
}
