/**
 * Numbers of 64 bits as two halves of 32, `high` and `low`, either with a sign or without. FORMAT.md section 1.
 *
 * Constants of the format are written where they are used: a bundler makes variables of top-level constants, and then
 * no engine folds them, which costs a tenth of the speed.
 */

/** Such a number where it is kept: the low half first, both with a sign. */
export type U64 = ArrayLike<number> & Iterable<number>;

/**
 * The high half of the product of two numbers of 64 bits, modulo 2^64. The low half is `Math.imul(low, byLow)`. The
 * product of the low halves is computed by halves of 16 bits: that is exact, and faster than by doubles.
 */
export function product(high: number, low: number, byHigh: number, byLow: number): number {
  const a = low & 0xffff;
  const b = low >>> 16;
  const c = byLow & 0xffff;
  const d = byLow >>> 16;
  const middle = b * c + ((a * c) >>> 16);
  return (
    (b * d + (middle >>> 16) + ((a * d + (middle & 0xffff)) >>> 16) + Math.imul(high, byLow) + Math.imul(low, byHigh)) |
    0
  );
}

/** What a sum of two low halves adds to the high one. `part` is either of the two. Without a branch to predict. */
export function carry(sum: number, part: number): number {
  return +(sum >>> 0 < part >>> 0);
}

/** floor(x · range / 2^64), for a range of 32 bits: 0 to range - 1. */
export function spread(high: number, low: number, range: number): number {
  const part = Math.imul(high, range);
  return (product(0, high, 0, range) + carry(part + product(0, low, 0, range), part)) >>> 0;
}

/** A number of 64 bits in hexadecimal, 16 digits. */
export function hex([low, high]: U64): string {
  return [high!, low!].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}
