/** WebAssembly's memory runs out, in every function that allocates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installed, printed } from "../helpers/installed.mjs";

/** Calls that allocate, each with its result when there is enough of everything. */
const CALLS = `
  const encode = (text) => new TextEncoder().encode(text);
  const keys = Array.from({ length: 2000 }, (_, i) => "key " + i);
  const hosts = Array.from({ length: 500 }, (_, i) => "host" + i + ".example");
  const { BloomFilter, CountingBloomFilter, CuckooFilter, ForeignFilter, RibbonFilter, ScalableBloomFilter, FilterError } = api;
  const urls = RibbonFilter.from(hosts, { profile: "url", fpr: 0.5, allow: ["good.example", "http://b\\u00fccher.example/\\u00e9"] });
  const tagged = RibbonFilter.fromTagged({ t: ["b.c"] }, { profile: "url", fpr: 1e-6 });
  const passwords = RibbonFilter.from(["Passw\\u00f6rd"], { profile: "password", lowercase: true, fpr: 1e-9 });
  const counting = CountingBloomFilter.from(keys);
  const bloom = BloomFilter.from(keys);
  const blobs = [urls, passwords, counting, bloom, ScalableBloomFilter.from(keys), CuckooFilter.from(keys)].map((filter) => filter.toBytes());
  const formats = ["go-bloom", "guava", "spark", "redis-bitmap", "redisbloom"];
  const wide = { format: "guava", funnel: "unencoded-chars", capacity: 100_000 };
  const foreign = ForeignFilter.from(["a", "\\ud800"], wide);
  const theirs = foreign.toForeign();
  const long = "x".repeat(300_000);
  const calls = {
    has: () => bloom.has("key 1") && !bloom.has(long),
    hasMany: () => bloom.hasMany([...keys, long]).lastIndexOf(1) === 1999,
    hasLines: () => bloom.hasLines(encode(keys.join("\\n") + "\\n" + long)).lastIndexOf(1) === 1999,
    hasUrl: () => urls.hasUrl("http://user@HOST1.example\\\\@good.example/\\u00e9") && !urls.hasUrl("good.example"),
    matchUrl: () => urls.matchUrl("//www.host3.example") === "host3.example/",
    hasPassword: () => passwords.hasPassword("PASSWO\\u0308RD"),
    longUrl: () => urls.hasUrl("host1.example/b\\u00fccher/" + "%25".repeat(3000)),
    urlTags: () => tagged.urlTags("http://a.b.c/1/../2?3").join() === "t",
    info: () => urls.info().kind === "ribbon",
    decode: () => blobs.every((blob) => api.decode(blob).kind),
    clone: () => counting.clone().equals(counting),
    cloneAndAdd: () => [bloom, counting].every((filter) => { const copy = filter.clone(); copy.add("new"); return copy.has("new") && !filter.has("new"); }),
    toBytes: () => counting.toBytes().length === blobs[2].length,
    toBloom: () => counting.toBloom().has("key 1"),
    locations: () => bloom.locations("a").length === 10,
    optimal: () => api.optimal(1000, 0.01).hashes === 7,
    from: () => [BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter].every((kind) => kind.from(keys).has("key 1")),
    fromUrls: () => RibbonFilter.from([...hosts, "*.no"], { profile: "url", allow: [...hosts, "good.example"], onSkip() {}, onConflict() {} }).hasUrl("host1.example"),
    addMany: () => bloom.clone().addMany(["a new one", "key 1"]) === 1,
    add: () => ScalableBloomFilter.decode(blobs[4]).add("a new one") && CountingBloomFilter.decode(blobs[2]).add("a new one"),
    empty: () => [new BloomFilter(800, 1), new ScalableBloomFilter(), CuckooFilter.withCapacity(100, 0.1)].length === 3,
    foreign: () => foreign.hasAll(["a", "\\ud800"]) && foreign.clone().info().foreign.funnel === wide.funnel,
    foreignFrom: () => formats.every((format) => ForeignFilter.from(keys, { format }).has("key 1")),
    foreignDecode: () => api.decode(theirs, { format: "guava", funnel: wide.funnel }).equals(foreign),
    toForeign: () => foreign.toForeign().length === theirs.length,
    union: () => { const copy = bloom.clone(); copy.union(bloom); copy.union(copy); return copy.equals(bloom); },
  };
`;

