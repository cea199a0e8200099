/** The bytes of a key, where they are hashed. FORMAT.md section 3: text is UTF-8, and a lone surrogate U+FFFD. */

import { type Key, lengthOf, room } from "../boundary/input.js";
import { FilterError } from "../error.js";

/** Keys of up to this many bytes share a permanent buffer. A longer key gets its own, until the next key. */
const SHORT = 1 << 14;

/** Up to this length a loop copies ASCII faster than `encodeInto`, which has a fixed cost: a lower one in Node. */
const LOOP = /* @__PURE__ */ (() => (globalThis.process ? 32 : 150))();

let short: Uint8Array<ArrayBuffer> | undefined;

/** The place of the last key. */
let bytes: Uint8Array<ArrayBuffer>;

/** The same. The key begins at 0. */
export let scratch: DataView<ArrayBuffer>;

let encoder: TextEncoder | undefined;

/**
 * Throws `too_large` for a text that may be too long for the runtime: it may become three times as long in UTF-8, and
 * longer still on its way to a key.
 */
export function requireShort(text: string | Uint8Array): void {
  if (text.length > 2 ** 27) throw new FilterError("too_large", `there is no room for ${text.length} characters`);
}

/** A text with U+FFFD for each lone surrogate. First, so that no later change of the text joins two of them. */
export function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

/**
 * The bytes of a text. The encoder is made on first use, so that a runtime without the class fails only where it is
 * needed. Throws `too_large` if there is no memory for them.
 */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  encoder ??= new TextEncoder();
  try {
    return encoder.encode(text);
  } catch (cause) {
    throw new FilterError("too_large", `there is no room for ${text.length} characters`, { cause });
  }
}

/**
 * Decodes UTF-8; undefined for other bytes. Not with TextDecoder, which React Native's engine lacks, and piece by
 * piece, because the escapes take 60 times the memory of the bytes.
 */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  let text = "";
  try {
    for (let at = 0; at < bytes.length; ) {
      let end = at + 4096;
      // Not within a character. If all bytes after the first continue it, they aren't UTF-8 anyway.
      while (end > at + 1 && bytes[end]! >> 6 === 2) end--;
      let escapes = "";
      for (const byte of bytes.subarray(at, end)) escapes += `%${(256 + byte).toString(16).slice(1)}`;
      at = end;
      text += decodeURIComponent(escapes);
    }
    return text;
  } catch (cause) {
    // Anything else, such as an exhausted stack, isn't about the bytes.
    if (cause instanceof URIError) return undefined;
    throw cause;
  }
}

function use(next: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (next !== bytes) {
    bytes = next;
    scratch = new DataView(bytes.buffer);
  }
  return bytes;
}

/** A scratch of at least this many bytes. Throws `too_large` if there is no memory for them. */
export function roomFor(length: number): Uint8Array<ArrayBuffer> {
  short ??= new Uint8Array(SHORT);
  return use(length > SHORT ? room(length) : short);
}

/** Puts a key into the scratch. Returns its length in bytes. Throws `invalid_key` for anything else. */
export function put(key: Key): number {
  if (typeof key !== "string") {
    const length = lengthOf(key, "a key must be a string or a", "invalid_key");
    roomFor(length).set(key);
    return length;
  }
  const { length } = key;
  if (length > SHORT / 3) return use(utf8(key)).length;
  const room = roomFor(0);
  if (length <= LOOP) {
    let i = 0;
    for (; i < length; i++) {
      const code = key.charCodeAt(i);
      if (code > 0x7f) break;
      room[i] = code;
    }
    if (i === length) return length;
  }
  encoder ??= new TextEncoder();
  return encoder.encodeInto(key, room).written;
}
