/** URLs as Safe Browsing sees them. */

import { canonicalizeUrl as canonicalize, urlExpressions as expressions } from "../bloom_wasm.js";
import { call } from "../boundary/call.js";
import { urlText } from "../boundary/input.js";
import { put } from "../boundary/scratch.js";

/** @internal Puts a URL into the scratch. Returns its length in bytes. */
export function putUrl(url: string | URL): number {
  return put(urlText(url));
}

/**
 * The canonical form of a URL, a host or a host with a path, by the rules of Safe Browsing. It has no user, port or
 * fragment. Null if there is no host to check, as in `mailto:` and `data:`. Use it to read and compare URLs, and put
 * the URL itself into lists: the canonical form turns a `%5C` in a path into a backslash, which a browser takes for a
 * slash.
 */
export function canonicalizeUrl(url: string | URL): string | null {
  const length = putUrl(url);
  return call(() => canonicalize(length) ?? null);
}

/**
 * The keys that a URL is looked up by, the exact one first. They are the host and up to four of its suffixes, each with
 * the path and its query, the path, and up to four of its directories: at most 30 keys. If browsers may disagree about
 * the host, up to 30 keys of a second reading follow. Empty if there is no host to check.
 */
export function urlExpressions(url: string | URL): string[] {
  const length = putUrl(url);
  return call(() => expressions(length) as string[]);
}
