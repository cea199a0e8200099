/** URLs: the published vectors, odd URLs in both imports and in a real Chromium, and lists of URLs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { newPage, PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { engines, fails, full, testEach } from "../helpers/engines.mjs";
import { folder, printed } from "../helpers/installed.mjs";
import { listen } from "../helpers/server.mjs";
import { given, turn } from "../helpers/turn.mjs";
import { UNITS } from "../helpers/units.mjs";
import { allUrls, ODD_URLS, requireSameKeys, VECTORS } from "../helpers/urls.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, ForeignFilter, RibbonFilter, ScalableBloomFilter } = full;
const { canonicalizeUrl, urlExpressions } = full;

const profile = "url";
const encode = (text) => new TextEncoder().encode(text);

testEach("the vectors", ({ decode }) => {
  assert.equal(VECTORS.length, 85);
  const all = decode(allUrls());
  for (const { input, canonical, expressions } of VECTORS) {
    assert.equal(canonicalizeUrl(input), canonical, input);
    assert.deepEqual(urlExpressions(input), expressions, input);
    if (canonical !== null) assert.equal(canonicalizeUrl(canonical), canonical);
    assert.equal(all.matchUrl(input), expressions[0] ?? null, input);
    assert.equal(all.hasUrl(input), expressions.length > 0, input);
    requireSameKeys(input);
    for (const key of expressions) {
      const onSkip = () => {}; // for a host that no browser opens
      const filter = decode(RibbonFilter.from([`http://${key}`], { profile, fpr: 1e-8, onSkip }).toBytes());
      if (filter.info().count === 1) assert.equal(filter.matchUrl(input), key, input);
    }
  }
  assert.ok(all.hasUrl(new URL(VECTORS[0].input)));
  for (const url of [undefined, {}, [], new Uint8Array(3), new Proxy(new URL("http://a.b"), {})]) {
    fails("invalid_key", () => canonicalizeUrl(url));
    fails("invalid_key", () => urlExpressions(url));
  }
});

// Overlong forms of U+00AD, which hosts drop; half of a surrogate pair; beyond Unicode; and bytes that aren't complete.
const NO_TEXT = ["%e0%82%ad", "%f0%80%82%ad", "%ed%a0%80", "%f4%90%80%80", "%f8%90%80%80", "%c1%a1", "%e2%80", "%ad"];
/** Parts that lead out of a folder where a host takes escapes literally. */
const ESCAPED = [
  "x%2F..%2F..%2Fy",
  "..%2fy",
  "..%2fx/b/..%2fy",
  "%252e%252e/y?z",
  "a/b/%2e%2e%2f/%2E./%252f..%2f../y#",
  "%2e%2e/%2f",
];

test("odd URLs have the same keys in both imports", () => {
  ODD_URLS.forEach(requireSameKeys);
  for (const bytes of NO_TEXT)
    for (const host of [`a${bytes}b`, `a${bytes}%c2%adb`, `${bytes}\u1e9e`, `%c3%c2%ad%a9${bytes}`, `[${bytes}]`])
      for (const size of [0, 500]) requireSameKeys(`http://${"\u00e9".repeat(size)}${host}.c/`);
  for (const path of ESCAPED)
    for (const host of ["a.b", "\uff41.b", "xn--.a.b", "\u00e9.a.b\\x"]) requireSameKeys(`http://${host}/c/${path}`);
});

/** Entries of lists, and what a browser opens there. */
const SPELLINGS = {
  "evil.example": [
    "http://evil.example\\@good.com/",
    "https:///evil.example/",
    "https://user@www.EVIL.example:8443/x?y#z",
    "http://xn--.evil.example\\@good.com/",
    "http:\\\\xn--.evil.example/",
    "/\\evil.example/",
    "http://ev\u{1ccde}l.example/",
    ...[0x2061, 0x115f, 0xffa0, 0x180e, 0x1d173].map((code) => `http://evi${String.fromCodePoint(code)}l.example/`),
  ],
  "195.127.0.11": ["http://3279880203/", "http://[::ffff:c37f:b]/", "http://[64:ff9b::195.127.0.11]/"],
  "||evil.com^": ["http://evil.com./"],
  "http://evil.com/a": ["HTTP://EVIL.com:80/%2e%2e/a"],
  "bad.example/a/": [
    "https://bad.example/b/../a/c.html",
    "https://bad.example/a/x%2F..%2F..%2Flogin.html",
    "http://bad.example/a/",
  ],
  "worse.example/a?b": ["http://worse.example/a?b"],
};
const OTHERS = ["notevil.com", "bad.example/", "http://worse.example/a", "mailto:a@evil.com", "data:,evil.com", ""];

