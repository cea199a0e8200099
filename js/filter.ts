/// <reference lib="esnext.disposable" preserve="true" />
/** A filter, to be asked. */

import { Filter as RawFilter } from "./bloom_wasm.js";
import { call, enter, leave, release, stopped } from "./call.js";
import { FilterError } from "./error.js";
import type { FilterInfo } from "./info.js";
import { asBytes, asText, attempt, concat, invalidParameter, isA, iterable, type Key, typeName } from "./input.js";
import { Batch, put } from "./scratch.js";
import { putUrl } from "./url.js";

/** @internal What WebAssembly holds of a filter. */
export let rawOf: (filter: Filter) => RawFilter;

/** That, or undefined once it was freed. */
let heldBy: (filter: Filter) => RawFilter | undefined;

const NO_FILTER =
  "this is no filter, but a Proxy or a copy of one, or a method that was taken off it; use the filter itself";

/** A membership filter of any kind. "Maybe present" may be wrong, at a known rate; "definitely absent" never is. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Symbol.dispose is only there where the runtime knows it
export abstract class Filter {
  /** Only here, so that nothing else refers to it; a freed filter has none. */
  #raw: RawFilter | undefined;

  static {
    // The glue's class has this name too, so the bundler gives this one another.
    Object.defineProperty(this, "name", { value: "Filter" });
    heldBy = (filter) => {
      // Private names don't go through proxies, nor along with copies.
      if (typeof filter !== "object" || filter === null || !(#raw in filter)) throw invalidParameter(NO_FILTER);
      return filter.#raw;
    };
    rawOf = (filter) => {
      // As heldBy, which every question would have to call.
      if (typeof filter !== "object" || filter === null || !(#raw in filter)) throw invalidParameter(NO_FILTER);
      const raw = filter.#raw;
      if (raw === undefined) throw new FilterError("freed", "this filter was freed");
      return raw;
    };
  }

  /** @internal */
  constructor(raw: RawFilter) {
    if (!(raw instanceof RawFilter)) throw invalidParameter("filters are made by load, decode, from and their like");
    this.#raw = raw;
  }

  /** The kind of filter. */
  get kind(): FilterInfo["kind"] {
    const raw = rawOf(this);
    return call(() => raw.kind as unknown as FilterInfo["kind"]);
  }

  /** Asks for a key: true = maybe present, false = definitely absent. */
  has(key: Key): boolean {
    const length = put(key);
    const raw = rawOf(this); // after the key, whose getters may be anybody's
    // As `call` does it, but for its closure: that is 10 ns of 170.
    enter();
    try {
      const answer = raw.hasKey(length);
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

  /** Whether at least one of the keys is maybe present. Stops at the first that is; false for no keys. */
  hasAny(keys: Iterable<Key>): boolean {
    rawOf(this);
    for (const key of iterable(keys)) if (this.has(key)) return true;
    return false;
  }

  /** Whether all of the keys are maybe present. Stops at the first that isn't; true for no keys. */
  hasAll(keys: Iterable<Key>): boolean {
    rawOf(this);
    for (const key of iterable(keys)) if (!this.has(key)) return false;
    return true;
  }

  /** Asks for many keys in few crossings: one byte for each, 1 maybe present or 0 definitely absent. */
  hasMany(keys: Iterable<Key>): Uint8Array<ArrayBuffer> {
    rawOf(this); // of no keys at all, too
    const answers: Uint8Array[] = [];
    const batch = new Batch(({ length: count }, length) => {
      const raw = rawOf(this);
      answers.push(call(() => raw.hasKeys(count, length)));
    });
    for (const key of iterable(keys)) batch.push(key);
    batch.flush();
    return concat(answers);
  }

  /**
   * Asks for each line of a UTF-8 text in one crossing: one byte a line, 1 maybe present or 0 definitely absent.
   * Lines end at LF, one CR before it is dropped, a blank line answers 0, and a final LF starts no line.
   */
  hasLines(text: Uint8Array): Uint8Array<ArrayBuffer> {
    const raw = rawOf(this);
    const bytes = asText(text);
    return call(() => raw.hasLines(bytes) as Uint8Array<ArrayBuffer>);
  }

  /**
   * Whether a URL, a host, or a host with a path is maybe on the list: see {@link matchUrl}.
   */
  hasUrl(url: string | URL): boolean {
    const length = putUrl(url);
    const raw = rawOf(this); // after the URL, whose getters may be anybody's
    return call(() => raw.hasUrl(length));
  }

  /**
   * Looks a URL up by all of its keys, as Safe Browsing does, and returns the first that is maybe present, such as
   * `evil.example/`; null if none is, or if the URL has no host to check. A filter that wasn't built with the profile
   * `url` throws `wrong_profile`.
   */
  matchUrl(url: string | URL): string | null {
    const length = putUrl(url);
    const raw = rawOf(this); // after the URL, whose getters may be anybody's
    return call(() => raw.matchUrl(length) ?? null);
  }

  /**
   * Whether a password is maybe on the list: the whole of it, as it was typed. It is normalised, and lower-cased and
   * hashed, as the filter's builder chose. A filter of another profile than `password` throws `wrong_profile`.
   */
  hasPassword(password: string): boolean {
    const raw = rawOf(this);
    if (typeof password !== "string") {
      throw new FilterError("invalid_key", `a password must be a string, not ${typeName(password)}`);
    }
    return call(() => raw.hasPassword(password));
  }

  /** A description: a plain object that can go into JSON. */
  info(): FilterInfo {
    const raw = rawOf(this);
    return call(() => raw.info());
  }

  /** The description, so that `JSON.stringify(filter)` shows it and never the bits. */
  toJSON(): FilterInfo {
    const raw = rawOf(this);
    return call(() => raw.info());
  }

  /** The chance that a key which was never added is "maybe present", 0 to 1, from the present fill. */
  get estimatedFpr(): number {
    const raw = rawOf(this);
    return call(() => raw.estimatedFpr);
  }

  /** About how many different keys the filter holds; `Infinity` when it is too full to tell. */
  get estimatedCount(): number {
    const raw = rawOf(this);
    return call(() => raw.estimatedCount);
  }

  /** The blob: `decode(filter.toBytes())` answers as this filter does. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const raw = rawOf(this);
    return call(() => raw.toBytes() as Uint8Array<ArrayBuffer>);
  }

  /** Whether both are of the same kind with the same parameters and contents. Name and creation time don't count. */
  equals(other: Filter): boolean {
    const raw = rawOf(this);
    if (!isFilter(other)) return notEqual(other);
    const otherRaw = rawOf(other);
    return call(() => raw.equals(otherRaw));
  }

  /** An independent copy. */
  clone(): this {
    const raw = rawOf(this);
    return hold(
      call(() => raw.clone()),
      this.constructor as FilterClass,
    ) as this;
  }

  /** Frees the memory now; otherwise it is freed some time after the object is collected. Using it then throws. */
  free(): void {
    const raw = heldBy(this);
    this.#raw = undefined;
    release(raw);
  }

  /** Of which class it is; frameworks that would put objects into proxies leave it alone for this. */
  get [Symbol.toStringTag](): string {
    return "Filter";
  }

  /**
   * As the function {@link decode}, but only for a blob of this class's kind; else it throws `wrong_kind`. A class of your
   * own that extends one of these gets an instance of itself.
   */
  static decode<F extends Filter>(this: { readonly prototype: F }, bytes: Uint8Array | ArrayBuffer): F {
    if (typeof this !== "function" || !Object(this).prototype)
      throw invalidParameter("decode must be called on a class");
    const raw = decodeRaw(bytes);
    const its = classOf(raw);
    if (isOver(this, its)) return hold(raw, its) as F;
    // A class of one's own: over this kind's class, or over none of them.
    if (isOver(its, this) || !Object.values(classes).some((other) => isOver(other, this)))
      return hold(raw, this as FilterClass) as F;
    const kind = call(() => raw.kind);
    release(raw);
    throw new FilterError("wrong_kind", `the blob holds a filter of kind ${kind}`);
  }
}

/** Whether a class is another, or is extended by it. */
function isOver(one: { readonly prototype: object }, other: { readonly prototype: object }): boolean {
  return one.prototype === other.prototype || Object.prototype.isPrototypeOf.call(one.prototype, other.prototype);
}

/** `using filter = ...` frees it at the end of the block, where the runtime knows `Symbol.dispose`. */
export interface Filter extends Disposable {}
if (Symbol.dispose) Filter.prototype[Symbol.dispose] = Filter.prototype.free;

type FilterClass = { readonly prototype: Filter };

/** @internal What a filter of each kind is an instance of: of {@link Filter} alone, unless the builders say otherwise. */
export const classes: { [kind: string]: FilterClass } = {};

function classOf(raw: RawFilter): FilterClass {
  return classes[call(() => raw.kind)] ?? Filter;
}

// Beside the class, which a bundler would rename if it named itself.
function isFilter(value: unknown): value is Filter {
  return isA(value, Filter);
}

/** What is no filter is not equal; of a filter of another entry nobody can tell here. */
function notEqual(other: unknown): false {
  const tag = attempt("this can't be compared", () => Object.prototype.toString.call(other));
  if (tag !== "[object Filter]") return false;
  throw new FilterError(
    "incompatible",
    "this is a filter of another entry or copy of the package; compare their toBytes()",
  );
}

/** @internal The object for what WebAssembly holds, without running a public constructor. */
export function hold(raw: RawFilter, its = classOf(raw)): Filter {
  return Reflect.construct(Filter, [raw], its as unknown as new () => Filter) as Filter;
}

function decodeRaw(bytes: Uint8Array | ArrayBuffer): RawFilter {
  const blob = asBytes(bytes);
  return call(() => RawFilter.decode(blob));
}

/** Reads a blob. The bytes are copied; returns the class that fits the blob's kind. */
export function decode(bytes: Uint8Array | ArrayBuffer): Filter {
  return hold(decodeRaw(bytes));
}
