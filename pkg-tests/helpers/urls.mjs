/** How URLs are read: by src/keys/url/ in WebAssembly, and by js/plain/ in JavaScript. */
import assert from "node:assert/strict";
import { full, reader, seal } from "./engines.mjs";

/** The blob of a filter of raw keys, as one of URLs. */
function ofUrls(filter) {
  const bytes = filter.toBytes();
  bytes[6] = 1;
  return seal(bytes);
}

/** A blob in which every key of a URL is maybe present, so that `matchUrl` returns the first one. */
export function allUrls() {
  const filter = new full.BloomFilter(1, 1);
  filter.add("");
  return ofUrls(filter);
}

/**
 * A blob in which nearly every key of a URL has one of 250 tags, as if by chance, so that `urlTags` is a fingerprint of
 * all keys together.
 */
function taggedUrls() {
  const lists = Array.from({ length: 250 }, (_, i) => [`tag ${i}`, [`key ${i}`]]);
  return ofUrls(full.RibbonFilter.fromTagged(new Map(lists), { fpr: 0.999 }));
}

/** How a URL is read by an import: its first key, and a fingerprint of all. */
function reading({ decode }) {
  const [all, tagged] = [allUrls(), taggedUrls()].map((bytes) => decode(bytes));
  return (url) => [all.matchUrl(url), ...tagged.urlTags(url)].join();
}

const [inWasm, inJavaScript] = [full, reader].map(reading);

/** Throws unless both read a URL alike. `canonicalizeUrl` and `urlExpressions` are the same function in both. */
export function requireSameKeys(url) {
  const [theirs, mine] = [inWasm(url), inJavaScript(url)];
  if (theirs === mine) return;
  const [shown, other, own] = [url, theirs, mine].map((text) => JSON.stringify(text.slice(0, 300)));
  assert.fail(`${shown}: ${other} in WebAssembly, and ${own} in JavaScript`);
}
