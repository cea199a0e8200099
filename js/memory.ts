/** Bytes and keys into WebAssembly and back: the only file that touches its memory. */

import { FilterError, checked } from "./error.js";
import type { InitOutput } from "./bloom_wasm.js";

/** A key: a string is hashed as its UTF-8 bytes, a lone surrogate in it as U+FFFD (the bytes EF BF BD). */
export type Key = string | Uint8Array;

/** The number of what WebAssembly holds for us: bytes, digests or a filter. */
export type Slot = number;

/** The most bytes that one slot takes: a 32-bit memory has no room for more. */
const MAX_LENGTH = 0x7fff_ffff;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @internal What WebAssembly exports: `src/wasm/`. Numbers of 32 bits come back as signed ones, truth as 0 or 1. */
export let wasm: InitOutput;

/** @internal Tells what has been started. */
export function use(started: InitOutput): void {
  wasm = started;
}

/** What a value is, for a message. */
export function typeName(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}

/** No view: making one of these each time takes longer than a query. */
const NONE = new Uint8Array(0);

/** A run of bytes in WebAssembly's memory. */
export class Bytes {
  readonly slot: Slot;
  #view = NONE;

  constructor(slot: Slot = checked(wasm.bytes_new())) {
    this.slot = slot;
  }

  /** The bytes. The view holds until the next call that may allocate. */
  view(): Uint8Array<ArrayBuffer> {
    // A memory that grew has detached every view of it.
    if (this.#view.byteLength === 0) {
      const buffer = wasm.memory.buffer as ArrayBuffer;
      this.#view = new Uint8Array(buffer, wasm.bytes_address(this.slot) >>> 0, wasm.bytes_length(this.slot));
    }
    return this.#view;
  }

  /** As {@link view}, after making it exactly `length` bytes long; what fits is kept. */
  resize(length: number): Uint8Array<ArrayBuffer> {
    if (length > MAX_LENGTH) throw new FilterError("too_large", "there is no room for {} bytes", length, 0);
    checked(wasm.bytes_resize(this.slot, length));
    this.moved();
    return this.view();
  }

  /** As {@link view}, after making it at least `length` bytes long, if need be longer. */
  reserve(length: number): Uint8Array<ArrayBuffer> {
    const view = this.view();
    return length <= view.byteLength ? view : this.resize(Math.max(length, 2 * view.byteLength, 1024));
  }

  /** To be called when WebAssembly may have moved the bytes. */
  moved(): void {
    this.#view = NONE;
  }

  /** Copies the bytes out and frees them. */
  take(): Uint8Array<ArrayBuffer> {
    try {
      return this.view().slice();
    } finally {
      this.free();
    }
  }

  free(): void {
    wasm.free(this.slot);
  }

  /** A copy of some bytes. */
  static from(bytes: Uint8Array): Bytes {
    const copy = new Bytes();
    try {
      copy.resize(bytes.byteLength).set(bytes);
    } catch (error) {
      copy.free();
      throw error;
    }
    return copy;
  }
}

/** Throws unless it is a key. */
export function checkKey(key: Key): void {
  if (typeof key !== "string" && !(key instanceof Uint8Array)) {
    throw new FilterError("invalid_key", `a key must be a string or a Uint8Array, not ${typeName(key)}`);
  }
}

/** Writes a key at `offset`; returns its length in bytes. */
function write(target: Bytes, offset: number, key: Key): number {
  checkKey(key);
  if (typeof key !== "string") {
    target.reserve(offset + key.byteLength).set(key, offset);
    return key.byteLength;
  }
  const length = key.length;
  const view = target.reserve(offset + 3 * length);
  // encodeInto has a fixed cost of 30 ns in Node and 200 ns in Chrome: short ASCII goes faster by hand.
  if (length <= 32) {
    let i = 0;
    for (; i < length; i++) {
      const code = key.charCodeAt(i);
      if (code > 0x7f) break;
      view[offset + i] = code;
    }
    if (i === length) return length;
  }
  return encoder.encodeInto(key, view.subarray(offset)).written;
}

/** Where single keys pass through. */
let scratch: Bytes | undefined;

/** Hands one key to `run`, as a slot and a length in bytes. */
export function withKey<T>(key: Key, run: (slot: Slot, length: number) => T): T {
  scratch ??= new Bytes();
  const length = write(scratch, 0, key);
  return run(scratch.slot, length);
}

/** As {@link withKey}; `run` puts a text in the key's place and returns its length in bytes. */
export function rewritten(key: Key, run: (slot: Slot, length: number) => number): string {
  let length = 0;
  try {
    length = withKey(key, run);
  } finally {
    scratch?.moved();
  }
  return length > 0 ? decoder.decode(scratch?.view().subarray(0, length)) : "";
}

/** As {@link rewritten}, for bytes. */
export function withBytes(key: Key, run: (slot: Slot, length: number) => number): Uint8Array {
  try {
    const length = withKey(key, run);
    scratch?.moved();
    return scratch!.view().slice(0, length);
  } finally {
    scratch?.moved();
  }
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

/** Throws unless it is a text's bytes. */
export function checkText(text: Uint8Array): void {
  if (text instanceof Uint8Array) return;
  throw new FilterError("invalid_key", `lines must be UTF-8 bytes in a Uint8Array, not ${typeName(text)}`);
}

/** Hands a text's bytes to `run`, as a slot and a length. */
export function withText<T>(text: Uint8Array, run: (slot: Slot, length: number) => T): T {
  checkText(text);
  return withKey(text, run);
}

/** The keys, if they are an iterable of any; a string is one of characters, which nobody means. */
export function iterable(keys: Iterable<Key>): Iterable<Key> {
  if (typeof keys !== "string" && typeof keys?.[Symbol.iterator] === "function") return keys;
  throw new FilterError("invalid_key", `keys must be an iterable of keys, not ${typeName(keys)}`);
}

/** Keys on their way into a filter: 8 bytes each in WebAssembly, however long they are. */
export class Digests {
  readonly slot: Slot;
  #batch = new Bytes();
  #end = 0;

  constructor(seed: bigint) {
    this.slot = checked(wasm.digests_new(seed));
  }

  /** Takes one key; it crosses into WebAssembly with its batch. */
  push(key: Key): void {
    const length = write(this.#batch, this.#end + 4, key);
    const view = this.#batch.view();
    for (let i = 0; i < 4; i++) view[this.#end + i] = length >>> (8 * i);
    this.#end += 4 + length;
    if (this.#end > 1 << 16) this.flush();
  }

  /** Sends the last batch on its way. */
  flush(): this {
    checked(wasm.digests_push(this.slot, this.#batch.slot, this.#end));
    this.#end = 0;
    return this;
  }

  /** Takes keys, a whole batch of them with each crossing. */
  pushAll(keys: Iterable<Key>): this {
    for (const key of iterable(keys)) this.push(key);
    return this.flush();
  }

  /** Takes the lines of a text but for blank ones. */
  pushLines(text: Uint8Array): this {
    withText(text, (slot, length) => checked(wasm.digests_push_lines(this.slot, slot, length)));
    return this;
  }

  /** Whether the key is among these, which are sorted. */
  has(key: Key): boolean {
    return withKey(key, (slot, length) => wasm.digests_have(this.slot, slot, length) > 0);
  }

  free(): void {
    this.#batch.free();
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
