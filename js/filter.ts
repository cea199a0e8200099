/// <reference lib="esnext.disposable" preserve="true" />
/** The filters, as JavaScript classes over what WebAssembly holds. */

import { FilterError, checked, refusal } from "./error.js";
import { LOWERCASE, SHA1, kinds, profiles, takenInfo, type FilterInfo } from "./info.js";
import { eachEntry, sinkOf, withAllowed, type Sink } from "./lists.js";
import { Batch, Digests, arrive, iterable, put, putLines, taken, typeName, wasm, withDigests, type Key, type Slot } from "./memory.js";
import {
  checkBits,
  checkCount,
  checkFpr,
  checkHashes,
  checkOptions,
  type BuildOptions,
  type Checked,
  type CountingOptions,
  type GrowthOptions,
  type ScalableOptions,
  type SkipReason,
  type SeedOptions,
  type StreamOptions,
} from "./options.js";
import { optimal } from "./params.js";
import { normalized } from "./password.js";
import { pushSource, type KeyStream } from "./stream.js";
import { withUrl } from "./url.js";

// The numbers of the kinds in a blob.
const BLOOM = 1;
const COUNTING = 2;
const SCALABLE = 3;
const CUCKOO = 4;
const RIBBON = 5;

/** @internal Every filter's slot; a freed one has none. */
const SLOT = Symbol("slot");

/** @internal What the keys are, as the blob has it: asking WebAssembly for it each time would take as long as a query. */
const PROFILE = Symbol("profile");

/** Frees what is no longer used. */
function collect(slot: Slot): void {
  try {
    wasm.free(slot);
  } catch {
    // WebAssembly was left in the middle of a call, for want of stack; there is nobody here to tell.
  }
}

// Workers with a compatibility date before May 2025 have none: there only free() frees.
const registry = globalThis.FinalizationRegistry && new FinalizationRegistry<Slot>(collect);

function slotOf(filter: Filter): Slot {
  const slot = filter[SLOT];
  if (slot === undefined) throw new FilterError("freed", "this filter was freed");
  return slot;
}

/** The slot of a filter that is to be changed. */
function changing(filter: Filter): Slot {
  if (FULL) return slotOf(filter);
  throw refusal();
}

/** The profile's number, if the profile is this one. */
function checkProfile(filter: Filter, profile: FilterInfo["profile"]): number {
  slotOf(filter);
  const found = profiles[filter[PROFILE] & 3];
  if (found === profile) return filter[PROFILE];
  throw new FilterError("wrong_profile", `the filter was built with the profile ${found}, not ${profile}`);
}

/** A key as it is in the filter. A line that holds none throws `invalid_key`, as one that holds several. */
function ownKey(filter: Filter, key: Key): Key {
  if (FULL && filter[PROFILE] > 0) {
    const keys: Key[] = [];
    eachEntry(key, optionsOf(filter), ([own]) => keys.push(own!));
    if (keys.length === 1) return keys[0]!;
    throw new FilterError("invalid_key", `one key was wanted, and there are ${keys.length}`);
  }
  return key;
}

/** Adds all that `push` hands to the sink. */
function addAll(filter: Filter, push: (sink: Sink) => void): number {
  if (FULL) {
    return withDigests(wasm.seed(slotOf(filter)), (digests) => {
      push(sinkOf(digests, optionsOf(filter)));
      return checked(wasm.add_digests(slotOf(filter), digests.flush().slot));
    });
  }
  throw refusal();
}

/** The options of the filter's builder, as far as they say what keys are; a line without one throws. */
function optionsOf(filter: Filter): Checked {
  const number = filter[PROFILE];
  const onSkip = ({ reason }: { reason: SkipReason }) => {
    throw new FilterError("invalid_key", `this gives no key: ${reason}`);
  };
  const [lowercase, sha1Hex] = [(number & LOWERCASE) > 0, (number & SHA1) > 0];
  return { ...checkOptions(), profile: profiles[number & 3]!, lowercase, sha1Hex, onSkip };
}

/** Gives an object its slot. */
function hold<F extends Filter>(filter: F, slot: Slot): F {
  filter[SLOT] = slot;
  filter[PROFILE] = wasm.profile(slot);
  registry?.register(filter, slot, filter);
  return filter;
}

/** The object for a slot, of the class of its kind, without running a public constructor. */
function wrap(slot: Slot): Filter {
  const classes = [BloomFilter, CountingBloomFilter, ScalableBloomFilter, CuckooFilter, RibbonFilter];
  return hold(Object.create(classes[wasm.kind(slot) - 1]!.prototype) as Filter, slot);
}