const { BloomFilter, FilterError } = await installed();
const fails = (run) => assert.throws(run, (error) => error instanceof FilterError && error.code === "too_large");

test("memory that runs out is an error, and every other filter still works", () => {
  const filter = BloomFilter.from(["a"]);
  const large = [];
  fails(() => {
    for (let i = 0; i < 20; i++) large.push(new BloomFilter(2 ** 32 - 1, 1));
  });
  assert.ok(large.length > 0);
  // A clone shares the memory, until one of the two is changed.
  const clone = large[0].clone();
  for (const change of [() => clone.add("a"), () => clone.addMany(["a"]), () => clone.clear()]) fails(change);
  assert.ok(clone.equals(large[0]) && !clone.has("a"));
  clone.free();
  fails(() => large[0].toBytes());
  assert.ok(filter.has("a") && !filter.has("b") && BloomFilter.from(["b"]).has("b"));
  large.forEach((one) => one.free());
  new BloomFilter(2 ** 32 - 1, 1).free();
});

test("memory that runs out bit by bit is an error too", () => {
  const filter = BloomFilter.from(["a"]);
  for (const most of [1e9, 256e6, 4e6]) {
    const kept = [];
    for (let bits = most; bits >= 64; bits = Math.floor(bits / 2)) {
      fails(() => {
        for (;;) kept.push(new BloomFilter(bits, 1));
      });
      assert.ok(filter.has("a") && !filter.has("b"));
    }
    kept.forEach((one) => one.free());
  }
  assert.ok(BloomFilter.from(["b"]).has("b"));
});

test("memory that runs out, in every function that allocates, is too_large, and the next call works", {
  timeout: 600_000,
}, () => {
  const out = printed(`
    const api = await import("bloom-wasm");
    ${CALLS}
    const met = new Set();
    /** Every call either works or is too_large. */
    const all = () => {
      for (const [name, call] of Object.entries(calls)) {
        try {
          if (call() !== true) throw new Error(name + " is wrong");
        } catch (error) {
          if (!(error instanceof FilterError) || error.code !== "too_large") throw new Error(name + ": " + error?.stack, { cause: error });
          met.add(name);
        }
      }
    };
    all();
    if (met.size > 0) throw new Error("too little memory to begin with");
    // All of it, down to what the smallest filter takes.
    const kept = [];
    for (let bits = 2 ** 32 - 1; bits >= 8; bits = Math.floor(bits / 2)) {
      try {
        for (;;) kept.push(new BloomFilter(bits, 1));
      } catch (error) {
        if (error.code !== "too_large") throw error;
      }
    }
    // A clone takes the least of all.
    try {
      for (;;) kept.push(kept[0].clone());
    } catch (error) {
      if (error.code !== "too_large") throw error;
    }
    all();
    // Then a little more each time, so that each call gets further before it runs out.
    for (let i = 0; kept.length > 0 && met.size > 0; i++) {
      for (let freed = 0; freed <= i / 4; freed++) kept.pop()?.free();
      all();
      if (i > 400) break;
    }
    console.log([...met].join());
    kept.forEach((filter) => filter.free());
    met.clear();
    all();
    console.log(met.size);
  `);
  const [met, left] = out.split("\n");
  for (const name of [
    "decode",
    "clone",
    "from",
    "fromUrls",
    "toBytes",
    "hasLines",
    "addMany",
    "empty",
    "info",
    "union",
    "foreign",
    "foreignFrom",
    "foreignDecode",
    "toForeign",
    "cloneAndAdd",
  ]) {
    assert.ok(met.split(",").includes(name), `memory never ran out in ${name}, only in ${met}`);
  }
  assert.equal(left, "0");
});
