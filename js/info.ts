/** What a filter says of itself. */

/** A description of a filter: a plain object that can go into JSON; never the bits themselves. */
export interface FilterInfo {
  /** The kind of filter. */
  kind: "bloom" | "counting" | "scalable" | "cuckoo" | "ribbon";
  /** What the keys are: `raw` = bytes as they are given, `url` = expressions of URLs, `password` = passwords. */
  profile: "raw" | "url" | "password";
  /** The number of different keys; null where the structure doesn't know it (bloom, counting): see `estimatedCount`. */
  count: number | null;
  /**
   * The number of keys that the structure is best at: bloom and counting, the one that sets half of the bits; cuckoo,
   * 95 % of the slots; ribbon, the keys that it was built from; null for scalable, which grows.
   */
  capacity: number | null;
  /** The false-positive rate at that capacity, 0 to 1. The present one is `estimatedFpr`. */
  fpr: number;
  /** Bits in the structure. */
  bits: number;
  /** Hashes for each key; null for scalable, cuckoo and ribbon. */
  hashes: number | null;
  /** Bits of the whole blob for each key in it (by the estimate, where `count` is null); null for no keys. */
  bitsPerKey: number | null;
  /** Bytes of the whole blob. */
  byteLength: number;
  /** The seed of the hash in decimal: it has 64 bits, more than a JavaScript number holds. */
  seed: string;
  /** Layers on top of the base. */
  layers: number;
  /** The name that the builder gave. */
  name: string | null;
  /** The time that the builder gave, in milliseconds since 1970. */
  createdAt: number | null;
  /** Sixteen hexadecimal digits that tell blobs apart: the blob's checksum. */
  id: string;
}
