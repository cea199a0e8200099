/** What a blob's payload is made of: the filter of the blob's kind, and the levels of its layers. FORMAT.md section 2. */

import { FilterError } from "../error.js";

/** A filter in a blob. It is asked once it has its payload. */
export interface Part {
  /** The length of its payload, in bytes. */
  readonly size: number;
  /**
   * Takes its payload, which begins at `at`. 80 more bytes can be read after the blob's end. Throws `invalid_parameter`
   * unless all of its unused bits are 0.
   */
  fill(view: DataView, at: number): void;
  /** Whether the key with this digest, the low half first, is maybe present. Numbers as arguments would make garbage. */
  has(digest: Int32Array): boolean;
}

/** A filter that is an array of numbers: bits, counters or fingerprints. */
export interface Places extends Part {
  /** How many there are. */
  readonly places: number;
  /** What is in one of them, from 0 to `places` - 1; 0 if it is empty. */
  value(place: number): number;
}

/** Throws `invalid_parameter` unless a rule of the format holds. */
export function rule(holds: unknown): asserts holds {
  if (!holds) throw new FilterError("invalid_parameter", "a field of the blob is out of range");
}

/** Throws `invalid_parameter` unless the bits from `bits` on in the last byte of a bit array are 0. */
export function requireEnd(view: DataView, at: number, bits: number): void {
  rule(bits % 8 === 0 || view.getUint8(at + Math.floor(bits / 8)) >> (bits % 8) === 0);
}
