/**
 * How large a filter of each kind is, and how often it is wrong, by FORMAT.md, section 6. The package has the Bloom
 * filter's formulas too, but weighs ten times as much as this page. Sizes are bytes of the payload: a blob adds at most
 * 64 more.
 */
import { ribbonBytes } from "./ribbon.ts";

export const kinds = ["ribbon", "cuckoo", "bloom", "scalable", "counting"] as const;
export type Kind = (typeof kinds)[number];

/**
 * A filter of this many keys. Undefined means that there is no such filter, mostly because it would be too large.
 */
export interface Shape {
  count: number;
  bytes: number;
  /** The false-positive rate of one key that it is made for, 0 to 1. Some kinds end up a little below. */
  fpr: number;
}

/** Bits of a counter in a counting filter, by default. */
const COUNTER = 4;
/** The first slice's keys of a scalable filter, by default. Each further slice has twice as many at half the rate. */
const FIRST = 1000;
/** The most keys that the page calculates with. */
const MOST = 2 ** 40;
/** Most bits of a Bloom filter, or counters. */
const BITS = 2 ** 32 - 1;

/** The lowest rate that digests of 64 bits can give to this many keys. */
const lowest = (count: number) => (100 * count) / 2 ** 64;

/** The fewest bytes that tell members from others at this rate, in any way whatever: n log2(1/p) bits. */
export const bound = {
  bytes: (count: number, fpr: number) => Math.ceil((count * -Math.log2(fpr)) / 8),
  fpr: (count: number, bytes: number) => 2 ** ((-8 * bytes) / count),
  count: (bytes: number, fpr: number) => Math.floor((8 * bytes) / -Math.log2(fpr)),
};

/** The filter of `count` keys at a rate of `fpr` at most. */
export function shapeOf(kind: Kind, count: number, fpr: number): Shape | undefined {
  if (fpr < lowest(count)) return undefined;
  const bytes = possible(() => bytesOf[kind](count, fpr));
  return bytes === undefined ? undefined : { count, bytes, fpr };
}

/** The filter of `count` keys in at most `bytes` bytes, with the lowest rate that these allow. */
export function shapeIn(kind: Kind, count: number, bytes: number): Shape | undefined {
  if (kind === "bloom" || kind === "counting") {
    const bits = bitsIn(kind, bytes);
    const hashes = Math.min(64, Math.max(1, Math.round((bits / count) * Math.LN2)));
    const fpr = rateOf(count, bits, hashes);
    return fpr < lowest(count) ? shapeOf(kind, count, lowest(count)) : { count, bytes: bytesFor(kind, bits), fpr };
  }
  // The exponent of the rate. Lower ones need more bytes.
  const fits = (exponent: number) => (shapeOf(kind, count, 2 ** exponent)?.bytes ?? Number.POSITIVE_INFINITY) <= bytes;
  let [low, high] = [-40, -1e-6];
  if (!fits(high)) return undefined;
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2;
    if (fits(middle)) high = middle;
    else low = middle;
  }
  return shapeOf(kind, count, 2 ** high);
}

/** The filter of the most keys that `bytes` bytes hold at a rate of `fpr`. */
export function shapeWith(kind: Kind, bytes: number, fpr: number): Shape | undefined {
  if (kind === "bloom" || kind === "counting") {
    const count = Math.min(countFor(bitsIn(kind, bytes), fpr), Math.floor((fpr * 2 ** 64) / 100));
    return count > 0 ? shapeOf(kind, count, fpr) : undefined;
  }
  const fits = (count: number) => (shapeOf(kind, count, fpr)?.bytes ?? Number.POSITIVE_INFINITY) <= bytes;
  if (!fits(1)) return undefined;
  let [low, high] = [1, MOST];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return shapeOf(kind, low, fpr);
}

/**
 * The rate of a filter that was made for `count` keys at `fpr` and holds any number; undefined where it has no room.
 */
export function filling(kind: Exclude<Kind, "ribbon">, count: number, fpr: number) {
  if (kind === "bloom" || kind === "counting") {
    const { bits, hashes } = optimal(count, fpr);
    return (keys: number) => rateOf(keys, bits, hashes);
  }
  if (kind === "cuckoo") {
    const { buckets, fingerprint } = cuckoo(count, fpr);
    // Above 98 % of the slots, no choice of buckets can place all keys.
    return (keys: number) => (keys <= 0.98 * 4 * buckets ? cuckooRate(keys, buckets, fingerprint) : undefined);
  }
  return (keys: number) => scalableRate(slices(keys, fpr), keys);
}

const bytesOf: Record<Kind, (count: number, fpr: number) => number> = {
  bloom: (count, fpr) => bytesFor("bloom", optimal(count, fpr).bits),
  counting: (count, fpr) => bytesFor("counting", optimal(count, fpr).bits),
  cuckoo(count, fpr) {
    const { buckets, fingerprint } = cuckoo(count, fpr);
    const bytes = (buckets / 2) * fingerprint;
    if (fingerprint > 32 || buckets >= 2 ** 32 || bytes >= 2 ** 31) throw new RangeError("too large");
    return bytes;
  },
  ribbon(count, fpr) {
    if (fpr < 2 ** -32 || count >= 2 ** 32) throw new RangeError("out of range");
    return ribbonBytes(ribbonRows(count), fpr);
  },
  scalable(count, fpr) {
    const all = slices(count, fpr);
    if (all.some(({ bits }) => bits > BITS)) throw new RangeError("too large");
    return all.reduce((sum, { bits }) => sum + Math.ceil(bits / 8), 0);
  },
};

