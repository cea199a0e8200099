/** Keys into WebAssembly by hand: the only file that touches its memory. `src/wasm/scratch.rs` is the other side. */

import { scratch as growScratch } from "./bloom_wasm.js";
import { afterCall, call } from "./call.js";
import { lengthOf, requireRoom, type Key } from "./input.js";

/** About how many bytes of many keys cross at once. */
const CHUNK = 1 << 16;

/** The longest string for which there is room whatever it is made of; a longer one is measured. */
const LONG = 1 << 20;

const encoder = /* @__PURE__ */ new TextEncoder();

let memory: WebAssembly.Memory;

/**
 * The longest string that is copied by a loop if it is ASCII. `encodeInto` has a fixed cost, which is what the loop takes
 * for 30 characters in Node, and for 150 in Chrome.
 */
let short: number;

/** WebAssembly's scratch, which moves only when it grows, and is given back after the call if it is long. */
let view = /* @__PURE__ */ new Uint8Array(0);

/** Tells whose memory it is, and which strings are short in this runtime. */
export function useMemory(its: WebAssembly.Memory, shortest: number): void {
  memory = its;
  short = shortest;
}

/** The scratch, at least `length` bytes long. The view holds until the next call that may allocate. */
function room(length: number): Uint8Array {
  // A memory that grew has detached every view of it, which then has no bytes.
  if (length > view.length || view.length === 0) {
    requireRoom(length);
    const size = Math.max(length, 4096);
    // It may still have to be given back, if the call for which it was so long was never made.
    afterCall(undefined);
    const address = call(() => growScratch(size));
    view = new Uint8Array(memory.buffer, address >>> 0, size);
    if (size > 4 * LONG) afterCall(giveBack);
  }
  return view;
}

/** Without this, a key of half a gigabyte would leave no room for filters. */
function giveBack(): void {
  view = new Uint8Array(0);
  call(() => growScratch(0));
}

/** Puts a key into the scratch, from `at` on; returns its length in bytes. Small, so that V8 inlines it into queries. */
export function put(key: Key, at = 0): number {
  if (typeof key !== "string") return putBytes(key, at);
  const view = room(at + (key.length > LONG ? longest(key) : 3 * key.length));
  if (key.length <= short && putCharacters(key, view, at)) return key.length;
  return encoder.encodeInto(key, at > 0 ? view.subarray(at) : view).written;
}

/** How many bytes of UTF-8 a string has at most: half of a pair counts as three of its four. */
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
  room(at + length).set(key, at);
  return length;
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
 * Keys on their way into WebAssembly, many at a time: `cross` is told the keys whose lengths and bytes are in the scratch,
 * and how many bytes that are.
 */
export class Batch {
  /** Strings, which wait for more. */
  #keys: string[] = [];
  #units = 0;

  constructor(readonly cross: (keys: Key[], length: number) => void) {}

  push(key: Key): void {
    if (typeof key === "string" && key.length < CHUNK) {
      this.#keys.push(key);
      this.#units += key.length + 4;
      if (this.#units > CHUNK) this.flush();
    } else {
      // Alone if it is long, and bytes at once: the caller may fill the same ones anew.
      this.flush();
      const length = put(key, 4);
      this.#send([key], length, () => length);
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
    if (length === text.length) this.#send(keys, length, (i) => keys[i]!.length);
    else {
      for (const key of keys) {
        const length = put(key, 4);
        this.#send([key], length, () => length);
      }
    }
  }

  /** The lengths of the keys (u32, little-endian) come before the keys. */
  #send(keys: Key[], length: number, lengthOf: (i: number) => number): void {
    const lengths = new DataView(view.buffer, view.byteOffset);
    for (let i = 0; i < keys.length; i++) lengths.setUint32(4 * i, lengthOf(i), true);
    this.cross(keys, 4 * keys.length + length);
  }
}
