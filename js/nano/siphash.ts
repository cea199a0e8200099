/** SipHash-2-4, the digest of a key of a keyed filter. FORMAT.md section 3. */

import { carry } from "./words.js";
import { digest } from "./xxh64.js";

/** The four numbers of the state, of each the low half first. */
const v = /* @__PURE__ */ new Int32Array(8);

/** Adds one number to another, rotates the other by `by`, below 32, and folds the sum into it. */
function mix(to: number, other: number, by: number): void {
  const low = v[other]!;
  const high = v[other + 1]!;
  v[to]! += low;
  v[to + 1]! += high + carry(v[to]!, low);
  v[other] = ((low << by) | (high >>> (32 - by))) ^ v[to]!;
  v[other + 1] = ((high << by) | (low >>> (32 - by))) ^ v[to + 1]!;
}

/** Rotates a number by 32. */
function swap(which: number): void {
  const low = v[which]!;
  v[which] = v[which + 1]!;
  v[which + 1] = low;
}

function rounds(count: number): void {
  while (count-- > 0) {
    mix(0, 2, 13);
    swap(0);
    mix(4, 6, 16);
    mix(0, 6, 21);
    mix(4, 2, 17);
    swap(4);
  }
}

/** Puts the SipHash of the bytes from `at` to `end` under a key of 16 bytes, as four numbers, into {@link digest}. */
export function siphash(view: DataView, at: number, end: number, key: ArrayLike<number>): void {
  const length = end - at;
  v.set([0x70736575, 0x736f6d65, 0x6e646f6d, 0x646f7261, 0x6e657261, 0x6c796765, 0x79746573, 0x74656462]);
  for (let i = 0; i < 8; i++) v[i]! ^= key[i & 3]!;
  for (let left = length; left >= 0; left -= 8, at += 8) {
    let low = 0;
    let high = 0;
    if (left > 7) {
      low = view.getInt32(at, true);
      high = view.getInt32(at + 4, true);
    } else {
      // The bytes that are left, and at last the length.
      high = length << 24;
      for (let i = 0; i < left; i++) {
        const byte = view.getUint8(at + i) << (8 * i);
        if (i < 4) low |= byte;
        else high |= byte;
      }
    }
    v[6]! ^= low;
    v[7]! ^= high;
    rounds(2);
    v[0]! ^= low;
    v[1]! ^= high;
  }
  v[4]! ^= 0xff;
  rounds(4);
  digest[0] = v[0]! ^ v[2]! ^ v[4]! ^ v[6]!;
  digest[1] = v[1]! ^ v[3]! ^ v[5]! ^ v[7]!;
}
