/** URLs: the published vectors and real lists, in Node and in a real Chromium. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, test } from "node:test";
import { newPage, PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { engines, fails, full, testEach } from "../helpers/engines.mjs";
import { folder } from "../helpers/installed.mjs";
import { createServer } from "../helpers/server.mjs";
import { given, turn } from "../helpers/turn.mjs";
import { allUrls, requireSameKeys } from "../helpers/urls.mjs";

const {
  BloomFilter,
  CountingBloomFilter,
  CuckooFilter,
  FilterError,
  ForeignFilter,
  RibbonFilter,
  ScalableBloomFilter,
  canonicalizeUrl,
  urlExpressions,
} = full;

const require = createRequire(import.meta.url);
const { blacklist, whitelist } = require("eth-phishing-detect/src/config.json");
const vectors = JSON.parse(readFileSync(new URL("../../tests/url_vectors.json", import.meta.url)));

/** Where a browser goes, and the list that should catch it. */
const spellings = {
  "http://evil.com\\@good.com/": "evil.com",
  "https:///evil.com/": "evil.com",
  "HTTP://EVIL.com:80/%2e%2e/a": "http://evil.com/a",
  "http://3279880203/": "195.127.0.11",
  "http://evil.com./": "||evil.com^",
};

/** The vectors are Safe Browsing's. It doesn't look for the folder of an escaped path. */
const folders = { "http://host%7d.com/abc/%2e%2e%2fdef": ["host}.com/abc/"] };
for (const vector of vectors) vector.expressions.push(...(folders[vector.input] ?? []));

test("the vectors", () => {
  assert.equal(vectors.length, 85);
  for (const { input, canonical, expressions } of vectors) {
    assert.equal(canonicalizeUrl(input), canonical, input);
    assert.deepEqual(urlExpressions(input), expressions, input);
    if (canonical !== null) assert.equal(canonicalizeUrl(canonical), canonical);
  }
  assert.equal(canonicalizeUrl("mailto:a@b.c"), null);
  assert.deepEqual(urlExpressions("data:,"), []);
  fails("invalid_key", () => canonicalizeUrl({}));
  fails("invalid_key", () => urlExpressions(new Proxy(new URL("http://a.b"), {})));
});

// Overlong forms of U+00AD, which hosts drop; half of a surrogate pair; beyond Unicode; and bytes that aren't complete.
const NO_TEXT = ["%e0%82%ad", "%f0%80%82%ad", "%ed%a0%80", "%f4%90%80%80", "%f8%90%80%80", "%c1%a1", "%e2%80", "%ad"];

test("only valid UTF-8 is a character of a host", () => {
  for (const bytes of NO_TEXT)
    for (const host of [`a${bytes}b`, `a${bytes}%c2%adb`, `${bytes}\u1e9e`, `%c3%c2%ad%a9${bytes}`, `[${bytes}]`])
      for (const size of [0, 500]) requireSameKeys(`http://${"\u00e9".repeat(size)}${host}.c/`);
});

testEach("filters are asked for the keys of the vectors", ({ decode }) => {
  const all = decode(allUrls());
  for (const { input, expressions } of vectors) {
    assert.equal(all.matchUrl(input), expressions[0] ?? null, input);
    assert.equal(all.hasUrl(input), expressions.length > 0, input);
    requireSameKeys(input);
    for (const key of expressions) {
      const onSkip = () => {}; // for a host that no browser opens
      const filter = decode(RibbonFilter.from([`http://${key}`], { profile: "url", fpr: 1e-8, onSkip }).toBytes());
      if (filter.info().count === 1) assert.equal(filter.matchUrl(input), key, input);
    }
  }
  assert.ok(all.hasUrl(new URL(vectors[0].input)));
});

