/// <reference lib="esnext.disposable" preserve="true" />
/** A filter that plain JavaScript reads and asks. */

import type { FilterInfo } from "../boundary/info.js";
import {
  asBytes,
  asText,
  concat,
  invalidParameter,
  iterable,
  type Key,
  noFilter,
  noKey,
  requireProfile,
  secretIn,
  typeName,
  urlText,
} from "../boundary/input.js";
import { FilterError } from "../error.js";
import type { AskableFilter } from "../filter/askable.js";
import { type DecodeOptions, decoding, refuseFrom } from "../filter/reading.js";
import { type Blob, hasKey, readFilter, tagsOf } from "./blob.js";
import { findKey, foundEnd, foundStart, take, takePlain } from "./expressions.js";
import { describe, estimatedCount, estimatedFpr, kindOf, profileOf, slotsOf } from "./info.js";
import { requireOptions } from "./options.js";
import { isPasswordKey, passwordKey } from "./password.js";
import { put, scratch } from "./scratch.js";
import { isUrlKey, keys, readings } from "./url.js";

/** @internal What a filter has read. */
export let blobOf: (filter: Filter) => Blob;

/** @internal Whether the filter was freed. */
export let isFreed: (filter: Filter) => boolean;

/** @internal A filter of what was read. */
export let hold: (blob: Blob) => Filter;