testEach("a list catches every spelling of its entries, and nothing else", ({ decode }) => {
  for (const [entry, urls] of Object.entries(SPELLINGS)) {
    const read = decode(RibbonFilter.from([entry], { profile, fpr: 1e-6 }).toBytes());
    const key = urlExpressions(entry.replace(/[|^]/g, ""))[0];
    for (const url of urls) {
      assert.equal(read.matchUrl(url), key, url);
      assert.ok(read.hasUrl(url) && urlExpressions(url).includes(key), url);
      requireSameKeys(url);
    }
    for (const url of OTHERS) assert.deepEqual([read.matchUrl(url), read.hasUrl(url)], [null, false], url);
  }
});

test("a list is read by its lines, and those that give no key are reported as they were given", () => {
  const good = [
    "plain.example",
    "||adblock.example^",
    "0.0.0.0 a.example b.example # comment",
    encode("bytes.example"),
  ];
  const bad = ["127.0.0.1\tlocalhost", "@@||good.example^", encode("mailto:a@b.example"), "*.zip"];
  const reasons = ["local", "pattern", "not_checkable", "single_label"];
  const skipped = [];
  const onSkip = (line) => skipped.push(line);
  const lines = [...good, "# a comment", "", ...bad];
  const filter = RibbonFilter.from(lines, { profile, fpr: 1e-6, onSkip });
  assert.deepEqual(
    skipped,
    bad.map((key, i) => ({ key, reason: reasons[i] })),
  );
  for (const host of ["plain", "x.adblock", "a", "b", "bytes"]) assert.ok(filter.hasUrl(`http://${host}.example/x`));
  assert.equal(filter.info().count, 5);
});

test("a list or an allowlist in which no line gives a key is refused, unless there is onSkip", async () => {
  const lines = ["http://evil[.]example/", "10.0.0.0/8"];
  const none = { code: "invalid_key", message: /none of 2 lines/ };
  const streamed = (lines, options) => RibbonFilter.fromStream(new Response(lines.join("\n")).body, options);
  const tagged = (lists, untagged) => RibbonFilter.fromTagged(lists, { profile, untagged });
  const bad = ["evil.example"];
  for (const Kind of [BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter]) {
    assert.throws(() => Kind.from(lines, { profile }), none);
    assert.throws(() => Kind.from(bad, { profile, allow: lines }), none);
  }
  await assert.rejects(streamed(lines, { profile }), none);
  await assert.rejects(streamed(bad, { profile, allow: lines }), none);
  // Each of several lists is checked: one may be an error page.
  assert.throws(() => tagged({ bad, worse: lines }), none);
  assert.throws(() => tagged({ worse: lines, bad }), none);
  assert.throws(() => tagged({ bad }, lines), none);
  assert.equal(tagged({ bad: [...bad, ...lines], worse: [] }, ["# none yet"]).info().count, 1);
  for (const options of [{}, { allow: lines }]) {
    const skipped = [];
    RibbonFilter.from(options.allow ? bad : lines, { profile, ...options, onSkip: ({ key }) => skipped.push(key) });
    assert.deepEqual(skipped, lines);
  }
  assert.equal(RibbonFilter.from(["# no rule yet"], { profile, allow: [] }).info().count, 0);
});