test("a list catches every spelling of its entries, and nothing else", () => {
  for (const [url, list] of Object.entries(spellings)) {
    const filter = RibbonFilter.from([list], { profile: "url", fpr: 1e-6 });
    for (const { decode } of Object.values(engines)) {
      const read = decode(filter.toBytes());
      assert.equal(read.hasUrl(url), true, url);
      assert.equal(read.matchUrl(url), list === "http://evil.com/a" ? "evil.com/a" : `${list.replace(/[|^]/g, "")}/`);
      assert.equal(read.hasUrl("http://good.com/"), false);
    }
  }
  const literal = "https://store.example/evil/x%2F..%2F..%2Flogin.html";
  for (const { decode } of Object.values(engines)) {
    const read = decode(RibbonFilter.from(["store.example/evil/"], { profile: "url", fpr: 1e-6 }).toBytes());
    assert.equal(read.matchUrl(literal), "store.example/evil/");
    assert.equal(read.matchUrl(literal.replace("store", "\uff53tore")), "store.example/evil/");
    assert.equal(read.matchUrl(literal.replaceAll("..", "e")), "store.example/evil/");
    assert.equal(read.matchUrl(literal.replace("evil", "good")), null);
  }
  for (const path of [
    "x%2F..%2F..%2Fy",
    "..%2fy",
    "%252e%252e/y?z",
    "a/b/%2e%2e%2f/%2E./%252f..%2f../y#",
    "%2e%2e/%2f",
  ])
    for (const host of ["a.b", "\uff41.b", "xn--.a.b", "\u00e9.a.b\\x"]) requireSameKeys(`http://${host}/c/${path}`);
  const filter = RibbonFilter.from(["evil.com", "bad.example/a/", "worse.example/a?b"], { profile: "url", fpr: 1e-6 });
  assert.equal(filter.matchUrl("https://user@www.EVIL.com:8443/x?y#z"), "evil.com/");
  assert.equal(filter.matchUrl(new URL("https://bad.example/b/../a/c.html")), "bad.example/a/");
  assert.equal(filter.matchUrl("http://worse.example/a?b"), "worse.example/a?b");
  for (const url of [
    "notevil.com",
    "bad.example/",
    "http://worse.example/a",
    "http://worse.example/a?c",
    "mailto:a@evil.com",
    "data:,evil.com",
    "",
  ]) {
    assert.equal(filter.matchUrl(url), null, url);
    assert.equal(filter.hasUrl(url), false, url);
  }
});

test("URLs that one browser opens and another parser refuses are caught, and allowed with all their keys", () => {
  const spelled = [
    "http://xn--.evil.example\\@good.com/",
    "http:\\\\xn--.evil.example/",
    "http:///xn--.evil.example/",
    "/\\evil.example/",
    ...[0x2061, 0x206a, 0x115f, 0x3164, 0xffa0, 0x17b4, 0x180e, 0x1d173].map(
      (code) => `http://evi${String.fromCodePoint(code)}l.example/`,
    ),
    "http://ev\u{1ccde}l.example/",
  ];
  const filter = RibbonFilter.from(["evil.example"], { profile: "url", fpr: 1e-6 });
  for (const { decode } of Object.values(engines)) {
    const read = decode(filter.toBytes());
    for (const url of spelled) {
      assert.equal(read.matchUrl(url), "evil.example/", url);
      assert.ok(read.hasUrl(url) && urlExpressions(url).includes("evil.example/"), url);
      requireSameKeys(url);
    }
    assert.equal(new Set(urlExpressions(spelled[0])).size, urlExpressions(spelled[0]).length);
    assert.equal(read.matchUrl("/evil.example/"), null);
  }
  // Entries of a list have only the canonical form, and allowed URLs both readings.
  assert.equal(canonicalizeUrl("/\\evil.example/"), null);
  assert.equal(
    RibbonFilter.from(["http://x%20.evil.example\\@good.com/"], { profile: "url", fpr: 1e-6 }).hasUrl(
      "http://x%20.evil.example/@good.com/",
    ),
    false,
  );
  const many = Array.from({ length: 20_000 }, (_, i) => `site${i}.example`);
  const allow = Array.from({ length: 2000 }, (_, i) => `http://x%20.a${i}.b${i}.test\\@good${i}.test/`);
  const loose = { profile: "url", fpr: 0.5 };
  const hits = (filter) => allow.filter((url) => filter.hasUrl(url)).length;
  assert.ok(hits(RibbonFilter.from(many, loose)) > 100);
  assert.equal(hits(RibbonFilter.from(many, { ...loose, allow })), 0);
});

