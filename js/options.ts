/** What builders can be told, and the check of every argument before it crosses into WebAssembly. */

import { FilterError } from "./error.js";

/** What every builder takes beside its keys. */
export interface BuildOptions {
  /** The false-positive rate, above 0 and below 1. Default 0.001. */
  fpr?: number;
  /** The seed of the hash, 0 to 2^64 - 1. Default 0n. Anybody can make false positives for a seed that they know. */
  seed?: bigint;
  /** A name for people, kept in the blob: at most 255 bytes of UTF-8. */
  name?: string;
  /** When the list was made, kept in the blob: a date, or milliseconds since 1970. */
  createdAt?: Date | number;
}

/** What every empty filter takes. */
export interface SeedOptions {
  /** The seed of the hash, 0 to 2^64 - 1. Default 0n. */
  seed?: bigint;
}

/** What a counting filter takes besides. */
export interface CountingOptions {
  /** The bits of a counter, 4 (the default) or 8: a key is counted up to 15 or 255 times. */
  counterBits?: 4 | 8;
}

/** What a scalable filter takes besides. */
export interface GrowthOptions {
  /** The keys in the first slice, 1 to 2^32 - 1. Default 1000. */
  initialCapacity?: number;
  /** How many times as many keys each slice holds as the one before, 1 to 16. Default 2. */
  growth?: number;
  /** Each slice's rate over that of the one before, above 0 and below 1. Default 0.5. */
  tightening?: number;
}

/** What an empty scalable filter takes. */
export interface ScalableOptions extends SeedOptions, GrowthOptions {
  /** The false-positive rate that all slices together stay below. Default 0.001. */
  fpr?: number;
}

/** What each `fromStream` takes besides. */
export interface StreamOptions {
  /** Stops the building; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each chunk of bytes, or each thousand keys: how much has been read. */
  onProgress?: (progress: { loaded: number }) => void;
}

function checkInteger(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new FilterError("invalid_parameter", `${name} must be a whole number from ${min} to ${max}`);
}

export function checkCount(count: unknown): number {
  return checkInteger(count, "count", 0, Number.MAX_SAFE_INTEGER);
}

function checkShare(share: unknown, name: string): number {
  if (typeof share === "number" && share > 0 && share < 1) return share;
  throw new FilterError("invalid_parameter", `${name} must be a number above 0 and below 1`);
}

export function checkFpr(fpr: unknown): number {
  return checkShare(fpr, "fpr");
}

export function checkBits(bits: unknown): number {
  return checkInteger(bits, "bits", 1, 0xffff_ffff);
}

export function checkHashes(hashes: unknown): number {
  return checkInteger(hashes, "hashes", 1, 64);
}

function checkSeed(seed: unknown = 0n): bigint {
  if (typeof seed === "bigint" && seed >= 0n && seed < 1n << 64n) return seed;
  throw new FilterError("invalid_parameter", "seed must be a bigint from 0n to 2n ** 64n - 1n");
}

/** Checks all options, before a builder reads a single key. */
export function checkOptions(options: BuildOptions & CountingOptions & GrowthOptions = {}) {
  const { fpr = 1e-3, seed, name, createdAt } = options ?? {};
  const { counterBits = 4, initialCapacity = 1000, growth = 2, tightening = 0.5 } = options ?? {};
  if (name !== undefined && typeof name !== "string") {
    throw new FilterError("invalid_parameter", "name must be a string");
  }
  if (counterBits !== 4 && counterBits !== 8) throw new FilterError("invalid_parameter", "counterBits must be 4 or 8");
  return {
    fpr: checkFpr(fpr),
    seed: checkSeed(seed),
    name,
    time: createdAt === undefined ? NaN : checkInteger(Number(createdAt), "createdAt", 0, 8.64e15),
    counterBits,
    initialCapacity: checkInteger(initialCapacity, "initialCapacity", 1, 0xffff_ffff),
    growth: checkInteger(growth, "growth", 1, 16),
    tightening: checkShare(tightening, "tightening"),
  };
}

/** Options that have been checked, with the defaults for those that weren't given. */
export type Checked = ReturnType<typeof checkOptions>;
