/** The description of a filter. */

/** The formats of other software. FORMAT-FOREIGN.md has their rules. */
export type ForeignFormat =
  | "go-bloom"
  | "guava"
  | "spark"
  | "redis-bitmap"
  | "redisbloom"
  | "npm-bloomfilter"
  | "npm-bloom-filters"
  | "parquet-sbbf"
  | "xor"
  | "binary-fuse"
  | "filterpassword"
  | "pybloomfiltermmap3"
  | "pyprobables"
  | "rbloom"
  | "flor"
  | "bloom-filter2";

/** A description of a filter: a plain object that can go into JSON. It never contains the bits themselves. */
export interface FilterInfo {
  /** The kind of filter; for a foreign one, its format. */
  kind: "bloom" | "counting" | "scalable" | "cuckoo" | "ribbon" | ForeignFormat;
  /** What the keys are: `raw` = bytes as given, `url` = host and path expressions of URLs, `password` = passwords. */
  profile: "raw" | "url" | "password";
  /** Whether passwords are compared in lower case; only with the profile `password`. */
  lowercase: boolean;
  /** Whether the keys are the SHA-1 hashes of passwords; only with the profile `password`. */
  sha1: boolean;
  /**
   * The number of different keys, or null if the kind doesn't know it (bloom, counting): see `estimatedCount`. A cuckoo
   * filter knows only how often keys were added: one that was added twice counts twice.
   */
  count: number | null;
  /**
   * The number of keys that the filter is made for. For bloom and counting, this many keys set half of the bits; for
   * cuckoo, they fill 95 % of the slots; for ribbon, it is the number of keys. Null for scalable, which grows. For a
   * foreign filter it is computed as for bloom, or from the size of its fixed set.
   */
  capacity: number | null;
  /**
   * The false-positive rate at that capacity, 0 to 1; the present rate is `estimatedFpr`. For a foreign filter it is
   * the present rate, because its bytes don't tell how many keys it was made for. It is the rate per key; for a list of
   * URLs whose keys have two rates, their mean.
   */
  fpr: number;
  /** With the profile `url`, the chance that a typical URL which isn't on the list is "maybe present"; otherwise null. */
  urlFpr: number | null;
  /**
   * With the profile `url`, the highest such chance for any URL that a browser opens; otherwise null. For a URL that
   * browsers may read in two ways, it is twice that.
   */
  maxUrlFpr: number | null;
  /** The number of bits of the filter. */
  bits: number;
  /** Hashes per key; null for scalable, cuckoo and ribbon, and for a foreign filter without a single number. */
  hashes: number | null;
  /** Bits of the whole blob per key (by `estimatedCount` if `count` is null), or null if there are no keys. */
  bitsPerKey: number | null;
  /** The length of the whole blob in bytes. */
  byteLength: number;
  /** The seed of the hash, in decimal: it has 64 bits, more than a JavaScript number can hold. */
  seed: string;
  /** Whether the digests depend on a secret, which isn't in the blob. */
  keyed: boolean;
  /**
   * The names of the tags that members may have, in the order of `tags(key)`, and how many members have each; null for
   * a filter without tags. `count` is null where the blob doesn't say. A name may have no members.
   */
  tags: { name: string; count: number | null }[] | null;
  /**
   * The number of layers over the base filter: those of updates and allowlists, and one if a list of URLs was built in
   * two groups.
   */
  layers: number;
  /**
   * The parameters of a foreign filter by their names; null for our own kinds. One that is an option of `decode`, such
   * as `funnel`, has its name.
   */
  foreign: { [parameter: string]: string | number } | null;
  /** The name that the builder gave, or null. */
  name: string | null;
  /** The creation time that the builder gave, in milliseconds since 1970, or null. */
  createdAt: number | null;
  /** The blob's checksum in 16 hexadecimal digits. It tells blobs apart. */
  id: string;
}
