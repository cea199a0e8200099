/** Bloom filters and their kin: bloom, counting and scalable. FORMAT.md sections 6.1 to 6.3. */

import { endsWell, type Part } from "./part.js";
import { product, spread } from "./words.js";

/** A Bloom filter, a counting one, or a slice of a scalable one. */
export interface Bloom extends Part {
  /** How many bits or counters there are (m). */
  readonly bits: number;
  readonly hashes: number;
  /** The bits of a counter: 1, 4 or 8. */
  readonly width: number;
  readonly payload: () => [DataView, number];
}

export function bloom(bits: number, hashes: number, width: number): Bloom {
  let view: DataView;
  let at: number;
  // There are 8, 2 or 1 counters in a byte.
  const shift = width === 1 ? 3 : width === 4 ? 1 : 0;
  const inByte = (1 << shift) - 1;
  const mask = (1 << width) - 1;
  return {
    size: Math.ceil((bits * width) / 8),
    bits,
    hashes,
    width,
    payload: () => [view, at],
    fill(its, start) {
      view = its;
      at = start;
      return endsWell(view, at, bits * width);
    },
    has(high, low) {
      const its = view;
      for (let i = 0; i < hashes; i++) {
        high = product(high, low, 0xf1357aea, 0x2e62a9c5);
        low = Math.imul(low, 0x2e62a9c5);
        const position = spread(high, low, bits);
        if (((its.getUint8(at + (position >>> shift)) >> ((position & inByte) * width)) & mask) === 0) return false;
      }
      return true;
    },
  };
}

/** A filter of several slices. */
export interface Scalable extends Part {
  readonly slices: readonly Bloom[];
}

/** 2^64. */
const TWO_64 = 2 ** 64;

/**
 * A scalable filter of initial capacity *c*, growth *s*, rate *p*, tightening *r* and *n* keys. Undefined if one of them
 * breaks a rule.
 */
export function scalable(c: number, s: number, p: number, r: number, n: number): Scalable | undefined {
  const isRate = (rate: number, count: number) => rate < 1 && rate > 0 && rate >= (100 * count) / TWO_64;
  if (!(c > 0 && s > 0 && s <= 16 && isRate(p, c) && r > 0 && r < 1)) return undefined;
  const slices: Bloom[] = [];
  let capacity = c;
  let power = 1;
  for (let total = 0; total < n || total === 0; total += capacity, capacity *= s, power *= r) {
    const rate = 0.9 * p * (1 - r) * power;
    if (slices.length === 255 || !isRate(rate, capacity)) return undefined;
    const bitsPerKey = -Math.log(rate) / (Math.LN2 * Math.LN2);
    const hashes = Math.round(bitsPerKey * Math.LN2);
    const rounded =
      hashes < 2 ? -1 / Math.log(1 - rate) : hashes === 2 ? -2 / Math.log(1 - Math.sqrt(rate)) : bitsPerKey;
    const bits = Math.ceil(capacity * (Math.ceil(1024 * rounded) / 1024));
    if (bits >= 2 ** 32) return undefined;
    slices.push(bloom(bits, Math.max(1, Math.round((bits / capacity) * Math.LN2)), 1));
  }
  return {
    size: slices.reduce((sum, { size }) => sum + size, 0),
    slices,
    fill: (view, at) =>
      slices.every((slice) => {
        const start = at;
        at += slice.size;
        return slice.fill(view, start);
      }),
    has: (high, low) => slices.some((slice) => slice.has(high, low)),
  };
}
