/**
 * Numbers of 64 bits as two halves of 32, `high` and `low`, either with a sign or without. FORMAT.md section 1.
 *
 * Constants of the format are written where they are used: a bundler makes variables of top-level constants, and then
 * no engine folds them, which costs a tenth of the speed.
 */

/** Such a number where it is kept: the low half first, both with a sign. */
export type U64 = ArrayLike<number> & Iterable<number>;

/**
 * The high half of the product of two numbers of 32 bits, of which the second has no sign. Exact, although a double has
 * 53 bits only: what is lost of the product is less than half of the low half's weight. The literal is 2^-32.
 */
export function upper(a: number, b: number): number {
  return (((a >>> 0) * b - (Math.imul(a, b) >>> 0)) * 2.3283064365386963e-10 + 0.5) | 0;
}

/**
 * The high half of the product of two numbers of 64 bits, modulo 2^64, of which the second has no signs. The low half is
 * `Math.imul(low, byLow)`. It repeats {@link upper}, since V8 inlines only so much.
 */
export function product(high: number, low: number, byHigh: number, byLow: number): number {
  return (
    (((((low >>> 0) * byLow - (Math.imul(low, byLow) >>> 0)) * 2.3283064365386963e-10 + 0.5) | 0) +
      Math.imul(high, byLow) +
      Math.imul(low, byHigh)) |
    0
  );
}

/** What a sum of two low halves adds to the high one. `part` is either of the two. */
export function carry(sum: number, part: number): number {
  return sum >>> 0 < part >>> 0 ? 1 : 0;
}

/** floor(x · range / 2^64), for a range of 32 bits: 0 to range - 1. */
export function spread(high: number, low: number, range: number): number {
  const near = ((high >>> 0) + (low >>> 0) * 2.3283064365386963e-10) * range * 2.3283064365386963e-10;
  const floor = near >>> 0;
  const rest = near - floor;
  // The first product has 53 bits, so this is wrong by 2^-20 at most, and exact but for one number in 10^5.
  if (rest > 2 ** -19 && rest < 1 - 2 ** -19) return floor;
  const sum = (Math.imul(high, range) >>> 0) + (upper(low, range) >>> 0);
  return (upper(high, range) >>> 0) + (sum > 0xffff_ffff ? 1 : 0);
}

/** A number of 64 bits in hexadecimal, 16 digits. */
export function hex([low, high]: U64): string {
  return [high!, low!].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}
