/** Filters that are built and changed: classes on top of the reader's. */

import type { Digests, Filter as RawFilter } from "./bloom_wasm.js";
import { call, enter, leave, release, stopped } from "./call.js";
import { FilterError } from "./error.js";
import { classes, Filter, hold, rawOf } from "./filter.js";
import { invalidParameter, isA, iterable, type Key, requireType, typeName } from "./input.js";
import { type KeyStream, pushSource } from "./keystream.js";
import { List } from "./lists.js";
import {
  type AllOptions,
  type BuildOptions,
  type CountingOptions,
  type GrowthOptions,
  type Options,
  readOptions,
  type ScalableOptions,
  type SeedOptions,
  type StreamOptions,
} from "./options.js";
import { optimal } from "./params.js";
import { put } from "./scratch.js";

function notNew(maker: string): never {
  throw invalidParameter(`make a filter of this kind with ${maker}`);
}

/** Two filters of one class into the first of them. */
function combine<F extends Filter>(filter: F, other: F, how: "union" | "intersect"): void {
  const raw = rawOf(filter);
  const kind = classes[filter.kind]!;
  if (!isA(other, kind)) {
    throw invalidParameter(`the other filter must be of kind ${filter.kind}, not ${typeName(other)}`);
  }
  // With itself: a counting filter then holds every key twice as often. And nothing is borrowed twice.
  const otherRaw = rawOf(other);
  const copy = otherRaw === raw ? call(() => raw.clone()) : undefined;
  try {
    call(() => raw[how](copy ?? otherRaw));
  } finally {
    release(copy);
  }
}

/** Adds all keys that `push` puts on the list. */
function addAll(filter: Filter, push: (list: List) => void): number {
  const list = List.forFilter(rawOf(filter));
  try {
    push(list);
    // Anew: the caller's iterator may have freed it.
    return list.addTo(rawOf(filter));
  } finally {
    list.free();
  }
}

function withList(kind: string, options: Options, run: (list: List) => RawFilter): RawFilter {
  const list = List.forKind(kind, options);
  try {
    return run(list);
  } finally {
    list.free();
  }
}

function build(kind: string, keys: Iterable<Key>, options?: AllOptions): Filter {
  const raw = withList(kind, readOptions(options), (list) => {
    for (const key of iterable(keys)) list.push(key);
    return list.build();
  });
  return hold(raw);
}

async function buildStream(kind: string, source: KeyStream, options?: AllOptions & StreamOptions): Promise<Filter> {
  const list = List.forKind(kind, readOptions(options));
  try {
    await pushSource(list, source, options);
    return hold(list.build());
  } finally {
    list.free();
  }
}

/** An empty filter, whose options are those of its constructor and no others. */
function empty(kind: string, options: AllOptions | undefined, make: (digests: Digests) => RawFilter): RawFilter {
  const read = readOptions(options);
  for (const name of ["profile", "allow", "name", "createdAt"] as const) {
    if (read[name] !== undefined) throw invalidParameter(`${name} goes with from and fromStream`);
  }
  return withList(kind, read, ({ digests }) => call(() => make(digests)));
}

/** A filter that takes keys after it was made. Keys are read as its builder reads them: URLs, passwords, or bytes. */
abstract class GrowingFilter extends Filter {
  /**
   * Adds a key. True = it was definitely not there before; false = it may have been. A cuckoo or scalable filter that
   * has no room throws `filter_full` and is unchanged.
   */
  add(key: Key): boolean {
    const length = put(key);
    const raw = rawOf(this);
    // As in `has`.
    enter();
    try {
      const answer = raw.addKey(length) ?? raw.add(length);
      leave();
      return answer;
    } catch (error) {
      if (!(error instanceof FilterError)) {
        stopped.cause = error;
        throw stopped;
      }
      leave();
      throw error;
    }
  }

  /**
   * Adds all of the keys, or none if one of them is invalid or there is no room. Returns how many were definitely not
   * there before.
   */
  addMany(keys: Iterable<Key>): number {
    return addAll(this, (list) => {
      for (const key of iterable(keys)) list.push(key);
    });
  }

