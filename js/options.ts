/** What builders can be told, and the check of every argument before it crosses into WebAssembly. */

import { FilterError } from "./error.js";
import { LOWERCASE, SHA1, profiles } from "./info.js";
import { iterable, type Key } from "./memory.js";

/**
 * Why a line of a list gives no key: `not_checkable` = no URL and no host, `pattern` = an adblock rule other than
 * `||host^`, `local` = a hosts file's name of its own computer, `not_a_hash` = no SHA-1 in hexadecimal, `too_short` and
 * `too_rare` = below `minLength` and `minCount`.
 */
export type SkipReason = "not_checkable" | "pattern" | "local" | "not_a_hash" | "too_short" | "too_rare";

/** What keys are, and which must be absent. */
export interface ProfileOptions {
  /**
   * What the keys are. `raw`, the default: bytes as they are given. `url`: URLs, hosts, adblock's `||host^` and entries
   * of hosts files, to be asked for with `hasUrl` and `matchUrl`. `password`: to be asked for with `hasPassword`.
   */
  profile?: "raw" | "url" | "password";
  /** Passwords in lower case, when asked for too. Default false. */
  lowercase?: boolean;
  /** The list is one of passwords' SHA-1 hashes: `HASH` or `HASH:COUNT`, in hexadecimal. Default false. */
  sha1Hex?: boolean;
  /** Leaves out passwords of fewer characters. Default 0. */
  minLength?: number;
  /** Leaves out hashes with a lower count. Default 0. */
  minCount?: number;
  /**
   * Keys that must never be false positives; with profile `url` all that their URLs are looked up by. It holds for the
   * filter as it is built: keys that are added later may bring some back.
   */
  allow?: Iterable<Key>;
  /** Whether a key in both lists is absent; else it stays. Keys of a URL other than its own stay. Default false. */
  allowWins?: boolean;
  /** Called with each line of the lists that gives no key. */
  onSkip?: (skipped: { key: Key; reason: SkipReason }) => void;
  /** Called with each key that is in both lists. */
  onConflict?: (conflict: { key: Key; removed: boolean }) => void;
}

/** What every builder takes beside its keys. */
export interface BuildOptions extends ProfileOptions {
  /**
   * The false-positive rate, above 0 and below 1: of a whole check with profile `url`, where a key gets a tenth of it,
   * else of a key. Default 0.001, and 0.0001 with profile `password`.
   */
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
  throw invalid(`${name} must be a whole number from ${min} to ${max}`);
}

export function checkCount(count: unknown): number {
  return checkInteger(count, "count", 0, Number.MAX_SAFE_INTEGER);
}

function checkShare(share: unknown, name: string): number {
  if (typeof share === "number" && share > 0 && share < 1) return share;
  throw invalid(`${name} must be a number above 0 and below 1`);
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
  throw invalid("seed must be a bigint from 0n to 2n ** 64n - 1n");
}

function invalid(message: string): FilterError {
  return new FilterError("invalid_parameter", message);
}

function checkProfile(options: ProfileOptions) {
  const { profile = "raw", lowercase = false, sha1Hex = false, minLength = 0, minCount = 0 } = options;
  const { allow, allowWins = false, onSkip, onConflict } = options;
  if (!profiles.includes(profile)) throw invalid("profile must be raw, url or password");
  for (const [name, value] of Object.entries({ lowercase, sha1Hex, allowWins })) {
    if (typeof value !== "boolean") throw invalid(`${name} must be true or false`);
  }
  for (const [name, value] of Object.entries({ onSkip, onConflict })) {
    if (value !== undefined && typeof value !== "function") throw invalid(`${name} must be a function`);
  }
  if (allow !== undefined) iterable(allow);
  else if (allowWins) throw invalid("allowWins needs allow");
  checkInteger(minLength, "minLength", 0, Number.MAX_SAFE_INTEGER);
  checkInteger(minCount, "minCount", 0, Number.MAX_SAFE_INTEGER);
  if (profile !== "password" && (lowercase || sha1Hex || minLength || minCount)) {
    throw invalid("lowercase, sha1Hex, minLength and minCount need the profile password");
  }
  if (sha1Hex && (lowercase || minLength)) throw invalid("a hash can't be lower-cased, nor does it tell a length");
  if (minCount && !sha1Hex) throw invalid("minCount needs sha1Hex");
  return {
    profile,
    /** The profile as the blob has it. */
    profileNumber: profiles.indexOf(profile) | (lowercase ? LOWERCASE : 0) | (sha1Hex ? SHA1 : 0),
    lowercase,
    sha1Hex,
    minLength,
    minCount,
    allow,
    allowWins,
    onSkip,
    onConflict,
  };
}

/** Checks all options, before a builder reads a single key. */
export function checkOptions(options?: BuildOptions & CountingOptions & GrowthOptions) {
  const checkedProfile = checkProfile(options ?? {});
  const { fpr = checkedProfile.profile === "password" ? 1e-4 : 1e-3, seed, name, createdAt } = options ?? {};
  const { counterBits = 4, initialCapacity = 1000, growth = 2, tightening = 0.5 } = options ?? {};
  if (name !== undefined && (typeof name !== "string" || new TextEncoder().encode(name).length > 255)) {
    throw invalid("name must be a string of at most 255 bytes of UTF-8");
  }
  if (createdAt !== undefined && typeof createdAt !== "number" && !(createdAt instanceof Date)) {
    throw invalid("createdAt must be a Date or a number");
  }
  if (counterBits !== 4 && counterBits !== 8) throw invalid("counterBits must be 4 or 8");
  return {
    ...checkedProfile,
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
