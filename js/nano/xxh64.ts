/** XXH64: the digest of a key, and the checksum of a blob. FORMAT.md sections 2 and 3. */

import { carry, product } from "./words.js";

/** The digest that was computed last, the low half first. To return both would make garbage. */
export const digest = /* @__PURE__ */ new Int32Array(2);

/**
 * Puts the XXH64 of the bytes from `at` to `end` into {@link digest}.
 *
 * Here and in {@link finish}, each multiplication is written once, in a loop, and everything else is in local variables:
 * V8 inlines only so much of a function.
 */
export function xxh64(view: DataView, at: number, end: number, seedHigh: number, seedLow: number): void {
  const length = end - at;
  /** The digest so far. */
  let low = (seedLow + 0x165667c5) | 0;
  let high = (seedHigh + 0x27d4eb2f + carry(low, 0x165667c5)) | 0;
  if (length >= 32) {
    // The lanes, the next one first. They begin with the seed and P1 + P2, P2, 0 and -P1.
    let low0 = (seedLow + 0xadc0b5d6) | 0;
    let high0 = (seedHigh + 0x60ea27ee + carry(low0, 0xadc0b5d6)) | 0;
    let low1 = (seedLow + 0x27d4eb4f) | 0;
    let high1 = (seedHigh + 0xc2b2ae3d + carry(low1, 0x27d4eb4f)) | 0;
    let low2 = seedLow | 0;
    let high2 = seedHigh | 0;
    let low3 = (seedLow + 0x7a143579) | 0;
    let high3 = (seedHigh + 0x61c8864e + carry(low3, 0x7a143579)) | 0;
    /** What comes in, and what it becomes. */
    let h: number;
    let l: number;
    let part: number;
    for (const stop = end - (length & 31); at < stop; at += 8) {
      l = view.getInt32(at, true);
      h = high0 + product(view.getInt32(at + 4, true), l, 0xc2b2ae3d, 0x27d4eb4f);
      part = Math.imul(l, 0x27d4eb4f);
      l = (low0 + part) | 0;
      h = (h + carry(l, part)) | 0;
      low0 = low1;
      high0 = high1;
      low1 = low2;
      high1 = high2;
      low2 = low3;
      high2 = high3;
      part = (l << 31) | (h >>> 1);
      low3 = Math.imul(part, 0x85ebca87);
      high3 = product((h << 31) | (l >>> 1), part, 0x9e3779b1, 0x85ebca87);
    }
    // Rotated by 1, 7, 12 and 18. The sum is less than 2^34, so exact.
    const sum =
      (((low0 << 1) | (high0 >>> 31)) >>> 0) +
      (((low1 << 7) | (high1 >>> 25)) >>> 0) +
      (((low2 << 12) | (high2 >>> 20)) >>> 0) +
      (((low3 << 18) | (high3 >>> 14)) >>> 0);
    low = sum | 0;
    high =
      (((high0 << 1) | (low0 >>> 31)) +
        ((high1 << 7) | (low1 >>> 25)) +
        ((high2 << 12) | (low2 >>> 20)) +
        ((high3 << 18) | (low3 >>> 14)) +
        ((sum / 2 ** 32) | 0)) |
      0;
    for (let left = 4; left > 0; left--) {
      h = product(high0, low0, 0xc2b2ae3d, 0x27d4eb4f);
      l = Math.imul(low0, 0x27d4eb4f);
      low0 = low1;
      high0 = high1;
      low1 = low2;
      high1 = high2;
      low2 = low3;
      high2 = high3;
      part = (l << 31) | (h >>> 1);
      high ^= product((h << 31) | (l >>> 1), part, 0x9e3779b1, 0x85ebca87);
      low ^= Math.imul(part, 0x85ebca87);
      high = product(high, low, 0x9e3779b1, 0x85ebca87);
      low = (Math.imul(low, 0x85ebca87) + 0xc2b2ae63) | 0;
      high = (high + 0x85ebca77 + carry(low, 0xc2b2ae63)) | 0;
    }
  }
  low = (low + length) | 0;
  finish(view, at, end, high + carry(low, length), low);
}

/** Takes in the last bytes, fewer than 32. */
function finish(view: DataView, at: number, end: number, high: number, low: number): void {
  // Integers from here on: a loop over numbers of unknown kind is slow.
  high |= 0;
  low |= 0;
  let h: number;
  let l: number;
  let part: number;
  for (; at + 8 <= end; at += 8) {
    l = view.getInt32(at, true);
    h = product(view.getInt32(at + 4, true), l, 0xc2b2ae3d, 0x27d4eb4f);
    l = Math.imul(l, 0x27d4eb4f);
    part = (l << 31) | (h >>> 1);
    high ^= product((h << 31) | (l >>> 1), part, 0x9e3779b1, 0x85ebca87);
    low ^= Math.imul(part, 0x85ebca87);
    part = (low << 27) | (high >>> 5);
    high = product((high << 27) | (low >>> 5), part, 0x9e3779b1, 0x85ebca87);
    low = (Math.imul(part, 0x85ebca87) + 0xc2b2ae63) | 0;
    high = (high + 0x85ebca77 + carry(low, 0xc2b2ae63)) | 0;
  }
  if (at + 4 <= end) {
    l = view.getInt32(at, true);
    low ^= Math.imul(l, 0x85ebca87);
    high ^= product(0, l, 0x9e3779b1, 0x85ebca87);
    part = (low << 23) | (high >>> 9);
    high = product((high << 23) | (low >>> 9), part, 0xc2b2ae3d, 0x27d4eb4f);
    low = (Math.imul(part, 0x27d4eb4f) + 0x9e3779f9) | 0;
    high = (high + 0x165667b1 + carry(low, 0x9e3779f9)) | 0;
    at += 4;
  }
  for (; at < end; at++) {
    l = view.getUint8(at);
    low ^= Math.imul(l, 0x165667c5);
    // Less than 2^37, so exact.
    high ^= Math.imul(l, 0x27d4eb2f) + (((l * 0x165667c5) / 2 ** 32) | 0);
    part = (low << 11) | (high >>> 21);
    high = product((high << 11) | (low >>> 21), part, 0x9e3779b1, 0x85ebca87);
    low = Math.imul(part, 0x85ebca87);
  }
  // Folded by 33, times P2, folded by 29, times P3, folded by 32.
  low ^= high >>> 1;
  high = product(high, low, 0xc2b2ae3d, 0x27d4eb4f);
  low = Math.imul(low, 0x27d4eb4f);
  low ^= (low >>> 29) | (high << 3);
  high ^= high >>> 29;
  high = product(high, low, 0x165667b1, 0x9e3779f9);
  digest[0] = Math.imul(low, 0x9e3779f9) ^ high;
  digest[1] = high;
}