// What only bloom-wasm/full does stands in an `if (FULL)`, which the bundler of the other takes out with all that it uses.

/** An empty filter. `size` is bloom's and counting's bits, scalable's initial capacity, and cuckoo's count. */
function create(kind: number, size: number, hashes: number, options?: BuildOptions & CountingOptions & GrowthOptions): Slot {
  if (FULL) {
    for (const name of ["profile", "allow", "name", "createdAt"] as const) {
      if (options?.[name] !== undefined) throw new FilterError("invalid_parameter", `${name} goes with from and fromStream`);
    }
    const { counterBits, fpr, growth, tightening, seed } = checkOptions(options);
    return checked(wasm.create(kind, size, hashes, counterBits, fpr, growth, tightening, seed));
  }
  throw refusal();
}

/** The filter of some digests. */
function finish(kind: number, digests: Digests, options: Checked): Filter {
  const { fpr, counterBits, initialCapacity, growth, tightening, profileNumber, name, time } = options;
  const size = kind === COUNTING ? counterBits : initialCapacity;
  const filter = withAllowed(digests, options, (allowed) => {
    const [members, absent] = [digests.flush().slot, allowed ? allowed.slot : -1];
    return wrap(checked(wasm.build(members, absent, kind, fpr, size, growth, tightening, profileNumber)));
  });
  try {
    const length = put(name ?? "");
    checked(wasm.describe(slotOf(filter), name === undefined ? NaN : length, time));
    return filter;
  } catch (error) {
    filter.free();
    throw error;
  }
}

function build<F extends Filter>(kind: number, keys: Iterable<Key>, options?: BuildOptions): F {
  if (FULL) {
    const checkedOptions = checkOptions(options);
    return withDigests(checkedOptions.seed, (digests) => {
      const sink = sinkOf(digests, checkedOptions);
      for (const key of iterable(keys)) sink.push(key);
      return finish(kind, digests, checkedOptions) as F;
    });
  }
  throw refusal();
}

async function buildStream<F extends Filter>(
  kind: number,
  source: KeyStream,
  options?: BuildOptions & StreamOptions,
): Promise<F> {
  if (FULL) {
    const checkedOptions = checkOptions(options);
    const digests = new Digests(checkedOptions.seed);
    try {
      await pushSource(sinkOf(digests, checkedOptions), source, options);
      return finish(kind, digests, checkedOptions) as F;
    } finally {
      digests.free();
    }
  }
  throw refusal();
}

/** A membership filter of any kind. "Maybe present" may be wrong, at a known rate; "definitely absent" never is. */
export abstract class Filter {
  /** @internal */
  declare [SLOT]: Slot | undefined;

  /** @internal */
  declare [PROFILE]: number;

  /** The kind of filter. */
  get kind(): FilterInfo["kind"] {
    return kinds[wasm.kind(slotOf(this)) - 1]!;
  }

  /** Asks for a key: true = maybe present, false = definitely absent. */
  has(key: Key): boolean {
    const slot = slotOf(this);
    return wasm.has(slot, put(key)) > 0;
  }

  /** Whether at least one of the keys is maybe present. Stops at the first that is; false for no keys. */
  hasAny(keys: Iterable<Key>): boolean {
    for (const key of iterable(keys)) if (this.has(key)) return true;
    return false;
  }

  /** Whether all of the keys are maybe present. Stops at the first that isn't; true for no keys. */
  hasAll(keys: Iterable<Key>): boolean {
    for (const key of iterable(keys)) if (!this.has(key)) return false;
    return true;
  }

  /** Asks for many keys in few crossings: one byte for each, 1 maybe present or 0 definitely absent. */
  hasMany(keys: Iterable<Key>): Uint8Array<ArrayBuffer> {
    slotOf(this); // of no keys at all, too
    const answers = checked(wasm.bytes_new());
    return taken(answers, () => {
      const batch = new Batch((count, length) => wasm.has_keys(slotOf(this), count, length, answers));
      for (const key of iterable(keys)) batch.push(key);
      batch.flush();
    });
  }

