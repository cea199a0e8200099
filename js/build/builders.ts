/** Filters that can be built and changed. */

import type { DigestList, Filter as RawFilter } from "../bloom_wasm.js";
import {
  asText,
  attempt,
  invalidParameter,
  iterable,
  type Key,
  requireType,
  TAG_NAME,
  typeName,
} from "../boundary/input.js";
import { handled } from "../boundary/stream.js";
import { Filter, type FilterClass, hold, isFilter } from "../filter/filter.js";
import type { DecodeOptions, LoadOptions } from "../filter/reading.js";
import type { Source } from "../filter/receive.js";
import { engineFor, rawOf, type WasmEngine, wasmOf, wrongKind } from "../wasm/engine.js";
import { ask, call } from "../wasm/instance.js";
import { decodeOwn, loadOwn } from "../wasm/load.js";
import { put } from "../wasm/scratch.js";
import { type KeyStream, pushSource } from "./keystream.js";
import { List } from "./lists.js";
import {
  type AllOptions,
  type BuildOptions,
  type CountingOptions,
  type GrowthOptions,
  type Options,
  readOptions,
  requireKnown,
  type ScalableOptions,
  type SeedOptions,
  type StreamOptions,
  type TaggedOptions,
} from "./options.js";
import { optimal } from "./params.js";

function notNew(maker: string): never {
  throw invalidParameter(`make a filter of this kind with ${maker}`);
}

/** Combines two filters into the first. Rust refuses those that differ. */
function combine(filter: OwnFilter, other: OwnFilter, how: "union" | "intersect"): void {
  rawOf(filter); // throws for a freed filter, whatever the other is
  if (!isFilter(other)) throw invalidParameter(`the other filter must be a filter, not ${typeName(other)}`);
  // Both first: the prototypes may be Proxies, whose traps run any code.
  const [mine, theirs] = [wasmOf(filter), wasmOf(other)];
  const [raw, otherRaw] = [mine.raw, theirs.raw];
  // A filter may be combined with itself: a counting filter then holds every key twice as often.
  call(() => raw[how](otherRaw));
}

/** Adds all keys that `push` puts on the list, and returns how many were new. */
function addAll(filter: Filter, push: (list: List) => void): number {
  const list = List.forFilter(wasmOf(filter));
  try {
    push(list);
    // Ask again: the caller's iterator may have freed the filter.
    return list.addTo(wasmOf(filter));
  } finally {
    list.free();
  }
}

function withList(kind: string, options: Options, run: (list: List) => WasmEngine): WasmEngine {
  const list = List.forKind(kind, options);
  try {
    return run(list);
  } finally {
    list.free();
  }
}

function build(kind: string, keys: Iterable<Key>, options?: AllOptions): Filter {
  requireKnown(options, "from", kind);
  const engine = withList(kind, readOptions(options), (list) => {
    for (const key of iterable(keys)) list.push(key);
    return list.build();
  });
  return ownFilter(engine);
}

async function buildStream(kind: string, source: KeyStream, options?: AllOptions & StreamOptions): Promise<Filter> {
  handled(source);
  requireKnown(options, "fromStream", kind);
  const list = List.forKind(kind, readOptions(options));
  try {
    await pushSource(list, source, options);
    return ownFilter(list.build());
  } finally {
    list.free();
  }
}

/** An empty filter. */
function empty(kind: string, options: AllOptions | undefined, make: (digests: DigestList) => RawFilter): WasmEngine {
  requireKnown(options, "an empty filter", kind);
  return withList(kind, readOptions(options), (list) => list.make(make));
}

/** A filter of our own kinds. */
abstract class OwnFilter extends Filter {
  /**
   * Like the function `decode`, but throws `wrong_kind` unless the blob is of this class's kind. Called on your own
   * subclass, it returns an instance of that.
   */
  static decode<F extends Filter>(
    this: { readonly prototype: F },
    bytes: Uint8Array | ArrayBuffer,
    options?: DecodeOptions,
  ): F {
    requireClass(this, "decode");
    return filterAs(decodeOwn(bytes, options), this) as unknown as F;
  }

  /** Like the function `load`, but only for a blob of this class's kind, as {@link decode}. */
  static async load<F extends Filter>(
    this: { readonly prototype: F },
    source: Source,
    options: LoadOptions = {},
  ): Promise<F> {
    handled(source);
    requireClass(this, "load");
    return (await loadOwn(source, options, (engine) => filterAs(engine, this))) as unknown as F;
  }
}

