/** Bytes and keys into WebAssembly and back: the only file that touches its memory. */

import { FilterError, checked } from "./error.js";
import type { InitOutput } from "./bloom_wasm.js";

/** A key: a string is hashed as its UTF-8 bytes, a lone surrogate in it as U+FFFD (the bytes EF BF BD). */
export type Key = string | Uint8Array;

/** The number of what WebAssembly holds for us: bytes, a blob that arrives, digests or a filter. */
export type Slot = number;

/** The most bytes that one slot takes: a 32-bit memory has no room for more. */
const MAX_LENGTH = 0x7fff_ffff;

/** How many bytes cross at once, where there are many. */
const CHUNK = 1 << 16;

function checkLength(length: number): void {
  if (length > MAX_LENGTH) throw new FilterError("too_large", "there is no room for {} bytes", length, 0);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @internal What WebAssembly exports: `src/wasm/`. Numbers of 32 bits come back as signed ones, truth as 0 or 1. */
export let wasm: InitOutput;

/**
 * The longest string that is copied by a loop if it is ASCII. `encodeInto` has a fixed cost, which is what the loop takes
 * for 30 characters in Node, and for 150 in Chrome.
 */
let short = 150;

/** @internal Tells what has been started, and which strings are short there. */
export function use(started: InitOutput, shortest = short): void {
  wasm = started;
  short = shortest;
}

/** What a value is, for a message. */
export function typeName(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}

/** No view: making one of these each time takes longer than a query. */
const NONE = new Uint8Array(0);

/** The bytes in a slot. The view holds until the next call that may allocate. */
export function view(slot: Slot): Uint8Array<ArrayBuffer> {
  return new Uint8Array(wasm.memory.buffer as ArrayBuffer, wasm.bytes_address(slot) >>> 0, wasm.bytes_length(slot));
}

/** Copies the bytes in a slot out, after `fill` has appended to them, and frees them. */
export function taken(slot: Slot, fill?: () => void): Uint8Array<ArrayBuffer> {
  try {
    fill?.();
    return view(slot).slice();
  } finally {
    wasm.free(slot);
  }
}

/** Throws unless it is a key. */
export function checkKey(key: Key): void {
  if (typeof key !== "string") checkBytes(key, "a key must be a string or a");
}

function checkBytes(bytes: Uint8Array, must: string): void {
  if (!(bytes instanceof Uint8Array)) throw new FilterError("invalid_key", `${must} Uint8Array, not ${typeName(bytes)}`);
  try {
    // One whose buffer was transferred would pass for an empty one; this throws.
    if (bytes.length === 0) new Uint8Array(bytes.buffer);
  } catch (cause) {
    throw new FilterError("invalid_key", "the buffer of a Uint8Array was transferred", { cause });
  }
}

/**
 * Where keys and texts pass through: a view of WebAssembly's scratch, which never becomes shorter and moves only when it
 * grows.
 */
let scratch = NONE;

/** The scratch, at least `length` bytes long. The view holds until the next call that may allocate. */
function room(length: number): Uint8Array<ArrayBuffer> {
  // A memory that grew has detached every view of it, which then has no bytes.
  if (length > scratch.length || scratch.length === 0) {
    checkLength(length);
    const size = Math.max(length, 4096);
    const address = checked(wasm.scratch(size));
    scratch = new Uint8Array(wasm.memory.buffer as ArrayBuffer, address >>> 0, size);
  }
  return scratch;
}

/** Puts a key into the scratch, from `at` on; returns its length in bytes. Small, so that V8 inlines it into queries. */
export function put(key: Key, at = 0): number {
  if (typeof key !== "string") return putBytes(key, at);
  const view = room(at + 3 * key.length);
  if (key.length <= short && putCharacters(key, view, at)) return key.length;
  return encoder.encodeInto(key, at > 0 ? view.subarray(at) : view).written;
}

function putBytes(key: Uint8Array, at: number): number {
  checkKey(key);
  room(at + key.length).set(key, at);
  return key.length;
}

/** Copies a string if it is ASCII, and tells whether it was. */
function putCharacters(key: string, view: Uint8Array, at: number): boolean {
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    if (code > 0x7f) return false;
    view[at + i] = code;
  }
  return true;
}

/**
 * Appends bytes to the blob that arrives in a slot, where there will be room for `room` in all. It goes by the piece: each
 * is first zeros, then the bytes, and is hashed when the next one comes, all of it within the processor's cache.
 */
export function arrive(slot: Slot, bytes: Uint8Array, room: number): void {
  checkLength(room);
  for (let at = 0; at < bytes.length; at += CHUNK) {
    const piece = bytes.subarray(at, at + CHUNK);
    const address = checked(wasm.arrive(slot, piece.length, room)) >>> 0;
    new Uint8Array(wasm.memory.buffer as ArrayBuffer, address, piece.length).set(piece);
  }
}