test("keys that are added later, or removed, are read like the list", () => {
  // With room for more keys than it gets, to stay below its rate.
  const room = Array.from({ length: 100 }, (_, i) => `room${i}.example`);
  const filter = CountingBloomFilter.from(["evil.example", ...room], { profile, fpr: 1e-8 });
  assert.equal(filter.add("http://BAD.example:80/"), true);
  assert.equal(filter.addMany(["||worse.example^", "0.0.0.0 a.example b.example", "bad.example"]), 3);
  assert.equal(filter.addLines(encode("c.example\n# a comment\n")), 1);
  for (const host of ["evil", "bad", "worse", "a", "b", "c"])
    assert.ok(filter.hasUrl(`https://${host}.example/x`), host);
  assert.equal(filter.remove("https://evil.example"), true);
  assert.equal(filter.hasUrl("evil.example"), false);
  for (const line of ["mailto:a@b.c", "*.zip", "0.0.0.0 d.example e.example", "# a comment", ""]) {
    fails("invalid_key", () => filter.add(line));
    if (!line.startsWith("0")) fails("invalid_key", () => filter.addMany(["d.example", line]));
  }
  assert.equal(filter.hasUrl("d.example"), false);
});

test("an allowlist: what is on both lists stays listed, unless told otherwise, and then only that key is removed", () => {
  const list = ["evil.example", "evil.example/a", "shared.example", "www.bad.example"];
  const good = Array.from({ length: 200 }, (_, i) => `http://x%20.a${i}.b${i}.test\\@good${i}.test/`);
  const allow = ["http://evil.example/a", "sub.shared.example", "www.bad.example", "www.bad.example", ...good];
  const options = { profile, fpr: 0.5, allow };
  const told = { "evil.example/": false, "evil.example/a": true, "shared.example/": false, "www.bad.example/": true };
  for (const allowWins of [false, true]) {
    const conflicts = [];
    const filter = RibbonFilter.from(list, { ...options, allowWins, onConflict: (its) => conflicts.push(its) });
    assert.equal(conflicts.length, 4);
    for (const { key, removed } of conflicts) assert.equal(removed, allowWins && told[key], key);
    // In both readings.
    assert.ok(!good.some((url) => filter.hasUrl(url)));
    assert.equal(filter.hasUrl("www.bad.example/x"), !allowWins);
    // The parents stay on the list, and so do their URLs.
    assert.ok(["evil.example/a", "sub.shared.example"].every((url) => filter.hasUrl(url)));
  }
  const thrown = new Error("mine");
  const onConflict = () => {
    throw thrown;
  };
  assert.throws(() => RibbonFilter.from(list, { ...options, onConflict }), thrown);
  for (const allow of ["good.example", [1]]) fails("invalid_key", () => RibbonFilter.from(list, { profile, allow }));
});

test("a key that a filter of URLs can't hold is refused by name, not called absent", () => {
  const members = ["evil.example", "worse.example/a"];
  const foreign = ForeignFilter.from(["evil.example/", "worse.example/a"], { format: "guava", fpr: 1e-6 }).toForeign();
  const blob = CuckooFilter.from(members, { profile, fpr: 1e-6 }).toBytes();
  const readers = [
    ...Object.values(engines).map(({ decode }) => decode(blob)),
    full.decode(foreign, { format: "guava", profile }),
  ];
  const long = "x".repeat(1e5);
  const refused = {
    "evil.example": '"evil.example"',
    "https://evil.example/": '"https://evil.example/"',
    "//evil.example/": '"//evil.example/"',
    "a\nb": '"a\\nb"',
    [long]: `"${long.slice(0, 80)}"`,
    "": '""',
  };
  const good = ["evil.example/", "worse.example/a", "good.example/?u=https://evil.example/", "[::1]/"];
  const many = new Array(20_000).fill("evil.example/");
  for (const filter of readers) {
    const invalid = (what, run) =>
      assert.throws(run, {
        code: "invalid_key",
        message: `${what} is no key of a filter of URLs; ask hasUrl or urlTags`,
      });
    for (const [key, what] of Object.entries(refused)) {
      invalid(what, () => filter.has(key));
      invalid("this Uint8Array", () => filter.has(encode(key)));
      invalid(what, () => filter.hasAll(["evil.example/", key]));
      // In a batch of its own, and in one of many.
      invalid(what, () => filter.hasMany([key]));
      invalid(what, () => filter.hasMany([...many, key, "evil.example/"]));
      invalid("this Uint8Array", () => filter.hasMany(["evil.example/", encode(key)]));
      if (key !== "" && !key.includes("\n"))
        invalid("line 3", () => filter.hasLines(encode(`evil.example/\n\n${key}\r\nevil.example/`)));
    }
    invalid("line 20001", () => filter.hasLines(encode(`${many.join("\n")}\nevil.example\n`)));
    assert.deepEqual([...filter.hasLines(encode("evil.example/\n\r\n\ngood.example/"))], [1, 0, 0, 0]);
    assert.deepEqual([...filter.hasMany(good), ...filter.hasMany(good.map(encode))], [1, 1, 0, 0, 1, 1, 0, 0]);
    assert.ok(filter.hasUrl("evil.example"));
  }
});

