/** The canonical form of a URL. FORMAT-URLS.md. */

import { address } from "./address.js";
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

/** The canonical form of the bytes that were taken. Undefined if no key can be made of it. */
export function canonical(bytes: string): Canonical | undefined {
  // Split before any escape is replaced: a path may contain an escaped question mark.
  const [taken, query] = cut(cut(bytes, /#/)[0], /\?/);
  // A user is dropped while a slash in it is still escaped: a browser doesn't take such a user for the host.
  const pieces = split(taken);
  // Without a host there is no user either.
  const whole = pieces === undefined ? "" : pieces[1];
  const [user, after] = cut(whole, /\//);
  const parts = split(unescaped(taken.slice(0, taken.length - whole.length) + withoutUser(user) + after));
  if (!parts) return undefined;
  const [authority, rest] = cut(parts[1], /[/?]/);
  const slashed = singleSlashes(rest.replaceAll("\\", "/"));
  const path = slashed.includes("/.") ? `/${withoutDots(slashed).join("/")}` : slashed;
  let host = lower(withoutPort(withoutUser(authority)).split(".").filter(Boolean).join("."));
  if (!host) return undefined;
  const number = address(host);
  host = number ?? escaped(host).replaceAll("\\", "%5C");
  const start = parts[0].length + 3;
  const beforeQuery = `${parts[0]}://${host}${escapedPath(path)}`;
  const text = beforeQuery + escaped(unescaped(query));
  return {
    text,
    host: start,
    path: start + host.length,
    query: beforeQuery.length,
    end: text.length,
    isAddress: number !== undefined,
  };
}

/** The segments of a path without dot segments, which may be escaped, as the URL Standard's parser resolves it. */
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

/** A path with one slash for each run of slashes, and one in front, as most hosts read it. */
export function singleSlashes(path: string): string {
  return path.replace(/^(?!\/)|\/+/g, "/");
}

/** A path in canonical form, from one without escapes. */
export function escapedPath(path: string): string {
  return escaped(path).replaceAll("?", "%3F");
}