/** Throws unless a static method was called on a class. */
function requireClass(value: unknown, method: string): asserts value is FilterClass {
  if (typeof value !== "function" || !Object(value).prototype)
    throw invalidParameter(`${method} must be called on a class`);
}

const addKey = (raw: RawFilter, length: number) => raw.addRawAt(length) ?? raw.addAt(length);

/** A filter that keys can be added to. Keys are read by its profile: as URLs, passwords or bytes. */
abstract class GrowingFilter extends OwnFilter {
  /**
   * Adds a key. True = it was definitely not there before; false = it may have been. If a cuckoo or scalable filter has
   * no room, this throws `filter_full` and leaves the filter unchanged.
   */
  add(key: Key): boolean {
    return ask(addKey, rawOf(this), put(key));
  }

  /**
   * Adds all of the keys, or none of them if one is invalid or there is no room. Returns how many were definitely not
   * there before.
   */
  addMany(keys: Iterable<Key>): number {
    return addAll(this, (list) => {
      for (const key of iterable(keys)) list.push(key);
    });
  }

  /** Like {@link addMany}, for each line of a UTF-8 text that isn't blank. A byte order mark before the first is dropped. */
  addLines(text: Uint8Array): number {
    return addAll(this, (list) => list.pushLines(asText(text)));
  }

  /** Removes all keys. */
  clear(): void {
    wasmOf(this).call((raw) => raw.clear());
  }
}

// Outside the classes: a bundler would rename a class that names itself.
const emptyBloom = (...args: ConstructorParameters<typeof BloomFilter>) => new BloomFilter(...args);
const emptyCounting = (...args: ConstructorParameters<typeof CountingBloomFilter>) => new CountingBloomFilter(...args);

/** Throws for anything but numbers, and for the rate that other packages take in place of the hashes. */
function requireShape(bits: number, hashes: number): void {
  requireType("number", { bits, hashes });
  if (hashes > 0 && hashes < 1)
    throw invalidParameter("hashes must be a whole number; for a number of keys and a rate, use withCapacity");
}

/** A classic Bloom filter: keys can be added at any time and never removed. */
export class BloomFilter extends GrowingFilter {
  /**
   * An empty filter of a given shape.
   * @param bits 1 to 2^32 - 1 (512 MiB)
   * @param hashes 1 to 64 for each key
   */
  constructor(bits: number, hashes: number, options?: SeedOptions) {
    requireShape(bits, hashes);
    super(empty("bloom", options, (digests) => digests.empty(bits, hashes)));
  }

  override get kind(): "bloom" {
    return super.kind as "bloom";
  }

  /** An empty filter with room for `count` keys at a false-positive rate of `fpr`. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions): BloomFilter {
    const { bits, hashes } = optimal(count, fpr);
    return emptyBloom(bits, hashes, options);
  }

  /** Builds a filter from keys, sized for the number of distinct ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions): BloomFilter {
    return build("bloom", keys, options) as BloomFilter;
  }

  /**
   * Builds a filter from a stream of keys, sized for the number of distinct ones. A web or Node stream of bytes is read
   * as UTF-8 text with one key per line; blank lines are skipped. Anything else that can be iterated is read as keys.
   */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<BloomFilter> {
    return buildStream("bloom", source, options) as Promise<BloomFilter>;
  }

  /** Adds every key of another filter. Throws `incompatible` unless both have the same bits, hashes, seed and secret. */
  union(other: BloomFilter): void {
    combine(this, other, "union");
  }

  /**
   * Keeps the bits that both filters have, so keys that are in both stay. Throws `incompatible` unless both have the
   * same bits, hashes, seed and secret. The false-positive rate may be above that of a filter built from the common keys alone.
   */
  intersect(other: BloomFilter): void {
    combine(this, other, "intersect");
  }

  /** The positions of the bits that a key sets and tests. There are `hashes` of them, and some may be equal. */
  locations(key: Key): number[] {
    return ask((raw, length) => raw.locationsAt(length), rawOf(this), put(key));
  }
}

