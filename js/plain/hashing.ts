/** From a key to its digest. FORMAT.md section 3. */

import { FilterError } from "../error.js";
import { digest, hashKey } from "./digest.js";
import { siphash } from "./siphash.js";
import { slotOf } from "./slots.js";
import type { U64 } from "./words.js";

/** How the keys of a blob become digests. */
export interface Hashing {
  readonly seed: U64;
  /** The filter's own key of SipHash, as four numbers; undefined unless it is keyed. */
  readonly key: ArrayLike<number> | undefined;
  /** Those of the header. With 64, digests have slots. */
  readonly flags: number;
}

/** Puts the digest of the bytes from `at` to `end` into {@link digest}, with the slot, if it is known. */
export function hash({ seed, key, flags }: Hashing, view: DataView, at: number, end: number, slot = -1): void {
  if (key) siphash(view, at, end, key);
  else hashKey(view, at, end, seed[1]!, seed[0]!);
  if (flags & 64) digest[1] = (digest[1]! & 0x7ffffff) | ((slot < 0 ? slotOf(view, at, end) : slot) << 27);
}

/**
 * The filter's own key of SipHash, as four numbers, from a secret of 16 bytes and a seed; undefined without a secret.
 * Throws `secret_required` or `wrong_secret` unless the secret matches the check value, or there is neither.
 */
export function keyOf(secret: Uint8Array | undefined, seed: U64, check: U64 | undefined): Int32Array | undefined {
  if (!secret) {
    if (check) throw new FilterError("secret_required", "the filter is keyed; give its secret");
    return undefined;
  }
  const master = new DataView(secret.slice().buffer);
  const halves = [0, 4, 8, 12].map((at) => master.getInt32(at, true));
  const message = new DataView(new ArrayBuffer(9));
  message.setInt32(0, seed[0]!, true);
  message.setInt32(4, seed[1]!, true);
  // The check value, and the two halves of the key.
  const derived = [0, 1, 2].flatMap((which) => {
    message.setUint8(8, which);
    siphash(message, 0, 9, halves);
    return [...digest];
  });
  if (check?.[0] !== derived[0] || check?.[1] !== derived[1])
    throw new FilterError("wrong_secret", "the filter has another secret, or none");
  return Int32Array.from(derived.slice(2));
}
