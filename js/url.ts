/** URLs as Safe Browsing sees them. */

import { canonicalizeUrl as canonicalize, urlExpressions as expressions } from "./bloom_wasm.js";
import { call } from "./call.js";
import { FilterError } from "./error.js";
import { typeName } from "./input.js";
import { put } from "./scratch.js";

/** @internal Puts a URL into the scratch. */
export function putUrl(url: string | URL): number {
  if (typeof url === "string") return put(url);
  let href: unknown;
  try {
    href = url instanceof URL && url.href;
  } catch {
    // A Proxy of a URL, or the like.
  }
  if (typeof href === "string") return put(href);
  throw new FilterError("invalid_key", `a URL must be a string or a URL, not ${typeName(url)}`);
}

/**
 * The canonical form of a URL, a host or a host with a path, by the rules of Safe Browsing, without user, port and
 * fragment; null if there is no host to check, as in `mailto:` and `data:`. It is for reading and comparing: list the URL
 * itself, for a `%5C` in a path comes out as a backslash, which a browser takes for a slash.
 */
export function canonicalizeUrl(url: string | URL): string | null {
  const length = putUrl(url);
  return call(() => canonicalize(length) ?? null);
}

/**
 * The keys that a URL is looked up by, the exact one first: the host and up to four of its suffixes, each with the path
 * and its query, the path, and up to four of its directories. These are at most 30. Where browsers may disagree about
 * the host, those of a second reading follow, at most 30 too. Empty if there is no host to check.
 */
export function urlExpressions(url: string | URL): string[] {
  const length = putUrl(url);
  return call(() => expressions(length) as string[]);
}