/** A Bloom filter with counters instead of bits, so that keys can be removed again. */
export class CountingBloomFilter extends GrowingFilter {
  /**
   * An empty filter of a given shape.
   * @param bits the number of counters, 1 to 2^32 - 1
   * @param hashes 1 to 64 for each key
   */
  constructor(bits: number, hashes: number, options?: SeedOptions & CountingOptions) {
    requireShape(bits, hashes);
    super(empty("counting", options, (digests) => digests.empty(bits, hashes)));
  }

  override get kind(): "counting" {
    return super.kind as "counting";
  }

  /** An empty filter with room for `count` keys at a false-positive rate of `fpr`. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions & CountingOptions): CountingBloomFilter {
    const { bits, hashes } = optimal(count, fpr);
    return emptyCounting(bits, hashes, options);
  }

  /** Builds a filter from keys, sized for the number of distinct ones. Each is added once. */
  static from(keys: Iterable<Key>, options?: BuildOptions & CountingOptions): CountingBloomFilter {
    return build("counting", keys, options) as CountingBloomFilter;
  }

  /** Like {@link BloomFilter.fromStream}. */
  static fromStream(
    source: KeyStream,
    options?: BuildOptions & CountingOptions & StreamOptions,
  ): Promise<CountingBloomFilter> {
    return buildStream("counting", source, options) as Promise<CountingBloomFilter>;
  }

  /**
   * Undoes one addition of a key. False = it was definitely not there, and nothing is changed. Remove only what you
   * added: removing a false positive lowers the counters of other keys, and `has` may then deny those.
   */
  remove(key: Key): boolean {
    return ask((raw, length) => raw.removeAt(length), rawOf(this), put(key));
  }

  /**
   * How many times a key was added and not removed; other keys can make the number too high. The largest value, 15, or
   * 255 with 8-bit counters, means "that many or more".
   */
  count(key: Key): number {
    return ask((raw, length) => raw.countAt(length), rawOf(this), put(key));
  }

  /** The Bloom filter of the same keys. It is a quarter of the size, or an eighth with 8-bit counters. */
  toBloom(): BloomFilter {
    const raw = rawOf(this);
    return ownFilter(engineFor(() => raw.toBloom())) as BloomFilter;
  }

  /**
   * Adds every key of another filter, as many times as it was added there. Throws `incompatible` unless shape, seed and
   * secret are equal.
   */
  union(other: CountingBloomFilter): void {
    combine(this, other, "union");
  }

  /**
   * Keeps the lower of the two counters at each position. Throws `incompatible` unless shape, seed and secret are
   * equal.
   */
  intersect(other: CountingBloomFilter): void {
    combine(this, other, "intersect");
  }
}

/**
 * A Bloom filter that grows with its keys. Its false-positive rate stays below the target; before it wouldn't, `add`
 * throws `filter_full`. From 1,000 keys at a rate of 1e-6 that is after 16 million, and from a million after 511 million.
 */
export class ScalableBloomFilter extends GrowingFilter {
  /** An empty filter. */
  constructor(options?: ScalableOptions) {
    super(empty("scalable", options, (digests) => digests.build()));
  }

  override get kind(): "scalable" {
    return super.kind as "scalable";
  }

  /** Builds a filter from keys. It starts at the initial capacity, however many keys there are. */
  static from(keys: Iterable<Key>, options?: BuildOptions & GrowthOptions): ScalableBloomFilter {
    return build("scalable", keys, options) as ScalableBloomFilter;
  }

  /** Like {@link BloomFilter.fromStream}. */
  static fromStream(
    source: KeyStream,
    options?: BuildOptions & GrowthOptions & StreamOptions,
  ): Promise<ScalableBloomFilter> {
    return buildStream("scalable", source, options) as Promise<ScalableBloomFilter>;
  }
}

/** A cuckoo filter. Keys can be removed, and it is smaller than a counting filter, but it can get full. */
export class CuckooFilter extends GrowingFilter {
  private constructor() {
    super(notNew("withCapacity or from"));
  }

  override get kind(): "cuckoo" {
    return super.kind as "cuckoo";
  }

  /** An empty filter that holds `count` keys at a false-positive rate of at most `fpr`. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions): CuckooFilter {
    requireType("number", { count, fpr });
    return ownFilter(empty("cuckoo", options, (digests) => digests.withCapacity(count, fpr))) as CuckooFilter;
  }

  /** Builds a filter from keys, sized for the number of distinct ones. Each is added once. */
  static from(keys: Iterable<Key>, options?: BuildOptions): CuckooFilter {
    return build("cuckoo", keys, options) as CuckooFilter;
  }

