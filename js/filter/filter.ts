/// <reference lib="esnext.disposable" preserve="true" />
/** A filter that can be asked. */

import { Filter as RawFilter } from "../bloom_wasm.js";
import { ask, call, release } from "../boundary/call.js";
import type { FilterInfo } from "../boundary/info.js";
import {
  type AnyKey,
  asBytes,
  asText,
  attempt,
  concat,
  invalidParameter,
  isA,
  iterable,
  type Key,
  noFilter,
  noKey,
  secretIn,
  typeName,
} from "../boundary/input.js";
import { known } from "../boundary/known.js";
import { Batch, put } from "../boundary/scratch.js";
import { FilterError } from "../error.js";
import { areNumbers, foreignKey, numberIn } from "../foreign/keys.js";
import type { AskableFilter } from "./askable.js";
import { type DecodeOptions, decoding, loading, refuseFrom } from "./reading.js";
import { putUrl, urlExpressions } from "./url.js";

/** @internal What WebAssembly holds of a filter. */
export let rawOf: (filter: Filter) => RawFilter;

/** The same, or undefined if the filter was freed. */
let heldBy: (filter: Filter) => RawFilter | undefined;

/** @internal Whether the filter was freed. */
export const isFreed = (filter: Filter): boolean => heldBy(filter) === undefined;

/** The answer for a key of many that the filter can't hold. */
const NO_KEY = 2;

// What is asked about a key in the scratch, a text or bytes.
const hasText = (raw: RawFilter, length: number) => raw.hasKey(length, true);
const hasBytes = (raw: RawFilter, length: number) => raw.hasKey(length, false);
const hasUrl = (raw: RawFilter, length: number) => raw.hasPlainUrl(length) ?? raw.hasUrl(length);
const matchUrl = (raw: RawFilter, length: number) => raw.matchUrl(length) ?? null;

const setOfText = (raw: RawFilter, length: number) => raw.tagSet(length, true);
const setOfBytes = (raw: RawFilter, length: number) => raw.tagSet(length, false);

const NONE: readonly string[] = /* @__PURE__ */ Object.freeze([]);