  /** Adds each line of a UTF-8 text that isn't blank, as {@link addMany}. */
  addLines(text: Uint8Array): number {
    return addAll(this, (list) => list.pushLines(text));
  }

  /** Forgets every key. */
  clear(): void {
    const raw = rawOf(this);
    call(() => raw.clear());
  }
}

// Beside the classes, which a bundler would rename if they named themselves.
const emptyBloom = (...args: ConstructorParameters<typeof BloomFilter>) => new BloomFilter(...args);
const emptyCounting = (...args: ConstructorParameters<typeof CountingBloomFilter>) => new CountingBloomFilter(...args);

/** A classic Bloom filter: keys can be added at any time and never removed. */
export class BloomFilter extends GrowingFilter {
  /**
   * An empty filter of a given shape.
   * @param bits 1 to 2^32 - 1 (512 MiB)
   * @param hashes 1 to 64 for each key
   */
  constructor(bits: number, hashes: number, options?: SeedOptions) {
    requireType("number", { bits, hashes });
    super(empty("bloom", options, (digests) => digests.empty(bits, hashes)));
  }

  /** An empty filter that `count` keys fill to a false-positive rate of `fpr`. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions): BloomFilter {
    const { bits, hashes } = optimal(count, fpr);
    return emptyBloom(bits, hashes, options);
  }

  /** The filter of some keys, sized by the number of different ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions): BloomFilter {
    return build("bloom", keys, options) as BloomFilter;
  }

  /**
   * The filter of a stream of keys, sized by the number of different ones. A stream of bytes is read as UTF-8 text
   * with one key a line, blank lines skipped, and so is a stream of Node's; anything else that can be iterated is read
   * as keys.
   */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<BloomFilter> {
    return buildStream("bloom", source, options) as Promise<BloomFilter>;
  }

  /** Adds every key of another filter with the same bits, hashes and seed; else it throws `incompatible`. */
  union(other: BloomFilter): void {
    combine(this, other, "union");
  }

  /**
   * Keeps what both filters have; they need the same bits, hashes and seed, else it throws `incompatible`. Keys in
   * both stay. The false-positive rate may be above that of a filter built from the common keys alone.
   */
  intersect(other: BloomFilter): void {
    combine(this, other, "intersect");
  }

  /** The positions of the bits that a key sets and tests, `hashes` of them, some of which may be equal. */
  locations(key: Key): number[] {
    const length = put(key);
    const raw = rawOf(this);
    return call(() => raw.locations(length));
  }
}

/** A Bloom filter with counters in place of bits, so that keys can be removed again. */
export class CountingBloomFilter extends GrowingFilter {
  /**
   * An empty filter of a given shape.
   * @param bits the number of counters, 1 to 2^32 - 1
   * @param hashes 1 to 64 for each key
   */
  constructor(bits: number, hashes: number, options?: SeedOptions & CountingOptions) {
    requireType("number", { bits, hashes });
    super(empty("counting", options, (digests) => digests.empty(bits, hashes)));
  }

  /** An empty filter that `count` keys fill to a false-positive rate of `fpr`. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions & CountingOptions): CountingBloomFilter {
    const { bits, hashes } = optimal(count, fpr);
    return emptyCounting(bits, hashes, options);
  }

  /** The filter of some keys, each added once, sized by the number of different ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions & CountingOptions): CountingBloomFilter {
    return build("counting", keys, options) as CountingBloomFilter;
  }

  /** As {@link BloomFilter.fromStream}. */
  static fromStream(
    source: KeyStream,
    options?: BuildOptions & CountingOptions & StreamOptions,
  ): Promise<CountingBloomFilter> {
    return buildStream("counting", source, options) as Promise<CountingBloomFilter>;
  }

