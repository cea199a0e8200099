/// <reference lib="esnext.disposable" preserve="true" />
/** The filters, as JavaScript classes over what WebAssembly holds. */

import { FilterError } from "./error.js";
import { Bytes, Digests, typeName, withDigests, withKey, withText, type Key, type Slot } from "./memory.js";
import { readAll } from "./stream.js";
import * as wasm from "./bloom_wasm.js";
import type { FilterInfo } from "./info.js";

/** What every builder takes beside its keys. */
export interface BuildOptions {
  /** The false-positive rate, above 0 and below 1. Default 0.001. */
  fpr?: number;
  /** The seed of the hash, 0 to 2^64 - 1. Default 0n. Anybody can make false positives for a seed that they know. */
  seed?: bigint;
  /** A name for people, kept in the blob: at most 255 bytes of UTF-8. */
  name?: string;
  /** When the list was made, kept in the blob: a date, or milliseconds since 1970. */
  createdAt?: Date | number;
}

/** What {@link BloomFilter.fromStream} takes. */
export interface StreamOptions extends BuildOptions {
  /** Stops the building; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each chunk of bytes, or each thousand keys: how much has been read. */
  onProgress?: (progress: { loaded: number }) => void;
}

/** The number of the kind in a blob. */
const RIBBON = 5;

/** @internal Every filter's slot; a freed one has none. */
const SLOT = Symbol("slot");

const registry = new FinalizationRegistry<Slot>((slot) => wasm.free(slot));

function slotOf(filter: Filter): Slot {
  const slot = filter[SLOT];
  if (slot === undefined) throw new FilterError("freed", "this filter was freed");
  return slot;
}

/** Gives an object its slot. */
function hold<F extends Filter>(filter: F, slot: Slot): F {
  filter[SLOT] = slot;
  registry.register(filter, slot, filter);
  return filter;
}

/** The object for a slot, of the class of its kind, without running a public constructor. */
function wrap(slot: Slot): Filter {
  const kind = wasm.kind(slot) === RIBBON ? RibbonFilter : BloomFilter;
  return hold(Object.create(kind.prototype) as Filter, slot);
}

function bloomOf(filter: unknown): Slot {
  if (!(filter instanceof BloomFilter)) {
    throw new FilterError("invalid_parameter", `the other filter must be a BloomFilter, not ${typeName(filter)}`);
  }
  return slotOf(filter);
}

function checkInteger(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new FilterError("invalid_parameter", `${name} must be a whole number from ${min} to ${max}`);
}

function checkCount(count: unknown): number {
  return checkInteger(count, "count", 0, Number.MAX_SAFE_INTEGER);
}

function checkFpr(fpr: unknown): number {
  if (typeof fpr === "number" && fpr > 0 && fpr < 1) return fpr;
  throw new FilterError("invalid_parameter", "fpr must be a number above 0 and below 1");
}

function checkBits(bits: unknown): number {
  return checkInteger(bits, "bits", 1, 0xffff_ffff);
}

function checkHashes(hashes: unknown): number {
  return checkInteger(hashes, "hashes", 1, 64);
}

function checkSeed(seed: unknown = 0n): bigint {
  if (typeof seed === "bigint" && seed >= 0n && seed < 1n << 64n) return seed;
  throw new FilterError("invalid_parameter", "seed must be a bigint from 0n to 2n ** 64n - 1n");
}

/** Checks a builder's options before it reads a single key. */
function checkOptions(options: BuildOptions = {}) {
  const { fpr = 1e-3, seed, name, createdAt } = options ?? {};
  if (name !== undefined && typeof name !== "string") {
    throw new FilterError("invalid_parameter", "name must be a string");
  }
  const time = createdAt === undefined ? undefined : checkInteger(Number(createdAt), "createdAt", 0, 8.64e15);
  return { fpr: checkFpr(fpr), seed: checkSeed(seed), name, time };
}

type Checked = ReturnType<typeof checkOptions>;

/** Puts the metadata into a new filter; frees it if that fails. */
function described<F extends Filter>(filter: F, { name, time }: Checked): F {
  try {
    withKey(name ?? "", (key, length) =>
      wasm.describe(slotOf(filter), key, name === undefined ? undefined : length, time),
    );
    return filter;
  } catch (error) {
    filter.free();
    throw error;
  }
}

/** A membership filter of any kind. "Maybe present" may be wrong, at a known rate; "definitely absent" never is. */
export abstract class Filter {
  /** @internal */
  declare [SLOT]: Slot | undefined;

  /** The kind of filter. */
  get kind(): FilterInfo["kind"] {
    return wasm.kind(slotOf(this)) === RIBBON ? "ribbon" : "bloom";
  }

