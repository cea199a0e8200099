/** Unknown options are refused by name, in every function that takes any. */
import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { full, reader, testEach } from "../helpers/engines.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, FilterError, ForeignFilter } = full;
const { RibbonFilter, ScalableBloomFilter, decode, load, openFeed, openSharded } = full;

const blob = BloomFilter.from(["a"]).toBytes();
const guava = ForeignFilter.from(["a"], { format: "guava" }).toForeign();
const stream = () => new Blob(["a\nb"]).stream();
const url = "https://example.org/feed.json";

/** Each function that takes options: a call, and valid options. */
const makers = { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter };
const functions = {
  decode: [(options) => decode(blob, options), {}],
  "decode, format": [(options) => decode(guava, options), { format: "guava" }],
  "the reader's decode": [(options) => reader.decode(blob, options), {}],
  "ForeignFilter.decode": [(options) => ForeignFilter.decode(guava, options), { format: "guava" }],
  "ForeignFilter.load": [(options) => ForeignFilter.load(guava, options), { format: "guava" }],
  load: [(options) => load(blob, options), {}],
  "load, format": [(options) => load(guava, options), { format: "guava" }],
  "the reader's load": [(options) => reader.load(blob, options), {}],
  openFeed: [(options) => openFeed(url, options), { publicKey: null, cache: null }],
  openSharded: [(options) => openSharded(url, options), { publicKey: null, cache: null }],
  "ForeignFilter.from": [(options) => ForeignFilter.from(["a"], options), { format: "guava" }],
  "new BloomFilter": [(options) => new BloomFilter(100, 3, options), {}],
  "new CountingBloomFilter": [(options) => new CountingBloomFilter(100, 3, options), {}],
  "new ScalableBloomFilter": [(options) => new ScalableBloomFilter(options), {}],
};
for (const [name, made] of Object.entries(makers)) {
  functions[`${name}.from`] = [(options) => made.from(["a"], options), {}];
  functions[`${name}.fromStream`] = [(options) => made.fromStream(stream(), options), {}];
  functions[`${name}.decode`] = [(options) => made.decode(made.from(["a"]).toBytes(), options), {}];
  functions[`${name}.load`] = [(options) => made.load(made.from(["a"]).toBytes(), options), {}];
  if (made.withCapacity) functions[`${name}.withCapacity`] = [(options) => made.withCapacity(9, 0.1, options), {}];
}

/** The error of a call, thrown or rejected. */
const errorOf = async (run) => {
  try {
    await run();
  } catch (error) {
    return error;
  }
};

/** Asserts that a call is refused with this message. */
async function refused(run, says) {
  const error = await errorOf(run);
  assert.ok(error instanceof FilterError && error.code === "invalid_parameter", `${says}: ${error?.stack ?? error}`);
  assert.match(error.message, says);
}

test("no function accepts an unknown option, whatever its value", async () => {
  for (const [name, [run, right]] of Object.entries(functions)) {
    for (const value of [undefined, 1, "sha256-AAAA"])
      await refused(() => run({ ...right, integrety: value }), /has no option integrety; it has \w/);
    // Valid options stay valid. There is no network here.
    const fetch = () => Promise.reject(new TypeError("no network"));
    const error = await errorOf(() => run({ ...right, ...(name.startsWith("open") && { fetch }) }));
    assert.ok(error === undefined || (name.startsWith("open") && error.code === "network"), `${name}: ${error?.stack}`);
  }
});

