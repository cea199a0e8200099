/** From a key to its digest. FORMAT.md section 3. */

import { siphash } from "./siphash.js";
import { slotOf } from "./slots.js";
import { digest, xxh64 } from "./xxh64.js";

/** How the keys of a blob become digests. */
export interface Hashing {
  readonly seedHigh: number;
  readonly seedLow: number;
  /** The filter's own key of SipHash, as four numbers; none unless it is keyed. */
  readonly key: ArrayLike<number> | undefined;
  /** Whether digests have slots. */
  readonly isSlotted: boolean;
}

/** Puts the digest of the bytes from `at` to `end` into {@link digest}, with the slot, if it is known. */
export function hash(its: Hashing, view: DataView, at: number, end: number, slot = -1): void {
  if (its.key) siphash(view, at, end, its.key);
  else xxh64(view, at, end, its.seedHigh, its.seedLow);
  if (its.isSlotted) digest[1] = (digest[1]! & 0x7ffffff) | ((slot < 0 ? slotOf(view, at, end) : slot) << 27);
}

/**
 * What a secret of 16 bytes gives with a seed: the check value and the filter's own key of SipHash, two numbers each
 * number of 64 bits, the low half first.
 */
export function derive(secret: Uint8Array, seedHigh: number, seedLow: number): Int32Array {
  const bytes = new DataView(secret.slice().buffer);
  const key = [0, 4, 8, 12].map((at) => bytes.getInt32(at, true));
  const message = new DataView(new ArrayBuffer(9));
  message.setInt32(0, seedLow, true);
  message.setInt32(4, seedHigh, true);
  const derived = new Int32Array(6);
  for (let which = 0; which < 3; which++) {
    message.setUint8(8, which);
    siphash(message, 0, 9, key);
    derived.set(digest, 2 * which);
  }
  return derived;
}