  /** Asks for a key: true = maybe present, false = definitely absent. */
  has(key: Key): boolean {
    const slot = slotOf(this);
    return withKey(key, (key, length) => wasm.has(slot, key, length));
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
    return withDigests(wasm.seed(slotOf(this)), (digests) => {
      digests.pushAll(keys);
      return new Bytes(wasm.has_digests(slotOf(this), digests.slot)).take();
    });
  }

  /**
   * Asks for each line of a UTF-8 text in one crossing: one byte a line, 1 maybe present or 0 definitely absent.
   * Lines end at LF, one CR before it is dropped, a blank line answers 0, and a final LF starts no line.
   */
  hasLines(text: Uint8Array): Uint8Array<ArrayBuffer> {
    const slot = slotOf(this);
    return new Bytes(withText(text, (text, length) => wasm.has_lines(slot, text, length))).take();
  }

  /** A description: a plain object that can go into JSON. */
  info(): FilterInfo {
    return wasm.info(slotOf(this));
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
    return new Bytes(wasm.encode(slotOf(this))).take();
  }

  /** Whether both are of the same kind with the same parameters and contents. Name and creation time don't count. */
  equals(other: Filter): boolean {
    if (!(other instanceof Filter)) return false;
    const [slot, otherSlot] = [slotOf(this), slotOf(other)];
    return slot === otherSlot || wasm.equals(slot, otherSlot);
  }

  /** An independent copy. */
  clone(): this {
    const copy = new Bytes(wasm.encode(slotOf(this)));
    return decodeSlot(copy) as this;
  }

  /** Frees the memory now; otherwise it is freed some time after the object is collected. Using it then throws. */
  free(): void {
    const slot = this[SLOT];
    if (slot === undefined) return;
    this[SLOT] = undefined;
    registry.unregister(this);
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

function iterable(keys: Iterable<Key>): Iterable<Key> {
  if (typeof keys !== "string" && typeof keys?.[Symbol.iterator] === "function") return keys;
  throw new FilterError("invalid_key", `keys must be an iterable of keys, not ${typeName(keys)}`);
}

/** A classic Bloom filter: keys can be added at any time and never removed. */
export class BloomFilter extends Filter {
  /**
   * An empty filter of a given shape.
   * @param bits 1 to 2^32 - 1 (512 MiB)
   * @param hashes 1 to 64 for each key
   */
  constructor(bits: number, hashes: number, options: { seed?: bigint } = {}) {
    super();
    hold(this, wasm.bloom_new(checkBits(bits), checkHashes(hashes), checkSeed(options?.seed)));
  }

  /** An empty filter that `count` keys fill to a false-positive rate of `fpr`. */
  static withCapacity(count: number, fpr: number, options: { seed?: bigint } = {}): BloomFilter {
    const { bits, hashes } = optimal(count, fpr);
    return new BloomFilter(bits, hashes, options);
  }

  /** The filter of some keys, sized by the number of different ones. */
  static from(keys: Iterable<Key>, options?: BuildOptions): BloomFilter {
    const checked = checkOptions(options);
    return withDigests(checked.seed, (digests) => finish(digests.pushAll(keys), checked));
  }

  /**
   * The filter of a stream of keys, sized by the number of different ones. A stream of bytes is read as UTF-8 text
   * with one key a line, blank lines skipped; anything else that can be iterated is read as keys.
   */
  static async fromStream(
    source: AsyncIterable<Key> | ReadableStream<Uint8Array>,
    options?: StreamOptions,
  ): Promise<BloomFilter> {
    const checked = checkOptions(options);
    const digests = new Digests(checked.seed);
    try {
      await (source instanceof ReadableStream
        ? pushStream(digests, source, options)
        : pushAsync(digests, source, options));
      return finish(digests, checked);
    } finally {
      digests.free();
    }
  }

  /** Adds a key. True = it was definitely not there before; false = it may have been. */
  add(key: Key): boolean {
    const slot = slotOf(this);
    return withKey(key, (key, length) => wasm.add(slot, key, length));
  }

  /** Adds all of the keys, or none if one of them is invalid. Returns how many were definitely not there before. */
  addMany(keys: Iterable<Key>): number {
    return withDigests(wasm.seed(slotOf(this)), (digests) => {
      digests.pushAll(keys);
      return wasm.add_digests(slotOf(this), digests.slot);
    });
  }

  /** Adds each line of a UTF-8 text that isn't blank. Returns how many were definitely not there before. */
  addLines(text: Uint8Array): number {
    return withDigests(wasm.seed(slotOf(this)), (digests) =>
      wasm.add_digests(slotOf(this), digests.pushLines(text).slot),
    );
  }

  /** Adds every key of another filter with the same bits, hashes and seed; else it throws `incompatible`. */
  union(other: BloomFilter): void {
    const [slot, otherSlot] = [slotOf(this), bloomOf(other)];
    if (slot !== otherSlot) wasm.combine(slot, otherSlot, true);
  }

  /**
   * Keeps what both filters have; they need the same bits, hashes and seed, else it throws `incompatible`. Keys in
   * both stay. The false-positive rate may be above that of a filter built from the common keys alone.
   */
  intersect(other: BloomFilter): void {
    const [slot, otherSlot] = [slotOf(this), bloomOf(other)];
    if (slot !== otherSlot) wasm.combine(slot, otherSlot, false);
  }

  /** Forgets every key. */
  clear(): void {
    wasm.clear(slotOf(this));
  }

  /** The positions of the bits that a key sets and tests, `hashes` of them, some of which may be equal. */
  locations(key: Key): number[] {
    const slot = slotOf(this);
    const bytes = new Bytes(withKey(key, (key, length) => wasm.locations(slot, key, length))).take();
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.byteLength / 4 }, (_, i) => view.getUint32(4 * i, true));
  }
}

