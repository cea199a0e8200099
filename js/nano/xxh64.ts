/** XXH64: the digest of a key, and the checksum of a blob. FORMAT.md sections 2 and 3. */

import { carry, product } from "./words.js";

/** The digest that was computed last, the low half first. To return both would make garbage. */
export const digest = /* @__PURE__ */ new Int32Array(2);

/** The four lanes, and one that is always empty at first; of each the low half first. */
const lanes = /* @__PURE__ */ new Int32Array(10);

/** Takes 8 bytes into a lane. */
function round(lane: number, high: number, low: number): void {
  const part = Math.imul(low, 0x27d4eb4f);
  const l = (lanes[lane]! + part) | 0;
  const h = (lanes[lane + 1]! + product(high, low, 0xc2b2ae3d, 0x27d4eb4f) + carry(l, part)) | 0;
  const rotated = (l << 31) | (h >>> 1);
  lanes[lane] = Math.imul(rotated, 0x85ebca87);
  lanes[lane + 1] = product((h << 31) | (l >>> 1), rotated, 0x9e3779b1, 0x85ebca87);
}

/** Takes 8 bytes into an empty lane. */
function alone(high: number, low: number): void {
  lanes[8] = lanes[9] = 0;
  round(8, high, low);
}

/** Puts the XXH64 of the bytes from `at` to `end` into {@link digest}. */
export function xxh64(view: DataView, at: number, end: number, seedHigh: number, seedLow: number): void {
  const length = end - at;
  let high = seedHigh;
  let low = seedLow;
  let word: number;
  if (length < 32) {
    low = (low + 0x165667c5) | 0;
    high = (high + 0x27d4eb2f + carry(low, 0x165667c5)) | 0;
  } else {
    lanes[0] = low + 0xadc0b5d6;
    lanes[1] = high + 0x60ea27ee + carry(lanes[0]!, 0xadc0b5d6);
    lanes[2] = low + 0x27d4eb4f;
    lanes[3] = high + 0xc2b2ae3d + carry(lanes[2]!, 0x27d4eb4f);
    lanes[4] = low;
    lanes[5] = high;
    lanes[6] = low + 0x7a143579;
    lanes[7] = high + 0x61c8864e + carry(lanes[6]!, 0x7a143579);
    do {
      for (let lane = 0; lane < 8; lane += 2, at += 8)
        round(lane, view.getInt32(at + 4, true), view.getInt32(at, true));
    } while (at + 32 <= end);
    high = low = 0;
    for (let lane = 0; lane < 8; lane += 2) {
      // Rotated by 1, 7, 12 and 18.
      const by = (0x120c0701 >>> (4 * lane)) & 31;
      word = (lanes[lane]! << by) | (lanes[lane + 1]! >>> (32 - by));
      low = (low + word) | 0;
      high = (high + ((lanes[lane + 1]! << by) | (lanes[lane]! >>> (32 - by))) + carry(low, word)) | 0;
    }
    for (let lane = 0; lane < 8; lane += 2) {
      alone(lanes[lane + 1]!, lanes[lane]!);
      low ^= lanes[8]!;
      high = product(high ^ lanes[9]!, low, 0x9e3779b1, 0x85ebca87);
      low = (Math.imul(low, 0x85ebca87) + 0xc2b2ae63) | 0;
      high = (high + 0x85ebca77 + carry(low, 0xc2b2ae63)) | 0;
    }
  }
  low = (low + length) | 0;
  high = (high + carry(low, length)) | 0;
  for (; at + 8 <= end; at += 8) {
    alone(view.getInt32(at + 4, true), view.getInt32(at, true));
    low ^= lanes[8]!;
    high ^= lanes[9]!;
    word = (low << 27) | (high >>> 5);
    high = product((high << 27) | (low >>> 5), word, 0x9e3779b1, 0x85ebca87);
    low = (Math.imul(word, 0x85ebca87) + 0xc2b2ae63) | 0;
    high = (high + 0x85ebca77 + carry(low, 0xc2b2ae63)) | 0;
  }
  if (at + 4 <= end) {
    word = view.getInt32(at, true);
    low ^= Math.imul(word, 0x85ebca87);
    high ^= product(0, word, 0x9e3779b1, 0x85ebca87);
    word = (low << 23) | (high >>> 9);
    high = product((high << 23) | (low >>> 9), word, 0xc2b2ae3d, 0x27d4eb4f);
    low = (Math.imul(word, 0x27d4eb4f) + 0x9e3779f9) | 0;
    high = (high + 0x165667b1 + carry(low, 0x9e3779f9)) | 0;
    at += 4;
  }
  for (; at < end; at++) {
    word = view.getUint8(at);
    low ^= Math.imul(word, 0x165667c5);
    high ^= product(0, word, 0x27d4eb2f, 0x165667c5);
    word = (low << 11) | (high >>> 21);
    high = product((high << 11) | (low >>> 21), word, 0x9e3779b1, 0x85ebca87);
    low = Math.imul(word, 0x85ebca87);
  }
  // In turn: fold by 33, times P2, fold by 29, times P3, fold by 32.
  low ^= high >>> 1;
  high = product(high, low, 0xc2b2ae3d, 0x27d4eb4f);
  low = Math.imul(low, 0x27d4eb4f);
  low ^= (low >>> 29) | (high << 3);
  high ^= high >>> 29;
  high = product(high, low, 0x165667b1, 0x9e3779f9);
  digest[0] = Math.imul(low, 0x9e3779f9) ^ high;
  digest[1] = high;
}
