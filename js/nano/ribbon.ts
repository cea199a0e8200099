/** Ribbon filters: kind 5, and the levels of layers. FORMAT.md section 6.5. */

import { endsWell, type Part } from "./part.js";
import { product, spread } from "./words.js";

/** What the page calls a stage. The names of its numbers are the page's. */
interface Stage {
  rows: number;
  starts: number;
  /** Keys that start below this row have one column more. */
  wideStarts: number;
  wideBlocks: number;
  columns: number;
  keyHigh: number;
  keyLow: number;
  /** Where its buckets, planes and blocks begin, from the payload's begin on. */
  buckets: number;
  planes: number;
  blocks: number;
}

/** A ribbon filter of this rate, with the rows of its stages. */
export interface Ribbon extends Part {
  readonly fpr: number;
  /** The chance that a key which it doesn't hold is maybe present. */
  readonly rate: number;
}

/** Whether a word of 32 bits has an odd number of ones: the lowest bit. */
function parity(word: number): number {
  word ^= word >>> 16;
  word ^= word >>> 8;
  return 0x6996 >>> ((word ^ (word >>> 4)) & 15);
}

export function ribbon(fpr: number, attempt: number, allRows: number[]): Ribbon {
  let columns = 0;
  let scaled = fpr;
  for (; scaled <= 0.5; scaled *= 2) columns++;
  const planes = columns >> 3;
  const rest = columns & 7;
  let size = 0;
  const stages = allRows.map((rows, i): Stage => {
    const isLast = i + 1 === allRows.length;
    const starts = Math.max(1, rows - 63);
    const wideStarts = Math.ceil((2 - 2 * scaled) * starts);
    const wideBlocks = wideStarts && Math.min(Math.ceil(wideStarts / 64) + 1, Math.ceil(rows / 64));
    const number = 256 * i + (isLast ? attempt : 0);
    const buckets = size;
    size += isLast ? 0 : Math.ceil(starts / 512);
    const planesAt = size;
    size += planes * rows;
    const blocks = size;
    size += (rest * rows + Math.min(rows, 64 * wideBlocks)) / 8;
    return {
      rows,
      starts,
      wideStarts,
      wideBlocks,
      columns: rest,
      keyHigh: product(0, number, 0x9e3779b9, 0x7f4a7c15),
      keyLow: Math.imul(number, 0x7f4a7c15),
      buckets,
      planes: planesAt,
      blocks,
    };
  });
  let view: DataView;
  let at: number;

  /** Whether a stage, which decides, has this state of a key. */
  function agrees(stage: Stage, high: number, low: number, start: number): boolean {
    const { rows } = stage;
    let coefficientsHigh = product(high, low, 0x9e3779b9, 0x7f4a7c15);
    let coefficientsLow = (Math.imul(low, 0x7f4a7c15) ^ coefficientsHigh) | 1;
    if (rows < 64) {
      coefficientsHigh &= rows > 32 ? (1 << (rows - 32)) - 1 : 0;
      if (rows < 32) coefficientsLow &= (1 << rows) - 1;
    }
    let fingerprint = high ^ low;
    let place = at + stage.planes + start;
    for (let plane = 0; plane < planes; plane++, place += rows) {
      // Four rows at once: four coefficients become a mask of four bytes.
      let sum = 0;
      for (let j = 0; j < 32; j += 4) {
        sum ^=
          (view.getInt32(place + j, true) &
            Math.imul(Math.imul((coefficientsLow >>> j) & 15, 0x204081) & 0x1010101, 255)) ^
          (view.getInt32(place + j + 32, true) &
            Math.imul(Math.imul((coefficientsHigh >>> j) & 15, 0x204081) & 0x1010101, 255));
      }
      sum ^= sum >>> 16;
      if (((sum ^ (sum >>> 8) ^ fingerprint) & 255) !== 0) return false;
      fingerprint >>>= 8;
    }
    const block = start >>> 6;
    const wide = start < stage.wideStarts ? 1 : 0;
    // The coefficients of the rows in this block, and in the next.
    const by = start & 31;
    const low0 = coefficientsLow << by;
    const low1 = (coefficientsHigh << by) | ((coefficientsLow >>> 1) >>> (31 - by));
    const low2 = (coefficientsHigh >>> 1) >>> (31 - by);
    const isLower = (start & 32) === 0;
    const height = Math.min(8, rows / 8 - 8 * block);
    const nextHeight = Math.min(8, rows / 8 - 8 * block - 8);
    let here = at + stage.blocks + 8 * (rest * block + Math.min(block, stage.wideBlocks));
    let next = at + stage.blocks + 8 * (rest * (block + 1) + Math.min(block + 1, stage.wideBlocks));
    for (let column = 0; column < rest + wide; column++, here += height, next += nextHeight) {
      const sum = isLower
        ? (view.getInt32(here, true) & low0) ^
          (view.getInt32(here + 4, true) & low1) ^
          (view.getInt32(next, true) & low2)
        : (view.getInt32(here + 4, true) & low0) ^
          (view.getInt32(next, true) & low1) ^
          (view.getInt32(next + 4, true) & low2);
      if (((parity(sum) ^ fingerprint) & 1) !== 0) return false;
      fingerprint >>>= 1;
    }
    return true;
  }

  return {
    size,
    fpr,
    rate: stages[0] ? 0.5 ** columns * (1 - stages[0].wideStarts / stages[0].starts / 2) : 0,
    fill(its, start) {
      view = its;
      at = start;
      return stages.every(
        ({ buckets, planes, starts }) =>
          planes === buckets || endsWell(view, at + buckets, 2 * Math.ceil(starts / 128)),
      );
    },
    has(high, low) {
      for (const stage of stages) {
        low ^= stage.keyLow;
        high = product(high ^ stage.keyHigh, low, 0xf1357aea, 0x2e62a9c5);
        low = Math.imul(low, 0x2e62a9c5) ^ high;
        const start = spread(high, low, stage.starts);
        const { buckets } = stage;
        if (buckets !== stage.planes) {
          const bucket = start >>> 7;
          const value = (view.getUint8(at + buckets + (bucket >>> 2)) >> (2 * (bucket & 3))) & 3;
          // 0, 15, 44 or 128.
          if ((start & 127) < ((0x802c0f00 >>> (8 * value)) & 255)) continue;
        }
        return agrees(stage, high, low, start);
      }
      return false;
    },
  };
}