/** A ribbon filter: read-only and the smallest. It is built with the command line tool, which makes it by default. */
export class RibbonFilter extends Filter {
  private constructor() {
    super();
  }
}

function finish(digests: Digests, checked: Checked): BloomFilter {
  const slot = wasm.bloom_from(digests.flush().slot, checked.fpr);
  return described(wrap(slot) as BloomFilter, checked);
}

async function pushAsync(digests: Digests, source: AsyncIterable<Key>, options: StreamOptions = {}): Promise<void> {
  const { signal, onProgress } = options;
  const keys = Symbol.asyncIterator in Object(source) ? source : iterable(source as unknown as Iterable<Key>);
  let loaded = 0;
  signal?.throwIfAborted();
  for await (const key of keys) {
    signal?.throwIfAborted();
    digests.push(key);
    if (++loaded % 1000 === 0) onProgress?.({ loaded });
  }
  onProgress?.({ loaded });
}

const LF = 10;

async function pushStream(
  digests: Digests,
  source: ReadableStream<Uint8Array>,
  { signal, onProgress }: StreamOptions = {},
): Promise<void> {
  let line: Uint8Array[] = []; // the pieces of a line whose end has not come yet
  let loaded = 0;
  await readAll(source, signal, (chunk) => {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end > 0) {
      digests.pushLines(concat([...line, chunk.subarray(0, end)]));
      line = [];
    }
    line.push(chunk.slice(end));
    onProgress?.({ loaded: (loaded += chunk.byteLength) });
  });
  digests.pushLines(concat(line));
}

function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.byteLength, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.byteLength;
  }
  return whole;
}

/** @internal The filter in some bytes, which become it. */
export function decodeSlot(bytes: Bytes): Filter {
  try {
    wasm.decode(bytes.slot);
    return wrap(bytes.slot);
  } catch (error) {
    bytes.free();
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
  return decodeSlot(Bytes.from(asBytes(bytes)));
}

/** The size of a Bloom filter. */
export interface Optimal {
  /** Bits in the filter (m), 1 to 2^32 - 1. */
  bits: number;
  /** Hashes for each key (k), 1 to 64. */
  hashes: number;
  /** Bytes of those bits; a blob adds at most 64 to them. */
  bytes: number;
}

/**
 * The smallest Bloom filter that holds `count` keys at a false-positive rate of `fpr`:
 * bits = ceil(-count ln fpr / (ln 2)^2) and hashes = max(1, round(bits / count ln 2)). A count of 0 is sized as 1.
 */
export function optimal(count: number, fpr: number): Optimal {
  const packed = wasm.optimal(checkCount(count), checkFpr(fpr));
  const bits = packed % 2 ** 32;
  return { bits, hashes: (packed - bits) / 2 ** 32, bytes: Math.ceil(bits / 8) };
}

/** The false-positive rate of a Bloom filter with `count` keys: (1 - (1 - 1/bits)^(hashes count))^hashes. */
export function fprFor(count: number, bits: number, hashes: number): number {
  return wasm.fpr_for(checkCount(count), checkBits(bits), checkHashes(hashes));
}

/** The largest count of keys for which {@link optimal} needs no more than `bits` bits at a rate of `fpr`. */
export function countFor(bits: number, fpr: number): number {
  return wasm.count_for(checkBits(bits), checkFpr(fpr));
}
