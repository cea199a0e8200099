/** From a key to its digest. FORMAT.md section 3. */

import { FilterError } from "../error.js";
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
 * The filter's own key of SipHash, as four numbers, by a secret of 16 bytes and a seed; none without a secret. Throws
 * `secret_required` or `wrong_secret` unless the secret is that of the check value, the low half first, or there is
 * neither.
 */
export function keyOf(
  secret: Uint8Array | undefined,
  seedHigh: number,
  seedLow: number,
  check: ArrayLike<number> | undefined,
): Int32Array | undefined {
  if (!secret) {
    if (check) throw new FilterError("secret_required", "the filter is keyed; give its secret");
    return undefined;
  }
  const bytes = new DataView(secret.slice().buffer);
  const message = new DataView(new ArrayBuffer(9));
  message.setInt32(0, seedLow, true);
  message.setInt32(4, seedHigh, true);
  // The check value, and the two halves of the key.
  const derived = new Int32Array(6);
  for (let which = 0; which < 3; which++) {
    message.setUint8(8, which);
    siphash(
      message,
      0,
      9,
      [0, 4, 8, 12].map((at) => bytes.getInt32(at, true)),
    );
    derived.set(digest, 2 * which);
  }
  if (check?.[0] !== derived[0] || check?.[1] !== derived[1])
    throw new FilterError("wrong_secret", "this is not the secret of the filter, or the filter has none");
  return derived.subarray(2);
}
