/** Checks the types of arguments. */

import { type ErrorCode, FilterError } from "../error.js";

/** A key. A string is hashed as its UTF-8 bytes; a lone surrogate becomes U+FFFD (the bytes EF BF BD). */
export type Key = string | Uint8Array;

/**
 * A key of a foreign filter whose keys are numbers: a `bigint` or a whole `number`, or any `number` if they are
 * floating-point. Bytes are those of the number, little-endian.
 */
export type NumberKey = bigint | number | Uint8Array;

/** A key of some filter. Only foreign filters whose keys are numbers take numbers. Others throw `invalid_key`. */
export type AnyKey = Key | NumberKey;

/** The type of a value, for a message. */
export function typeName(value: unknown): string {
  if (value instanceof Promise) return "a promise; await it";
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}

export function invalidParameter(message: string): FilterError {
  return new FilterError("invalid_parameter", message);
}

const ODD = "; is it a Proxy, or transferred?";

/** Uses a caller's object. If that throws, throws a FilterError that says what was wanted. */
export function attempt<T>(wanted: string, run: () => T, code: ErrorCode = "invalid_parameter"): T {
  try {
    return run();
  } catch (cause) {
    throw new FilterError(code, `${wanted}${ODD}`, { cause });
  }
}

/** Throws `invalid_parameter` unless each value has the type or is undefined (a default, or NaN in Rust). */
export function requireType(type: "number" | "boolean" | "string" | "function", values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && typeof value !== type)
      throw invalidParameter(`${name} must be a ${type}, not ${typeName(value)}`);
  }
}

/** Throws `invalid_parameter` unless each value is a number that isn't below 0. */
export function requireLimit(values: Record<string, number>): void {
  requireType("number", values);
  for (const [name, value] of Object.entries(values))
    if (!(value >= 0)) throw invalidParameter(`${name} must be 0 or more`);
}

/** Throws `too_large` for more bytes than a 32-bit memory can have. In Rust, such a length would wrap around. */
export function requireRoom(length: number): void {
  if (length > 0x7fff_ffff) throw new FilterError("too_large", `there is no room for ${length} bytes`);
}

// The getters of typed arrays. A user's subclass may override them. They accept arrays of every realm, and nothing
// else.
const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const [getTag, getLength, getBuffer, getOffset] = [Symbol.toStringTag, "length", "buffer", "byteOffset"].map(
  (name) => Object.getOwnPropertyDescriptor(typedArray, name)!.get!,
) as [() => string | undefined, () => number, () => ArrayBuffer, () => number];

/** Whether a value is a `Uint8Array`, of any realm. A Proxy of one is not. */
export function isBytes(value: unknown): value is Uint8Array {
  return getTag.call(value) === "Uint8Array";
}

/** The real length of a `Uint8Array`. Throws `code` for anything else, with a message that starts with `what`. */
export function lengthOf(bytes: unknown, what: string, code: ErrorCode): number {
  if (!isBytes(bytes)) throw new FilterError(code, `${what} Uint8Array, not ${typeName(bytes)}`);
  const length = getLength.call(bytes);
  // An array whose buffer was transferred or has shrunk looks empty, but any method of it throws.
  if (length === 0) attempt(`${what} Uint8Array`, () => Uint8Array.prototype.indexOf.call(bytes, 0), code);
  return length;
}

/**
 * The same bytes as a plain `Uint8Array`, whose methods and length nobody has overridden. Throws like {@link lengthOf}.
 */
export function plainBytes(
  bytes: Uint8Array,
  what = "bytes must be a",
  code: ErrorCode = "invalid_parameter",
): Uint8Array {
  const length = lengthOf(bytes, what, code);
  requireRoom(length);
  return new Uint8Array(getBuffer.call(bytes), getOffset.call(bytes), length);
}

/** A key that the caller can't change any more. Throws `invalid_key` for anything else. */
export function ownKey(key: Key): Key {
  return typeof key === "string" ? key : plainBytes(key, "a key must be a string or a", "invalid_key").slice();
}