test("hosts, adblock rules and hosts files; lines that give no key are reported", () => {
  const lines = [
    "plain.example",
    "http://URL.example:80/a",
    "||adblock.example^",
    "0.0.0.0 hosts1.example hosts2.example # comment",
    "127.0.0.1\tlocalhost",
    "# a comment",
    "! another",
    "@@||good.example^",
    "||options.example^$third-party",
    "*.wild.example",
    "mailto:a@b.example",
    "two.example words.example",
    new TextEncoder().encode("bytes.example/%C3%A4"),
  ];
  const skipped = [];
  const filter = RibbonFilter.from(lines, { profile: "url", fpr: 1e-6, onSkip: (line) => skipped.push(line) });
  assert.equal(filter.info().count, 7);
  for (const url of [
    "plain.example",
    "url.example/a",
    "x.adblock.example/y",
    "x.wild.example/y",
    "hosts1.example",
    "hosts2.example",
    "bytes.example/ä",
  ]) {
    assert.equal(filter.hasUrl(url), true, url);
  }
  assert.deepEqual(skipped, [
    { key: lines[4], reason: "local" },
    { key: lines[7], reason: "pattern" },
    { key: lines[8], reason: "pattern" },
    { key: lines[10], reason: "not_checkable" },
    { key: lines[11], reason: "not_checkable" },
  ]);
});

test("a rule for all hosts of a single label gives no key, since nothing is looked up by it", () => {
  const lines = ["*.zip", "||mov^", "0.0.0.0 tk", "*.co.uk", "http://intranet/", "files", "zip/a"];
  const skipped = [];
  const filter = RibbonFilter.from(lines, { profile: "url", fpr: 1e-6, onSkip: (line) => skipped.push(line) });
  assert.deepEqual(
    skipped,
    lines.slice(0, 3).map((key) => ({ key, reason: "single_label" })),
  );
  const urls = ["a.zip", "b.mov", "c.tk", "d.files", "e.co.uk", "http://intranet/x", "http://files:8080/", "zip/a"];
  const found = urls.map((url) => filter.matchUrl(url));
  assert.deepEqual(found, [null, null, null, null, "co.uk/", "intranet/", "files/", "zip/a"]);
  const none = { code: "invalid_key", message: /without a dot/ };
  assert.throws(() => CountingBloomFilter.from(["evil.example"], { profile: "url" }).add("*.zip"), none);
});

test("a list in which no line gives a key is refused, unless there is onSkip", async () => {
  const lines = ["http://evil[.]example/", "10.0.0.0/8"];
  const none = { code: "invalid_key", message: /none of 2 lines/ };
  assert.throws(() => RibbonFilter.from(lines, { profile: "url" }), none);
  await assert.rejects(RibbonFilter.fromStream(new Response(lines.join("\n")).body, { profile: "url" }), none);
  // Each of several lists is checked: one may be an error page.
  const tagged = (lists, untagged) => RibbonFilter.fromTagged(lists, { profile: "url", untagged });
  const bad = ["evil.example"];
  assert.throws(() => tagged({ bad, worse: lines }), none);
  assert.throws(() => tagged({ worse: lines, bad }), none);
  assert.throws(() => tagged({ bad }, lines), none);
  assert.equal(tagged({ bad: [...bad, ...lines], worse: [] }, ["# none yet"]).info().count, 1);
  const skipped = [];
  const filter = RibbonFilter.from(lines, { profile: "url", onSkip: ({ key }) => skipped.push(key) });
  assert.deepEqual(skipped, lines);
  assert.equal(filter.info().count, 0);
  assert.equal(RibbonFilter.from(["# no rule yet"], { profile: "url" }).info().count, 0);
  assert.equal(RibbonFilter.from([...lines, "evil.example"], { profile: "url" }).info().count, 1);
});

test("an allowlist in which no line gives a key is refused, unless there is onSkip", async () => {
  const url = { profile: "url", allow: ["@@||good1.example^", "http://good[.]example/"] };
  const hashes = { profile: "password", sha1: true, allow: ["hunter2"] };
  const hash = "A".repeat(40);
  const stream = (line) => new Response(line).body;
  for (const [options, line, lines] of [
    [url, "evil.example", 2],
    [hashes, hash, 1],
  ]) {
    const none = { code: "invalid_key", message: new RegExp(`none of ${lines} lines`) };
    for (const Kind of [BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter]) {
      assert.throws(() => Kind.from([line], options), none);
      await assert.rejects(Kind.fromStream(stream(line), options), none);
    }
    assert.throws(() => RibbonFilter.fromTagged({ bad: [line] }, options), none);
    assert.throws(() => RibbonFilter.fromTagged({ bad: [] }, { ...options, untagged: [line] }), none);
    const skipped = [];
    RibbonFilter.from([line], { ...options, onSkip: ({ key }) => skipped.push(key) });
    assert.deepEqual(skipped, options.allow);
    // A list without lines is valid, like one with a key.
    for (const allow of [[], [...options.allow, line]]) {
      assert.equal(RibbonFilter.from([line], { ...options, allow }).info().count, 1);
      assert.equal((await RibbonFilter.fromStream(stream(line), { ...options, allow })).info().count, 1);
    }
  }
});

