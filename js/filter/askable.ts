/// <reference lib="esnext.disposable" preserve="true" />
/** What every filter can be asked, whichever entry has read it. */

import type { FilterInfo } from "../boundary/info.js";
import type { AnyKey, Key } from "../boundary/input.js";

/**
 * A filter that can be asked: the `Filter` of `bloom-wasm`, of `bloom-wasm/reader` and of `bloom-wasm/nano`. A program
 * that only asks takes this, and works with any of them. "Maybe present" may be wrong, at a known rate; "definitely
 * absent" never is.
 */
export interface AskableFilter<K extends AnyKey = Key> extends Disposable {
  /** The kind of filter. */
  readonly kind: FilterInfo["kind"];
  /**
   * Asks for a key: true = maybe present, false = definitely absent. A filter of URLs has keys such as `evil.example/`:
   * ask it `hasUrl` for a URL or a host, of which no key can be, so that these throw `invalid_key` here. So does what no
   * key of a filter of passwords can be: ask that `hasPassword`.
   */
  has(key: K): boolean;
  /** Whether at least one of the keys is maybe present. Stops at the first that is; false for no keys. */
  hasAny(keys: Iterable<K>): boolean;
  /** Whether all of the keys are maybe present. Stops at the first that isn't; true for no keys. */
  hasAll(keys: Iterable<K>): boolean;
  /** Asks for many keys. Returns one byte per key: 1 = maybe present, 0 = definitely absent. */
  hasMany(keys: Iterable<K>): Uint8Array<ArrayBuffer>;
  /** Asks for each line of a UTF-8 text. Returns one byte per line: 1 = maybe present, 0 = definitely absent. */
  hasLines(text: Uint8Array): Uint8Array<ArrayBuffer>;
  /** Whether a URL, a host, or a host with a path is maybe on the list. */
  hasUrl(url: string | URL): boolean;
  /** The first key of a URL that is maybe present, such as `evil.example/`, or null. */
  matchUrl(url: string | URL): string | null;
  /** The tags of a key: exact for what the filter was built from, none for what is absent, and otherwise any. */
  tags(key: K): readonly string[];
  /** The tags of all keys of a URL that are maybe present, each once. */
  urlTags(url: string | URL): string[];
  /** Whether a password is maybe on the list. */
  hasPassword(password: string): boolean;
  /** A description of the filter: a plain object that can go into JSON. */
  info(): FilterInfo;
  /** The description, so that `JSON.stringify(filter)` shows it. */
  toJSON(): FilterInfo;
  /** The chance that a key which was never added is "maybe present", 0 to 1, estimated from the present fill. */
  readonly estimatedFpr: number;
  /** About how many different keys the filter holds; `Infinity` if it is too full to tell. */
  readonly estimatedCount: number;
  /** The blob. */
  toBytes(): Uint8Array<ArrayBuffer>;
  /** Frees the memory now. A freed filter can't be used. */
  free(): void;
}
