/** The canonical form of a URL, and the keys made of it. FORMAT.md section 10. */

import { address } from "./address.js";
import { roomFor, scratch } from "./scratch.js";
import { hostSlot } from "./slots.js";
import { cut, escaped, lower, split, unescaped, withoutPort, withoutUser } from "./text.js";

/** A URL in canonical form, and where its parts begin. */
export interface Canonical {
  readonly text: string;
  readonly host: number;
  /** With its slash. */
  readonly path: number;
  /** With its question mark; the end if there is none. */
  readonly query: number;
  /** The end of all that keys are made of. */
  readonly end: number;
  readonly isAddress: boolean;
}

/** The slots of hosts alone, with the path `/`. */
const HOSTS = 0x1041041;

/** The canonical form of the bytes that were taken. Undefined if no key can be made of it. */
export function canonical(bytes: string): Canonical | undefined {
  const [taken] = cut(bytes, /#/);
  // A user is dropped while a slash in it is still escaped: a browser doesn't take such a user for the host.
  const its = split(taken);
  // Without a host there is no user either.
  const whole = its === undefined ? "" : its[1];
  const [user, after] = cut(whole, /[/?]/);
  const parts = split(unescaped(taken.slice(0, taken.length - whole.length) + withoutUser(user) + after));
  if (!parts) return undefined;
  const [authority, rest] = cut(parts[1], /[/?]/);
  const [path, query] = cut(rest, /\?/);
  let host = lower(withoutPort(withoutUser(authority)).split(".").filter(Boolean).join("."));
  if (!host) return undefined;
  const number = address(host);
  host = number ?? escaped(host);
  const start = parts[0].length + 3;
  // A parser would read a backslash in the path as a slash.
  const beforeQuery = `${parts[0]}://${host}${escaped(resolved(path)).replaceAll("\\", "%5C")}`;
  const text = beforeQuery + escaped(query);
  return {
    text,
    host: start,
    path: start + host.length,
    query: beforeQuery.length,
    end: text.length,
    isAddress: number !== undefined,
  };
}

/** The segments of a path but for dot segments, which may be escaped, as the URL Standard's parser resolves it. */
export function withoutDots(path: string): string[] {
  const segments: string[] = [];
  let isDots = false;
  for (const segment of path.slice(1).split("/")) {
    const dots = segment.length < 7 ? segment.replace(/%2e/gi, ".") : "";
    isDots = dots === "." || dots === "..";
    if (dots === "..") segments.pop();
    if (!isDots) segments.push(segment);
  }
  if (isDots) segments.push("");
  return segments;
}

/** The path of a text without escapes: without dot segments, and then without runs of slashes. */
function resolved(path: string): string {
  if (!/\/[/.]/.test(path)) return path || "/";
  const segments = withoutDots(path);
  const names = segments.filter(Boolean);
  return `/${names.join("/")}${names.length && !segments[segments.length - 1] ? "/" : ""}`;
}

/**
 * A URL that is canonical already, as most are, and puts it into the scratch. The parser and the rest of this file would
 * give the same. Undefined for a URL that may have an address, an international name or a dot segment. For keys of a
 * list of hosts, nothing is read behind the host.
 */
export function plain(text: string, map: number): Canonical | undefined {
  const host = text.startsWith("http://") ? 7 : text.startsWith("https://") ? 8 : 0;
  if (host === 0) return undefined;
  const { length } = text;
  const bytes = roomFor(length);
  let last = DOT;
  let isNumber = false;
  let code = 0;
  let i = host;
  for (; i < length; i++) {
    code = text.charCodeAt(i);
    bytes[i] = code;
    const isDigit = code > 47 && code < 58;
    if (!((code > 96 && code < 123) || isDigit || code === 95)) {
      if (code === SLASH) break;
      // No empty label, and none like xn--.
      if ((code !== DOT && code !== 45) || code === last) return undefined;
    }
    if (last === DOT) isNumber = isDigit;
    last = code;
  }
  if (code !== SLASH || last === DOT || isNumber) return undefined;
  const path = i;
  if ((map & ~HOSTS) === 0) return { text, host, path, query: path + 1, end: path + 1, isAddress: false };
  let query = length;
  for (last = 0; i < length; i++) {
    code = text.charCodeAt(i);
    if (code < 33 || code > 126 || code === 35 || code === 37) return undefined;
    if (query === length) {
      if (code === QUESTION) query = i;
      else if (code === 92 || (last === SLASH && (code === SLASH || code === DOT))) return undefined;
    }
    bytes[i] = code;
    last = code;
  }
  return { text, host, path, query, end: length, isAddress: false };
}

const DOT = 46;
const SLASH = 47;
const QUESTION = 63;

/**
 * Calls `test` with the slot, the begin and the end of each key that has one of the slots of the map, until it returns
 * true. Then returns the key. The canonical form must be in the scratch.
 */
export function findKey(
  { text, host, path, query, end, isAddress }: Canonical,
  map: number,
  test: (slot: number, at: number, end: number) => boolean,
): string | undefined {
  // The whole host, then its suffixes of five to two labels.
  const hosts = [host];
  for (let at = path - 1, dots = 0; at > host && dots < 5 && !isAddress; at--) {
    if (scratch.getUint8(at) === DOT && dots++ > 0) hosts.splice(1, 0, at + 1);
  }
  // The path with the query, the path, and its beginnings that end in the first four slashes.
  const ends: number[] = [];
  const slots: number[] = [];
  if (query + 1 < end) {
    ends.push(end);
    slots.push(5);
  }
  const exact = ends.push(query) - 1;
  slots.push(4);
  let folders = 0;
  for (let at = path + 1; at <= query && folders < 4; at++) {
    if (scratch.getUint8(at - 1) !== SLASH) continue;
    // A path that ends in a slash is its own last folder.
    if (at === query) slots[exact] = folders;
    else {
      ends.push(at);
      slots.push(folders);
    }
    folders++;
  }
  for (const at of hosts) {
    const its = map === -1 ? 0 : hostSlot(scratch, at, path);
    for (let i = 0; i < ends.length; i++) {
      const slot = its + slots[i]!;
      if ((map >>> slot) & 1 && test(slot, at, ends[i]!)) return text.slice(at, ends[i]);
    }
  }
  return undefined;
}