test("keys that are added later, or removed, are read like the list", () => {
  // With room for more keys than it gets, to stay below its rate.
  const filter = CountingBloomFilter.from(["evil.example", ...blacklist.slice(0, 100)], { profile: "url", fpr: 1e-8 });
  assert.equal(filter.add("http://BAD.example:80/"), true);
  assert.equal(filter.addMany(["||worse.example^", "0.0.0.0 a.example b.example", "bad.example"]), 3);
  assert.equal(filter.addLines(new TextEncoder().encode("c.example\n# a comment\n")), 1);
  for (const host of ["evil", "bad", "worse", "a", "b", "c"])
    assert.ok(filter.hasUrl(`https://${host}.example/x`), host);
  assert.equal(filter.remove("https://evil.example"), true);
  assert.equal(filter.hasUrl("evil.example"), false);
  for (const line of ["mailto:a@b.c", "a.*.example", "0.0.0.0 d.example e.example", "# a comment"])
    fails("invalid_key", () => filter.add(line));
  for (const line of ["a.*.example", "# a comment", "! another", " ", ""])
    fails("invalid_key", () => filter.addMany(["d.example", line]));
  fails("invalid_key", () => filter.addLines("d.example"));
  assert.equal(filter.hasUrl("d.example"), false);
  for (const options of [{ profile: "url" }, { allow: [] }, { name: "n" }]) {
    fails("invalid_parameter", () => BloomFilter.withCapacity(10, 0.1, options));
    fails("invalid_parameter", () => new BloomFilter(10, 1, options));
  }
});

test("a stream of lines is read as a list of them", async () => {
  const lines = blacklist.slice(0, given("LISTED", 400));
  const text = `\u{feff}# a list\r\n${lines.join("\r\n")}\n\n0.0.0.0 last.example`;
  const cut = (bytes, size) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
  const expected = RibbonFilter.from([...lines, "last.example"], { profile: "url" }).toBytes();
  for (const size of [1, 7, 1000, 1e6]) {
    const stream = new ReadableStream({
      start(controller) {
        for (const chunk of cut(new TextEncoder().encode(text), size)) controller.enqueue(chunk);
        controller.close();
      },
    });
    assert.deepEqual(
      (await RibbonFilter.fromStream(stream, { profile: "url" })).toBytes(),
      expected,
      `chunks of ${size}`,
    );
  }
});

test("no allowed URL is matched and no listed one is lost, of real lists, at any rate and of any kind", () => {
  const good = whitelist.map((host) => `https://${host}/login?next=%2f`);
  for (const [kind, made] of [BloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter].entries()) {
    for (const [rate, fpr] of [0.9, 0.05].entries()) {
      if (!turn(kind + rate, 2)) continue;
      const conflicts = [];
      const options = { profile: "url", fpr, allow: good, onConflict: (conflict) => conflicts.push(conflict) };
      const filter = full.decode(made.from(blacklist, options).toBytes());
      // An allowlist, and a second group of a list of hosts.
      const { layers } = filter.info();
      assert.ok(layers >= 1 && layers <= (made === RibbonFilter ? 2 : 1) && filter instanceof made);
      const kept = new Set(conflicts.map(({ key, removed }) => (assert.equal(removed, false), key)));
      for (const host of blacklist) assert.ok(filter.hasUrl(host), host);
      for (const url of good) assert.ok(!filter.hasUrl(url) || urlExpressions(url).some((key) => kept.has(key)), url);
      // The overlap of both lists, found without the package: a host of one is a host of the other or its parent.
      const bad = new Set(blacklist);
      const parents = (host) =>
        host
          .split(".")
          .map((_, i, labels) => labels.slice(i).join("."))
          .slice(-6, -1);
      const both = new Set(whitelist.flatMap(parents).filter((host) => bad.has(host)));
      assert.deepEqual(kept, new Set([...both].map((host) => `${host}/`)));
    }
  }
});

