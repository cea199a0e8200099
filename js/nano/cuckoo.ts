/** Cuckoo filters. FORMAT.md section 6.4. */

import type { Part } from "./part.js";
import { product, spread } from "./words.js";

/** A cuckoo filter. */
export interface Cuckoo extends Part {
  readonly buckets: number;
  /** The bits of a fingerprint, 1 to 32. */
  readonly width: number;
  /** The fingerprint in a slot, from 0 to 4 `buckets` - 1; 0 if it is empty. */
  slot(which: number): number;
}

export function cuckoo(buckets: number, width: number): Cuckoo {
  const mask = 2 ** width - 1;
  let view: DataView;
  let at: number;
  const slot = (which: number) => {
    const bit = which * width;
    const place = at + Math.floor(bit / 8);
    const by = bit % 8;
    // A fingerprint may be in five bytes. The shifts by 1 and 31 - by are one by 32 - by, which may be 32.
    const word = (view.getInt32(place, true) >>> by) | ((view.getUint8(place + 4) << 1) << (31 - by));
    return (word & mask) >>> 0;
  };
  return {
    size: (buckets * width) / 2,
    buckets,
    width,
    slot,
    fill(its, start) {
      view = its;
      at = start;
      return true;
    },
    has(high, low) {
      const fingerprint = 1 + spread(low, high, mask);
      let bucket = spread(high, low, buckets);
      const y = product(0, fingerprint, 0x9e3779b9, 0x7f4a7c15);
      const folded = Math.imul(fingerprint, 0x7f4a7c15) ^ y;
      const sum = spread(product(y, folded, 0x9e3779b9, 0x7f4a7c15), Math.imul(folded, 0x7f4a7c15), buckets);
      for (let i = 0; i < 2; i++) {
        for (let j = 0; j < 4; j++) if (slot(4 * bucket + j) === fingerprint) return true;
        bucket = ((sum | 1) >>> 0) - bucket;
        if (bucket < 0) bucket += buckets;
      }
      return false;
    },
  };
}
