/** What builders can be told. */

import { invalidParameter, iterable, type Key, requireType } from "./input.js";

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

/** All that a builder can be told. */
export type AllOptions = BuildOptions & CountingOptions & GrowthOptions;

/**
 * The options, each read once, as a getter may answer differently the next time. Throws `invalid_parameter` unless each is of
 * its type, before a builder reads a single key.
 */
export function readOptions(options: AllOptions = {}) {
  if (typeof options !== "object" || options === null) throw invalidParameter("options must be an object");
  const { profile, lowercase, sha1Hex, minLength, minCount, allow, allowWins, onSkip, onConflict } = options;
  const { fpr, seed, name, createdAt, counterBits, initialCapacity, growth, tightening } = options;
  const numbers = { fpr, counterBits, initialCapacity, growth, tightening, minLength, minCount };
  requireType("number", numbers);
  requireType("boolean", { lowercase, sha1Hex, allowWins });
  requireType("string", { profile, name });
  requireType("function", { onSkip, onConflict });
  if (allow !== undefined) iterable(allow);
  else if (allowWins) throw invalidParameter("allowWins needs allow");
  const list = { profile, lowercase, sha1Hex, allow, allowWins, onSkip, onConflict };
  return { ...list, numbers, name, seed: asSeed(seed), createdAt: asDate(createdAt) };
}

/** What {@link readOptions} has read. */
export type Options = ReturnType<typeof readOptions>;

/** The seed, which is 0n if none is given. */
function asSeed(seed: unknown = 0n): bigint {
  if (typeof seed === "bigint" && seed >= 0n && seed < 1n << 64n) return seed;
  throw invalidParameter("seed must be a bigint from 0n to 2n ** 64n - 1n");
}

/** The creation time, if one is given, as a Date that nobody else has made. */
function asDate(createdAt: unknown): Date | undefined {
  if (createdAt === undefined) return undefined;
  try {
    // Throws for what only looks like a Date.
    const time = typeof createdAt === "number" ? createdAt : Date.prototype.getTime.call(createdAt);
    if (Number.isInteger(time)) return new Date(time);
  } catch {}
  throw invalidParameter("createdAt must be a Date, or a number of whole milliseconds since 1970");
}