test("a key in both lists stays listed, unless told otherwise, and then only that key is removed", () => {
  const list = ["evil.example", "evil.example/a", "shared.example", "www.bad.example"];
  const allow = ["http://evil.example/a", "sub.shared.example", "www.bad.example", "www.bad.example"];
  const build = (allowWins) => {
    const conflicts = [];
    const filter = RibbonFilter.from(list, {
      profile: "url",
      fpr: 0.5,
      allow,
      allowWins,
      onConflict: (c) => conflicts.push(c),
    });
    return {
      filter,
      conflicts: Object.fromEntries(conflicts.map(({ key, removed }) => [key, removed])),
      count: conflicts.length,
    };
  };
  const lost = build(false);
  assert.deepEqual(lost.conflicts, {
    "evil.example/a": false,
    "evil.example/": false,
    "shared.example/": false,
    "www.bad.example/": false,
  });
  for (const url of list) assert.ok(lost.filter.hasUrl(url));

  const won = build(true);
  assert.deepEqual(won.conflicts, {
    "evil.example/a": true,
    "evil.example/": false,
    "shared.example/": false,
    "www.bad.example/": true,
  });
  assert.equal(won.count, 4);
  assert.equal(won.filter.has("evil.example/a"), false);
  assert.equal(won.filter.hasUrl("www.bad.example/x"), false);
  // The parents stay on the list, and so do their URLs.
  assert.equal(won.filter.matchUrl("evil.example/a"), "evil.example/");
  assert.equal(won.filter.matchUrl("https://sub.shared.example/"), "shared.example/");
  assert.equal(won.filter.info().count, 2);
});

test("the rate is that of a whole check", () => {
  // Ten keys each, for which the builder allows if it doesn't know which of them the list can have.
  const urls = Array.from({ length: 100_000 }, (_, i) => `https://a.b${i}.example/c/d/e?${i}`);
  assert.equal(urlExpressions(urls[0]).length, 10);
  for (const fpr of [0.1, 0.01]) {
    const filter = CuckooFilter.from(blacklist, { profile: "url", fpr });
    const hits = urls.filter((url) => filter.hasUrl(url)).length;
    const expected = urls.length * (1 - (1 - filter.estimatedFpr) ** 10);
    assert.ok(Math.abs(hits - expected) < 4 * Math.sqrt(expected), `${hits} of ${urls.length} at ${fpr}`);
    assert.ok(filter.estimatedFpr <= fpr / 10);
  }
});

test("the rate of a ribbon filter is that of a typical URL, and for no URL two and a half times that", () => {
  const hosts = blacklist.filter((host) => !/[0-9]$/.test(host));
  const count = given("URLS", 15_000);
  const typical = (host) => Array.from({ length: count }, (_, i) => `https://${host(i)}/c/d/e?${i}`);
  for (const fpr of [0.1, 0.01]) {
    for (const list of [hosts, hosts.slice(0, 5000).map((host, i) => `${host}/${["", "a", "a/b/", "?c"][i % 4]}`)]) {
      const filter = RibbonFilter.from(list, { profile: "url", fpr });
      const { urlFpr, maxUrlFpr } = filter.info();
      assert.ok(urlFpr <= fpr * 1.001 && urlFpr > 0.75 * fpr && maxUrlFpr <= fpr * 2.501, JSON.stringify(filter));
      // Hosts of two to seven labels: more labels mean more keys.
      const rates = [0, 1, 2, 3, 4, 5].map((more) => {
        const urls = typical((i) => `${"w.".repeat(more)}b${i}.example`);
        return urls.filter((url) => filter.hasUrl(url)).length / urls.length;
      });
      assert.ok(
        rates.every((rate) => rate < maxUrlFpr + 5 * Math.sqrt(maxUrlFpr / count)),
        `${rates} at ${fpr}`,
      );
      assert.ok(rates[1] > 0.4 * fpr && rates.at(-1) > rates[0], `${rates} at ${fpr}`);
    }
  }
});