test("a replaced URL parser may throw anything", () => {
  const bytes = RibbonFilter.from(["evil.example"], { profile, fpr: 1e-6 }).toBytes();
  for (const entry of Object.keys(engines)) {
    const source = `
      const { decode } = await import("${entry}");
      const filter = decode(new Uint8Array([${bytes}]));
      const { URL } = globalThis;
      const codes = [];
      globalThis.URL = class { constructor(url) { this.href = url; } };
      for (const lacks of [globalThis.URL, undefined]) {
        globalThis.URL = lacks;
        try { filter.hasUrl("HTTP://EVIL.example/"); } catch ({ code }) { codes.push(code); }
      }
      console.log(codes.join());
      for (const thrown of [new TypeError("no"), new Error("no"), new SyntaxError("no"), "no", null, undefined, {}]) {
        globalThis.URL = class extends URL {
          constructor(url) {
            try { super(url); } catch { throw thrown; }
          }
        };
        const ask = (url) => {
          try { return filter.hasUrl(url); } catch (error) { return error.code; }
        };
        console.log(["http://[", "HTTP://EVIL.example/", "evil.example"].map(ask).join());
      }
      for (const href of [undefined, null, 1, {}]) {
        globalThis.URL = class {
          get href() { return href; }
        };
        try { filter.hasUrl("HTTP://EVIL.example/"); } catch (error) { console.log(error.code); }
      }
    `;
    const out = printed(source);
    const none = "unsupported_runtime";
    // Anything but a TypeError says nothing about a URL, so there is no answer.
    const whole = entry === "bloom-wasm" ? "true" : none;
    const others = `${none},true,${whole}\n`.repeat(6) + `${none}\n`.repeat(4);
    assert.equal(out, `${none},${none}\nfalse,true,true\n${others}`, entry);
  }
});

test("a URL of megabytes gives the same answers as a short one, however it is written", () => {
  const list = ["evil.example", "xn--80ak6aa92e.com"];
  const filter = RibbonFilter.from(list, { profile, fpr: 1e-8 });
  const starts = [
    "http://evil.example/",
    "HTTP://EVIL.example:80/%2e/",
    "evil.example/",
    "http://a:b@ev\u{ad}il.example/",
    // Capitals that Node 20 doesn't know.
    "https://\u0410\u0420\u0420\u04c0\u0415.com/",
  ];
  // WebAssembly doesn't keep more than 4 MiB for a key.
  const kept = 4 << 20;
  for (const [entry, { decode }] of Object.values(engines).entries()) {
    const read = decode(filter.toBytes());
    starts.forEach((start, i) => {
      if (!turn(i + entry, 5)) return;
      const short = read.matchUrl(start);
      assert.ok(list.includes(short?.slice(0, -1)), `${start}: ${short}`);
      // With one letter less, the memory is kept.
      const long = `${start}#${"a".repeat(kept - start.length - (i % 2))}`;
      assert.equal(read.matchUrl(long), short, long.slice(0, 50));
      assert.equal(canonicalizeUrl(long), canonicalizeUrl(start));
      assert.deepEqual(urlExpressions(long), urlExpressions(start));
      assert.ok(read.hasUrl(`${start}${"\u00e9".repeat(kept / 2)}`), start);
      assert.equal(read.matchUrl("http://good.example/"), null);
    });
  }
});

