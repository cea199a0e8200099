/**
 * Numbers of 64 bits as two halves of 32, `high` and `low`, either with a sign or without. FORMAT.md section 1.
 *
 * Constants of the format are written where they are used: a bundler makes variables of top-level constants, and then
 * no engine folds them, which costs a tenth of the speed.
 */

/** Such a number where it is kept: the low half first, both with a sign. */
export type U64 = ArrayLike<number> & Iterable<number>;

/** What a sum of two low halves adds to the high one. `part` is either of the two. Without a branch to predict. */
export function carry(sum: number, part: number): number {
  return +(sum >>> 0 < part >>> 0);
}

/** A half of a state, as a round adds it to the other half. */
export function stirred(half: number): number {
  half = Math.imul(half, 0x9e3779b1);
  return half ^ (half >>> 15);
}

/** The high half of a product of two numbers of 32 bits. */
function highProduct(one: number, other: number): number {
  const a = one & 0xffff;
  const b = one >>> 16;
  const c = other & 0xffff;
  const d = other >>> 16;
  const middle = b * c + ((a * c) >>> 16);
  return b * d + (middle >>> 16) + ((a * d + (middle & 0xffff)) >>> 16);
}

/** A place among a range of 32 bits, 0 to range - 1, by a state. Of one above 2^28, its low half matters, too. */
export function spread(high: number, low: number, range: number): number {
  if (range <= 0x10000000) return highProduct(high, range);
  const part = Math.imul(high, range);
  return (highProduct(high, range) + carry(part + highProduct(low, range), part)) >>> 0;
}

/** A number of 64 bits in hexadecimal, 16 digits. */
export function hex([low, high]: U64): string {
  return [high!, low!].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}
