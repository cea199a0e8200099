/** The formulas for a Bloom filter's count of keys, false-positive rate, bits and hashes. */

import * as wasm from "../bloom_wasm.js";
import { requireType } from "../boundary/input.js";
import { call } from "../wasm/instance.js";

/** The size of a Bloom filter. */
export interface Optimal {
  /** Bits in the filter (m), 1 to 2^32 - 1. */
  bits: number;
  /** Hashes per key (k), 1 to 64. */
  hashes: number;
  /** Bytes for these bits. A blob without a name adds at most 64 more. */
  bytes: number;
}

/**
 * A Bloom filter that holds `count` keys at a false-positive rate of `fpr`: bits = ceil(-count ln fpr / (ln
 * 2)^2) and hashes = max(1, round(bits / count ln 2)). With one or two hashes, rounding them would miss the rate. So at
 * rates above 2^-2.5 = 0.177 bits = ceil(-2 count / ln(1 - sqrt(fpr))), and above 2^-1.5 = 0.354 ceil(-count / ln(1 -
 * fpr)). A count of 0 is sized as 1. Fewer than 1,000 keys get a few bits more, with which an upper bound of the rate
 * is at most fpr.
 */
export function optimal(count: number, fpr: number): Optimal {
  requireType("number", { count, fpr });
  return call(() => wasm.optimal(count, fpr));
}

/** The false-positive rate of a Bloom filter with `count` keys: (1 - (1 - 1/bits)^(hashes count))^hashes. */
export function fprFor(count: number, bits: number, hashes: number): number {
  requireType("number", { count, bits, hashes });
  return call(() => wasm.fprFor(count, bits, hashes));
}

/** The largest count of keys for which {@link optimal} needs at most `bits` bits at a rate of `fpr`. */
export function countFor(bits: number, fpr: number): number {
  requireType("number", { bits, fpr });
  return call(() => wasm.countFor(bits, fpr));
}