  /**
   * Undoes one addition of a key. False = it was definitely not there, and nothing is changed. Remove only what was
   * added: removing a false positive takes from the counters of keys that are there, and `has` may then deny them.
   */
  remove(key: Key): boolean {
    const length = put(key);
    const raw = rawOf(this);
    return call(() => raw.remove(length));
  }

  /** How many times a key was added and not removed, or more. 15, or 255 with 8 bits, means "so many or more". */
  count(key: Key): number {
    const length = put(key);
    const raw = rawOf(this);
    return call(() => raw.count(length));
  }

  /** The Bloom filter of the same keys, which is a quarter or an eighth of the size. */
  toBloom(): BloomFilter {
    const raw = rawOf(this);
    return hold(call(() => raw.toBloom())) as BloomFilter;
  }

  /** Adds every key of another filter of the same shape and seed, as often as it is there; else `incompatible`. */
  union(other: CountingBloomFilter): void {
    combine(this, other, "union");
  }

  /** Keeps the lesser of each two counters; the filters need the same shape and seed, else `incompatible`. */
  intersect(other: CountingBloomFilter): void {
    combine(this, other, "intersect");
  }
}

/** A Bloom filter that grows with its keys: its false-positive rate stays below the target however many there are. */
export class ScalableBloomFilter extends GrowingFilter {
  /** An empty filter. */
  constructor(options?: ScalableOptions) {
    super(empty("scalable", options, (digests) => digests.build()));
  }

  /** The filter of some keys. It starts at the initial capacity, whatever their number. */
  static from(keys: Iterable<Key>, options?: BuildOptions & GrowthOptions): ScalableBloomFilter {
    return build("scalable", keys, options) as ScalableBloomFilter;
  }

  /** As {@link BloomFilter.fromStream}. */
  static fromStream(
    source: KeyStream,
    options?: BuildOptions & GrowthOptions & StreamOptions,
  ): Promise<ScalableBloomFilter> {
    return buildStream("scalable", source, options) as Promise<ScalableBloomFilter>;
  }
}

/** A cuckoo filter: keys can be removed, and it is smaller than a counting filter, but it gets full. */
export class CuckooFilter extends GrowingFilter {
  private constructor() {
    super(notNew("withCapacity or from"));
  }

  /** An empty filter that takes `count` keys, at a false-positive rate of at most `fpr` then. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions): CuckooFilter {
    requireType("number", { count, fpr });
    return hold(empty("cuckoo", options, (digests) => digests.withCapacity(count, fpr))) as CuckooFilter;
  }

  /** The filter of some keys, each added once, sized by the number of different ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions): CuckooFilter {
    return build("cuckoo", keys, options) as CuckooFilter;
  }

  /** As {@link BloomFilter.fromStream}. */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<CuckooFilter> {
    return buildStream("cuckoo", source, options) as Promise<CuckooFilter>;
  }

  /**
   * Removes one copy of a key: each addition stores one. True = there was one. Remove only what was added: another key
   * may have the same fingerprint in the same place, and then its copy is the one that goes.
   */
  remove(key: Key): boolean {
    const length = put(key);
    const raw = rawOf(this);
    return call(() => raw.remove(length));
  }
}

/** A ribbon filter: read-only and the smallest, within 1 % of what is possible at a million keys. */
export class RibbonFilter extends Filter {
  private constructor() {
    super(notNew("from"));
  }

  /** The filter of some keys; repeated ones cost nothing, and their order doesn't matter. */
  static from(keys: Iterable<Key>, options?: BuildOptions): RibbonFilter {
    return build("ribbon", keys, options) as RibbonFilter;
  }

  /** As {@link BloomFilter.fromStream}. Building takes 32 bytes a key at most, beside the result. */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<RibbonFilter> {
    return buildStream("ribbon", source, options) as Promise<RibbonFilter>;
  }
}

Object.assign(classes, {
  bloom: BloomFilter,
  counting: CountingBloomFilter,
  scalable: ScalableBloomFilter,
  cuckoo: CuckooFilter,
  ribbon: RibbonFilter,
});