  /**
   * Asks for each line of a UTF-8 text in one crossing: one byte a line, 1 maybe present or 0 definitely absent.
   * Lines end at LF, one CR before it is dropped, a blank line answers 0, and a final LF starts no line.
   */
  hasLines(text: Uint8Array): Uint8Array<ArrayBuffer> {
    const slot = slotOf(this);
    const answers = checked(wasm.bytes_new());
    return taken(answers, () => putLines(text, (length) => wasm.has_lines(slot, length, answers)));
  }

  /**
   * Whether a URL, a host, or a host with a path is maybe on the list: see {@link matchUrl}.
   */
  hasUrl(url: string | URL): boolean {
    return this.matchUrl(url) !== null;
  }

  /**
   * Looks a URL up by all of its keys, as Safe Browsing does, and returns the first that is maybe present, such as
   * `evil.example/`; null if none is, or if the URL has no host to check. A filter that wasn't built with the profile
   * `url` throws `wrong_profile`.
   */
  matchUrl(url: string | URL): string | null {
    checkProfile(this, "url");
    return withUrl(url, (length, parsed) => wasm.match_url(slotOf(this), length, parsed)) || null;
  }

  /**
   * Whether a password is maybe on the list: the whole of it, as it was typed. It is normalised, and lower-cased and
   * hashed, as the filter's builder chose. A filter of another profile than `password` throws `wrong_profile`.
   */
  hasPassword(password: string): boolean {
    const profile = checkProfile(this, "password");
    if (typeof password !== "string") {
      throw new FilterError("invalid_key", `a password must be a string, not ${typeName(password)}`);
    }
    const length = put(normalized(password, (profile & LOWERCASE) > 0));
    return checked(wasm.has_password(slotOf(this), length)) > 0;
  }

  /** A description: a plain object that can go into JSON. */
  info(): FilterInfo {
    checked(wasm.info(slotOf(this)));
    return takenInfo();
  }

  /** The description, so that `JSON.stringify(filter)` shows it and never the bits. */
  toJSON(): FilterInfo {
    return this.info();
  }

  /** The chance that a key which was never added is "maybe present", 0 to 1, from the present fill. */
  get estimatedFpr(): number {
    return wasm.estimated_fpr(slotOf(this));
  }

  /** About how many different keys the filter holds; `Infinity` when it is too full to tell. */
  get estimatedCount(): number {
    return wasm.estimated_count(slotOf(this));
  }

  /** The blob: `decode(filter.toBytes())` answers as this filter does. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return taken(checked(wasm.encode(slotOf(this))));
  }

  /** Whether both are of the same kind with the same parameters and contents. Name and creation time don't count. */
  equals(other: Filter): boolean {
    if (!isFilter(other)) return false;
    const [slot, otherSlot] = [slotOf(this), slotOf(other)];
    return slot === otherSlot || checked(wasm.equals(slot, otherSlot)) > 0;
  }

  /** An independent copy. */
  clone(): this {
    return decode(this.toBytes()) as this;
  }

  /** Frees the memory now; otherwise it is freed some time after the object is collected. Using it then throws. */
  free(): void {
    const slot = this[SLOT];
    if (slot === undefined) return;
    this[SLOT] = undefined;
    registry?.unregister(this);
    wasm.free(slot);
  }

  /** As the function {@link decode}, but only for a blob of this class's kind; else it throws `wrong_kind`. */
  static decode<F extends Filter>(this: { readonly prototype: F }, bytes: Uint8Array | ArrayBuffer): F {
    const filter = decode(bytes);
    if (this.prototype.isPrototypeOf(filter)) return filter as F;
    const { kind } = filter;
    filter.free();
    throw new FilterError("wrong_kind", `the blob holds a filter of kind ${kind}`);
  }
}

/** `using filter = ...` frees it at the end of the block, where the runtime knows `Symbol.dispose`. */
export interface Filter extends Disposable {}
if (Symbol.dispose) Filter.prototype[Symbol.dispose] = Filter.prototype.free;

/** A filter that takes keys after it was made. Keys are read as its builder reads them: URLs, passwords, or bytes. */
abstract class GrowingFilter extends Filter {
  /**
   * Adds a key. True = it was definitely not there before; false = it may have been. A cuckoo or scalable filter that
   * has no room throws `filter_full` and is unchanged.
   */
  add(key: Key): boolean {
    const slot = changing(this);
    return checked(wasm.add(slot, put(ownKey(this, key)))) > 0;
  }

  /**
   * Adds all of the keys, or none if one of them is invalid or there is no room. Returns how many were definitely not
   * there before.
   */
  addMany(keys: Iterable<Key>): number {
    return addAll(this, (sink) => {
      for (const key of iterable(keys)) sink.push(key);
    });
  }

