/** The engine behind a filter: plain JavaScript or WebAssembly. */

import type { FilterInfo } from "../boundary/info.js";
import type { AnyKey } from "../boundary/input.js";

/**
 * @internal Holds a decoded blob and answers for a {@link Filter}, where the methods are documented. A class, so that
 * only this package can make one.
 */
export abstract class Engine {
  abstract readonly kind: FilterInfo["kind"];
  abstract has(key: AnyKey): boolean;
  abstract hasMany(keys: Iterable<AnyKey>): Uint8Array<ArrayBuffer>;
  /** The bytes are an array of our own, without a byte order mark. */
  abstract hasLines(bytes: Uint8Array): Uint8Array<ArrayBuffer>;
  abstract hasUrl(url: string): boolean;
  abstract matchUrl(url: string): string | null;
  abstract tags(key: AnyKey): readonly string[];
  abstract urlTags(url: string): string[];
  abstract hasPassword(password: string): boolean;
  abstract info(): FilterInfo;
  abstract readonly estimatedFpr: number;
  abstract readonly estimatedCount: number;
  abstract toBytes(): Uint8Array<ArrayBuffer>;
  /** Throws `incompatible` for another class of engines. */
  abstract equals(other: Engine): boolean;
  abstract clone(): Engine;
  abstract free(): void;
}
