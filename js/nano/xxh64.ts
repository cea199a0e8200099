/** XXH64: the digest of a key, and the checksum of a blob. FORMAT.md sections 2 and 3. */

import { carry, product } from "./words.js";

/** The digest that was computed last, the low half first. To return both would make garbage. */
export const digest = /* @__PURE__ */ new Int32Array(2);

/** The four lanes, of each the low half first. */
const lanes = /* @__PURE__ */ new Int32Array(8);

const STARTS = [0xadc0b5d6, 0x60ea27ee, 0x27d4eb4f, 0xc2b2ae3d, 0, 0, 0x7a143579, 0x61c8864e];

/**
 * Puts the XXH64 of the bytes from `at` to `end` into {@link digest}.
 *
 * Each multiplication is written once, in a loop, and everything else is in local variables: V8 inlines only so much.
 */
export function xxh64(view: DataView, at: number, end: number, seedHigh: number, seedLow: number): void {
  const length = end - at;
  /** The digest so far. */
  let high: number;
  let low: number;
  /** What comes in, and what it becomes. */
  let h: number;
  let l: number;
  let part: number;
  /** The next lane to take into the digest; then 8. */
  let lane = 8;
  if (length < 32) {
    low = (seedLow + 0x165667c5) | 0;
    high = (seedHigh + 0x27d4eb2f + carry(low, 0x165667c5)) | 0;
  } else {
    // The four lanes begin with the seed and P1 + P2, P2, 0 and -P1.
    for (; lane > 0; ) {
      lane -= 2;
      lanes[lane] = seedLow + STARTS[lane]!;
      lanes[lane + 1] = seedHigh + STARTS[lane + 1]! + carry(lanes[lane]!, STARTS[lane]!);
    }
    do {
      for (lane = 0; lane < 8; lane += 2, at += 8) {
        l = view.getInt32(at, true);
        part = Math.imul(l, 0x27d4eb4f);
        h = lanes[lane + 1]! + product(view.getInt32(at + 4, true), l, 0xc2b2ae3d, 0x27d4eb4f);
        l = (lanes[lane]! + part) | 0;
        h = (h + carry(l, part)) | 0;
        part = (l << 31) | (h >>> 1);
        lanes[lane] = Math.imul(part, 0x85ebca87);
        lanes[lane + 1] = product((h << 31) | (l >>> 1), part, 0x9e3779b1, 0x85ebca87);
      }
    } while (at + 32 <= end);
    high = low = 0;
    for (lane = 0; lane < 8; lane += 2) {
      // Rotated by 1, 7, 12 and 18.
      const by = (0x120c0701 >>> (4 * lane)) & 31;
      part = (lanes[lane]! << by) | (lanes[lane + 1]! >>> (32 - by));
      low = (low + part) | 0;
      high = (high + ((lanes[lane + 1]! << by) | (lanes[lane]! >>> (32 - by))) + carry(low, part)) | 0;
    }
    lane = 0;
  }
  for (;;) {
    const isLane = lane < 8;
    if (isLane) {
      l = lanes[lane]!;
      h = lanes[lane + 1]!;
    } else {
      if (lane === 8) {
        low = (low + length) | 0;
        high = (high + carry(low, length)) | 0;
      }
      if (at + 8 > end) break;
      l = view.getInt32(at, true);
      h = view.getInt32(at + 4, true);
      at += 8;
    }
    lane += 2;
    h = product(h, l, 0xc2b2ae3d, 0x27d4eb4f);
    l = Math.imul(l, 0x27d4eb4f);
    part = (l << 31) | (h >>> 1);
    high ^= product((h << 31) | (l >>> 1), part, 0x9e3779b1, 0x85ebca87);
    low ^= Math.imul(part, 0x85ebca87);
    part = isLane ? low : (low << 27) | (high >>> 5);
    high = product(isLane ? high : (high << 27) | (low >>> 5), part, 0x9e3779b1, 0x85ebca87);
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
