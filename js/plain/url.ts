/** From a URL to its canonical form and its keys, with the second reading if there is one. FORMAT-URLS.md. */

import { type Key, plainBytes, urlText } from "../boundary/input.js";
import { type Canonical, canonical } from "./canonical.js";
import { allKeys, take, takePlain } from "./expressions.js";
import { requireShort, wellFormed } from "./scratch.js";
import { bothReadings, escapedFolders, hasLongHost } from "./second.js";
import { hasPort, parse, schemeLength, special, toBytes } from "./text.js";

/**
 * Whether a key may be that of a URL: it has a host, a slash and what follows. So neither `evil.example` nor
 * `https://evil.example/` is one. `src/keys/url.rs` has the same.
 */
export function isUrlKey(key: Key): boolean {
  const text = typeof key === "string";
  const slash = text ? key.indexOf("/") : plainBytes(key).indexOf(47);
  return slash > 0 && (text ? key.charCodeAt(slash - 1) : key[slash - 1]) !== 58;
}

/** A text without tabs and line ends, and without blanks and control characters at both ends. */
function clean(input: string): string {
  const text = wellFormed(input).replace(/[\t\n\r]/g, "");
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) < 33) start++;
  while (end > start && text.charCodeAt(end - 1) < 33) end--;
  return text.slice(start, end);
}

/** The canonical form by the runtime's parser, and whether that refused the text, or wasn't asked. */
function first(text: string): [Canonical | undefined, boolean] {
  // The parser comes before the encoder, so that a runtime without both is refused by name.
  if (text.length < 300 || !hasLongHost(toBytes(text))) {
    const href = parse(text);
    if (href !== undefined) {
      if (special(href.slice(0, schemeLength(href)))) return [canonical(href), false];
      if (!hasPort(text)) return [undefined, false];
    }
    // Refused, or a host and a port that look like a scheme.
    const isSlash = text.startsWith("/");
    const prefix = isSlash && text[1] === "/" ? "http:" : "http://";
    const isLocal = prefix === "http://" && /^[/?#]/.test(text);
    const again = isLocal || (schemeLength(text) > 0 && !hasPort(text)) ? undefined : parse(prefix + text);
    if (again !== undefined) return [canonical(again), false];
  }
  return [canonical(toBytes(text)), true];
}

/**
 * What a URL that isn't plain is looked up by: its canonical form if it has one, then a second reading if it differs, and
 * for each of both the folders of an escaped path.
 */
export function readings(input: string): [Canonical | undefined, ...Canonical[]] {
  requireShort(input);
  const text = clean(input);
  const [parsed, refused] = first(text);
  const bytes = toBytes(text);
  const [one, other] = bothReadings(bytes, parsed, refused);
  const others = other && other.text !== one?.text ? [other] : [];
  const inFolders = escapedFolders(bytes).flatMap((folder) =>
    [one, ...others].flatMap((reading) => {
      const found = reading && canonical(reading.text.slice(0, reading.path) + folder);
      return found && found.text !== reading.text ? [found] : [];
    }),
  );
  return [one, ...others, ...inFolders];
}

/** The keys of a URL, each once: those of its canonical form, then those that only the others have. */
export function keys(input: string): string[] {
  const found = new Set<string>();
  for (const url of readings(input)) {
    if (!url) continue;
    take(url);
    for (const key of allKeys(url.text)) found.add(key);
  }
  return [...found];
}

/**
 * The canonical form of a URL, a host or a host with a path, by the rules of Safe Browsing. It has no user, port or
 * fragment. Null if there is no host to check, as in `mailto:` and `data:`. Use it to read and compare URLs. Lists take
 * the URL itself, which gives the same key.
 */
export function canonicalizeUrl(url: string | URL): string | null {
  const text = urlText(url);
  return takePlain(text, -1) ? text : (readings(text)[0]?.text ?? null);
}

/**
 * The keys that a URL is looked up by, the exact one first. They are the host and up to four of its suffixes, each with
 * the path and its query, the path, and up to four of its directories: at most 30 keys. If browsers may disagree about
 * the host, up to 30 keys of a second reading follow, and if escapes in the path may lead out of a folder, those of the
 * folder. Empty if there is no host to check.
 */
export function urlExpressions(url: string | URL): string[] {
  return keys(urlText(url));
}
