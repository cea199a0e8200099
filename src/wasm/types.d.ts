/** A key: text, which counts as its UTF-8, or bytes. */
export type Key = string | Uint8Array;

/** Why a line gives no key: neither a URL nor a host, an adblock rule other than `||host^`, a local name, and so on. */
export type SkipReason =
  | "not_checkable"
  | "pattern"
  | "local"
  | "single_label"
  | "not_a_hash"
  | "too_short"
  | "too_rare";

/** The options of {@link Filter.from} and {@link Filter.fromTagged}. Others are refused. */
export interface BuildOptions {
  /** Default `ribbon`: read-only, and the smallest. */
  kind?: "bloom" | "counting" | "scalable" | "cuckoo" | "ribbon";
  /** What the keys are. Default `raw`: bytes as given. */
  profile?: "raw" | "url" | "password";
  /** Ignore the case of passwords. */
  lowercase?: boolean;
  /** The keys are SHA-1 hashes of passwords in hexadecimal, or `HASH:COUNT`. */
  sha1?: boolean;
  /** The false-positive rate, above 0 and below 1: for URLs that of a whole check. Default 0.001, 0.0001 for passwords. */
  fpr?: number;
  /** The seed of the hash, 0 to 2^64 - 1. Default 0. */
  seed?: bigint;
  /** 16 random bytes make the filter keyed: it then needs a random `seed`, and the same secret to decode it. */
  secret?: Uint8Array;
  /** Leave out passwords with fewer characters. */
  minLength?: number;
  /** Leave out hashes with a lower count. */
  minCount?: number;
  /** A name in the blob, at most 255 bytes of UTF-8. */
  name?: string;
  /** When the list was made: a date, or milliseconds since 1970. */
  createdAt?: Date | number;
  /** bloom, counting and cuckoo: the number of keys to size the filter for. Default: those that it is built from. */
  capacity?: number;
  /** counting: 4 or 8. Default 4. */
  counterBits?: number;
  /** scalable: the keys in the first slice. Default 1000. */
  initialCapacity?: number;
  /** scalable: each slice holds this many times the keys of the one before. Default 2. */
  growth?: number;
  /** scalable: each slice's rate is this many times that of the one before. Default 0.5. */
  tightening?: number;
  /** Keys that must never be "maybe present", unless they are listed. The filter is then read-only. */
  allow?: Iterable<Key>;
  /** Remove keys that are listed and allowed; otherwise they stay. */
  allowWins?: boolean;
  /** Called with each line that gives no key. Without it, a list whose lines give no key throws `invalid_key`. */
  onSkip?: (skipped: { key: Uint8Array; reason: SkipReason }) => void;
}

/** The size of a Bloom filter. */
export interface Optimal {
  bits: number;
  hashes: number;
  bytes: number;
}

/**
 * What these functions and methods throw: an Error with a stable code, such as `checksum_mismatch`. docs/errors.md has all
 * codes. Only a filter that was freed throws another error.
 */
export interface FilterError extends Error {
  readonly code: string;
}
