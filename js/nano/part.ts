/** What a blob's payload is made of: the filter of the blob's kind, and the levels of its layers. FORMAT.md section 2. */

/** A filter in a blob. It is asked once it has its payload. */
export interface Part {
  /** The length of its payload, in bytes. */
  readonly size: number;
  /**
   * Takes its payload, which begins at `at`. 80 more bytes can be read after the blob's end. Returns whether all of its
   * unused bits are 0.
   */
  fill(view: DataView, at: number): boolean;
  /** Whether the key with this digest is maybe present. */
  has(high: number, low: number): boolean;
}

/** Whether the bits from `bits` on in the last byte of a bit array are 0. */
export function endsWell(view: DataView, at: number, bits: number): boolean {
  return bits % 8 === 0 || view.getUint8(at + Math.floor(bits / 8)) >> (bits % 8) === 0;
}