/** A membership filter of any kind. "Maybe present" may be wrong, at a known rate; "definitely absent" never is. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Symbol.dispose is only there where the runtime knows it
export abstract class Filter<K extends AnyKey = AnyKey> implements AskableFilter<K> {
  /** Nothing else refers to it. A freed filter has none. */
  #raw: RawFilter | undefined;
  /** The tags of the sets that were asked for, by their numbers. */
  #tags: Map<number, readonly string[]> | undefined;

  static {
    // The glue's class is called Filter too, so the bundler renames this one.
    Object.defineProperty(this, "name", { value: "Filter" });
    heldBy = (filter) => {
      // Proxies and copies don't have the private name.
      if (typeof filter !== "object" || filter === null || !(#raw in filter)) throw noFilter();
      return filter.#raw;
    };
    rawOf = (filter) => {
      // The same as heldBy, repeated here because the extra call would slow down every question.
      if (typeof filter !== "object" || filter === null || !(#raw in filter)) throw noFilter();
      const raw = filter.#raw;
      if (raw === undefined) throw new FilterError("freed", "this filter was freed");
      return raw;
    };
  }

  /** @internal */
  constructor(raw: RawFilter) {
    if (!(raw instanceof RawFilter))
      throw invalidParameter("make filters with load or decode, or by a class such as RibbonFilter");
    this.#raw = raw;
  }

  /** The kind of filter. */
  get kind(): FilterInfo["kind"] {
    const raw = rawOf(this);
    return call(() => raw.kind as unknown as FilterInfo["kind"]);
  }

  /**
   * Asks for a key: true = maybe present, false = definitely absent. A filter of URLs has keys such as `evil.example/`:
   * ask it `hasUrl` for a URL or a host, of which no key can be, so that these throw `invalid_key` here. So does what no
   * key of a filter of passwords can be: ask that `hasPassword`.
   */
  has(key: K): boolean {
    const length = put(key as Key);
    const raw = rawOf(this); // after the key: its getters may run anybody's code
    const answer = ask(typeof key === "string" ? hasText : hasBytes, raw, length);
    if (answer === undefined) throw refused(raw, key as Key);
    return answer;
  }

  /** Whether at least one of the keys is maybe present. Stops at the first that is; false for no keys. */
  hasAny(keys: Iterable<K>): boolean {
    rawOf(this);
    for (const key of iterable(keys)) if (this.has(key)) return true;
    return false;
  }

  /** Whether all of the keys are maybe present. Stops at the first that isn't; true for no keys. */
  hasAll(keys: Iterable<K>): boolean {
    rawOf(this);
    for (const key of iterable(keys)) if (!this.has(key)) return false;
    return true;
  }

  /** Asks for many keys at once, as {@link has}. Returns one byte per key: 1 = maybe present, 0 = definitely absent. */
  hasMany(keys: Iterable<K>): Uint8Array<ArrayBuffer> {
    rawOf(this); // throws for a freed filter even if there are no keys
    const answers: Uint8Array[] = [];
    const batch = new Batch((sent, length) => {
      const raw = rawOf(this);
      const found = call(() => raw.hasKeys(sent.length, length, typeof sent[0] === "string"));
      const none = found.indexOf(NO_KEY);
      if (none >= 0) throw refused(raw, sent[none]!);
      answers.push(found);
    });
    for (const key of iterable(keys)) batch.push(key as Key);
    batch.flush();
    return concat(answers);
  }

  /**
   * Asks for each line of a UTF-8 text at once. Returns one byte per line: 1 = maybe present, 0 = definitely absent.
   * Lines end at LF, and one CR before it is dropped. A byte order mark before the first is dropped. A blank line
   * gives 0, and a final LF starts no further line. Lines are keys, as in {@link has}.
   */
  hasLines(text: Uint8Array): Uint8Array<ArrayBuffer> {
    const raw = rawOf(this);
    const bytes = asText(text);
    const answers = call(() => raw.hasLines(bytes) as Uint8Array<ArrayBuffer>);
    const none = answers.indexOf(NO_KEY);
    if (none >= 0) throw refused(raw, none + 1);
    return answers;
  }

  /**
   * Whether a URL, a host, or a host with a path is maybe on the list. See {@link matchUrl}.
   */
  hasUrl(url: string | URL): boolean {
    const length = putUrl(url);
    const raw = rawOf(this); // after the URL, whose getters may be anybody's
    return ask(hasUrl, raw, length);
  }

  /**
   * Looks up all keys of a URL, as Safe Browsing does. Returns the first one that is maybe present, such as
   * `evil.example/`, or null if there is none or the URL has no host to check. Throws `wrong_profile` unless the filter
   * was built with the profile `url`.
   */
  matchUrl(url: string | URL): string | null {
    const length = putUrl(url);
    const raw = rawOf(this); // after the URL, whose getters may be anybody's
    return ask(matchUrl, raw, length);
  }

  /**
   * The tags of a key, such as the lists that it is on. They are exact for every key that the filter was built from. A key
   * that is definitely absent has none; any other that is maybe present gets some set of tags that occurs. A key that was
   * added without a tag has none either: ask `has`, too. Many keys share one array, so it is frozen. Throws `wrong_kind` for
   * a filter without tags, and `invalid_key` where {@link has} does.
   */
  tags(key: K): readonly string[] {
    const length = put(key as Key);
    const raw = rawOf(this);
    const set = ask(typeof key === "string" ? setOfText : setOfBytes, raw, length);
    if (set === -3) throw refused(raw, key as Key);
    return this.#namesOf(raw, set);
  }

  /** The tags of a set by its number: -1 for an absent key, and -2 for a filter without tags. */
  #namesOf(raw: RawFilter, set: number): readonly string[] {
    if (set === -1) return NONE;
    this.#tags ??= new Map();
    let names = this.#tags.get(set);
    if (!names) {
      // One array for all keys of a set: a new one for each answer would take longer than the answer.
      names = Object.freeze(call(() => raw.tagNames(Float64Array.of(set)) as string[]));
      this.#tags.set(set, names);
    }
    return names;
  }

  /**
   * The tags of all keys of a URL that are maybe present, each once. {@link matchUrl} stops at the first key; this looks up
   * all of them, because another may have other tags. So each of them may add the tags of a false positive. A key that
   * was added without a tag adds none: ask {@link hasUrl}, too. Throws `wrong_profile` unless the filter was built with
   * the profile `url`, and `wrong_kind` if it has no tags.
   */
  urlTags(url: string | URL): string[] {
    const keys = this.hasUrl(url) ? urlExpressions(url) : [];
    const raw = rawOf(this);
    const sets = new Set(keys.map((key) => ask(setOfText, raw, put(key))));
    sets.delete(-1);
    const [set = -1] = sets;
    if (sets.size === 1) return [...this.#namesOf(raw, set)];
    return call(() => raw.tagNames(Float64Array.from(sets)) as string[]); // throws without tags
  }

  /**
   * Whether a password is maybe on the list. Pass the whole password as it was typed. It is normalised, and lower-cased
   * and hashed if the filter's builder chose so. Throws `wrong_profile` unless the filter was built with the profile
   * `password`.
   */
  hasPassword(password: string): boolean {
    const raw = rawOf(this);
    if (typeof password !== "string") {
      throw new FilterError("invalid_key", `a password must be a string, not ${typeName(password)}`);
    }
    return call(() => raw.hasPassword(password));
  }

  /** A description of the filter: a plain object that can go into JSON. */
  info(): FilterInfo {
    const raw = rawOf(this);
    return call(() => raw.info());
  }

  /** The description, so that `JSON.stringify(filter)` shows it instead of the bits. */
  toJSON(): FilterInfo {
    const raw = rawOf(this);
    return call(() => raw.info());
  }

  /**
   * The chance that a key which was never added is "maybe present", 0 to 1, estimated from the present fill. A foreign
   * filter of at most 512 bits is asked for some random keys instead.
   */
  get estimatedFpr(): number {
    const raw = rawOf(this);
    return call(() => raw.estimatedFpr);
  }

  /**
   * About how many different keys the filter holds; `Infinity` if it is too full to tell. A cuckoo filter counts a key
   * that was added twice as two.
   */
  get estimatedCount(): number {
    const raw = rawOf(this);
    return call(() => raw.estimatedCount);
  }

  /** The blob. `decode(filter.toBytes())` gives the same answers as this filter. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const raw = rawOf(this);
    return call(() => raw.toBytes() as Uint8Array<ArrayBuffer>);
  }

  /** Whether both have the same kind, parameters and contents. The name and the creation time don't count. */
  equals(other: Filter): boolean {
    const raw = rawOf(this);
    if (!isFilter(other)) return false;
    const otherRaw = rawOf(other);
    return call(() => raw.equals(otherRaw));
  }

  /**
   * The filter that a delta makes of this one, which stays as it is. The delta was made for the blob of this very filter
   * by `bloom-wasm diff`; for any other it throws `wrong_base`. The two share the memory that they have in common.
   */
  apply(delta: Uint8Array | ArrayBuffer): this {
    const bytes = asBytes(delta);
    const raw = rawOf(this);
    return hold(
      call(() => raw.apply(bytes)),
      this.constructor as FilterClass,
    ) as this;
  }

  /** An independent copy. It shares the memory of this filter until one of the two is changed. */
  clone(): this {
    const raw = rawOf(this);
    return hold(
      call(() => raw.clone()),
      this.constructor as FilterClass,
    ) as this;
  }

  /**
   * Frees the memory now. Otherwise it is freed some time after the object is collected. A freed filter can't be used.
   */
  free(): void {
    const raw = heldBy(this);
    this.#raw = undefined;
    this.#tags = undefined;
    release(raw);
  }

  /** The name of the class. It keeps frameworks from wrapping filters in proxies. */
  get [Symbol.toStringTag](): string {
    return "Filter";
  }

  /**
   * Like the function {@link decode}, but throws `wrong_kind` unless the blob is of this class's kind. Called on your
   * own subclass, it returns an instance of that.
   */
  static decode<F extends Filter>(
    this: { readonly prototype: F },
    bytes: Uint8Array | ArrayBuffer,
    options?: DecodeOptions,
  ): F;
  static decode(this: FilterClass, bytes: Uint8Array | ArrayBuffer, options?: unknown): Filter {
    requireClass(this);
    refuseFrom(options);
    // A number is what `map` gives.
    if (typeof options !== "number") known(options, { decode: decoding }, { load: loading });
    return holdAs(decodeRaw(bytes, options), this);
  }
}

/** @internal Throws unless `decode` was called on a class. */
export function requireClass(its: unknown): asserts its is FilterClass {
  if (typeof its !== "function" || !Object(its).prototype) throw invalidParameter("decode must be called on a class");
}

/** @internal Wraps a raw filter in an object of a class that was asked for: of Filter, a kind's, or the user's own. */
export function holdAs(raw: RawFilter, wanted: FilterClass): Filter {
  const its = classOf(raw);
  if (isOver(wanted, its)) return hold(raw, its);
  // The user's own class extends this kind's class, or extends Filter directly. Only the class of foreign filters knows
  // their keys.
  const isOwn = call(() => raw.foreignKeys) === undefined && !Object.values(classes).some((it) => isOver(it, wanted));
  if (isOver(its, wanted) || isOwn) return hold(raw, wanted);
  const kind = call(() => raw.kind);
  release(raw);
  throw new FilterError("wrong_kind", `the blob holds a filter of kind ${kind}`);
}

/** Whether the first class is the second one, or the second one extends it. */
function isOver(one: { readonly prototype: object }, other: { readonly prototype: object }): boolean {
  return one.prototype === other.prototype || Object.prototype.isPrototypeOf.call(one.prototype, other.prototype);
}

/** `using filter = ...` frees it at the end of the block, where the runtime knows `Symbol.dispose`. */
// biome-ignore lint/correctness/noUnusedVariables: the class has it
export interface Filter<K extends AnyKey = AnyKey> extends Disposable {}
if (Symbol.dispose) Filter.prototype[Symbol.dispose] = Filter.prototype.free;

/** @internal */
export type FilterClass = { readonly prototype: Filter };

/** For what the filter can't hold: a key, or the number of a line. */
function refused(raw: RawFilter, key: Key | number): FilterError {
  return noKey(
    call(() => raw.profile as unknown as string),
    key,
  );
}

/** @internal What WebAssembly says that the keys of a foreign filter are. */
function keysOf(filter: Filter): number {
  const raw = rawOf(filter);
  return call(() => raw.foreignKeys) ?? 0;
}

/** A filter of other software, whose keys may be numbers, or strings in which lone surrogates count. */
export class WrappedFilter extends Filter {
  override has(key: AnyKey): boolean {
    return super.has(foreignKey(key, keysOf(this)));
  }

  override hasMany(keys: Iterable<AnyKey>): Uint8Array<ArrayBuffer> {
    const kind = keysOf(this);
    const all = iterable(keys);
    return super.hasMany(
      (function* () {
        for (const key of all) yield foreignKey(key, kind);
      })(),
    );
  }

  /** Like that of other filters; where the keys are numbers, each line is one in decimal digits. */
  override hasLines(text: Uint8Array): Uint8Array<ArrayBuffer> {
    const kind = keysOf(this);
    if (!areNumbers(kind)) return super.hasLines(text);
    const bytes = asText(text);
    const decoder = new TextDecoder();
    const answers: number[] = [];
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(LF, start);
      // A copy, because browsers decode no bytes that are shared or may shrink.
      const line = decoder.decode(bytes.slice(start, end < 0 ? undefined : end)).replace(/\r$/, "");
      answers.push(line !== "" && this.has(numberIn(line, kind)) ? 1 : 0);
      start = end < 0 ? bytes.length : end + 1;
    }
    return Uint8Array.from(answers);
  }
}

const LF = 10;

/**
 * @internal The class for each kind of filter, and `foreign`: {@link Filter} itself, or {@link WrappedFilter}, unless
 * the builders register another.
 */
export const classes: { [kind: string]: FilterClass } = {};

function classOf(raw: RawFilter): FilterClass {
  if (call(() => raw.foreignKeys) !== undefined) return classes.foreign ?? WrappedFilter;
  return classes[call(() => raw.kind)] ?? Filter;
}

/** @internal Whether a value is a filter of this entry. Throws for one of another, which can't be used here. */
// Outside the class: a bundler would rename a class that names itself.
export function isFilter(value: unknown): value is Filter {
  if (isA(value, Filter)) return true;
  const tag = attempt("the other filter can't be read", () => Object.prototype.toString.call(value));
  if (tag !== "[object Filter]") return false;
  throw new FilterError("incompatible", "this filter is of another entry or copy of the package; use its toBytes()");
}

/** @internal Wraps a raw filter in an object of its class, without running a public constructor. */
export function hold(raw: RawFilter, its = classOf(raw)): Filter {
  return Reflect.construct(Filter, [raw], its as unknown as new () => Filter) as Filter;
}

function decodeRaw(bytes: Uint8Array | ArrayBuffer, options: unknown): RawFilter {
  const secret = secretIn(options);
  const blob = asBytes(bytes);
  return call(() => RawFilter.decode(blob, secret));
}

/** Decodes a blob, and returns a filter of the class for the blob's kind. The bytes are copied. */
export function decode(bytes: Uint8Array | ArrayBuffer, options: DecodeOptions): Filter;
// The last, which is what `map(decode)` gives.
export function decode(bytes: Uint8Array | ArrayBuffer): Filter;
export function decode(bytes: Uint8Array | ArrayBuffer, options?: unknown): Filter {
  refuseFrom(options);
  // A callback of `map` gets an index in their place.
  if (typeof options !== "number") known(options, { decode: decoding }, { load: loading });
  return hold(decodeRaw(bytes, options));
}