/** The bytes of a text, without a byte order mark. Throws `invalid_key` for anything but a `Uint8Array`. */
export function asText(text: Uint8Array): Uint8Array {
  const bytes = plainBytes(text, "lines must be a", "invalid_key");
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/**
 * The bytes of an argument. Throws `invalid_parameter` for anything but a `Uint8Array` or an `ArrayBuffer`, with a message
 * that starts with `wanted`.
 */
export function asBytes(
  bytes: Uint8Array | ArrayBuffer,
  wanted = "bytes must be an ArrayBuffer or a Uint8Array",
): Uint8Array {
  if (isBytes(bytes)) return plainBytes(bytes);
  let whole: Uint8Array;
  try {
    // DataView accepts a buffer of any realm, and nothing else.
    whole = new Uint8Array(new DataView(bytes).buffer);
  } catch (cause) {
    let hint = typeof bytes === "string" ? "; read a file without an encoding, and give a URL to load" : "";
    if (Object(bytes) instanceof ArrayBuffer || Object(bytes) instanceof Uint8Array) hint = ODD;
    throw new FilterError("invalid_parameter", `${wanted}, not ${typeName(bytes)}${hint}`, { cause });
  }
  return plainBytes(whole);
}

/** The error of a method whose `this` isn't a filter. */
export function noFilter(): FilterError {
  return invalidParameter("this is not a filter; call it as filter.has(key), not on a copy or a Proxy");
}

/** The text of a URL. Throws `invalid_key` for anything but a string or a URL. */
export function urlText(url: string | URL): string {
  if (typeof url === "string") return url;
  let href: unknown;
  try {
    href = url instanceof URL && url.href;
  } catch {
    // Such as a Proxy of a URL.
  }
  if (typeof href === "string") return href;
  throw new FilterError("invalid_key", `a URL must be a string or a URL, not ${typeName(url)}`);
}

/** Throws `invalid_key` for a password that isn't a string. */
export function requirePassword(password: string): string {
  if (typeof password === "string") return password;
  throw new FilterError("invalid_key", `a password must be a string, not ${typeName(password)}`);
}

/** A copy of the secret in some options, if there is one. No message shows any of it. */
export function secretIn(options: unknown): Uint8Array | undefined {
  const secret: unknown = Object(options).secret;
  if (secret === undefined) return undefined;
  const bytes = plainBytes(secret as Uint8Array, "secret must be a").slice();
  if (bytes.length !== 16) throw invalidParameter("secret must have 16 bytes");
  return bytes;
}

/**
 * The keys, if they are iterable. Strings and bytes are refused: their characters or bytes are hardly meant as keys.
 */
export function iterable<K>(keys: Iterable<K>): Iterable<K> {
  const wanted = "keys must be an array or another iterable of keys";
  if (typeof keys !== "string" && !isBytes(keys) && typeof keys?.[Symbol.iterator] === "function") return keys;
  throw new FilterError("invalid_key", `${wanted}, not ${typeName(keys)}`);
}

/**
 * The error for a key that a filter of URLs or passwords can't hold, or for the line of that number. "Absent" would be
 * misleading: its host, or the password itself, may be listed. A possible password isn't shown.
 */
export function noKey(profile: string, key: Key | number): FilterError {
  const isUrl = profile === "url";
  let what = typeof key === "number" ? `line ${key}` : `this ${typeof key === "string" ? "string" : "Uint8Array"}`;
  if (isUrl && typeof key === "string") what = JSON.stringify(key.slice(0, 80));
  const of = isUrl ? "URLs; ask hasUrl or urlTags" : "passwords; ask hasPassword";
  return new FilterError("invalid_key", `${what} is no key of a filter of ${of}`);
}

/** Throws `wrong_profile` unless a filter has the profile that a question needs. */
export function requireProfile(found: string, wanted: string): void {
  if (found === wanted) return;
  const how = `build it with the profile ${wanted}`;
  throw new FilterError("wrong_profile", `the filter was built with the profile ${found}, not ${wanted}; ${how}`);
}

/** A new array of this length. Throws `too_large` if there is no room for it. */
export function room(bytes: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    throw new FilterError("too_large", `there is no room for ${bytes} bytes`, { cause });
  }
}

/** A copy. Throws as {@link room}. */
export function copied(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = room(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Several arrays joined into one. Throws as {@link room}. */
export function concat(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = room(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** What the name of a tag may be, besides its length. FORMAT.md section 13. */
export const TAG_NAME = /^[^\p{Surrogate}\p{Cc},\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+$/u;