/** What a formula gives, or undefined for numbers that it refuses. */
export function possible<T>(formula: () => T): T | undefined {
  try {
    return formula();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const bitsIn = (kind: "bloom" | "counting", bytes: number) =>
  Math.min(BITS, Math.floor((8 * bytes) / (kind === "bloom" ? 1 : COUNTER)));
const bytesFor = (kind: "bloom" | "counting", bits: number) => Math.ceil((bits * (kind === "bloom" ? 1 : COUNTER)) / 8);

/** The bits and hashes of a Bloom filter, as section 6.1 sizes it. */
function optimal(count: number, fpr: number) {
  let bits = Math.ceil(count * bitsPerKey(fpr));
  if (bits > BITS) throw new RangeError("too large");
  const hashes = Math.max(1, Math.round((bits / count) * Math.LN2));
  if (count < 1000) while (upperBound(count, bits, hashes) > fpr) bits++;
  return { bits, hashes };
}

/** The most keys whose filter takes no more than these bits. */
function countFor(bits: number, fpr: number): number {
  let count = Math.floor(bits / bitsPerKey(fpr));
  while (count > 0 && count < 1000 && optimal(count, fpr).bits > bits) count--;
  return count;
}

/** The rate of a Bloom filter, with the share of its bits that are 1 at its mean. */
function rateOf(count: number, bits: number, hashes: number): number {
  return (-Math.expm1(count * hashes * Math.log1p(-1 / bits))) ** hashes;
}

/** What the rate of few keys doesn't exceed: the bound of Goel and Gupta, 2010. */
function upperBound(count: number, bits: number, hashes: number): number {
  return (-Math.expm1((-hashes * (count + 0.5)) / (bits - 1))) ** hashes;
}

/** Four slots to a bucket, filled to 95 %, and 8 buckets more because small filters vary. */
function cuckoo(count: number, fpr: number) {
  let fingerprint = 5;
  while (2 ** fingerprint * fpr < 8) fingerprint++;
  return { buckets: 2 * (Math.ceil((5 * count) / 38) + 4), fingerprint };
}

/** A key is in one of n (2^f - 1) / 2 places, and a non-member is a false positive if somebody is in its place. */
function cuckooRate(keys: number, buckets: number, fingerprint: number): number {
  return -Math.expm1(-keys / ((buckets * (2 ** fingerprint - 1)) / 2));
}

/**
 * The rows of each stage of a ribbon filter. From 1,200 keys on, a stage has 3 % fewer rows than keys, and passes on
 * about 3.2 % of them and 25. How many exactly depends on the keys: the size is right to 2 %, and to 1 % from 10,000
 * keys on.
 */
function ribbonRows(count: number): number[] {
  const rows: number[] = [];
  let left = count;
  while (left >= 1200 && rows.length < 3) {
    rows.push(Math.floor((left * 0.97) / 8) * 8);
    left = Math.ceil(0.0318 * left + 25);
  }
  return [...rows, Math.ceil((left < 50 ? left : left * 1.015) / 8) * 8];
}

interface Slice {
  capacity: number;
  bits: number;
  hashes: number;
}

/** The slices of a scalable filter of this many keys, the oldest first; FORMAT.md, section 6.3. */
function slices(count: number, fpr: number): Slice[] {
  const all: Slice[] = [];
  for (let full = 0; all.length === 0 || full < count; ) {
    const [capacity, rate] = [FIRST * 2 ** all.length, 0.9 * fpr * 0.5 * 0.5 ** all.length];
    if (rate < (100 * capacity) / 2 ** 64) throw new RangeError("out of range");
    const bits = Math.ceil((capacity * Math.ceil(1024 * bitsPerKey(rate))) / 1024);
    all.push({ capacity, bits, hashes: Math.max(1, Math.round((bits / capacity) * Math.LN2)) });
    full += capacity;
  }
  return all;
}

/** B(p) of FORMAT.md, section 6.1. */
function bitsPerKey(fpr: number): number {
  const bits = -Math.log(fpr) / (Math.LN2 * Math.LN2);
  const hashes = Math.round(bits * Math.LN2);
  if (hashes <= 1) return -1 / Math.log1p(-fpr);
  return hashes === 2 ? -2 / Math.log1p(-Math.sqrt(fpr)) : bits;
}

/** The chance to be in any slice. All but the newest are full. */
function scalableRate(all: Slice[], count: number): number {
  let left = count;
  let none = 1;
  for (const { capacity, bits, hashes } of all) {
    const keys = Math.min(left, capacity);
    left -= keys;
    none *= 1 - (-Math.expm1((-hashes * keys) / bits)) ** hashes;
  }
  return 1 - none;
}
