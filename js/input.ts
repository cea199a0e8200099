/** What callers hand over: types are checked here, before anything crosses into WebAssembly, and ranges there. */

import { type ErrorCode, FilterError } from "./error.js";

/** A key: a string is hashed as its UTF-8 bytes, a lone surrogate in it as U+FFFD (the bytes EF BF BD). */
export type Key = string | Uint8Array;

/** `instanceof`, which throws for a revoked Proxy. */
export function isA<T>(value: unknown, its: { readonly prototype: T }): value is T {
  try {
    return value instanceof (its as unknown as new () => object);
  } catch {
    return false;
  }
}

/** What a value is, for a message. */
export function typeName(value: unknown): string {
  return value === null ? "null" : isA(value, Array) ? "an array" : typeof value;
}

export function invalidParameter(message: string): FilterError {
  return new FilterError("invalid_parameter", message);
}

/** Does something with a caller's object; if that throws, it is a FilterError that says what was wanted. */
export function attempt<T>(wanted: string, run: () => T, code: ErrorCode = "invalid_parameter"): T {
  try {
    return run();
  } catch (cause) {
    throw new FilterError(code, `${wanted}; is this a Proxy, or was it transferred?`, { cause });
  }
}

/** Throws `invalid_parameter` unless each of these is of a type, or undefined, which is a default or NaN in Rust. */
export function requireType(type: "number" | "boolean" | "string" | "function", values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && typeof value !== type)
      throw invalidParameter(`${name} must be a ${type}, not ${typeName(value)}`);
  }
}

/** Throws `too_large` for more bytes than a 32-bit memory may have: lengths in Rust would wrap around. */
export function requireRoom(length: number): void {
  if (length > 0x7fff_ffff) throw new FilterError("too_large", `there is no room for ${length} bytes`);
}

// What an array of a class of somebody's own may tell differently. They know arrays of every realm, and nothing else.
const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const [getTag, getLength, getBuffer, getOffset] = [Symbol.toStringTag, "length", "buffer", "byteOffset"].map(
  (name) => Object.getOwnPropertyDescriptor(typedArray, name)!.get!,
) as [() => string | undefined, () => number, () => ArrayBuffer, () => number];

/** Whether it is a `Uint8Array`, of whichever realm; a Proxy of one is none. */
export function isBytes(value: unknown): value is Uint8Array {
  return getTag.call(value) === "Uint8Array";
}

/** How many bytes a `Uint8Array` really has. Throws `code` if it is none; `what` it should be is told. */
export function lengthOf(bytes: unknown, what: string, code: ErrorCode): number {
  if (!isBytes(bytes)) throw new FilterError(code, `${what} Uint8Array, not ${typeName(bytes)}`);
  const length = getLength.call(bytes);
  // One whose buffer was transferred, or has become shorter, would pass for an empty one; any method of it throws.
  if (length === 0) attempt(`${what} Uint8Array`, () => Uint8Array.prototype.indexOf.call(bytes, 0), code);
  return length;
}

/** The same bytes as an array of no other class, whose methods and length nobody has changed; throws as {@link lengthOf}. */
export function plainBytes(
  bytes: Uint8Array,
  what = "bytes must be a",
  code: ErrorCode = "invalid_parameter",
): Uint8Array {
  const length = lengthOf(bytes, what, code);
  requireRoom(length);
  return new Uint8Array(getBuffer.call(bytes), getOffset.call(bytes), length);
}

/** The bytes of a text; throws `invalid_key` unless it is that. */
export function asText(text: Uint8Array): Uint8Array {
  return plainBytes(text, "lines must be UTF-8 bytes in a", "invalid_key");
}

/** The bytes of what a caller calls bytes. */
export function asBytes(bytes: Uint8Array | ArrayBuffer): Uint8Array {
  if (isBytes(bytes)) return plainBytes(bytes);
  // A DataView is of a buffer, of whichever realm, and of nothing else.
  const buffer = () => new DataView(bytes).buffer;
  return new Uint8Array(attempt(`bytes must be an ArrayBuffer or a Uint8Array, not ${typeName(bytes)}`, buffer));
}

/** The keys, if they are an iterable of any; a string is one of characters, and bytes one of numbers, which nobody means. */
export function iterable(keys: Iterable<Key>): Iterable<Key> {
  if (typeof keys !== "string" && !isBytes(keys) && typeof keys?.[Symbol.iterator] === "function") return keys;
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
