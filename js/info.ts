/** The description of a filter. */

/** A description of a filter: a plain object that can go into JSON. It never has the bits themselves. */
export interface FilterInfo {
  /** The kind of filter. */
  kind: "bloom" | "counting" | "scalable" | "cuckoo" | "ribbon";
  /** What the keys are: `raw` = bytes as given, `url` = host and path expressions of URLs, `password` = passwords. */
  profile: "raw" | "url" | "password";
  /** The number of different keys, or null if the kind doesn't know it (bloom, counting): see `estimatedCount`. */
  count: number | null;
  /**
   * The number of keys that the filter is made for. For bloom and counting, this many keys set half of the bits; for
   * cuckoo, they fill 95 % of the slots; for ribbon, it is the number of keys. Null for scalable, which grows.
   */
  capacity: number | null;
  /** The false-positive rate at that capacity, 0 to 1. The present rate is `estimatedFpr`. */
  fpr: number;
  /** The number of bits of the filter. */
  bits: number;
  /** Hashes per key; null for scalable, cuckoo and ribbon. */
  hashes: number | null;
  /** Bits of the whole blob per key (by `estimatedCount` if `count` is null), or null if there are no keys. */
  bitsPerKey: number | null;
  /** The length of the whole blob in bytes. */
  byteLength: number;
  /** The seed of the hash, in decimal: it has 64 bits, more than a JavaScript number can hold. */
  seed: string;
  /** The number of layers over the base filter. */
  layers: number;
  /** The name that the builder gave, or null. */
  name: string | null;
  /** The creation time that the builder gave, in milliseconds since 1970, or null. */
  createdAt: number | null;
  /** The blob's checksum in 16 hexadecimal digits. It tells blobs apart. */
  id: string;
}
