/** The options of builders. */

import { invalidParameter, iterable, type Key, requireType, secretIn } from "../boundary/input.js";
import { type Every, known } from "../boundary/known.js";

/**
 * Why a line of a list gives no key: `not_checkable` = neither a URL nor a host, `pattern` = an adblock rule other than
 * `||host^`, `local` = a name for the local machine in a hosts file, `single_label` = a rule such as `*.zip`,
 * `||zip^` or `0.0.0.0 zip` for a name without a dot, below which nothing is looked up, `not_a_hash` = not a SHA-1 in hexadecimal,
 * `too_long` = a line of a text that has more than 1 MiB, `too_short` and `too_rare` = below `minLength` or `minCount`.
 */
export type SkipReason =
  | "not_checkable"
  | "pattern"
  | "local"
  | "single_label"
  | "not_a_hash"
  | "too_long"
  | "too_short"
  | "too_rare";

/** The options of every builder. */
export interface BuildOptions extends SeedOptions {
  /**
   * The false-positive rate, above 0 and below 1. With profile `url` it is the rate of a whole check: a single key gets a
   * tenth of it or, in a ribbon filter, what the shapes of the list's keys allow, such as a third for hosts. Otherwise it
   * is the rate of a key. Default 0.001, or 0.0001 with profile `password`.
   */
  fpr?: number;
  /** A human-readable name, stored in the blob: at most 255 bytes of UTF-8. */
  name?: string;
  /** When the list was made, stored in the blob: a date, or milliseconds since 1970. */
  createdAt?: Date | number;
  /**
   * What the keys are. `raw`, the default: bytes as given. `url`: URLs, hosts, adblock's `||host^` and entries of hosts
   * files; ask with `hasUrl` and `matchUrl`. `password`: passwords; ask with `hasPassword`.
   */
  profile?: "raw" | "url" | "password";
  /** Ignore the case of passwords, also when asking. Default false. */
  lowercase?: boolean;
  /** The list holds SHA-1 hashes of passwords in hexadecimal, as `HASH` or `HASH:COUNT`. Default false. */
  sha1?: boolean;
  /** Leave out passwords with fewer characters. Default 0. */
  minLength?: number;
  /** Leave out hashes with a lower count. Default 0. */
  minCount?: number;
  /**
   * Keys that must never be false positives; with profile `url`, all keys that these URLs are looked up by. The filter is
   * then read-only: `add` and the like throw `layered`.
   */
  allow?: Iterable<Key>;
  /**
   * Remove a key that is listed and allowed; otherwise it stays. A URL removes only its own key, not the other keys that it
   * is looked up by. Default false.
   */
  allowWins?: boolean;
  /**
   * Called with each line of the lists that gives no key, except for comments and blank lines. Without it, a list with
   * such lines and no key throws `invalid_key`.
   */
  onSkip?: (skipped: { key: Key; reason: SkipReason }) => void;
  /** Called with each key that is listed and allowed. */
  onConflict?: (conflict: { key: Key; removed: boolean }) => void;
}

/** The options of every empty filter. */
export interface SeedOptions {
  /**
   * The seed of the hash, 0 to 2^64 - 1. Default 0n, or with a secret a random one. Anyone who knows the seed of an
   * unkeyed filter can make false positives.
   */
  seed?: bigint;
  /**
   * A secret of 16 random bytes makes the filter keyed: without the secret, its blob tells nothing and can't be asked.
   * Pass the same secret to `load` or `decode`.
   */
  secret?: Uint8Array;
}

/** Further options of a counting filter. */
export interface CountingOptions {
  /** The bits of a counter, 4 (the default) or 8: a key is counted up to 15 or 255 times. */
  counterBits?: 4 | 8;
}

/** Further options of a scalable filter. */
export interface GrowthOptions {
  /** The keys in the first slice, 1 to 2^32 - 1. Default 1000. */
  initialCapacity?: number;
  /** Each slice holds this many times the keys of the one before, 1 to 16. Default 2. */
  growth?: number;
  /** Each slice's rate is this many times that of the one before, above 0 and below 1. Default 0.5. */
  tightening?: number;
}

/** The options of an empty scalable filter. */
export interface ScalableOptions extends SeedOptions, GrowthOptions {
  /** The false-positive rate that all slices together stay below. Default 0.001. */
  fpr?: number;
}

