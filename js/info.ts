/** What a filter says of itself. */

/** The kinds, in the order of their numbers in a blob, which begin at 1. */
export const kinds = ["bloom", "counting", "scalable", "cuckoo", "ribbon"] as const;

/** The profiles, in the order of their numbers in a blob, which begin at 0. */
export const profiles = ["raw", "url", "password"] as const;

/** What is added to the number of the profile `password`. */
export const [LOWERCASE, SHA1] = [4, 8];

/** A description of a filter: a plain object that can go into JSON; never the bits themselves. */
export interface FilterInfo {
  /** The kind of filter. */
  kind: (typeof kinds)[number];
  /** What the keys are: `raw` = bytes as they are given, `url` = expressions of URLs, `password` = passwords. */
  profile: (typeof profiles)[number];
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

let last: FilterInfo;

/** Null for the NaN that WebAssembly sends in place of a number that it hasn't. */
function orNull(number: number): number | null {
  return Number.isNaN(number) ? null : number;
}

/** Called by WebAssembly, with what it knows in the order of {@link FilterInfo}. */
export function takeInfo(
  kind: FilterInfo["kind"],
  profile: FilterInfo["profile"],
  count: number,
  capacity: number,
  fpr: number,
  bits: number,
  hashes: number,
  bitsPerKey: number,
  byteLength: number,
  seed: bigint,
  layers: number,
  name: string | undefined,
  createdAt: number,
  id: bigint,
): void {
  last = {
    kind,
    profile,
    count: orNull(count),
    capacity: orNull(capacity),
    fpr,
    bits,
    hashes: orNull(hashes),
    bitsPerKey: orNull(bitsPerKey),
    byteLength,
    seed: String(seed),
    layers,
    name: name ?? null,
    createdAt: orNull(createdAt),
    id: id.toString(16).padStart(16, "0"),
  };
}

/** What WebAssembly has handed over last. */
export function takenInfo(): FilterInfo {
  return last;
}
