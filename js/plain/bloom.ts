/** Bloom filters and their kin: bloom, counting and scalable. FORMAT.md sections 6.1 to 6.3. */

import { type Part, type Places, requireEnd, rule } from "./part.js";
import { spread, stirred } from "./words.js";

/** A Bloom filter, a counting one, or a slice of a scalable one. */
export interface Bloom extends Places {
  readonly hashes: number;
}

/** A filter of `places` bits or counters (m), of 1, 4 or 8 bits each. */
export function bloom(places: number, hashes: number, width: number): Bloom {
  let view: DataView;
  let at: number;
  // There are 8, 2 or 1 counters in a byte.
  const shift = width === 1 ? 3 : width === 4 ? 1 : 0;
  const inByte = (1 << shift) - 1;
  const mask = (1 << width) - 1;
  const value = (place: number) => (view.getUint8(at + (place >>> shift)) >> ((place & inByte) * width)) & mask;
  return {
    size: Math.ceil((places * width) / 8),
    places,
    hashes,
    value,
    fill(next, start) {
      view = next;
      at = start;
      requireEnd(view, at, places * width);
    },
    has(digest) {
      let low = digest[0]!;
      let high = digest[1]!;
      low ^= stirred(high);
      high ^= stirred(low);
      low ^= stirred(high);
      // After three rounds, the halves have changed places, as after each further one.
      for (let i = 0; i < hashes; i++) {
        if (value(spread(low, high, places)) === 0) return false;
        const half = high ^ stirred(low);
        high = low;
        low = half;
      }
      return true;
    },
  };
}

/** A filter of several slices. */
export interface Scalable extends Part {
  readonly slices: readonly Bloom[];
  readonly fpr: number;
  readonly keys: number;
}

/**
 * A scalable filter of initial capacity *c*, growth *s*, rate *p*, tightening *r* and *n* keys. Throws
 * `invalid_parameter` if one of them breaks a rule.
 */
export function scalable(c: number, s: number, p: number, r: number, n: number): Scalable {
  const requireRate = (rate: number, count: number) => rule(rate < 1 && rate > 0 && rate >= (100 * count) / 2 ** 64);
  rule(c && s && s <= 16 && r > 0 && r < 1);
  requireRate(p, c);
  const slices: Bloom[] = [];
  let size = 0;
  let capacity = c;
  let power = 1;
  for (let total = 0; total < n || total === 0; total += capacity, capacity *= s, power *= r) {
    const rate = 0.9 * p * (1 - r) * power;
    rule(slices.length < 255);
    requireRate(rate, capacity);
    const bitsPerKey = -Math.log(rate) / (Math.LN2 * Math.LN2);
    const hashes = Math.round(bitsPerKey * Math.LN2);
    const rounded =
      hashes < 2 ? -1 / Math.log(1 - rate) : hashes === 2 ? -2 / Math.log(1 - Math.sqrt(rate)) : bitsPerKey;
    const sizedFor = Math.max(100, capacity);
    const bits = Math.ceil(sizedFor * (Math.ceil(1024 * rounded) / 1024));
    rule(bits < 2 ** 32);
    const slice = bloom(bits, Math.max(1, Math.round((bits / sizedFor) * Math.LN2)), 1);
    slices.push(slice);
    size += slice.size;
  }
  return {
    size,
    slices,
    fpr: p,
    keys: n,
    fill(view, at) {
      for (const slice of slices) {
        slice.fill(view, at);
        at += slice.size;
      }
    },
    has(digest) {
      for (const slice of slices) if (slice.has(digest)) return true;
      return false;
    },
  };
}