testEach("questions not for a filter of URLs, and values that aren't URLs; the next call works", ({ decode }) => {
  const filter = decode(RibbonFilter.from(["evil.example"], { profile: "url" }).toBytes());
  const raw = decode(RibbonFilter.from(["evil.example/"]).toBytes());
  for (const url of [undefined, null, 1, {}, [], new Uint8Array(3)]) {
    for (const ask of ["matchUrl", "hasUrl", "urlTags"]) fails("invalid_key", () => filter[ask](url));
    fails("invalid_key", () => canonicalizeUrl(url));
    fails("invalid_key", () => urlExpressions(url));
  }
  const passwords = decode(RibbonFilter.from(["a"], { profile: "password" }).toBytes());
  for (const other of [raw, passwords])
    for (const ask of ["matchUrl", "hasUrl", "urlTags"]) fails("wrong_profile", () => other[ask]("evil.example"));
  fails("wrong_profile", () => filter.hasPassword("a"));
  assert.ok(filter.hasUrl("evil.example") && raw.has("evil.example/") && filter.has("evil.example/"));
  filter.free();
  fails("freed", () => filter.hasUrl("evil.example"));
});

test("options that don't go together, or are invalid", () => {
  const build = (options) => () => RibbonFilter.from(["a.example"], options);
  fails("invalid_parameter", build({ profile: "urls" }));
  fails("invalid_parameter", build({ profile: "url", lowercase: true }));
  fails("invalid_parameter", build({ profile: "url", fpr: 5 }));
  fails("invalid_key", build({ profile: "url", allow: "good.example" }));
  fails("invalid_key", build({ profile: "url", allow: [1] }));
  fails("invalid_key", () => RibbonFilter.from([new URL("http://a.example")], { profile: "url" }));
  const thrown = new Error("mine");
  assert.throws(
    build({
      profile: "url",
      allow: ["a.example"],
      onConflict: () => {
        throw thrown;
      },
    }),
    thrown,
  );
});

test("a key that a filter of URLs can't hold is refused by name, not called absent", () => {
  const encode = (text) => new TextEncoder().encode(text);
  const members = ["evil.example", "worse.example/a"];
  const foreign = ForeignFilter.from(["evil.example/", "worse.example/a"], { format: "guava", fpr: 1e-6 }).toForeign();
  const kinds = [BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter];
  const readers = kinds.flatMap((kind) => {
    const bytes = kind.from(members, { profile: "url", fpr: 1e-6 }).toBytes();
    return Object.values(engines).map(({ decode }) => decode(bytes));
  });
  readers.push(full.decode(foreign, { format: "guava", profile: "url" }));
  const long = "x".repeat(1e5);
  const refused = {
    "evil.example": '"evil.example" is no key of a filter of URLs; ask hasUrl or urlTags',
    "https://evil.example/": '"https://evil.example/" is no key of a filter of URLs; ask hasUrl or urlTags',
    "//evil.example/": '"//evil.example/" is no key of a filter of URLs; ask hasUrl or urlTags',
    "a\nb": '"a\\nb" is no key of a filter of URLs; ask hasUrl or urlTags',
    [long]: `"${long.slice(0, 80)}" is no key of a filter of URLs; ask hasUrl or urlTags`,
    "": '"" is no key of a filter of URLs; ask hasUrl or urlTags',
  };
  const invalid = (message) => (error) => {
    assert.ok(error instanceof FilterError && error.code === "invalid_key", error);
    assert.equal(error.message, message);
    return true;
  };
  const ofBytes = invalid("this Uint8Array is no key of a filter of URLs; ask hasUrl or urlTags");
  const good = ["evil.example/", "worse.example/a", "good.example/?u=https://evil.example/", "[::1]/"];
  for (const filter of readers) {
    const still = () =>
      assert.deepEqual([...filter.hasMany(good), ...filter.hasMany(good.map(encode))].join(""), "11001100");
    for (const [key, message] of Object.entries(refused)) {
      assert.throws(() => filter.has(key), invalid(message));
      assert.throws(() => filter.has(encode(key)), ofBytes);
      assert.throws(() => filter.hasAny([key, "evil.example/"]), invalid(message));
      assert.throws(() => filter.hasAll(["evil.example/", key]), invalid(message));
      // In a batch of its own, and in one of many.
      assert.throws(() => filter.hasMany([key]), invalid(message));
      assert.throws(
        () => filter.hasMany([...new Array(20_000).fill("evil.example/"), key, "evil.example/"]),
        invalid(message),
      );
      assert.throws(() => filter.hasMany(["evil.example/", encode(key)]), ofBytes);
      if (key === "" || key.includes("\n")) continue;
      const line = invalid("line 3 is no key of a filter of URLs; ask hasUrl or urlTags");
      assert.throws(() => filter.hasLines(encode(`evil.example/\n\n${key}\r\nevil.example/`)), line);
      still();
    }
    const late = invalid("line 20001 is no key of a filter of URLs; ask hasUrl or urlTags");
    assert.throws(() => filter.hasLines(encode(`${"evil.example/\n".repeat(20_000)}evil.example\n`)), late);
    assert.deepEqual([...filter.hasLines(encode("evil.example/\n\r\n\ngood.example/"))], [1, 0, 0, 0]);
    assert.deepEqual([filter.hasUrl("evil.example"), filter.hasUrl("https://evil.example/")], [true, true]);
    still();
  }
  for (const options of [{}, { profile: "password" }]) {
    const bytes = RibbonFilter.from(["evil.example", ""], { fpr: 1e-6, ...options }).toBytes();
    for (const { decode } of Object.values(engines))
      assert.deepEqual([...decode(bytes).hasMany(["evil.example", "good.example", "https://a/"])], [1, 0, 0]);
  }
});

