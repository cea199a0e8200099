/// <reference lib="esnext.disposable" preserve="true" />
/** The class of all filters. */

import type { FilterInfo } from "../boundary/info.js";
import {
  type AnyKey,
  asText,
  attempt,
  invalidParameter,
  iterable,
  type Key,
  noFilter,
  requirePassword,
  urlText,
} from "../boundary/input.js";
import { FilterError } from "../error.js";
import { Engine } from "./engine.js";

/** @internal The engine of a filter. Throws `freed` if the filter was freed. */
export let engineOf: (filter: Filter<never>) => Engine;

/** @internal Whether a filter was freed. */
export let isFreed: (filter: Filter<never>) => boolean;

/** A membership filter of any kind. "Maybe present" may be wrong, at a known rate; "definitely absent" never is. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Symbol.dispose is only there where the runtime knows it
export abstract class Filter<K extends AnyKey = Key> {
  /** Nothing else refers to it. Undefined once the filter is freed. */
  #engine: Engine | undefined;

  /**
   * @internal Always undefined. It stands in for a static block, which Metro, React Native's bundler, doesn't support.
   */
  static readonly opened = (() => {
    isFreed = (filter) => {
      // Proxies and copies don't have the private name.
      if (typeof filter !== "object" || filter === null || !(#engine in filter)) throw noFilter();
      return filter.#engine === undefined;
    };
    engineOf = (filter) => {
      // The same as isFreed, repeated here because the extra call would slow down every question.
      if (typeof filter !== "object" || filter === null || !(#engine in filter)) throw noFilter();
      const engine = filter.#engine;
      if (engine === undefined) throw new FilterError("freed", "this filter was freed");
      return engine;
    };
  })();

  /** @internal */
  constructor(engine: Engine) {
    if (!(engine instanceof Engine)) throw invalidParameter("make filters with load or decode");
    this.#engine = engine;
  }

  /** The kind of filter. */
  get kind(): FilterInfo["kind"] {
    return engineOf(this).kind;
  }

  /**
   * Looks up a key: true = maybe present, false = definitely absent. The keys of a URL filter look like
   * `evil.example/`; a whole URL or a bare host is never one and throws `invalid_key`: use {@link hasUrl}. A key that
   * another one of its list covers is absent here. A string that can't be a key of a password filter throws, too: use
   * {@link hasPassword}.
   */
  has(key: K): boolean {
    return engineOf(this).has(key);
  }

  /** Whether at least one of the keys is maybe present. Stops at the first that is; false for no keys. */
  hasAny(keys: Iterable<K>): boolean {
    engineOf(this); // throws for a freed filter even if there are no keys
    for (const key of iterable(keys)) if (this.has(key)) return true;
    return false;
  }

  /** Whether all of the keys are maybe present. Stops at the first that isn't; true for no keys. */
  hasAll(keys: Iterable<K>): boolean {
    engineOf(this);
    for (const key of iterable(keys)) if (!this.has(key)) return false;
    return true;
  }

  /**
   * Looks up many keys at once, as {@link has} does. Returns one byte per key: 1 = maybe present, 0 = definitely
   * absent.
   */
  hasMany(keys: Iterable<K>): Uint8Array<ArrayBuffer> {
    const answers = engineOf(this).hasMany(iterable(keys));
    engineOf(this); // throws if an iterator freed the filter
    return answers;
  }

  /**
   * Looks up each line of a UTF-8 text. Returns one byte per line: 1 = maybe present, 0 = definitely absent. Lines end
   * at LF, and one CR before it is dropped. A byte order mark before the first is dropped. A blank line gives 0, and a
   * final LF starts no further line. Lines are keys, as in {@link has}; for a foreign filter whose keys are numbers,
   * each line is a number in decimal digits.
   */
  hasLines(text: Uint8Array): Uint8Array<ArrayBuffer> {
    return engineOf(this).hasLines(asText(text));
  }

  /** Whether a URL, a host, or a host with a path is maybe on the list. See {@link matchUrl}. */
  hasUrl(url: string | URL): boolean {
    const text = urlText(url);
    return engineOf(this).hasUrl(text); // after the URL, whose getters may run any code
  }

  /**
   * Looks up all keys of a URL, as Safe Browsing does. Returns the first one that is maybe present, such as
   * `evil.example/`, or null if there is none or the URL has no host to check. Throws `wrong_profile` unless the filter
   * was built with the profile `url`.
   */
  matchUrl(url: string | URL): string | null {
    const text = urlText(url);
    return engineOf(this).matchUrl(text);
  }

  /**
   * The tags of a key, such as the lists that it is on. They are exact for every key that the filter was built from. A
   * key that is definitely absent has none; any other that is maybe present gets some set of tags that occurs. A key
   * that was added without a tag has none either: check {@link has}, too. Many keys may share one array, which may be
   * frozen. Throws `wrong_kind` for a filter without tags, and `invalid_key` where {@link has} does.
   */
  tags(key: K): readonly string[] {
    return engineOf(this).tags(key);
  }

  /**
   * The tags of all keys of a URL that are maybe present, each once. {@link matchUrl} stops at the first key; this
   * looks up all of them, because each may have other tags. Each may also be a false positive, whose tags are then
   * added. A key that was added without a tag adds none: check {@link hasUrl}, too. Throws `wrong_profile` unless the
   * filter was built with the profile `url`, and `wrong_kind` if it has no tags.
   */
  urlTags(url: string | URL): string[] {
    const text = urlText(url);
    return engineOf(this).urlTags(text);
  }

  /**
   * Whether a password is maybe on the list. Pass the whole password as it was typed. It is normalised, and lower-cased
   * and hashed if the filter was built that way. Throws `wrong_profile` unless the filter was built with the profile
   * `password`.
   */
  hasPassword(password: string): boolean {
    return engineOf(this).hasPassword(requirePassword(password));
  }

  /** A description of the filter: a plain object that can go into JSON. */
  info(): FilterInfo {
    return engineOf(this).info();
  }

  /** The description, so that `JSON.stringify(filter)` shows it instead of the bits. */
  toJSON(): FilterInfo {
    return engineOf(this).info();
  }

  /**
   * The chance that a key which was never added is "maybe present", 0 to 1, estimated from the present fill. For a
   * foreign filter of at most 512 bits, it is measured with random keys instead.
   */
  get estimatedFpr(): number {
    return engineOf(this).estimatedFpr;
  }

  /**
   * About how many different keys the filter holds; `Infinity` if it is too full to tell. A cuckoo filter counts a key
   * that was added twice as two.
   */
  get estimatedCount(): number {
    return engineOf(this).estimatedCount;
  }

  /** The blob. `decode(filter.toBytes())` gives the same answers as this filter. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return engineOf(this).toBytes();
  }

  /**
   * Whether both have the same kind, parameters and contents. The name and the creation time don't count. Throws
   * `incompatible` if one runs in plain JavaScript and the other in WebAssembly.
   */
  equals(other: Filter<never>): boolean {
    engineOf(this); // throws for a freed filter, whatever the other is
    return isFilter(other) && engineOf(this).equals(engineOf(other));
  }

  /** An independent copy. It shares the memory of this filter until one of the two is changed. */
  clone(): this {
    return hold(engineOf(this).clone(), this.constructor as FilterClass) as this;
  }

  /**
   * Frees the memory now. Otherwise it is freed some time after the object is collected. A freed filter can't be used.
   */
  free(): void {
    if (isFreed(this)) return;
    const engine = this.#engine!;
    // First, so that the filter counts as freed even if WebAssembly was stopped.
    this.#engine = undefined;
    engine.free();
  }

  /** The name of the class. It keeps frameworks from wrapping filters in proxies. */
  get [Symbol.toStringTag](): string {
    return "Filter";
  }

  /** What `console.log` prints in Node, Deno and Bun. It must not throw, whatever became of the filter. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    const { name } = this.constructor;
    try {
      const { kind, estimatedCount, estimatedFpr } = this;
      return `${name} { kind: "${kind}", estimatedCount: ${estimatedCount}, estimatedFpr: ${estimatedFpr} }`;
    } catch (error) {
      return `${name} (${(error as Error).message})`;
    }
  }
}

/** `using filter = ...` frees it at the end of the block, where the runtime knows `Symbol.dispose`. */
// biome-ignore lint/correctness/noUnusedVariables: the class has it
export interface Filter<K extends AnyKey = Key> extends Disposable {}
if (Symbol.dispose) Filter.prototype[Symbol.dispose] = Filter.prototype.free;

/** @internal */
export type FilterClass = { readonly prototype: Filter<never> };

/** @internal A filter of a class, without running a public constructor. */
export function hold(engine: Engine, filterClass: FilterClass = Filter): Filter<AnyKey> {
  const make = () => Reflect.construct(Filter, [engine], filterClass as unknown as new () => object);
  return attempt("the filter's constructor must be a class", make) as Filter<AnyKey>;
}

/** @internal Whether a value is a filter. Throws for one of another copy of this package, which can't be used here. */
// Outside the class: a bundler would rename a class that names itself.
export function isFilter(value: unknown): value is Filter<never> {
  if (value instanceof Filter) return true;
  const tag = Object.prototype.toString.call(value);
  if (tag !== "[object Filter]") return false;
  throw new FilterError("incompatible", "this filter is of another copy of the package; use its toBytes()");
}