test("a host that no browser opens isn't parsed, even if all its characters differ", () => {
  // Parsing one would be noticeable: it takes a second for 50,000 characters.
  const { URL } = globalThis;
  let longest = 0;
  const different = Array.from({ length: 5000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join("");
  const escaped = (text) => encodeURIComponent(text).toLowerCase();
  const filter = RibbonFilter.from(["evil.example", "192.0.2.7"], { profile, fpr: 1e-8 });
  const filters = Object.values(engines).map(({ decode }) => decode(filter.toBytes()));
  globalThis.URL = class extends URL {
    constructor(text) {
      const [, host] = /^\w+:\/*([^/?#]*)/.exec(text);
      longest = Math.max(longest, host.replaceAll(/[\u00ad0]|%c2%ad/g, "").length);
      super(text);
    }
  };
  try {
    for (const host of [
      different,
      escaped(different),
      different.replaceAll(/./gu, "$&\u00ad"),
      different.replaceAll(/./gu, "$&%c2%ad"),
      `xn--${"z9a".repeat(3000)}`,
    ]) {
      for (const read of filters) {
        assert.ok(!read.hasUrl(host) && !read.hasUrl(`HTTP://${host}/`));
        assert.equal(read.matchUrl(`http://${host}.evil.example/`), "evil.example/");
      }
    }
    assert.ok(longest < 1000, `${longest} characters`);
    // A number may have many leading zeros.
    for (const zeros of ["0", "\uff10", "\u{1d7ce}", "\u2070\u00ad"]) {
      for (const read of filters) assert.equal(read.matchUrl(`http://${zeros.repeat(5000)}30000001007/`), "192.0.2.7/");
    }
  } finally {
    globalThis.URL = URL;
  }
});

// `LENGTH` is the number of characters.
test("hostile URLs end soon, and leave no trace", () => {
  const length = given("LENGTH", 5000);
  const list = ["evil.example", `evil.example/${"x".repeat(5000)}`];
  const bytes = RibbonFilter.from(list, { profile, fpr: 1e-8 }).toBytes();
  const filters = Object.values(engines).map(({ decode }) => decode(bytes));
  for (const part of UNITS) {
    const long = part.repeat(Math.ceil(length / part.length));
    for (const url of [long, `http://evil.example/${long}`, `http://${long}@evil.example`, `x${long}x`]) {
      const canonical = canonicalizeUrl(url);
      const keys = urlExpressions(url);
      assert.ok(keys.length <= 30 && (canonical === null) === (keys.length === 0));
      if (canonical !== null) assert.equal(canonicalizeUrl(canonical), canonical, `${part}: not idempotent`);
      requireSameKeys(url);
      for (const filter of filters)
        assert.equal(filter.matchUrl(url), keys.includes("evil.example/") ? "evil.example/" : null, part);
    }
  }
  // Long and short keys in the same scratch leave nothing behind.
  for (let i = 0; i < 1000; i++) {
    const path = "x".repeat((i * 37) % 6000);
    for (const filter of filters) {
      assert.equal(filter.matchUrl(`www.evil.example/${path}`) !== null, true);
      assert.equal(filter.has(`evil.example/${path}`), path === "" || path.length === 5000);
    }
  }
});

if (skip) console.log(`url/url.test.mjs, in Chromium, skipped: ${skip}`);

describe("in Chromium", { skip, timeout: 2 * PATIENCE }, () => {
  test("the vectors", async () => {
    const dist = join(folder, "node_modules/bloom-wasm/dist");
    const server = await listen(({ url }, response) =>
      url.endsWith(".js")
        ? response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(join(dist, url)))
        : response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>"),
    );
    const browser = await playwright();
    try {
      const tab = await newPage(browser);
      await tab.goto(server.at());
      for (const file of ["bloom.inline.js", "reader.js"]) {
        const found = await tab.evaluate(
          async ({ file, inputs, all }) => {
            const { canonicalizeUrl, decode, urlExpressions } = await import(`/${file}`);
            const first = decode(new Uint8Array(all));
            return inputs.map((input) => [canonicalizeUrl(input), urlExpressions(input), first.matchUrl(input)]);
          },
          { file, inputs: VECTORS.map(({ input }) => input), all: [...allUrls()] },
        );
        const forms = VECTORS.map(({ canonical, expressions }) => [canonical, expressions, expressions[0] ?? null]);
        assert.deepEqual(found, forms, file);
      }
    } finally {
      await browser.close();
      server.close();
    }
  });
});