  /** Adds each line of a UTF-8 text that isn't blank, as {@link addMany}. */
  addLines(text: Uint8Array): number {
    return addAll(this, (sink) => sink.pushLines(text));
  }

  /** Forgets every key. */
  clear(): void {
    checked(wasm.clear(changing(this)));
  }
}

function notNew(maker: string): FilterError {
  return new FilterError("invalid_parameter", `make a filter of this kind with ${maker}`);
}

// Beside the classes, which a bundler would rename if they named themselves.
function isFilter(value: unknown): value is Filter {
  return value instanceof Filter;
}

/** Two filters of one class into the first of them. */
function combine<F extends Filter>(filter: F, other: F, union: boolean): void {
  if (!(other instanceof filter.constructor)) {
    throw new FilterError("invalid_parameter", `the other filter must be of kind ${filter.kind}, not ${typeName(other)}`);
  }
  if (changing(filter) !== slotOf(other)) return checked(wasm.combine(slotOf(filter), slotOf(other), Number(union)));
  // With itself: a counting filter then holds every key twice as often.
  const copy = other.clone();
  try {
    combine(filter, copy, union);
  } finally {
    copy.free();
  }
}

/** A classic Bloom filter: keys can be added at any time and never removed. */
export class BloomFilter extends GrowingFilter {
  /**
   * An empty filter of a given shape.
   * @param bits 1 to 2^32 - 1 (512 MiB)
   * @param hashes 1 to 64 for each key
   */
  constructor(bits: number, hashes: number, options?: SeedOptions) {
    super();
    if (FULL) hold(this, create(BLOOM, checkBits(bits), checkHashes(hashes), options));
    else throw refusal();
  }

  /** An empty filter that `count` keys fill to a false-positive rate of `fpr`. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions): BloomFilter {
    const { bits, hashes } = optimal(count, fpr);
    return wrap(create(BLOOM, bits, hashes, options)) as BloomFilter;
  }

  /** The filter of some keys, sized by the number of different ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions): BloomFilter {
    return build(BLOOM, keys, options);
  }

  /**
   * The filter of a stream of keys, sized by the number of different ones. A stream of bytes is read as UTF-8 text
   * with one key a line, blank lines skipped, and so is a stream of Node's; anything else that can be iterated is read
   * as keys.
   */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<BloomFilter> {
    return buildStream(BLOOM, source, options);
  }

  /** Adds every key of another filter with the same bits, hashes and seed; else it throws `incompatible`. */
  union(other: BloomFilter): void {
    combine(this, other, true);
  }

  /**
   * Keeps what both filters have; they need the same bits, hashes and seed, else it throws `incompatible`. Keys in
   * both stay. The false-positive rate may be above that of a filter built from the common keys alone.
   */
  intersect(other: BloomFilter): void {
    combine(this, other, false);
  }

  /** The positions of the bits that a key sets and tests, `hashes` of them, some of which may be equal. */
  locations(key: Key): number[] {
    const slot = changing(this);
    const bytes = taken(checked(wasm.locations(slot, put(key))));
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.byteLength / 4 }, (_, i) => view.getUint32(4 * i, true));
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
    super();
    if (FULL) hold(this, create(COUNTING, checkBits(bits), checkHashes(hashes), options));
    else throw refusal();
  }

  /** An empty filter that `count` keys fill to a false-positive rate of `fpr`. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions & CountingOptions): CountingBloomFilter {
    const { bits, hashes } = optimal(count, fpr);
    return wrap(create(COUNTING, bits, hashes, options)) as CountingBloomFilter;
  }

  /** The filter of some keys, each added once, sized by the number of different ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions & CountingOptions): CountingBloomFilter {
    return build(COUNTING, keys, options);
  }

  /** As {@link BloomFilter.fromStream}. */
  static fromStream(
    source: KeyStream,
    options?: BuildOptions & CountingOptions & StreamOptions,
  ): Promise<CountingBloomFilter> {
    return buildStream(COUNTING, source, options);
  }

  /**
   * Undoes one addition of a key. False = it was definitely not there, and nothing is changed. Remove only what was
   * added: removing a false positive takes from the counters of keys that are there, and `has` may then deny them.
   */
  remove(key: Key): boolean {
    const slot = changing(this);
    return checked(wasm.remove(slot, put(ownKey(this, key)))) > 0;
  }

  /** How many times a key was added and not removed, or more. 15, or 255 with 8 bits, means "so many or more". */
  count(key: Key): number {
    const slot = slotOf(this);
    return checked(wasm.count(slot, put(key)));
  }

  /** The Bloom filter of the same keys, which is a quarter or an eighth of the size. */
  toBloom(): BloomFilter {
    return wrap(checked(wasm.to_bloom(changing(this)))) as BloomFilter;
  }

  /** Adds every key of another filter of the same shape and seed, as often as it is there; else `incompatible`. */
  union(other: CountingBloomFilter): void {
    combine(this, other, true);
  }

  /** Keeps the lesser of each two counters; the filters need the same shape and seed, else `incompatible`. */
  intersect(other: CountingBloomFilter): void {
    combine(this, other, false);
  }
}

