/** Cuckoo filters. FORMAT.md section 6.4. */

import { type Places, rule } from "./part.js";
import { spread, stirred } from "./words.js";

/** A cuckoo filter. Its places are those of fingerprints. */
export interface Cuckoo extends Places {
  /** The bits of a fingerprint, 1 to 32. */
  readonly width: number;
}

export function cuckoo(buckets: number, width: number): Cuckoo {
  rule(buckets && buckets % 2 === 0 && width && width < 33 && buckets * width < 2 ** 32);
  const mask = 2 ** width - 1;
  let view: DataView;
  let at: number;
  const value = (place: number) => {
    const bit = place * width;
    const start = at + Math.floor(bit / 8);
    const by = bit % 8;
    // A fingerprint may be in five bytes. The shift by 32 - by is split in two, because it may be one by 32.
    const word = (view.getInt32(start, true) >>> by) | ((view.getUint8(start + 4) << 1) << (31 - by));
    return (word & mask) >>> 0;
  };
  return {
    size: (buckets * width) / 2,
    places: 4 * buckets,
    width,
    value,
    fill(next, start) {
      view = next;
      at = start;
    },
    has(digest) {
      let low = digest[0]!;
      let high = digest[1]!;
      low ^= stirred(high);
      high ^= stirred(low);
      low ^= stirred(high);
      const fingerprint = 1 + spread(high, 0, mask);
      let bucket = spread(low, high, buckets);
      // The state that follows from the fingerprint, whose high half is 0.
      const half = stirred(fingerprint);
      const sum = spread(fingerprint ^ stirred(half), half, buckets);
      for (let i = 0; i < 8; i++) {
        if (i === 4) {
          bucket = ((sum | 1) >>> 0) - bucket;
          if (bucket < 0) bucket += buckets;
        }
        if (value(4 * bucket + (i & 3)) === fingerprint) return true;
      }
      return false;
    },
  };
}