test("a replaced URL parser may throw anything", () => {
  const bytes = RibbonFilter.from(["evil.example"], { profile: "url", fpr: 1e-6 }).toBytes();
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
    const args = ["--input-type=module", "-e", source];
    const out = execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    const none = "unsupported_runtime";
    // Anything but a TypeError says nothing about a URL, so there is no answer.
    const whole = entry === "bloom-wasm" ? "true" : none;
    const others = `${none},true,${whole}\n`.repeat(6) + `${none}\n`.repeat(4);
    assert.equal(out, `${none},${none}\nfalse,true,true\n${others}`, entry);
  }
});

test("a URL of megabytes gives the same answers as a short one, however it is written", () => {
  const list = ["evil.example", "xn--80ak6aa92e.com"];
  const filter = RibbonFilter.from(list, { profile: "url", fpr: 1e-8 });
  const starts = [
    "http://evil.example/",
    "HTTP://EVIL.example:80/%2e/",
    "http:\\\\evil.example\\",
    "evil.example/",
    "http://a:b@ev\u{ad}il.example/",
    "http://\u{ff45}vil.example/",
    "https://\u0430\u0440\u0440\u04cf\u0435.com/",
    // Capitals that Node 20 doesn't know.
    "https://\u0410\u0420\u0420\u04c0\u0415.com/",
  ];
  // WebAssembly doesn't keep more than 4 MiB for a key.
  const kept = 4 << 20;
  for (const [entry, { decode }] of Object.values(engines).entries()) {
    const read = decode(filter.toBytes());
    starts.forEach((start, i) => {
      if (!turn(i + 2 * entry, 8)) return;
      const short = read.matchUrl(start);
      assert.ok(list.includes(short?.slice(0, -1)), `${start}: ${short}`);
      // With one letter less, the memory is kept.
      const long = `${start}#${"a".repeat(kept - start.length - (i % 2))}`;
      assert.equal(read.matchUrl(long), short, long.slice(0, 50));
      assert.equal(read.hasUrl(long), true, long.slice(0, 50));
      assert.equal(canonicalizeUrl(long), canonicalizeUrl(start));
      assert.deepEqual(urlExpressions(long), urlExpressions(start));
    });
    for (const [i, start] of starts.slice(0, 2).entries()) {
      if (!turn(i + entry, 2)) continue;
      assert.equal(read.hasUrl(`${start}?${"\u00e9".repeat(kept / 2)}`), true, start);
      assert.equal(read.hasUrl(`${start}${"a".repeat(2 * kept)}`), true, start);
    }
  }
});

test("a host that no browser opens isn't parsed, even if all its characters differ", () => {
  // Parsing one would be noticeable: it takes a second for 50,000 characters.
  const { URL } = globalThis;
  let longest = 0;
  const different = Array.from({ length: 5000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join("");
  const escaped = (text) => encodeURIComponent(text).toLowerCase();
  const filter = RibbonFilter.from(["evil.example", "192.0.2.7"], { profile: "url", fpr: 1e-8 });
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
      for (const { decode } of Object.values(engines)) {
        const read = decode(filter.toBytes());
        assert.equal(read.hasUrl(host), false);
        assert.equal(read.hasUrl(`HTTP://${host}/`), false);
        assert.equal(read.matchUrl(`http://${host}.evil.example/`), "evil.example/");
      }
    }
    assert.ok(longest < 1000, `${longest} characters`);
    // A number may have many leading zeros.
    for (const zeros of ["0", "\uff10", "\u{1d7ce}", "\u2070\u00ad"]) {
      for (const { decode } of Object.values(engines))
        assert.equal(
          decode(filter.toBytes()).matchUrl(`http://${zeros.repeat(5000)}30000001007/`),
          "192.0.2.7/",
          zeros,
        );
    }
  } finally {
    globalThis.URL = URL;
  }
});