test("each function, kind and format has its own options", async () => {
  await refused(
    () => load(blob, { max_bytes: 1 }),
    /^load has no option max_bytes; it has secret, .*\bmaxBytes,.*\bformat$/,
  );
  await refused(() => decode(blob, { integrity: "" }), /^decode has no option integrity; it has secret, format$/);
  await refused(() => BloomFilter.from(["a"], { profil: "url" }), /^from has no option profil; it has .*\bprofile,/);
  await refused(() => BloomFilter.withCapacity(9, 0.1, { fpr: 0.1 }), /no option fpr; it has seed, secret$/);
  await refused(() => new BloomFilter(9, 1, { name: "n" }), /no option name; it has seed, secret$/);
  for (const made of [BloomFilter, CountingBloomFilter]) await refused(() => new made(1000, 0.01), /use withCapacity$/);
  await refused(() => BloomFilter.from(["a"], { signal: 1 }), /no option signal/);
  await refused(() => BloomFilter.from(["a"], { counterBits: 8 }), /no option counterBits/);
  await refused(() => CuckooFilter.from(["a"], { growth: 2 }), /no option growth/);
  await refused(() => RibbonFilter.from(["a"], { untagged: [] }), /no option untagged/);
  await refused(() => load(guava, { funnel: "utf8" }), /has no option funnel; it has secret, .*\bformat$/);
  await refused(() => load(guava, { format: "guava", funel: "utf8" }), /no option funel; it has .*\bfunnel,/);
  await refused(() => ForeignFilter.from(["a"], { format: "guava", profile: "url" }), /has no option profile/);
  await refused(() => openFeed(url, { publicKey: null, maxMemory: 1 }), /has no option maxMemory; it has publicKey, /);
  await refused(() => decode(guava, { format: "guava", keys: "string" }), /\bkeys\b/);
  await refused(() => ForeignFilter.from(["a"], { format: "guava", expansion: 2 }), /\bexpansion\b/);
  await refused(() => load(blob, { ["x".repeat(1e6)]: 1 }), /^load has no option x{40}; it has /);
  for (const made of Object.values(makers))
    await refused(() => made.decode(made.from(["a"]).toBytes(), { format: "guava" }), /\bformat\b/);
  // The reader has fewer.
  await refused(() => reader.decode(blob, { maxBytes: 1 }), /^decode has no option maxBytes; it has secret$/);
  for (const run of [reader.load, reader.decode])
    await refused(() => run(guava, { format: "guava" }), /^format is an option of "bloom-wasm" only$/);
  assert.ok((await load(blob, { format: undefined, secret: undefined })).has("a"));
});

testEach("options may be inherited, and must be an object", async ({ decode, load }) => {
  await refused(() => load(blob, Object.create({ integrety: 1 })), /has no option integrety/);
  await assert.rejects(load(blob, Object.create({ maxBytes: 1 })), { code: "too_large" });
  assert.ok((await load(blob, Object.create(null))).has("a"));
  class Mine {
    maxBytes = 1e6;
    get integrity() {
      return undefined;
    }
    method() {}
  }
  assert.ok((await load(blob, new Mine())).has("a"));
  const symbol = { [Symbol("mine")]: 1, maxBytes: 1e6 };
  assert.ok((await load(blob, symbol)).has("a") && decode(blob, vm.runInNewContext("({})")).has("a"));
  const wrong = [null, "secret", true, 5n, [], new Map([["integrity", 1]]), new Uint8Array(16), () => {}];
  for (const options of [...wrong, Promise.resolve({})]) {
    await refused(() => load(blob, options), /./);
    await refused(() => decode(blob, options), /./);
    await refused(() => RibbonFilter.from(["a"], options), /./);
  }
  await refused(() => load(blob, new AbortController().signal), /has no option/);
  // As `map` calls it.
  assert.ok([blob, blob].map(decode).every((filter) => filter.has("a")));
});

testEach("an inherited option of load does its work, and each is read once", async ({ load }) => {
  const integrity = "sha256-AAAA";
  class Mine {
    get integrity() {
      return integrity;
    }
  }
  for (const options of [
    new Mine(),
    Object.create({ integrity }),
    Object.assign(Object.create({ integrity }), { maxBytes: 1e6 }),
  ])
    await assert.rejects(load(blob, options), { code: "integrity" });
  let calls = 0;
  const own = async () => (calls++, new Response(blob));
  await load("https://a.example/b", Object.create({ fetch: own, onProgress: () => calls++ }));
  assert.equal(calls, 2);

  const values = { integrity, fetch: own, onProgress: () => {}, maxBytes: 1e6, timeout: 1000, secret: undefined };
  const read = {};
  const options = new Proxy(values, {
    get(its, name) {
      read[name] = (read[name] ?? 0) + 1;
      return read[name] > 1 ? undefined : its[name];
    },
  });
  await assert.rejects(load("https://a.example/b", options), { code: "integrity" });
  for (const name of [...Object.keys(values), "signal"]) assert.equal(read[name], 1, name);
});

test("a property that a program adds to every object is not an option", async () => {
  Object.prototype.polluted = 1;
  try {
    assert.ok((await load(blob, { maxBytes: 1e6 })).has("a") && RibbonFilter.from(["a"], {}).has("a"));
  } finally {
    delete Object.prototype.polluted;
  }
});