/** A Bloom filter that grows with its keys: its false-positive rate stays below the target however many there are. */
export class ScalableBloomFilter extends GrowingFilter {
  /** An empty filter. */
  constructor(options?: ScalableOptions) {
    super();
    if (FULL) hold(this, create(SCALABLE, checkOptions(options).initialCapacity, 0, options));
    else throw refusal();
  }

  /** The filter of some keys. It starts at the initial capacity, whatever their number. */
  static from(keys: Iterable<Key>, options?: BuildOptions & GrowthOptions): ScalableBloomFilter {
    return build(SCALABLE, keys, options);
  }

  /** As {@link BloomFilter.fromStream}. */
  static fromStream(
    source: KeyStream,
    options?: BuildOptions & GrowthOptions & StreamOptions,
  ): Promise<ScalableBloomFilter> {
    return buildStream(SCALABLE, source, options);
  }
}

/** A cuckoo filter: keys can be removed, and it is smaller than a counting filter, but it gets full. */
export class CuckooFilter extends GrowingFilter {
  private constructor() {
    super();
    throw notNew("withCapacity or from");
  }

  /** An empty filter that takes `count` keys, at a false-positive rate of at most `fpr` then. */
  static withCapacity(count: number, fpr: number, options?: SeedOptions): CuckooFilter {
    if (FULL) return wrap(create(CUCKOO, checkCount(count), 0, { ...options, fpr: checkFpr(fpr) })) as CuckooFilter;
    throw refusal();
  }

  /** The filter of some keys, each added once, sized by the number of different ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions): CuckooFilter {
    return build(CUCKOO, keys, options);
  }

  /** As {@link BloomFilter.fromStream}. */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<CuckooFilter> {
    return buildStream(CUCKOO, source, options);
  }

  /**
   * Removes one copy of a key: each addition stores one. True = there was one. Remove only what was added: another key
   * may have the same fingerprint in the same place, and then its copy is the one that goes.
   */
  remove(key: Key): boolean {
    const slot = changing(this);
    return checked(wasm.remove(slot, put(ownKey(this, key)))) > 0;
  }
}

/** A ribbon filter: read-only and the smallest, within 1 % of what is possible at a million keys. */
export class RibbonFilter extends Filter {
  private constructor() {
    super();
    throw notNew("from");
  }

  /** The filter of some keys; repeated ones cost nothing, and their order doesn't matter. */
  static from(keys: Iterable<Key>, options?: BuildOptions): RibbonFilter {
    return build(RIBBON, keys, options);
  }

  /** As {@link BloomFilter.fromStream}. Building takes 32 bytes a key at most, beside the result. */
  static fromStream(source: KeyStream, options?: BuildOptions & StreamOptions): Promise<RibbonFilter> {
    return buildStream(RIBBON, source, options);
  }
}

/** @internal The filter of the blob that has arrived in a slot, or arrives by `fill`. */
export function decodeSlot(slot: Slot, fill?: () => void): Filter {
  try {
    fill?.();
    checked(wasm.decode(slot));
    return wrap(slot);
  } catch (error) {
    wasm.free(slot);
    throw error;
  }
}

/** The bytes of what a caller calls bytes. */
function asBytes(bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes;
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  throw new FilterError("invalid_parameter", `bytes must be a Uint8Array or an ArrayBuffer, not ${typeName(bytes)}`);
}

/** Reads a blob. The bytes are copied; returns the class that fits the blob's kind. */
export function decode(bytes: Uint8Array | ArrayBuffer): Filter {
  const blob = asBytes(bytes);
  const slot = checked(wasm.incoming());
  return decodeSlot(slot, () => arrive(slot, blob, blob.length));
}
