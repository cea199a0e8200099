/** Ribbon filters: kind 5, and the levels of layers. FORMAT.md section 6.5. */

import { type Part, requireEnd } from "./part.js";
import { spread, stirred } from "./words.js";

/** A ribbon filter of this rate. */
export interface Ribbon extends Part {
  readonly fpr: number;
  readonly keys: number;
  /** The chance that a key which it doesn't hold is maybe present. */
  readonly rate: number;
}

/** The state of a key that is passed on to the next stage. */
const bumped = /* @__PURE__ */ new Int32Array(2);

/** Whether a word of 32 bits has an odd number of ones: the lowest bit. */
function parity(word: number): number {
  word ^= word >>> 16;
  word ^= word >>> 8;
  return 0x6996 >>> ((word ^ (word >>> 4)) & 15);
}

/** A ribbon filter of this rate and number of keys, with the rows of its stages. The names are those of FORMAT.md. */
export function ribbon(fpr: number, keys: number, attempt: number, allRows: number[]): Ribbon {
  let view: DataView;
  let at: number;
  let columns = 0;
  let scaled = fpr;
  for (; scaled <= 0.5; scaled *= 2) columns++;
  const planes = columns >> 3;
  const rest = columns & 7;
  let size = 0;
  let rate = 0;
  /** The last bits of the buckets of each stage but the last: where they are, and how many. */
  const buckets: [number, number][] = [];

  /** Each stage answers for the keys that it doesn't pass on to the next. */
  const stages = allRows.map((rows, i) => {
    const isLast = i + 1 === allRows.length;
    const starts = Math.max(1, rows - 63);
    // Keys that start below this row have one column more.
    const wideStarts = Math.ceil((2 - 2 * scaled) * starts);
    const wideBlocks = wideStarts && Math.min(Math.ceil(wideStarts / 64) + 1, Math.ceil(rows / 64));
    const number = 256 * i + (isLast ? attempt : 0);
    const bucketsAt = size;
    if (!isLast) {
      buckets.push([size, 2 * Math.ceil(starts / 128)]);
      size += Math.ceil(starts / 512);
    }
    const planesAt = size;
    const blocksAt = size + planes * rows;
    size = blocksAt + (rest * rows + Math.min(rows, 64 * wideBlocks)) / 8;
    rate ||= 0.5 ** columns * (1 - wideStarts / starts / 2);

    return (state: Int32Array): boolean => {
      let low = state[0]!;
      let high = state[1]!;
      // Three rounds. In each, the halves change places.
      high ^= number;
      low ^= stirred(high);
      high ^= stirred(low);
      low ^= stirred(high);
      const start = spread(low, high, starts);
      if (!isLast) {
        const bucket = start >>> 7;
        const value = (view.getUint8(at + bucketsAt + (bucket >>> 2)) >> (2 * (bucket & 3))) & 3;
        // 0, 15, 44 or 128.
        if ((start & 127) < ((0x802c0f00 >>> (8 * value)) & 255)) {
          bumped[0] = high;
          bumped[1] = low;
          return stages[i + 1]!(bumped);
        }
      }
      let fingerprint = high;
      // Two more.
      const other = high ^ stirred(low);
      high = low ^ stirred(other);
      low = other | 1;
      // The coefficients. No more than there are rows.
      if (rows < 64) {
        high &= rows > 32 ? (1 << (rows - 32)) - 1 : 0;
        if (rows < 32) low &= (1 << rows) - 1;
      }
      let place = at + planesAt + start;
      for (let plane = 0; plane < planes; plane++, place += rows) {
        // Four rows at once, a byte each. Their coefficients become masks here, since V8 inlines only so much.
        let sum = 0;
        for (let j = 0; j < 32; j += 4) {
          const spread = Math.imul((low >>> j) & 15, 0x204081) & 0x1010101;
          const others = Math.imul((high >>> j) & 15, 0x204081) & 0x1010101;
          sum ^=
            (view.getInt32(place + j, true) & Math.imul(spread, 255)) ^
            (view.getInt32(place + j + 32, true) & Math.imul(others, 255));
        }
        sum ^= sum >>> 16;
        if (((sum ^ (sum >>> 8) ^ fingerprint) & 255) !== 0) return false;
        fingerprint >>>= 8;
      }
      // The coefficients of the rows in this block and the next, from the first word on that has one.
      const by = start & 31;
      const low0 = low << by;
      const low1 = (high << by) | ((low >>> 1) >>> (31 - by));
      const low2 = (high >>> 1) >>> (31 - by);
      const which = start >>> 6;
      // Whether that is the second word of this block. It is arithmetic below, since a branch would be mispredicted
      // every other time.
      const second = (start >>> 5) & 1;
      let here = at + blocksAt + 8 * (rest * which + Math.min(which, wideBlocks)) + 4 * second;
      let next = here + 8 * (which < wideBlocks ? rest + 1 : rest);
      // The word between these two is in this block or in the next.
      let middle = here + 4 + ((next - here - 8) & -second);
      // The last block may have fewer than 64 rows.
      const step = Math.min(8, rows / 8 - 8 * which);
      const nextStep = Math.min(8, rows / 8 - 8 * which - 8);
      const middleStep = second ? nextStep : step;
      for (let left = start < wideStarts ? rest + 1 : rest; left > 0; left--) {
        const sum =
          (view.getInt32(here, true) & low0) ^
          (view.getInt32(middle, true) & low1) ^
          (view.getInt32(next, true) & low2);
        here += step;
        middle += middleStep;
        next += nextStep;
        if (((parity(sum) ^ fingerprint) & 1) !== 0) return false;
        fingerprint >>>= 1;
      }
      return true;
    };
  });

  return {
    size,
    fpr,
    keys,
    rate,
    fill(next, start) {
      view = next;
      at = start;
      for (const [from, bits] of buckets) requireEnd(view, at + from, bits);
    },
    has: stages[0] ?? (() => false),
  };
}