// `LENGTH` is the number of characters.
test("hostile URLs end soon, and leave no trace", () => {
  const length = given("LENGTH", 5000);
  const list = ["evil.example", `evil.example/${"x".repeat(5000)}`];
  const bytes = RibbonFilter.from(list, { profile: "url", fpr: 1e-8 }).toBytes();
  const filters = Object.values(engines).map(({ decode }) => decode(bytes));
  const long = (part) => part.repeat(Math.ceil(length / part.length));
  const urls = [
    "a.",
    ".",
    "/",
    "//",
    "../",
    "./",
    "%25",
    "%2525",
    "@",
    ":",
    "#",
    "?",
    " ",
    "\t",
    "\u{ad}",
    "\ud800",
    "é",
    "[",
    "0x",
    "1.",
    "%",
    "\\",
    "&",
    "::",
  ];
  for (const part of urls) {
    for (const url of [
      long(part),
      `http://evil.example/${long(part)}`,
      `http://${long(part)}@evil.example`,
      `x${long(part)}x`,
    ]) {
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
    assert.deepEqual(urlExpressions(`e.example/${path}`).at(0), `e.example/${path}`);
  }
});

if (skip) console.log(`url/url.test.mjs, in Chromium, skipped: ${skip}`);

describe("in Chromium", { skip, timeout: 2 * PATIENCE }, () => {
  test("the vectors, the spellings and passwords", async () => {
    const dist = join(folder, "node_modules/bloom-wasm/dist");
    const server = createServer(({ url }, response) =>
      url.endsWith(".js")
        ? response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(join(dist, url)))
        : response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>"),
    );
    await new Promise((listening) => server.listen(0, "localhost", listening));
    const browser = await playwright();
    try {
      const tab = await newPage(browser);
      await tab.goto(`http://localhost:${server.address().port}/`);
      const blobs = Object.entries(spellings).map(([url, list]) => [
        url,
        [...RibbonFilter.from([list], { profile: "url", fpr: 1e-6 }).toBytes()],
      ]);
      const hash = "e38ad214943daad1d64c102faec29de4afe9da3d"; // SHA-1 of password1
      const passwords = [...RibbonFilter.from([hash], { profile: "password", sha1: true }).toBytes()];
      const all = [...allUrls()];
      for (const [entry, file] of Object.entries({
        "bloom-wasm": "bloom.inline.js",
        "bloom-wasm/reader": "reader.js",
      })) {
        const found = await tab.evaluate(
          async ({ file, inputs, all, blobs, passwords }) => {
            const { canonicalizeUrl, decode, urlExpressions } = await import(`/${file}`);
            const [hashed, first] = [passwords, all].map((bytes) => decode(new Uint8Array(bytes)));
            return {
              forms: inputs.map((input) => [canonicalizeUrl(input), urlExpressions(input)]),
              firsts: inputs.map((input) => first.matchUrl(input)),
              matches: blobs.map(([url, bytes]) => decode(new Uint8Array(bytes)).hasUrl(url)),
              passwords: ["password1", "Password1"].map((password) => hashed.hasPassword(password)),
            };
          },
          { file, inputs: vectors.map(({ input }) => input), all, blobs, passwords },
        );
        assert.deepEqual(
          found.forms,
          vectors.map(({ canonical, expressions }) => [canonical, expressions]),
          entry,
        );
        assert.deepEqual(
          found.firsts,
          vectors.map(({ expressions }) => expressions[0] ?? null),
          entry,
        );
        assert.deepEqual(
          found.matches,
          Object.keys(spellings).map(() => true),
        );
        assert.deepEqual(found.passwords, [true, false]);
      }
    } finally {
      await browser.close();
      server.closeAllConnections();
      server.close();
    }
  });
});
