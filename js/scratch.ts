/** Keys into WebAssembly by hand: the only file that touches its memory. `src/wasm/scratch.rs` is the other side. */

import { scratch as growScratch } from "./bloom_wasm.js";
import { call } from "./call.js";
import { type Key, lengthOf, requireRoom } from "./input.js";

/** About how many bytes of many keys cross at once. */
const CHUNK = 1 << 16;

/** The longest string for which there is room whatever it is made of; a longer one is measured. */
const LONG = 1 << 20;

/** The longest scratch that is kept: Rust gives a longer one back when its key was asked for. */
const KEPT = 4 * LONG;

const encoder = /* @__PURE__ */ new TextEncoder();

let memory: WebAssembly.Memory;

/**
 * The longest string that is copied by a loop if it is ASCII. `encodeInto` has a fixed cost, which is what the loop takes
 * for 30 characters in Node, and for 150 in Chrome.
 */
let short: number;

/** Where WebAssembly's scratch is. It moves only when it grows. */
let address = 0;

/** The scratch, if it is one that is kept. A memory that grows detaches its views, which then have no bytes. */
let view = /* @__PURE__ */ new Uint8Array(0);

/** Tells whose memory it is, and which strings are short in this runtime. */
export function useMemory(its: WebAssembly.Memory, shortest: number): void {
  memory = its;
  short = shortest;
}

/** The scratch, made longer than `length` bytes. The view holds until the next call that may allocate. */
function grown(length: number): Uint8Array {
  requireRoom(length);
  const size = Math.max(length + 1, 4096);
  view = new Uint8Array(0);
  address = call(() => growScratch(size)) >>> 0;
  const its = new Uint8Array(memory.buffer, address, size);
  if (size <= KEPT) view = its;
  return its;
}

/** Puts a key into the scratch, from `at` on; returns its length in bytes. Small, so that V8 inlines it into queries. */
export function put(key: Key, at = 0): number {
  if (typeof key !== "string") return putBytes(key, at);
  const room = at + 3 * key.length < view.length ? view : roomFor(key, at);
  if (key.length <= short && putCharacters(key, room, at)) return key.length;
  return encoder.encodeInto(key, at > 0 ? room.subarray(at) : room).written;
}

function roomFor(key: string, at: number): Uint8Array {
  return grown(at + (key.length > LONG ? longest(key) : 3 * key.length));
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
  (at + length < view.length ? view : grown(at + length)).set(key, at);
  return length;
}

/** Copies a string if it is ASCII, and tells whether it was. */
function putCharacters(key: string, room: Uint8Array, at: number): boolean {
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    if (code > 0x7f) return false;
    room[at + i] = code;
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
    const lengths = new DataView(memory.buffer, address);
    for (let i = 0; i < keys.length; i++) lengths.setUint32(4 * i, lengthOf(i), true);
    this.cross(keys, 4 * keys.length + length);
  }
}