/**
 * A membership filter of any of our own kinds. "Maybe present" may be wrong, at a known rate; "definitely absent" never
 * is.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Symbol.dispose is only there where the runtime knows it
export class Filter implements AskableFilter {
  #blob: Blob | undefined;
  /** The slots of the keys that can be present, a bit each. */
  #map: number;

  /** Whoever has it may make filters. This is no static block, since Metro, which bundles for React Native, knows none. */
  static readonly #ours = (() => {
    isFreed = (filter) => {
      // Proxies and copies don't have the private name.
      if (typeof filter !== "object" || filter === null || !(#blob in filter)) throw noFilter();
      return filter.#blob === undefined;
    };
    blobOf = (filter) => {
      if (isFreed(filter)) throw new FilterError("freed", "this filter was freed");
      return filter.#blob!;
    };
    hold = (blob) => new this(blob, this.#ours);
    return {};
  })();

  private constructor(blob: Blob, ours: object) {
    if (!(#ours in new.target) || ours !== new.target.#ours) throw invalidParameter("make filters with load or decode");
    this.#blob = blob;
    this.#map = slotsOf(blob);
  }

  /** The kind of filter. */
  get kind(): FilterInfo["kind"] {
    return kindOf(blobOf(this));
  }

  /**
   * Asks for a key: true = maybe present, false = definitely absent. A filter of URLs has keys such as `evil.example/`:
   * ask it `hasUrl` for a URL or a host, of which no key can be, so that these throw `invalid_key` here. So does what no
   * key of a filter of passwords can be: ask that `hasPassword`.
   */
  has(key: Key): boolean {
    const length = put(key);
    const blob = blobOf(this);
    requireKey(blob, key);
    return hasKey(blob, scratch, 0, length);
  }

  /** Whether at least one of the keys is maybe present. Stops at the first that is; false for no keys. */
  hasAny(keys: Iterable<Key>): boolean {
    blobOf(this);
    for (const key of iterable(keys)) if (this.has(key)) return true;
    return false;
  }

  /** Whether all of the keys are maybe present. Stops at the first that isn't; true for no keys. */
  hasAll(keys: Iterable<Key>): boolean {
    blobOf(this);
    for (const key of iterable(keys)) if (!this.has(key)) return false;
    return true;
  }

  /** Asks for many keys, as {@link has}. Returns one byte per key: 1 = maybe present, 0 = definitely absent. */
  hasMany(keys: Iterable<Key>): Uint8Array<ArrayBuffer> {
    blobOf(this);
    const answers: number[] = [];
    for (const key of iterable(keys)) answers.push(Number(this.has(key)));
    return new Uint8Array(answers);
  }

  /**
   * Asks for each line of a UTF-8 text. Returns one byte per line: 1 = maybe present, 0 = definitely absent. Lines
   * end at LF, and one CR before it is dropped. A byte order mark before the first is dropped. A blank line gives 0,
   * and a final LF starts no further line. Lines are keys, as in {@link has}.
   */
  hasLines(text: Uint8Array): Uint8Array<ArrayBuffer> {
    const blob = blobOf(this);
    const bytes = asText(text);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const answers: number[] = [];
    for (let at = 0; at < bytes.length; ) {
      const found = bytes.indexOf(10, at);
      const next = found < 0 ? bytes.length : found;
      const end = next > at && bytes[next - 1] === 13 ? next - 1 : next;
      // Keys of a raw filter are any bytes, and a part of the array for each line would be garbage.
      if (end > at && blob.profile) requireKey(blob, bytes.subarray(at, end), answers.length + 1);
      answers.push(Number(end > at && hasKey(blob, view, at, end)));
      at = next + 1;
    }
    return new Uint8Array(answers);
  }

  /** Whether a URL, a host, or a host with a path is maybe on the list. See {@link matchUrl}. */
  hasUrl(url: string | URL): boolean {
    const text = urlText(url);
    const blob = blobOf(this);
    requireProfile(profileOf(blob), "url");
    return takePlain(text, this.#map) ? findKey(blob, this.#map) : this.#matchReadings(blob, text) !== null;
  }

  /**
   * Looks up all keys of a URL, as Safe Browsing does. Returns the first one that is maybe present, such as
   * `evil.example/`, or null if there is none or the URL has no host to check. Throws `wrong_profile` unless the filter
   * was built with the profile `url`.
   */
  matchUrl(url: string | URL): string | null {
    const text = urlText(url);
    const blob = blobOf(this);
    requireProfile(profileOf(blob), "url");
    if (!takePlain(text, this.#map)) return this.#matchReadings(blob, text);
    return findKey(blob, this.#map) ? text.slice(foundStart, foundEnd) : null;
  }

  /** The same for a URL that isn't plain. */
  #matchReadings(blob: Blob, text: string): string | null {
    for (const its of readings(text)) {
      if (!its) continue;
      take(its);
      if (findKey(blob, this.#map)) return its.text.slice(foundStart, foundEnd);
    }
    return null;
  }

  /**
   * The tags of a key, such as the lists that it is on. They are exact for every key that the filter was built from. A key
   * that is definitely absent has none; any other that is maybe present gets some set of tags that occurs. A key that was
   * added without a tag has none either: ask `has`, too. Throws `wrong_kind` for a filter without tags.
   */
  tags(key: Key): readonly string[] {
    const length = put(key);
    const blob = blobOf(this);
    requireTags(blob);
    requireKey(blob, key);
    return Array.from(tagsOf(blob, scratch, 0, length) ?? [], (number) => blob.tagNames[number]!);
  }

  /**
   * The tags of all keys of a URL that are maybe present, each once. {@link matchUrl} stops at the first key; this looks up
   * all of them, because another may have other tags. So each of them may add the tags of a false positive. A key that
   * was added without a tag adds none: ask {@link hasUrl}, too. Throws `wrong_profile` unless the filter was built with
   * the profile `url`, and `wrong_kind` if it has no tags.
   */
  urlTags(url: string | URL): string[] {
    const text = urlText(url);
    const blob = blobOf(this);
    requireProfile(profileOf(blob), "url");
    requireTags(blob);
    const found = this.hasUrl(text) ? keys(text).flatMap((key) => this.tags(key)) : [];
    return blob.tagNames.filter((name) => found.includes(name));
  }

  /**
   * Whether a password is maybe on the list. Pass the whole password as it was typed. It is normalised, and lower-cased
   * and hashed if the filter's builder chose so. Throws `wrong_profile` unless the filter was built with the profile
   * `password`.
   */
  hasPassword(password: string): boolean {
    const blob = blobOf(this);
    if (typeof password !== "string")
      throw new FilterError("invalid_key", `a password must be a string, not ${typeName(password)}`);
    requireProfile(profileOf(blob), "password");
    const length = put(passwordKey(password, blob.flags));
    return hasKey(blob, scratch, 0, length);
  }

  /** A description of the filter: a plain object that can go into JSON. */
  info(): FilterInfo {
    return describe(blobOf(this));
  }

  /** The description, so that `JSON.stringify(filter)` shows it instead of the bits. */
  toJSON(): FilterInfo {
    return describe(blobOf(this));
  }

  /** The chance that a key which was never added is "maybe present", 0 to 1, estimated from the present fill. */
  get estimatedFpr(): number {
    return estimatedFpr(blobOf(this));
  }

  /**
   * About how many different keys the filter holds; `Infinity` if it is too full to tell. A cuckoo filter counts a key
   * that was added twice as two.
   */
  get estimatedCount(): number {
    return estimatedCount(blobOf(this));
  }

  /** The blob. `decode(filter.toBytes())` gives the same answers as this filter. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return toBytes(blobOf(this));
  }

  /** Lets go of the memory. A freed filter can't be used. */
  free(): void {
    isFreed(this);
    this.#blob = undefined;
  }

  /** The name of the class. It keeps frameworks from wrapping filters in proxies. */
  get [Symbol.toStringTag](): string {
    return "Filter";
  }
}

/** `using filter = ...` frees it at the end of the block, where the runtime knows `Symbol.dispose`. */
export interface Filter extends Disposable {}
if (Symbol.dispose) Filter.prototype[Symbol.dispose] = Filter.prototype.free;

/** Throws for what the filter can't hold: a key, or a line. */
function requireKey(blob: Blob, key: Key, line?: number): void {
  const { profile, flags } = blob;
  const isText = line !== undefined || typeof key === "string";
  const isKey = profile === 0 || (profile === 1 ? isUrlKey(key) : isPasswordKey(key, isText, flags));
  if (!isKey) throw noKey(profileOf(blob), line ?? key);
}

function requireTags(blob: Blob): void {
  if (!blob.tags) throw new FilterError("wrong_kind", "the filter has no tags");
}

/** @internal The blob as bytes. */
export function toBytes({ bytes, id }: Blob): Uint8Array<ArrayBuffer> {
  return concat([...bytes, new Uint8Array(Int32Array.of(id[0]!).buffer)]);
}

/** Decodes a blob of any of our own kinds. The bytes are copied. */
export function decode(bytes: Uint8Array | ArrayBuffer, options: DecodeOptions): Filter;
// The last, which is what `map(decode)` gives.
export function decode(bytes: Uint8Array | ArrayBuffer): Filter;
export function decode(bytes: Uint8Array | ArrayBuffer, options?: unknown): Filter {
  // A callback of `map` gets an index in their place.
  if (typeof options !== "number") {
    refuseFrom(options);
    requireOptions(options, { decode: decoding });
  }
  const secret = secretIn(options);
  return hold(readFilter(asBytes(bytes), secret));
}

/**
 * The canonical form of a URL, a host or a host with a path, by the rules of Safe Browsing. It has no user, port or
 * fragment. Null if there is no host to check, as in `mailto:` and `data:`. Use it to read and compare URLs, and put
 * the URL itself into lists: the canonical form turns a `%5C` in a path into a backslash, which a browser takes for a
 * slash.
 */
export function canonicalizeUrl(url: string | URL): string | null {
  const text = urlText(url);
  return takePlain(text, -1) ? text : (readings(text)[0]?.text ?? null);
}

/**
 * The keys that a URL is looked up by, the exact one first. They are the host and up to four of its suffixes, each with
 * the path and its query, the path, and up to four of its directories: at most 30 keys. If browsers may disagree about
 * the host, up to 30 keys of a second reading follow. Empty if there is no host to check.
 */
export function urlExpressions(url: string | URL): string[] {
  return keys(urlText(url));
}
