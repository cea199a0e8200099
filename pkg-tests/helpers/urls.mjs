/** How URLs are read: by src/keys/url/ in WebAssembly, and by js/plain/ in JavaScript. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { full, reader, seal } from "./engines.mjs";

/** The published vectors. They are Safe Browsing's, which doesn't look for the folder of an escaped path. */
export const VECTORS = JSON.parse(readFileSync(new URL("../../tests/url_vectors.json", import.meta.url)));
for (const { input, expressions } of VECTORS)
  if (input === "http://host%7d.com/abc/%2e%2e%2fdef") expressions.push("host}.com/abc/");

/** URLs and lines of lists that are hard to read. */
export const ODD_URLS = [
  // Addresses, and what looks like one.
  "http://0x7f.1/",
  "0300.0250.01.1/a",
  "http://3279880203/",
  "http://0xffffffffff/",
  "http://1.2.3.08/",
  "http://256.1.1.1/",
  "1.2.3",
  "0x.1.2.3/",
  "1.2.3.4.5/",
  "http://[::ffff:1.2.3.4]/",
  "http://[64:ff9b::a00:1]:8080/",
  "http://[1::2%25lo]/",
  "[1:2:3:4:5:6:1.2.3.4]x/a",
  "[::1.2.3]/",
  "[::1].a.b/",
  "[a.b",
  // The authority is found before parts of it are dropped.
  "http://user:pass@evil1.example:8080/",
  "http://good.example%2F@evil2.example/",
  "http://a@b@evil3.example/",
  "https%40//256.1.1.1",
  "http://a%2540b%40//c.d/",
  "evil4.example:443/x",
  "http://evil5.example:99999/",
  "http://evil6.example\\@good.example/",
  "https:///evil7.example/x",
  "//evil8.example/x",
  "http:evil9.example",
  "localhost:80",
  "mailto:a@b.example",
  // Escapes, dots, blanks and drives in paths.
  "http://drive.example/y:/../z",
  "drive2.example/a/y|/../z",
  "HTTP://EVIL10.example:80/%2e%2e/a",
  "http://evil11.example./..//./a//b/",
  "http://evil12.example/%25%32%35%2525%%2",
  "http://evil13.example/a%2Fb%3Fc%23d#e",
  "http://evil14.example/c/d/%252e%252e?x",
  "http://evil14.example/c/d/%252e",
  "http://evil15.example/a?b?c//../d",
  "  http://evil16.example/ a b  ",
  "ht\ttp://ev\til17.example/",
  "http://%65vil18.example/",
  "http://%20space.example/",
  "http%3A%2F%2Fevil19.example%2F",
  "http://evil20.example/\u0000\u001b",
  `http://evil30.example/${"a/".repeat(50_000)}?${"b%2541".repeat(1000)}`,
  `http://${"a.".repeat(50_000)}evil31.example/`,
  `http://${`${"中".repeat(300)}.`.repeat(5)}evil31.example/`,
  // International hosts, of which some are invalid, and bytes that aren't text.
  "https://B\u00fccher.example/\u00fc?\u00fc#\u00fc",
  "http://ama\u00adzon.example/",
  "\uff45\uff56\uff49\uff4c.example",
  "http://xn--a.example/",
  "http://stra\u00dfe.example/",
  "http://\u05d0.\u05d1.example/",
  "http://\u200d.example/",
  "http://[%ff%e4%b8]/a",
  "http://[%c3%a9%ff%f0%9f%98]x.a/",
  "http://é%ff.a/",
  // Joiners, next to characters that no label can have.
  "http://é\u200d^.a/",
  "http://é\u200c<.a.b/c",
  "http://é\u200d.a/",
  "http://bא\u200c.b/",
  // Hosts that some parsers refuse, and others don't.
  "http://bא.b/",
  "http://\u{1df40}中x.example/",
  "http://١.shop/",
  "http://xn--a％41xn--.com/",
  "http://ｘn--aaxn--.com/",
  "http://xn--.a.b\\@c.d/",
  "http://a.b.c.d.e.faẞא.de/1/2/3/4/5?6",
  "http://a^b.c.d\\@e.f/",
  "http://faẞ.de/",
  "http://faẞא.de/",
  "http://\xe9\u0323.example/",
  "http://evil29.example/\ud83d\ude00",
];

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