/** A copy of the first bytes of the scratch, where a function that puts its answer there has done so. */
export function scratchBytes(length: number): Uint8Array<ArrayBuffer> {
  return room(length).slice(0, length);
}

/** As {@link scratchBytes}, as a text. */
export function scratchText(length: number): string {
  return length > 0 ? decoder.decode(room(length).subarray(0, length)) : "";
}

/** A key as a text; undefined if it isn't UTF-8. */
export function textOf(key: Key): string | undefined {
  checkKey(key);
  if (typeof key === "string") return key;
  try {
    return strict.decode(key);
  } catch {
    return undefined;
  }
}

const LF = 10;

/** Puts the lines of a text into the scratch, many at a time, and tells `cross` their length in bytes. */
export function putLines(text: Uint8Array, cross: (length: number) => void): void {
  checkText(text);
  for (let start = 0; start < text.length; ) {
    let end = start + CHUNK;
    if (end < text.length) {
      end = text.lastIndexOf(LF, end - 1) + 1;
      if (end <= start) end = text.indexOf(LF, start) + 1 || text.length;
    }
    checked(cross(put(text.subarray(start, end))));
    start = end;
  }
}

/** Throws unless it is a text's bytes. */
export function checkText(text: Uint8Array): void {
  checkBytes(text, "lines must be UTF-8 bytes in a");
}

/** The keys, if they are an iterable of any; a string is one of characters, which nobody means. */
export function iterable(keys: Iterable<Key>): Iterable<Key> {
  if (typeof keys !== "string" && typeof keys?.[Symbol.iterator] === "function") return keys;
  throw new FilterError("invalid_key", `keys must be an iterable of keys, not ${typeName(keys)}`);
}

/** Keys on their way into WebAssembly, many at a time: `cross` is told how many are in the scratch, and the length of all. */
export class Batch {
  /** Strings, which wait for more. */
  #keys: string[] = [];
  #units = 0;

  constructor(readonly cross: (count: number, length: number) => void) {}

  push(key: Key): void {
    if (typeof key === "string") {
      this.#keys.push(key);
      this.#units += key.length + 4;
      if (this.#units > CHUNK) this.flush();
    } else {
      this.flush();
      this.#put(1, put(key, 4), () => key.length);
    }
  }

  /** Sends what waits on its way. */
  flush(): void {
    const keys = this.#keys;
    if (keys.length === 0) return;
    this.#keys = [];
    this.#units = 0;
    const text = keys.join("");
    const length = put(text, 4 * keys.length);
    // Of ASCII, and that alone, there are as many bytes as UTF-16 units.
    if (length === text.length) this.#put(keys.length, length, (i) => keys[i]!.length);
    else {
      for (const key of keys) {
        const length = put(key, 4);
        this.#put(1, length, () => length);
      }
    }
  }

  /** The lengths of the keys (u32, little-endian) come before the keys. */
  #put(count: number, length: number, lengthOf: (i: number) => number): void {
    const lengths = new DataView(scratch.buffer, scratch.byteOffset);
    for (let i = 0; i < count; i++) lengths.setUint32(4 * i, lengthOf(i), true);
    checked(this.cross(count, 4 * count + length));
  }
}

/** Keys on their way into a filter: 8 bytes each in WebAssembly, however long they are. */
export class Digests {
  readonly slot: Slot;
  #batch: Batch;

  constructor(seed: bigint) {
    const slot = checked(wasm.digests_new(seed));
    this.slot = slot;
    this.#batch = new Batch((count, length) => wasm.digests_push(slot, count, length));
  }

  /** Takes one key; if it is a string, it crosses into WebAssembly with its batch. */
  push(key: Key): void {
    this.#batch.push(key);
  }

  /** Sends the last batch on its way. */
  flush(): this {
    this.#batch.flush();
    return this;
  }

  /** Takes the lines of a text but for blank ones. */
  pushLines(text: Uint8Array): this {
    putLines(text, (length) => wasm.digests_push_lines(this.slot, length));
    return this;
  }

  /** Whether the key is among these, which are sorted. */
  has(key: Key): boolean {
    return wasm.digests_have(this.slot, put(key)) > 0;
  }

  free(): void {
    wasm.free(this.slot);
  }
}

/** Runs with digests and frees them afterwards, whatever happens. */
export function withDigests<T>(seed: bigint, run: (digests: Digests) => T): T {
  const digests = new Digests(seed);
  try {
    return run(digests);
  } finally {
    digests.free();
  }
}
