/** SipHash-2-4, the digest of a key of a keyed filter. FORMAT.md section 3. */

import { digest } from "./digest.js";
import { carry } from "./words.js";

/**
 * Puts the SipHash of the bytes from `at` to `end` under a key of 16 bytes, as four numbers, into {@link digest}.
 *
 * The names are the paper's, of each number the high half and the low one. They are local variables, and the rounds are
 * written out: a state in an array takes ten times as long.
 */
export function siphash(view: DataView, at: number, end: number, key: ArrayLike<number>): void {
  const length = end - at;
  let low0 = key[0]! ^ 0x70736575;
  let high0 = key[1]! ^ 0x736f6d65;
  let low1 = key[2]! ^ 0x6e646f6d;
  let high1 = key[3]! ^ 0x646f7261;
  let low2 = key[0]! ^ 0x6e657261;
  let high2 = key[1]! ^ 0x6c796765;
  let low3 = key[2]! ^ 0x79746573;
  let high3 = key[3]! ^ 0x74656462;
  let part: number;
  // Two rounds for each whole word, and for the bytes that are left with the length. Then four more.
  for (let left = length; left >= -16; left -= 8, at += 8) {
    let low = 0;
    let high = 0;
    if (left > 7) {
      low = view.getInt32(at, true);
      high = view.getInt32(at + 4, true);
    } else if (left >= 0) {
      high = length << 24;
      for (let i = 0; i < left; i++) {
        const byte = view.getUint8(at + i) << (8 * i);
        if (i < 4) low |= byte;
        else high |= byte;
      }
    } else if (left >= -8) {
      low2 ^= 0xff;
    }
    low3 ^= low;
    high3 ^= high;
    // The first round. v1 is added to v0, then rotated by 13. Then the halves of v0 change places.
    low0 = (low0 + low1) | 0;
    high0 = (high0 + high1 + carry(low0, low1)) | 0;
    part = ((low1 << 13) | (high1 >>> 19)) ^ low0;
    high1 = ((high1 << 13) | (low1 >>> 19)) ^ high0;
    low1 = part;
    // v3 is added to v2, then rotated by 16.
    low2 = (low2 + low3) | 0;
    high2 = (high2 + high3 + carry(low2, low3)) | 0;
    part = ((low3 << 16) | (high3 >>> 16)) ^ low2;
    high3 = ((high3 << 16) | (low3 >>> 16)) ^ high2;
    low3 = part;
    // v3 is added to v0, then rotated by 21.
    high0 = (high0 + low3) | 0;
    low0 = (low0 + high3 + carry(high0, low3)) | 0;
    part = ((low3 << 21) | (high3 >>> 11)) ^ high0;
    high3 = ((high3 << 21) | (low3 >>> 11)) ^ low0;
    low3 = part;
    // v1 is added to v2, then rotated by 17. Then the halves of v2 change places.
    low2 = (low2 + low1) | 0;
    high2 = (high2 + high1 + carry(low2, low1)) | 0;
    part = ((low1 << 17) | (high1 >>> 15)) ^ low2;
    high1 = ((high1 << 17) | (low1 >>> 15)) ^ high2;
    low1 = part;
    // The second round, in which the halves change places again.
    high0 = (high0 + low1) | 0;
    low0 = (low0 + high1 + carry(high0, low1)) | 0;
    part = ((low1 << 13) | (high1 >>> 19)) ^ high0;
    high1 = ((high1 << 13) | (low1 >>> 19)) ^ low0;
    low1 = part;
    high2 = (high2 + low3) | 0;
    low2 = (low2 + high3 + carry(high2, low3)) | 0;
    part = ((low3 << 16) | (high3 >>> 16)) ^ high2;
    high3 = ((high3 << 16) | (low3 >>> 16)) ^ low2;
    low3 = part;
    low0 = (low0 + low3) | 0;
    high0 = (high0 + high3 + carry(low0, low3)) | 0;
    part = ((low3 << 21) | (high3 >>> 11)) ^ low0;
    high3 = ((high3 << 21) | (low3 >>> 11)) ^ high0;
    low3 = part;
    high2 = (high2 + low1) | 0;
    low2 = (low2 + high1 + carry(high2, low1)) | 0;
    part = ((low1 << 17) | (high1 >>> 15)) ^ high2;
    high1 = ((high1 << 17) | (low1 >>> 15)) ^ low2;
    low1 = part;
    low0 ^= low;
    high0 ^= high;
  }
  digest[0] = low0 ^ low1 ^ low2 ^ low3;
  digest[1] = high0 ^ high1 ^ high2 ^ high3;
}
