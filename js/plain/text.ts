/** URLs as text: taking them apart, and escapes. Strings here have a byte in each character. FORMAT.md section 10. */

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
  // More arguments at once than the stack can take would throw.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
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
  return parseInt(String.fromCharCode(code), 16);
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

/** The escape of each byte, once it was needed. */
const escapes: string[] = [];

/** A text in which bytes that can't be in a URL, or would start an escape, are escaped. */
export function escaped(text: string): string {
  return text.replace(/[\0- #%\x7f-\xff]/g, (byte) => {
    const code = byte.charCodeAt(0);
    return (escapes[code] ??= `%${code.toString(16).toUpperCase().padStart(2, "0")}`);
  });
}