/** Further options of `fromTagged`. */
export interface TaggedOptions {
  /** Keys that are on none of the lists. Their set of tags is empty, unless they are on one after all. */
  untagged?: Iterable<Key>;
}

/** Further options of `fromStream`. */
export interface StreamOptions {
  /** Stops building. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each chunk of bytes, or after every thousand keys, with the number of bytes or keys read so far. */
  onProgress?: (progress: { loaded: number }) => void;
}

/** All options of all builders. */
export type AllOptions = BuildOptions & CountingOptions & GrowthOptions;

const seeding = { seed: 1, secret: 1 } satisfies Every<SeedOptions>;
const counting = { counterBits: 1 } satisfies Every<CountingOptions>;
const growing = { initialCapacity: 1, growth: 1, tightening: 1 } satisfies Every<GrowthOptions>;
const building = {
  ...seeding,
  fpr: 1,
  name: 1,
  createdAt: 1,
  profile: 1,
  lowercase: 1,
  sha1: 1,
  minLength: 1,
  minCount: 1,
  allow: 1,
  allowWins: 1,
  onSkip: 1,
  onConflict: 1,
} satisfies Every<BuildOptions>;
const tagging = { untagged: 1 } satisfies Every<TaggedOptions>;
const streaming = { signal: 1, onProgress: 1 } satisfies Every<StreamOptions>;

const ofKinds: { [kind: string]: { [option: string]: 1 } } = { counting, scalable: growing };

/** Throws for unknown options of a kind's `from`, `fromStream` or empty filter. */
export function requireKnown(
  options: unknown,
  maker: "from" | "fromTagged" | "fromStream" | "an empty filter",
  kind: string,
): void {
  const makers = {
    from: building,
    fromTagged: { ...building, ...tagging },
    fromStream: { ...building, ...streaming },
    "an empty filter": kind === "scalable" ? { ...seeding, fpr: 1 as const } : seeding,
  };
  known(options, maker, makers[maker], ofKinds[kind] ?? {});
}

/**
 * Reads each option once, because a getter may give another value the next time. Throws `invalid_parameter` for a wrong
 * type, before a builder reads any key.
 */
export function readOptions(options: AllOptions = {}) {
  const { profile, lowercase, sha1, minLength, minCount, allow, allowWins, onSkip, onConflict } = options;
  const { fpr, seed, name, createdAt, counterBits, initialCapacity, growth, tightening } = options;
  const numbers = { fpr, counterBits, initialCapacity, growth, tightening, minLength, minCount };
  requireType("number", numbers);
  requireType("boolean", { lowercase, sha1, allowWins });
  requireType("string", { profile, name });
  requireType("function", { onSkip, onConflict });
  if (allow !== undefined) iterable(allow);
  else if (allowWins) throw invalidParameter("allowWins needs allow");
  const list = { profile, lowercase, sha1, allow, allowWins, onSkip, onConflict };
  const secret = secretIn(options);
  // More likely a missing environment variable than a wish for an unkeyed filter.
  if (secret === undefined && "secret" in options) throw invalidParameter("secret is undefined; leave it out for none");
  return { ...list, numbers, name, seed: asSeed(seed, secret), secret, createdAt: asDate(createdAt) };
}

/** The result of {@link readOptions}. */
export type Options = ReturnType<typeof readOptions>;

/** The seed: by default 0n, or with a secret a random one. */
function asSeed(seed: unknown, secret: Uint8Array | undefined): bigint {
  if (seed === undefined) return secret ? crypto.getRandomValues(new BigUint64Array(1))[0]! : 0n;
  if (typeof seed === "bigint" && seed >= 0n && seed < 1n << 64n) return seed;
  throw invalidParameter("seed must be a bigint from 0n to 2n ** 64n - 1n");
}

/** The creation time, if there is one, as a new Date. */
function asDate(createdAt: unknown): Date | undefined {
  if (createdAt === undefined) return undefined;
  try {
    // Throws for an object that only looks like a Date.
    const time = typeof createdAt === "number" ? createdAt : Date.prototype.getTime.call(createdAt);
    const date = new Date(time);
    // A Date has whole milliseconds, and ends at 8.64e15.
    if (date.getTime() === time) return date;
  } catch {}
  throw invalidParameter("createdAt must be a Date, or whole milliseconds since 1970, at most 8.64e15 (year 275760)");
}
