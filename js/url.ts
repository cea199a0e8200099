/**
 * URLs as Safe Browsing sees them: the runtime's own parser first, which says where a browser would go, then the
 * canonicaliser in WebAssembly. `src/check/input.rs` does the same in the same order with a parser of its own.
 */

import { FilterError, checked } from "./error.js";
import { put, scratchText, typeName, wasm } from "./memory.js";

function parse(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

/** What the canonicaliser takes; undefined for a scheme that has no host. */
function href(input: string): string | undefined {
  // As the parser drops them. A regular expression for the end would be quadratic.
  let [start, end] = [0, input.length];
  while (start < end && input.charCodeAt(start) <= 32) start++;
  while (start < end && input.charCodeAt(end - 1) <= 32) end--;
  const text = input.slice(start, end).replace(/[\t\n\r]/g, "");

  const scheme = /^[a-z][a-z\d+.-]*:/i.test(text);
  // Without one it would throw, and that takes a while.
  const url = scheme ? parse(text) : undefined;
  if (url && /^(https?|ftp|wss?):$/.test(url.protocol)) return url.href;
  const port = scheme && /^[^:]+:\d+([/?#]|$)/.test(text);
  if (url && !port) return undefined;
  const complete = (scheme && !port) || /^([?#]|\/(?!\/))/.test(text);
  const again = complete ? undefined : parse((text.startsWith("//") ? "http:" : "http://") + text);
  return again?.href ?? text;
}

/**
 * @internal What `run` makes of a URL in the scratch: a text that takes its place, and whose length it returns. It is
 * asked first with the URL as it is, which is nearly always canonical, and then returns -1 if it has to be parsed.
 */
export function withUrl(url: string | URL, run: (length: number, parsed: 0 | 1) => number): string {
  if (typeof url !== "string" && !(url instanceof URL)) {
    throw new FilterError("invalid_key", `a URL must be a string or a URL, not ${typeName(url)}`);
  }
  let text: string | undefined = String(url);
  let length = run(put(text), 0);
  if (length < 0) {
    text = href(text);
    length = text === undefined ? 0 : run(put(text), 1);
  }
  return scratchText(checked(length));
}

/**
 * The canonical form of a URL, a host or a host with a path, by the rules of Safe Browsing, without user, port and
 * fragment; null if there is no host to check, as in `mailto:` and `data:`.
 */
export function canonicalizeUrl(url: string | URL): string | null {
  return withUrl(url, wasm.canonicalize_url) || null;
}

/**
 * The keys that a URL is looked up by, at most 30 and the exact one first: the host and up to four of its suffixes,
 * each with the path and its query, the path, and up to four of its directories. Empty if there is no host to check.
 */
export function urlExpressions(url: string | URL): string[] {
  return withUrl(url, wasm.url_keys).split("\n").slice(0, -1);
}
