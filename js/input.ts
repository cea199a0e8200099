/** What callers hand over: types are checked here, before anything crosses into WebAssembly, and ranges there. */

import { FilterError } from "./error.js";

/** A key: a string is hashed as its UTF-8 bytes, a lone surrogate in it as U+FFFD (the bytes EF BF BD). */
export type Key = string | Uint8Array;

/** What a value is, for a message. */
export function typeName(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}

export function invalidParameter(message: string): FilterError {
  return new FilterError("invalid_parameter", message);
}

/** Throws `invalid_parameter` unless each of these is of a type, or undefined, which is a default or NaN in Rust. */
export function requireType(type: "number" | "boolean" | "string" | "function", values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && typeof value !== type) throw invalidParameter(`${name} must be a ${type}, not ${typeName(value)}`);
  }
}

/** Throws `invalid_key` unless it is a key. */
export function requireKey(key: Key): void {
  if (typeof key !== "string") requireBytes(key, "a key must be a string or a");
}

/** The bytes of a text; throws `invalid_key` unless it is that. */
export function asText(text: Uint8Array): Uint8Array {
  requireBytes(text, "lines must be UTF-8 bytes in a");
  return plainBytes(text);
}

function requireBytes(bytes: Uint8Array, must: string): void {
  if (!(bytes instanceof Uint8Array)) throw new FilterError("invalid_key", `${must} Uint8Array, not ${typeName(bytes)}`);
  if (lengthOf(bytes) === 0) requireBuffer(bytes);
}

/** One whose buffer was transferred, or has become shorter, would pass for an empty one; any method of it throws. */
function requireBuffer(bytes: Uint8Array): void {
  try {
    Uint8Array.prototype.indexOf.call(bytes, 0);
  } catch (cause) {
    throw new FilterError("invalid_key", "the buffer of a Uint8Array was transferred or has shrunk", { cause });
  }
}

// What an array of a class of somebody's own may tell differently.
const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const [getLength, getBuffer, getOffset] = ["length", "buffer", "byteOffset"].map(
  (name) => Object.getOwnPropertyDescriptor(typedArray, name)!.get!,
) as [() => number, () => ArrayBuffer, () => number];

/** How many bytes an array really has. */
export function lengthOf(bytes: Uint8Array): number {
  try {
    return getLength.call(bytes);
  } catch (cause) {
    throw new FilterError("invalid_key", "this is no Uint8Array, but a Proxy or the like of one", { cause });
  }
}

/** Throws `too_large` for more bytes than a 32-bit memory may have: lengths in Rust would wrap around. */
export function requireRoom(length: number): void {
  if (length > 0x7fff_ffff) throw new FilterError("too_large", `there is no room for ${length} bytes`);
}

/** The same bytes as an array of no other class, whose methods and length nobody has changed. */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  const length = lengthOf(bytes);
  requireRoom(length);
  if (length === 0) requireBuffer(bytes);
  return new Uint8Array(getBuffer.call(bytes), getOffset.call(bytes), length);
}

/** The bytes of what a caller calls bytes. */
export function asBytes(bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return plainBytes(bytes);
  if (bytes instanceof ArrayBuffer) {
    try {
      return new Uint8Array(bytes);
    } catch (cause) {
      throw new FilterError("invalid_parameter", "the ArrayBuffer was transferred", { cause });
    }
  }
  throw invalidParameter(`bytes must be a Uint8Array or an ArrayBuffer, not ${typeName(bytes)}`);
}

/** The keys, if they are an iterable of any; a string is one of characters, which nobody means. */
export function iterable(keys: Iterable<Key>): Iterable<Key> {
  if (typeof keys !== "string" && typeof keys?.[Symbol.iterator] === "function") return keys;
  throw new FilterError("invalid_key", `keys must be an iterable of keys, not ${typeName(keys)}`);
}

/** All bytes of several arrays. */
export function concat(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
