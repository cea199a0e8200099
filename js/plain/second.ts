/** The other way in which a browser may read a URL. FORMAT-URLS.md, "The second reading". */

import { type Canonical, canonical, escapedPath, singleSlashes, withoutDots } from "./canonical.js";
import { isJoiner, isNewer, modern } from "./characters.js";
import { decode, encode } from "./punycode.js";
import {
  changed,
  cut,
  hasPort,
  isAscii,
  lower,
  parse,
  schemeLength,
  special,
  toBytes,
  unescaped,
  withoutPort,
  withoutUser,
} from "./text.js";

/** The parts of a text, as a browser splits it. */
interface Taken {
  scheme: string;
  /** Without the user. */
  host: string;
  path: string;
  /** With its question mark, or the fragment. */
  query: string;
  /** Whether the authority is ASCII without escapes. */
  isSimple: boolean;
}

function take(bytes: string): Taken | undefined {
  const length = schemeLength(bytes);
  const named = special(bytes.slice(0, length));
  if (!named && (/^([?#]|\/([^/\\]|$))/.test(bytes) || (length > 0 && !hasPort(bytes)))) return undefined;
  const [, rest] = cut(named ? bytes.slice(length + 1) : bytes, /[^/\\]/);
  const [authority, after] = cut(rest, /[/\\?#]/);
  const [path, query] = cut(after, /[?#]/);
  const isSimple = isAscii(authority) && !authority.includes("%");
  return { scheme: named ?? "http", host: withoutUser(authority), path, query, isSimple };
}

/** What a parser makes of the path, before it replaces any other escape. */
function parsedPath({ path }: Taken): string[] {
  return withoutDots(path.replace(/\\/g, "/"));
}

/** The folders before the first two parts of a path whose escapes stand for a part `..`. An entry may have one itself. */
function foldersOf(parts: string[]): string[] {
  const hidden = [...parts.keys()].filter((i) => unescaped(parts[i]!).split(/[/\\]/).includes(".."));
  return hidden.slice(0, 2).map((end) => ["", ...parts.slice(0, end), ""].join("/"));
}

/**
 * Where a host finds a page if it takes escapes literally, or replaces each of them once, and the canonical form may be
 * elsewhere: folders above the page, or a path and a query. FORMAT-URLS.md, "The folders of an escaped path".
 */
export function escapedFolders(bytes: string): string[] {
  const taken = bytes.includes("%") ? take(bytes) : undefined;
  if (!taken?.path.includes("%")) return [];
  const literal = parsedPath(taken);
  const found = foldersOf(literal);
  if (found.length === 0) return [];
  const once = `/${literal.join("/")}`.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  // Also with backslashes as slashes.
  for (const path of once.includes("\\") ? [once, once.replaceAll("\\", "/")] : [once]) {
    const parts = withoutDots(escapedPath(singleSlashes(path)));
    found.push(...foldersOf(parts), `/${parts.join("/")}${taken.query}`);
  }
  // The root is asked for in any case.
  return found.filter((path) => path !== "/");
}

/** Bytes as text. A byte that isn't part of UTF-8 becomes a lone surrogate, U+DC00 and its value. */
function toText(bytes: string): string {
  return changed(bytes, (point, byte) => String.fromCodePoint(point < 0 ? 0xdc00 + byte : point));
}

/** The inverse of {@link toText}. */
function toHost(text: string): string {
  if (isAscii(text)) return text;
  const parts = text.split(/([\udc80-\udcff])/u);
  return parts.map((part, i) => (i % 2 ? String.fromCharCode(part.charCodeAt(0) - 0xdc00) : toBytes(part))).join("");
}

/** The host with the characters of the newest tables, and its port. */
function modernHost(host: string, joiners: boolean, older = false): string {
  // Twice, because what one round makes of a character may complete an escape.
  for (let i = 0; i < 2; i++) host = modern(unescaped(host), joiners, older);
  return host;
}

/** Whether a host is longer than any that a browser opens. Parsers may take minutes for it. */
function isLong(host: string): boolean {
  let [length, digits, all] = [0, 0, 0];
  for (let at = 0; at < host.length; at++) {
    const code = host.charCodeAt(at);
    if (code === 46) length = digits = 0;
    else {
      length++;
      if (code !== 48) {
        digits++;
        all++;
      }
    }
    if (all >= 4096 || (length >= 1000 && digits >= 64)) return true;
  }
  return false;
}

/** Whether the host of a text is long. */
export function hasLongHost(bytes: string): boolean {
  const host = bytes.length >= 1000 ? take(bytes)?.host : undefined;
  return host !== undefined && host.length >= 1000 && isLong(modernHost(host, false));
}

/**
 * The canonical forms that a text is looked up by: first the one that lists use, then another reading by some browsers,
 * if there is one. `parsed` is what the runtime's parser makes of the text, and `refused` whether it refused that.
 */
export function bothReadings(
  bytes: string,
  parsed: Canonical | undefined,
  refused: boolean,
): [Canonical | undefined, Canonical | undefined] {
  const taken = take(bytes);
  if (!taken || (taken.isSimple && !refused)) return [parsed, undefined];
  const plain = unescaped(taken.host);
  // It differs from the parser's reading only if joiners may be dropped.
  const host = modernHost(taken.host, refused);
  const { url, isCertain, isNormal } = reading(taken, host);
  // U+1E9E: the only character that older tables map, and differently.
  const hasSharp = plain.includes("\xe1\xba\x9e");
  const isPlain = isAscii(plain) && !/(^|\.)xn--/i.test(withoutPort(host));
  // So that lists are the same wherever they are read.
  if (!isCertain || !(hasSharp || !isNormal || (refused && !isPlain))) return [parsed, url];
  if (hasSharp) return [url, reading(taken, modernHost(taken.host, refused, true)).url];
  return [url, refused ? undefined : parsed];
}

/** A canonical form, and what is known of it. */
interface Reading {
  url: Canonical | undefined;
  /** Whether every parser that takes the host reads it so. */
  isCertain: boolean;
  /** Whether the runtime's parser brings the host to NFC. */
  isNormal: boolean;
}

/** The canonical form with this host, which may have a port, in ASCII. */
function reading(taken: Taken, host: string): Reading {
  host = withoutPort(host);
  // The labels of a long host stay as they are.
  const isKept = !isAscii(host) && isLong(host);
  const labels = { isCertain: !isKept, isNormal: true };
  const ascii = toAscii(labels);
  let parts: string[];
  if (host[0] === "[" && host.length < 1000) {
    const bytes = Uint8Array.from(host, (byte) => byte.charCodeAt(0));
    parts = [Array.from(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), (char) => ascii(char)).join("")];
  } else {
    parts = host.split(".", 129);
    if (parts.length > 128) return { ...labels, url: undefined, isCertain: false };
    if (!isKept) parts = parts.map((label) => ascii(toText(label)));
  }
  const path = parsedPath(taken).join("/");
  const url = canonical(`${taken.scheme}://${parts.join(".")}/${path}${taken.query}`);
  return { ...labels, url, isCertain: url !== undefined && labels.isCertain };
}

/** The URL Standard's forbidden domain code points, and the stand-ins for bytes that aren't text. */
const FORBIDDEN = /[\0- #%/:<>?@[-^|\x7f\ufffd\udc80-\udcff]/u;

/** How the labels of a host become ASCII, with tables that may be newer than the parser's. Notes what is known of them. */
function toAscii(labels: { isCertain: boolean; isNormal: boolean }): (label: string) => string {
  /** An international label, or a character of an address, in ASCII. It stays as it is if it can't be one. */
  const ascii = (label: string): string => {
    if (isAscii(label)) return label;
    if (FORBIDDEN.test(label)) {
      labels.isCertain = false;
      return toHost(label);
    }
    const points = parsed(label);
    if (points !== undefined) {
      const text = decode(points);
      const normal = text?.normalize();
      if (text === normal) return points;
      labels.isNormal = false;
      return encode(normal!);
    }
    const joined = Array.from(label)
      .filter((char) => !isJoiner(char.codePointAt(0)!))
      .join("");
    return joined === label ? byCharacter(label) : ascii(joined);
  };

  /**
   * A label that the parser refuses, as one with newer tables or fewer rules may read it: what the parser makes of each
   * character, by itself or after a letter that combines with none, since a label can't begin with a mark, or with a digit
   * that is written from right to left. What it doesn't know is newer than its tables.
   */
  const byCharacter = (label: string) => {
    let text = "";
    for (const char of label) {
      if (isAscii(char)) {
        text += lower(char);
        continue;
      }
      const known = knownAs("", char) ?? knownAs("中", char) ?? knownAs("א", char);
      if (known === undefined) labels.isCertain &&= isNewer(char.codePointAt(0)!);
      text += known ?? char.normalize("NFC").toLowerCase().normalize("NFC");
    }
    // Some characters stand for a dot, and more.
    return text.normalize("NFC").split(".").map(encode).join(".");
  };

  return ascii;
}

/** What the parser makes of a label. */
function parsed(label: string): string | undefined {
  const href = parse(`http://${label}.a/`);
  return href?.startsWith("http://") && href.endsWith(".a/") ? href.slice(7, -3) : undefined;
}

/** What the parser makes of a character after a text. */
function knownAs(before: string, char: string): string | undefined {
  const label = parsed(before + char);
  const text = label && decode(label);
  return text?.startsWith(before) ? text.slice(before.length) : undefined;
}
