/** The engine in plain JavaScript, for filters of our own kinds. */

import type { FilterInfo } from "../boundary/info.js";
import { type AnyKey, concat, type Key, noKey, requireProfile } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { Engine } from "../filter/engine.js";
import { type Blob, hasKey, tagsOf } from "./blob.js";
import { findKey, foundEnd, foundStart, take, takePlain } from "./expressions.js";
import { describe, estimatedCount, estimatedFpr, kindOf, profileOf } from "./info.js";
import { isPasswordKey, passwordKey } from "./password.js";
import { put, scratch } from "./scratch.js";
import { slotsOf } from "./slots.js";
import { isUrlKey, keys, readings } from "./url.js";

/** @internal Answers from a blob, which never changes. */
export class PlainEngine extends Engine {
  /** The slots of the keys that can be present, a bit each. */
  readonly #map: number;

  constructor(readonly blob: Blob) {
    super();
    this.#map = slotsOf(blob);
  }

  get kind(): FilterInfo["kind"] {
    return kindOf(this.blob);
  }

  has(key: AnyKey): boolean {
    const length = put(key as Key);
    requireKey(this.blob, key as Key);
    return hasKey(this.blob, scratch, 0, length);
  }

  hasMany(keys: Iterable<AnyKey>): Uint8Array<ArrayBuffer> {
    const answers: number[] = [];
    for (const key of keys) answers.push(Number(this.has(key)));
    return new Uint8Array(answers);
  }

  hasLines(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    const { blob } = this;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const answers: number[] = [];
    for (let at = 0; at < bytes.length; ) {
      const found = bytes.indexOf(10, at);
      const next = found < 0 ? bytes.length : found;
      const end = next > at && bytes[next - 1] === 13 ? next - 1 : next;
      // Not for a raw filter, whose keys may be any bytes: a subarray for each line would be garbage.
      if (end > at && blob.profile) requireKey(blob, bytes.subarray(at, end), answers.length + 1);
      answers.push(Number(end > at && hasKey(blob, view, at, end)));
      at = next + 1;
    }
    return new Uint8Array(answers);
  }

  hasUrl(url: string): boolean {
    const { blob } = this;
    requireProfile(profileOf(blob), "url");
    return takePlain(url, this.#map) ? findKey(blob, this.#map) : this.#matchReadings(url) !== null;
  }

  matchUrl(url: string): string | null {
    const { blob } = this;
    requireProfile(profileOf(blob), "url");
    if (!takePlain(url, this.#map)) return this.#matchReadings(url);
    return findKey(blob, this.#map) ? url.slice(foundStart, foundEnd) : null;
  }

  /** The same for a URL that isn't plain. */
  #matchReadings(url: string): string | null {
    for (const reading of readings(url)) {
      if (!reading) continue;
      take(reading);
      if (findKey(this.blob, this.#map)) return reading.text.slice(foundStart, foundEnd);
    }
    return null;
  }

  tags(key: AnyKey): readonly string[] {
    const { blob } = this;
    const length = put(key as Key);
    requireTags(blob);
    requireKey(blob, key as Key);
    return Array.from(tagsOf(blob, scratch, 0, length) ?? [], (number) => blob.tagNames[number]!);
  }

  urlTags(url: string): string[] {
    const { blob } = this;
    requireProfile(profileOf(blob), "url");
    requireTags(blob);
    const found = this.hasUrl(url) ? keys(url).flatMap((key) => this.tags(key)) : [];
    return blob.tagNames.filter((name) => found.includes(name));
  }

  hasPassword(password: string): boolean {
    const { blob } = this;
    requireProfile(profileOf(blob), "password");
    const length = put(passwordKey(password, blob.flags));
    return hasKey(blob, scratch, 0, length);
  }

  info(): FilterInfo {
    return describe(this.blob);
  }

  get estimatedFpr(): number {
    return estimatedFpr(this.blob);
  }

  get estimatedCount(): number {
    return estimatedCount(this.blob);
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    return toBytes(this.blob);
  }

  equals(other: Engine): boolean {
    if (!(other instanceof PlainEngine))
      throw new FilterError("incompatible", "the other filter runs in WebAssembly; compare what toBytes() gives");
    const [one, another] = [this.blob, other.blob];
    if (one === another) return true;
    return String(one.tagCounts) === String(another.tagCounts) && areEqual(contents(one), contents(another));
  }

  clone(): Engine {
    return this;
  }

  /** The garbage collector frees the blob. */
  free(): void {}
}

/** A blob in pieces, without a name and a creation time. */
function contents({ bytes }: Blob): Uint8Array[] {
  const [head, , ...rest] = bytes as [Uint8Array, ...Uint8Array[]];
  const own = head.slice();
  own[7]! &= ~3;
  return [own, ...rest];
}

/** Whether two arrays, each in pieces, have the same bytes. */
function areEqual(one: Uint8Array[], another: Uint8Array[]): boolean {
  const [length, other] = [one, another].map((pieces) => pieces.reduce((sum, piece) => sum + piece.length, 0));
  if (length !== other) return false;
  let piece = 0;
  let at = 0;
  for (const bytes of one) {
    for (const byte of bytes) {
      while (at === another[piece]!.length) {
        piece++;
        at = 0;
      }
      if (byte !== another[piece]![at++]) return false;
    }
  }
  return true;
}

/** Throws for what the filter can't hold: a key, or a line. */
function requireKey(blob: Blob, key: Key, line?: number): void {
  const { profile, flags } = blob;
  if (!isKey(profile, flags, key, line !== undefined || typeof key === "string"))
    throw noKey(profileOf(blob), line ?? key);
}

/** Whether a filter of this profile may have a key, a text or bytes. */
export function isKey(profile: number, flags: number, key: Key, isText: boolean): boolean {
  return profile === 0 || (profile === 1 ? isUrlKey(key) : isPasswordKey(key, isText, flags));
}

function requireTags(blob: Blob): void {
  if (!blob.tags) throw new FilterError("wrong_kind", "the filter has no tags");
}

/** @internal The blob as bytes. */
export function toBytes({ bytes, id }: Blob): Uint8Array<ArrayBuffer> {
  return concat([...bytes, new Uint8Array(Int32Array.of(id[0]!).buffer)]);
}
