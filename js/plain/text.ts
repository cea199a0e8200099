/** URLs as text: taking them apart, and escapes. Strings here have a byte in each character. FORMAT-URLS.md. */

import { room } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { parseUrl } from "../parser.js";
import { utf8 } from "./scratch.js";

/** Whether a text is ASCII. */
export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

/** The UTF-8 of a text, a byte in each character. */
export function toBytes(text: string): string {
  return isAscii(text) ? text : fromBytes(utf8(text));
}

/** Bytes as a string with a byte in each character. */
export function fromBytes(bytes: Uint8Array): string {
  let text = "";
  // More arguments at once than the stack can take would throw. A spread would take four times as long.
  for (let at = 0; at < bytes.length; at += 4096)
    text += String.fromCharCode.apply(null, bytes.subarray(at, at + 4096) as unknown as number[]);
  return text;
}

/** What the runtime's parser makes of a text. Undefined if it refuses it. Throws `unsupported_runtime` without a parser. */
export function parse(text: string): string | undefined {
  const url = parseUrl(text);
  if (typeof url !== "object") return url;
  throw new FilterError("unsupported_runtime", "this runtime has no full URL parser", url);
}

/** The text before the first character that an expression finds, and the rest from there on. */
export function cut(text: string, at: RegExp): [string, string] {
  const found = text.search(at);
  return found < 0 ? [text, ""] : [text.slice(0, found), text.slice(found)];
}

/** With A to Z in lower case. */
export function lower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * The length of the scheme before the first colon, or 0. The regular expressions here repeat nothing, since a long text
 * could be too much for them.
 */
export function schemeLength(text: string): number {
  const length = text.search(/[^A-Za-z0-9+.-]/);
  return text[length] === ":" && /[A-Za-z]/.test(text[0]!) ? length : 0;
}

/** A scheme that has a host to check, in lower case. Undefined for any other. */
export function special(scheme: string): string | undefined {
  return /^(https?|ftp|wss?)$/i.test(scheme) ? scheme.toLowerCase() : undefined;
}

/** Whether this is `name:digits`, which the parser takes for a scheme. */
export function hasPort(text: string): boolean {
  const [digits, rest] = cut(text.slice(schemeLength(text) + 1), /[^0-9]/);
  return digits !== "" && /^([/?#]|$)/.test(rest);
}

/** The scheme in lower case, and the text from the authority on. */
export function split(text: string): [string, string] | undefined {
  const length = schemeLength(text);
  if (length === 0) return ["http", text.startsWith("//") ? text.slice(2) : text];
  if (!text.startsWith("://", length)) return hasPort(text) ? ["http", text] : undefined;
  const scheme = special(text.slice(0, length));
  return scheme === undefined ? undefined : [scheme, text.slice(length + 3)];
}

export function withoutUser(authority: string): string {
  return authority.slice(authority.lastIndexOf("@") + 1);
}

export function withoutPort(host: string): string {
  const closing = host[0] === "[" ? host.indexOf("]") : -1;
  const colon = host.indexOf(":", closing < 0 ? 0 : closing);
  return colon < 0 ? host : host.slice(0, colon);
}

/** The value of a hexadecimal digit, or NaN. */
function digit(code: number): number {
  const letter = (code | 32) - 87;
  return code > 47 && code < 58 ? code - 48 : letter > 9 && letter < 16 ? letter : NaN;
}

/** A text without escapes, and without those that arise when they are replaced. */
export function unescaped(text: string): string {
  if (!text.includes("%")) return text;
  const out = room(text.length);
  let end = 0;
  for (let i = 0; i < text.length; i++) {
    out[end++] = text.charCodeAt(i);
    // Only the end is new, and its replacement may complete another escape.
    for (;;) {
      const value = end > 2 && out[end - 3] === 37 ? 16 * digit(out[end - 2]!) + digit(out[end - 1]!) : NaN;
      if (Number.isNaN(value)) break;
      end -= 2;
      out[end - 1] = value;
    }
  }
  return fromBytes(out.subarray(0, end));
}

/** A text in which bytes that can't be in a URL, or would start an escape, are escaped. */
export function escaped(text: string): string {
  if (!/[\0- #%\x7f-\xff]/.test(text)) return text;
  const out = room(3 * text.length);
  let end = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isPlain = code > 32 && code < 127 && code !== 35 && code !== 37;
    out[end++] = isPlain ? code : 37;
    if (isPlain) continue;
    out[end++] = DIGITS.charCodeAt(code >> 4);
    out[end++] = DIGITS.charCodeAt(code & 15);
  }
  return fromBytes(out.subarray(0, end));
}

const DIGITS = "0123456789ABCDEF";

/**
 * A text with what `change` makes of each character that isn't ASCII; undefined keeps it. It gets the code point, or for
 * a byte that isn't part of UTF-8 -1 and the byte.
 */
export function changed(bytes: string, change: (point: number, byte: number) => string | undefined): string {
  let text = "";
  let done = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes.charCodeAt(at);
    if (byte < 0x80) continue;
    let length = byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    let point = byte + (256 >> length) - 256;
    for (let i = 1; i < length; i++) {
      const next = bytes.charCodeAt(at + i);
      point = next >> 6 === 2 ? (point << 6) | (next & 63) : -1;
    }
    // Neither a byte alone, nor more bytes than needed, nor half of a surrogate pair, nor beyond Unicode.
    if (length < 2 || point < 2 ** (5 * length - 4) || point >> 11 === 27 || point > 0x10ffff) {
      length = 1;
      point = -1;
    }
    const changed = change(point, byte);
    if (changed !== undefined) {
      text += bytes.slice(done, at) + changed;
      done = at + length;
    }
    at += length - 1;
  }
  return text + bytes.slice(done);
}
