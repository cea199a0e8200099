/** Writes keys into WebAssembly's memory by hand. No other file touches it. `src/wasm/npm/scratch.rs` is the other side. */

import { scratch as growScratch } from "../bloom_wasm.js";
import { type Key, lengthOf, requireRoom } from "../boundary/input.js";
import { call, withMemory } from "./instance.js";

/** About how many bytes cross at once when there are many keys. */
const CHUNK = 1 << 16;

/** Up to this length a string gets room for the worst case. A longer one is measured first. */
const LONG = 1 << 20;

/** The longest scratch that is kept. Rust frees a longer one once its key was used. */
const KEPT = 4 * LONG;

const encoder = /* @__PURE__ */ new TextEncoder();

let memory: WebAssembly.Memory;

/**
 * The longest string that a loop copies if it is ASCII. `encodeInto` has a fixed cost: in that time the loop copies 30
 * characters in Node, and 150 in Chrome.
 */
let short = 150;

/** Where WebAssembly's scratch is. It moves only when it grows. */
let address = 0;

/** The scratch, if it is one that is kept. When memory grows, its views are detached and then have no bytes. */
let view = /* @__PURE__ */ new Uint8Array(0);

/** Sets which strings are short in this runtime. */
export function setShort(length: number): void {
  short = length;
}

withMemory((next) => {
  memory = next;
  view = new Uint8Array(0);
});

/** Makes the scratch longer than `length` bytes. The view is valid until the next call that may allocate. */
function grown(length: number): Uint8Array {
  requireRoom(length);
  const size = Math.max(length + 1, 4096);
  view = new Uint8Array(0);
  address = call(() => growScratch(size)) >>> 0;
  const room = new Uint8Array(memory.buffer, address, size);
  if (size <= KEPT) view = room;
  return room;
}

/**
 * Puts a key into the scratch, at `at`. Returns its length in bytes. What the key is for must be read before: that may
 * make a new instance, or need the scratch. It is small, so that V8 inlines it into queries.
 */
export function put(key: Key, at = 0): number {
  if (typeof key !== "string") return putBytes(key, at);
  const room = at + 3 * key.length < view.length ? view : roomFor(key, at);
  if (key.length <= short && putCharacters(key, room, at)) return key.length;
  return encoder.encodeInto(key, at > 0 ? room.subarray(at) : room).written;
}

function roomFor(key: string, at: number): Uint8Array {
  return grown(at + (key.length > LONG ? longest(key) : 3 * key.length));
}

/** The most bytes of UTF-8 that a string can have. Each half of a surrogate pair counts as three. */
function longest(key: string): number {
  let length = 0;
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    length += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
  }
  return length;
}

function putBytes(key: Uint8Array, at: number): number {
  const length = lengthOf(key, "a key must be a string or a", "invalid_key");
  (at + length < view.length ? view : grown(at + length)).set(key, at);
  return length;
}

/** Copies a string if it is ASCII. Returns whether it was. */
function putCharacters(key: string, room: Uint8Array, at: number): boolean {
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    if (code > 0x7f) return false;
    room[at + i] = code;
  }
  return true;
}

/**
 * Keys on their way into WebAssembly, many at once. `cross` is called with what they are for, with the keys whose lengths
 * and bytes are in the scratch, which are all strings or all bytes, and with the number of these bytes.
 */
export class Batch<R> {
  /** Strings that wait to be sent together. */
  #keys: string[] = [];
  #units = 0;

  constructor(
    readonly held: { readonly raw: R },
    readonly cross: (raw: R, keys: Key[], length: number) => void,
  ) {}

  push(key: Key): void {
    if (typeof key === "string" && key.length < CHUNK) {
      this.#keys.push(key);
      this.#units += key.length + 4;
      if (this.#units > CHUNK) this.flush();
    } else {
      // Long strings are sent alone, and bytes at once: the caller may reuse the array.
      this.flush();
      const { raw } = this.held;
      const length = put(key, 4);
      this.#send(raw, [key], length, () => length);
    }
  }

  /** Sends the strings that wait. */
  flush(): void {
    const keys = this.#keys;
    if (keys.length === 0) return;
    this.#keys = [];
    this.#units = 0;
    const { raw } = this.held;
    const text = keys.join("");
    const start = 4 * keys.length;
    const length = put(text, start);
    // Only ASCII has as many bytes as UTF-16 units.
    if (length === text.length) this.#send(raw, keys, length, (i) => keys[i]!.length);
    else {
      // Again, one by one, to learn where each key ends. The scratch has room for them.
      let end = start;
      const lengths = keys.map((key) => {
        const length = put(key, end);
        end += length;
        return length;
      });
      this.#send(raw, keys, end - start, (i) => lengths[i]!);
    }
  }

  /** Writes the lengths of the keys (u32, little-endian) before the keys, and lets them cross. */
  #send(raw: R, keys: Key[], length: number, lengthOf: (i: number) => number): void {
    const lengths = new DataView(memory.buffer, address);
    for (let i = 0; i < keys.length; i++) lengths.setUint32(4 * i, lengthOf(i), true);
    this.cross(raw, keys, 4 * keys.length + length);
  }
}