  /** Like {@link BloomFilter.fromStream}. */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<CuckooFilter> {
    return buildStream("cuckoo", source, options) as Promise<CuckooFilter>;
  }

  /**
   * Removes one copy of a key; each addition stores one. True = there was one. Remove only what you added: another key
   * may have the same fingerprint in the same place, and then that key's copy is removed.
   */
  remove(key: Key): boolean {
    return ask((raw, length) => raw.removeAt(length), rawOf(this), put(key));
  }
}

/** A ribbon filter: read-only, and the smallest. At a million keys it is within 1 % of the smallest possible size. */
export class RibbonFilter extends OwnFilter {
  private constructor() {
    super(notNew("from"));
  }

  override get kind(): "ribbon" {
    return super.kind as "ribbon";
  }

  /** Builds a filter from keys. Repeated keys cost nothing, and the order doesn't matter. */
  static from(keys: Iterable<Key>, options?: BuildOptions): RibbonFilter {
    return build("ribbon", keys, options) as RibbonFilter;
  }

  /**
   * Builds a filter whose {@link tags} tell which lists a key is on. `lists` has the keys of each list under its name,
   * as in `{ phishing: keys, malware: others }`. A key may be on several lists; keys of the option `untagged` are on
   * none. There may be up to 255 lists. Their names have 1 to 255 bytes of UTF-8, without commas, control characters
   * and marks of direction. `tags` returns names in the order of the lists. JavaScript puts an object's names that are
   * whole numbers first, such as `10`; a `Map` keeps its order.
   */
  static fromTagged(
    lists: { [name: string]: Iterable<Key> } | ReadonlyMap<string, Iterable<Key>>,
    options?: BuildOptions & TaggedOptions,
  ): RibbonFilter {
    requireKnown(options, "fromTagged", "ribbon");
    const wanted = "lists must be an object or a Map with the keys of each list";
    const entries = attempt(wanted, () => {
      if (lists instanceof Map) return [...Map.prototype.entries.call(lists)] as [string, Iterable<Key>][];
      return typeof lists !== "object" || lists === null || Symbol.iterator in lists
        ? undefined
        : Object.entries(lists);
    });
    if (!entries) throw invalidParameter(`${wanted}, not ${typeName(lists)}`);
    const { untagged = [] } = Object(options) as TaggedOptions;
    const engine = withList("ribbon", readOptions(options), (list) => {
      for (const [name, keys] of entries) {
        if (typeof name !== "string")
          throw invalidParameter(`the name of a list must be a string, not ${typeName(name)}`);
        if (!TAG_NAME.test(name))
          throw invalidParameter(
            `the name of a tag must be text without commas, control characters and marks of direction: ${JSON.stringify(name)}`,
          );
        for (const key of iterable(keys)) list.push(key);
        list.tag(name);
      }
      for (const key of iterable(untagged)) list.push(key);
      return list.build(true);
    });
    return ownFilter(engine) as RibbonFilter;
  }

  /**
   * Like {@link BloomFilter.fromStream}. Building takes at most 32 bytes per key, besides the
   * result; keys of URLs take about 20 more if they are hosts, and 75 if they are pages.
   */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<RibbonFilter> {
    return buildStream("ribbon", source, options) as Promise<RibbonFilter>;
  }
}

/** The class for each kind of our own. */
const CLASSES: { [kind: string]: FilterClass } = {
  bloom: BloomFilter,
  counting: CountingBloomFilter,
  scalable: ScalableBloomFilter,
  cuckoo: CuckooFilter,
  ribbon: RibbonFilter,
};

/**
 * A filter of the class for its kind, which is one of our own.
 * @internal
 */
export function ownFilter(engine: WasmEngine): Filter {
  const found = CLASSES[engine.kind];
  if (found === undefined) throw wrongKind(engine);
  return hold(engine, found);
}

/** A filter of a class that a method was called on, which is ours or extends it. Throws `wrong_kind` for another kind. */
function filterAs(engine: WasmEngine, wanted: FilterClass): Filter {
  const found = CLASSES[engine.kind]?.prototype;
  if (
    found === undefined ||
    !(wanted.prototype === found || Object.prototype.isPrototypeOf.call(found, wanted.prototype))
  )
    throw wrongKind(engine);
  return hold(engine, wanted);
}
