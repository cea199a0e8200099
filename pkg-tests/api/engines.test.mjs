/**
 * Filters in WebAssembly ("bloom-wasm") and in plain JavaScript ("bloom-wasm/reader"): answers, errors and descriptions
 * are the same. `api/engines.long.test.mjs` compares the two on many more questions.
 */
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { engines, fails, golden as file, full, reader, SECRET, seal, testEach } from "../helpers/engines.mjs";
import { folder } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";
import { UNITS } from "../helpers/units.mjs";
import { allUrls, requireSameKeys } from "../helpers/urls.mjs";
import { golden } from "../runtimes/golden.mjs";

const { BloomFilter, CountingBloomFilter, RibbonFilter } = full;

const encode = (text) => new TextEncoder().encode(text);

/** The entry for pages, in another copy of the package. */
async function another() {
  const copy = join(folder, "for-pages");
  cpSync(join(folder, "node_modules/bloom-wasm"), copy, { recursive: true });
  const page = await import(pathToFileURL(join(copy, "dist/bloom.inline.js")).href);
  assert.notEqual(page.FilterError, full.FilterError);
  return page;
}

/** A filter of these keys, as read by an import. */
const filterOf = ({ decode }, keys, options = { fpr: 1e-9 }) => decode(RibbonFilter.from(keys, options).toBytes());

test("a filter in plain JavaScript has no method that changes it", () => {
  for (const method of ["add", "addMany", "remove", "toBloom", "clear", "locations", "union", "count"])
    assert.ok(!(method in reader.decode(file("counting4.bloom"))), method);
});

test("the smallest cuckoo filter, whose fingerprints are all alike", () => {
  // 2 buckets of 4 slots with 1 bit each. FORMAT.md sections 4 and 6.4.
  for (const [slots, expected] of [
    [0, 0],
    [1, 1],
    [255, 1],
  ]) {
    const bytes = new Uint8Array(27);
    bytes.set([0xb5, 0x42, 0x4c, 0x4d, 1, 4]);
    bytes.set([2, 0, 0, 0, 1, slots], 17);
    seal(bytes);
    const filters = [reader, full].map(({ decode }) => decode(bytes));
    sameInfo(...filters, `slots ${slots}`);
    for (const filter of filters) assert.equal(filter.estimatedFpr, expected, `slots ${slots}`);
  }
});

/** The keys of the golden files, as their README says. */
function goldenKey(name, i) {
  if (!name.includes("slots")) return `key-${i}`;
  const labels = Math.floor(i / 6) % 5;
  const host = labels === 4 ? `10.0.${i >> 8}.${i & 255}` : `${"w.".repeat(labels)}host${i}.example`;
  return host + ["/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q"][i % 6];
}

test("the golden files: the same answers, descriptions and bytes", () => {
  let count = 0;
  for (const { name, secret, base64 } of golden) {
    // Those of other software, too, are asked in every runtime: runtimes/cases.mjs.
    if (name.startsWith("foreign-")) continue;
    const bytes = new Uint8Array(Buffer.from(base64, "base64"));
    const options = secret && { secret: Uint8Array.from(secret) };
    const inWasm = full.decode(bytes, options);
    const inJavaScript = reader.decode(bytes, options);
    sameInfo(inJavaScript, inWasm, name);
    for (const filter of [inWasm, inJavaScript]) {
      assert.deepEqual(filter.toBytes(), bytes, name);
      const clone = filter.clone();
      assert.ok(filter.equals(clone) && clone.constructor === filter.constructor, name);
      assert.deepEqual(clone.toBytes(), bytes, name);
    }
    count++;
    const { profile, sha1 } = inWasm.info();
    // Its keys can't be keys of URLs, or aren't hashes, so only Rust can look them up: tests/suite/golden.rs.
    if (sha1 || (profile === "url" && !name.includes("slots"))) continue;
    for (let i = 0; i < 2000; i++)
      assert.equal(inJavaScript.has(goldenKey(name, i)), inWasm.has(goldenKey(name, i)), `${name} ${i}`);
  }
  assert.ok(count >= 30, `${count} files`);
});

/** Numbers may differ in their last digits: rates are computed in another order. */
function sameInfo(one, other, what) {
  const near = (one, other) => one === other || Math.abs(one - other) <= 1e-5 * Math.abs(other);
  const [info, expected] = [one.info(), other.info()];
  assert.deepEqual(Object.keys(info).sort(), Object.keys(expected).sort());
  for (const [name, value] of Object.entries(expected)) {
    if (typeof value === "number") assert.ok(near(info[name], value), `${what}, ${name}: ${info[name]}, not ${value}`);
    else assert.deepEqual(info[name], value, `${what}, ${name}`);
  }
  for (const filter of [one, other]) assert.deepEqual(filter.toJSON(), filter.info());
  assert.equal(one.kind, other.kind);
  for (const name of ["estimatedFpr", "estimatedCount"])
    assert.ok(near(one[name], other[name]), `${what}, ${name}: ${one[name]}, not ${other[name]}`);
}

testEach("questions of every type", (engine) => {
  const list = ["", "a", "größe", "\ud800", "😀", "x".repeat(31), "y".repeat(32), "z".repeat(200), "é".repeat(20_000)];
  const filter = filterOf(engine, list);
  for (const key of list) {
    assert.ok(filter.has(key) && filter.has(encode(key)) && filter.has(Buffer.from(key)), key.slice(0, 9));
    assert.ok(!filter.has(`${key}!`));
  }
  assert.ok(filter.has(new Uint8Array(encode("..a..").buffer, 2, 1)), "a part of a buffer");
  assert.deepEqual(filter.hasMany(["a", "b", encode("")]), Uint8Array.of(1, 0, 1));
  assert.deepEqual(filter.hasMany(new Set()), new Uint8Array(0));
  assert.ok(filter.hasAny(["b", "a"]) && !filter.hasAny([]) && !filter.hasAny(["b"]));
  assert.ok(filter.hasAll(["a", "größe"]) && filter.hasAll([]) && !filter.hasAll(["a", "b"]));
  const text = encode("a\r\n\nb\n\rgröße\ngröße\r\n\ngröße\r");
  assert.deepEqual(filter.hasLines(text), Uint8Array.of(1, 0, 0, 0, 1, 0, 1));
  // An empty line isn't a key, even if the empty key is a member.
  assert.deepEqual(filter.hasLines(encode("a\n\nx\r\n\r\na\r\n")), Uint8Array.of(1, 0, 0, 0, 1));
  assert.deepEqual(filter.hasLines(new Uint8Array(0)), new Uint8Array(0));
  for (const key of [42, 1n, true, null, undefined, {}, [], [1], new ArrayBuffer(1), new Uint16Array(1), Symbol("a")]) {
    fails("invalid_key", () => filter.has(key));
    fails("invalid_key", () => filter.hasMany([key]));
  }
  for (const keys of ["a", new Uint8Array(0), new Uint8Array(1), 5, null, undefined, {}]) {
    for (const method of ["hasAny", "hasAll", "hasMany"]) fails("invalid_key", () => filter[method](keys));
  }
  for (const text of ["a", undefined, [1]]) fails("invalid_key", () => filter.hasLines(text));
  for (const ask of ["hasUrl", "matchUrl", "urlTags"]) {
    for (const url of [undefined, 1, { href: "https://a.example/" }, new Uint8Array(3)])
      fails("invalid_key", () => filter[ask](url));
    fails("wrong_profile", () => filter[ask]("https://a.example/"), /profile url/);
  }
  for (const password of [null, 1, new Uint8Array(3), new String("a")])
    fails("invalid_key", () => filter.hasPassword(password));
  fails("wrong_profile", () => filter.hasPassword("a"), /profile password/);
  const urls = filterOf(engine, ["a.example"], { profile: "url" });
  fails("wrong_profile", () => urls.hasPassword("a"), /profile password/);
  assert.ok(filter.has("a"), "after all these errors");
});

testEach("what is no blob, and what it may be instead", ({ decode }) => {
  const bytes = RibbonFilter.from(["a"]).toBytes();
  fails("not_a_filter", () => decode(gzipSync(bytes)), /gzipped/);
  for (const [given, words] of [
    [undefined, /not undefined/],
    [null, /not null/],
    [[1, 2], /not an array/],
    ["list.bloom", /without an encoding/],
    [Promise.resolve(bytes), /not a promise; await it/],
    [new Proxy(new ArrayBuffer(1), {}), /is it a Proxy/],
  ])
    fails("invalid_parameter", () => decode(given), words);
});

test("strings of every length and alphabet are the bytes that TextEncoder makes of them, alone and in batches", async () => {
  // It has a higher limit for strings that a loop writes into WebAssembly.
  const page = await another();
  const alphabets = ["a", "é", "語", "😀", "\ud800", "\udc00", "\0", "\x7f", "\x80"];
  const lengths = [0, 1, 2, 15, 16, 31, 32, 33, 149, 150, 151, 1365, 1366, 5461, 5462, 65_535, 65_536, 100_000];
  const keys = lengths.flatMap((length) =>
    alphabets.flatMap((letter) => [letter.repeat(length), "a".repeat(length) + letter]),
  );
  // Halves of a surrogate pair must not join across two keys, nor two keys become one.
  keys.push("x\ud83d", "\ude00x", "ab", "a", "b");
  const bytes = keys.map(encode);
  const nonmembers = keys.map((key) => `${key}!`);
  const mixed = keys.flatMap((key, i) => [key, nonmembers[i], bytes[i], encode(nonmembers[i])]);
  for (const engine of [full, page, reader]) {
    const filter = filterOf(engine, bytes);
    for (const [list, answer] of [
      [keys, 1],
      [nonmembers, 0],
      [bytes, 1],
      [nonmembers.map(encode), 0],
    ]) {
      assert.ok(list.every((key) => filter.has(key) === (answer === 1)));
      assert.ok(filter.hasMany(list).every((found) => found === answer));
    }
    assert.deepEqual(
      [...filter.hasMany(mixed)],
      keys.flatMap(() => [1, 0, 1, 0]),
    );
  }
  for (const { RibbonFilter } of [full, page])
    assert.ok(RibbonFilter.from(keys, { fpr: 1e-9 }).equals(RibbonFilter.from(bytes, { fpr: 1e-9 })));
});

testEach("lines around the border of a chunk", (engine) => {
  const line = (length, end) => "x".repeat(length) + end;
  for (const first of [65_534, 65_535, 65_536, 65_537, 131_072]) {
    for (const end of ["\n", "\r\n"]) {
      const keys = ["a", line(first - 2 - end.length, ""), "b", "", line(70_000, ""), "c"];
      const text = encode(keys.join(end));
      const built = BloomFilter.withCapacity(10, 1e-9);
      assert.equal(built.addLines(text), 5);
      const filter = engine.decode(built.toBytes());
      assert.deepEqual(
        keys.map((key) => filter.has(key)),
        [true, true, true, false, true, true],
        `${first}`,
      );
      assert.deepEqual([...filter.hasLines(text)], [1, 1, 1, 0, 1, 1]);
      assert.deepEqual([...filter.hasLines(encode(`${keys.join(end)}${end}`))], [1, 1, 1, 0, 1, 1]);
    }
  }
  const filter = filterOf(engine, ["a"]);
  assert.deepEqual([...filter.hasLines(encode("\n".repeat(200_000)))], new Array(200_000).fill(0));
});

testEach("a byte order mark isn't part of the first line, wherever a text is read", async (engine) => {
  const marked = encode("\ufeffa\r\n\ufeffb\n");
  const made = BloomFilter.withCapacity(10, 1e-9);
  assert.equal(made.addLines(marked), 2);
  const streamed = await BloomFilter.fromStream(new Blob([marked]).stream());
  for (const built of [made, streamed]) {
    const filter = engine.decode(built.toBytes());
    assert.deepEqual(
      ["a", "\ufeffa", "b", "\ufeffb"].map((key) => filter.has(key)),
      [true, false, false, true],
    );
    assert.deepEqual([...filter.hasLines(marked)], [1, 1]);
    assert.deepEqual([...filter.hasLines(encode("\ufeff"))], []);
  }
});

testEach("a view of bytes counts only as its own part, and a long key to its last byte", (engine) => {
  const bytes = encode("before|evil.example|after");
  const filter = filterOf(engine, [bytes.subarray(7, 19), "a"]);
  assert.deepEqual([...filter.hasMany(["evil.example", bytes.subarray(7, 19), bytes])], [1, 1, 0]);
  assert.deepEqual([...filter.hasLines(bytes.subarray(7, 19))], [1]);
  const long = "x".repeat(1_000_000);
  const of = filterOf(engine, [`${long}1`, encode(`${long}2`)]);
  assert.deepEqual([...of.hasMany([`${long}1`, `${long}2`, `${long}3`, long])], [1, 1, 0, 0]);
  assert.deepEqual([of.has(encode(`${long}2`)), of.has(`${long}3`)], [true, false]);
  assert.deepEqual([...filter.hasMany(["a", "x".repeat(2 ** 27), "a"])], [1, 0, 1]);
});

testEach("bytes whose buffer was transferred or has shrunk are neither a key nor an empty list", (engine) => {
  const filter = filterOf(engine, ["", "a"]);
  const gone = encode("a\nb");
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const buffer = new ArrayBuffer(8, { maxByteLength: 16 });
  const shrunk = new Uint8Array(buffer, 4, 4);
  buffer.resize(2);
  for (const bytes of [gone, shrunk]) {
    for (const use of [() => filter.has(bytes), () => filter.hasMany([bytes]), () => filter.hasLines(bytes)])
      fails("invalid_key", use);
    fails("invalid_parameter", () => engine.decode(bytes));
  }
  assert.ok(filter.has(new Uint8Array(0)));
});

testEach("objects that only look like a Uint8Array or a URL", (engine) => {
  class Bytes extends Uint8Array {
    get length() {
      return 2 ** 20;
    }
    get byteLength() {
      return -1;
    }
  }
  const filter = filterOf(engine, ["a"]);
  assert.ok(filter.has(new Bytes([97])) && !filter.has(new Bytes([98])));
  assert.equal(filter.hasLines(new Bytes([97, 10])).length, 1);
  for (const key of [new Proxy(encode("a"), {}), Object.create(Uint8Array.prototype)])
    fails("invalid_key", () => filter.has(key));
  const urls = filterOf(engine, ["evil.example"], { profile: "url" });
  for (const url of [new Proxy(new URL("http://a.b"), {}), Object.create(URL.prototype)])
    fails("invalid_key", () => urls.hasUrl(url));
  assert.ok(filter.has("a") && urls.hasUrl("evil.example") && urls.hasUrl(new URL("http://evil.example")));
});

/** Every question, and everything else that a filter can do. */
const USES = {
  has: ["a"],
  hasAny: [[]],
  hasAll: [[]],
  hasMany: [[]],
  hasLines: [new Uint8Array(0)],
  hasUrl: ["a.b"],
  matchUrl: ["a.b"],
  tags: ["a"],
  urlTags: ["a.b"],
  hasPassword: ["a"],
  info: [],
  toJSON: [],
  toBytes: [],
  equals: [{}],
  clone: [],
};
const GETTERS = ["kind", "estimatedFpr", "estimatedCount"];

testEach("a freed filter throws freed, and only that one", ({ decode, Filter }) => {
  const bytes = file("bloom.bloom");
  const [filter, other, kept] = [decode(bytes), decode(bytes), decode(bytes)];
  const clone = filter.clone();
  filter.free();
  filter.free();
  const another = decode(file("ribbon.bloom")); // takes the freed one's place
  for (const [method, args] of Object.entries(USES)) fails("freed", () => filter[method](...args));
  for (const getter of GETTERS) fails("freed", () => filter[getter]);
  fails("freed", () => JSON.stringify(filter));
  fails("freed", () => kept.equals(filter));
  assert.ok(clone.has("key-1") && clone.equals(kept) && another.has("key-1"));
  // A key that frees its filter while it is being read.
  const keys = (function* () {
    yield "a";
    other.free();
    yield "b";
  })();
  fails("freed", () => other.hasMany(keys));
  const urls = decode(RibbonFilter.from(["evil.example"], { profile: "url" }).toBytes());
  class Freeing extends URL {
    get href() {
      urls.free();
      return "http://evil.example/";
    }
  }
  fails("freed", () => urls.hasUrl(new Freeing("http://a.b")));
  if (Symbol.dispose) {
    kept[Symbol.dispose]();
    fails("freed", () => kept.has("a"));
  }
  fails("invalid_parameter", () => new Filter({}), /load or decode/);
});

testEach("a copy, a Proxy and objects that aren't filters throw, and never answer", ({ decode, Filter }) => {
  const filter = decode(file("bloom.bloom"));
  const copies = [
    new Proxy(filter, {}),
    Object.create(filter),
    Object.assign(Object.create(Object.getPrototypeOf(filter)), filter),
    structuredClone(filter),
    undefined,
  ];
  for (const copy of copies) {
    for (const [method, args] of [...Object.entries(USES), ["free", []]])
      fails("invalid_parameter", () => Filter.prototype[method].apply(copy, args));
    for (const getter of GETTERS) fails("invalid_parameter", () => Reflect.get(Filter.prototype, getter, copy));
  }
  for (const copy of copies.slice(0, 3)) fails("invalid_parameter", () => filter.equals(copy));
  for (const copy of copies.slice(3)) assert.equal(filter.equals(copy), false);
  fails("invalid_parameter", () => ["a"].map(filter.has), /not a filter; call it as filter\.has\(key\)/);
  for (const method of ["has", "hasUrl", "free", "info"]) fails("invalid_parameter", () => (0, filter[method])("a"));
  assert.throws(() => structuredClone(filter).has("a"), TypeError); // a plain object
  assert.equal(Object.prototype.toString.call(filter), "[object Filter]");
  Object.freeze(filter);
  assert.ok(filter.has("key-1") && !filter.has("stranger"));
  filter.free();
  fails("freed", () => filter.has("key-1"));
});

/** More bits than one multiplication of 32 bits can spread keys over. */
test("a filter of more than 2^28 bits", () => {
  const filter = new BloomFilter(2 ** 28 + 9, 4);
  const keys = Array.from({ length: 300 }, (_, i) => `key ${i}`);
  filter.addMany(keys);
  const read = reader.decode(filter.toBytes());
  assert.ok(read.hasAll(keys) && !read.hasAny(keys.map((key) => `${key}!`)));
});

testEach("info describes the blob", ({ decode }) => {
  const built = BloomFilter.from(["a", "b"], {
    fpr: 0.01,
    seed: 2n ** 64n - 1n,
    name: "größer",
    createdAt: new Date(1.7e12),
  });
  const bytes = built.toBytes();
  const filter = decode(bytes);
  const { bitsPerKey, id, ...rest } = filter.info();
  assert.deepEqual(rest, {
    kind: "bloom",
    profile: "raw",
    lowercase: false,
    sha1: false,
    count: null,
    capacity: 2,
    fpr: 2 ** -7,
    urlFpr: null,
    maxUrlFpr: null,
    bits: 25,
    hashes: 7,
    byteLength: bytes.length,
    seed: "18446744073709551615",
    keyed: false,
    layers: 0,
    foreign: null,
    tags: null,
    name: "größer",
    createdAt: 1.7e12,
  });
  assert.equal(bitsPerKey, (8 * bytes.length) / filter.estimatedCount);
  const end = Buffer.from(bytes.slice(-4)).reverse();
  assert.equal(id, bytes.length.toString(16).padStart(8, "0") + end.toString("hex"));
  assert.deepEqual(JSON.parse(JSON.stringify(filter)), filter.info());
  assert.equal(filter.kind, "bloom");
  assert.equal(decode(new BloomFilter(8, 1).toBytes()).info().name, null);
});

testEach("equals: kind, parameters and contents count, but not the name and the time", ({ decode }) => {
  const make = (kind, keys, options) => decode(kind.from(keys, { fpr: 0.01, ...options }).toBytes());
  const secret = SECRET;
  const filter = make(RibbonFilter, ["a", "b"]);
  const sames = [make(RibbonFilter, ["b", "a", "b"]), make(RibbonFilter, ["a", "b"], { name: "n", createdAt: 5 })];
  for (const same of [filter, ...sames]) assert.ok(filter.equals(same) && same.equals(filter));
  const others = [
    make(RibbonFilter, ["a", "c"]),
    make(RibbonFilter, ["a", "b", "c"]),
    make(RibbonFilter, ["a", "b"], { seed: 1n }),
    make(RibbonFilter, ["a", "b"], { fpr: 0.02 }),
    make(RibbonFilter, ["a", "b"], { profile: "password" }),
    make(BloomFilter, ["a", "b"]),
    decode(RibbonFilter.fromTagged({ t: ["a", "b"] }, { fpr: 0.01 }).toBytes()),
    decode(RibbonFilter.from(["a", "b"], { fpr: 0.01, secret, seed: 0n }).toBytes(), { secret }),
  ];
  for (const other of others) assert.ok(!filter.equals(other) && !other.equals(filter) && other.equals(other.clone()));
  for (const none of [{}, null, undefined, "filter", filter.toBytes()]) assert.equal(filter.equals(none), false);
  // Tags of the same sets under other names, and of as many keys that are counted otherwise.
  const tagged = (lists) => RibbonFilter.fromTagged(lists).toBytes();
  const blob = tagged({ a: ["1"], b: ["2"] });
  assert.ok(decode(blob).equals(decode(tagged({ a: ["1"], b: ["2"] }))));
  assert.ok(!decode(blob).equals(decode(tagged({ a: ["1"], c: ["2"] }))));
  const counts = Buffer.from(blob).indexOf(Uint8Array.of(2, 1, 0, 0, 0, 1, 0, 0, 0));
  assert.ok(!decode(blob).equals(decode(seal(blob.with(counts + 1, 2)))));
});

test("filters of the two, and of another copy of the package, can't be compared or merged", async () => {
  const { decode } = await another();
  for (const kind of [BloomFilter, CountingBloomFilter]) {
    const filter = kind.from(["a"]);
    const others = [reader.decode(filter.toBytes()), decode(filter.toBytes())];
    for (const other of others) {
      for (const method of ["equals", "union", "intersect"]) fails("incompatible", () => filter[method](other));
      assert.throws(() => other.equals(filter), { code: "incompatible", message: /toBytes/ });
    }
  }
});

// `LENGTH` is the number of characters. reader-linear.long.test.mjs shows that the time is linear.
test("long URLs take no stack, and are read alike", () => {
  const length = given("LENGTH", 100_000);
  const filters = Object.values(engines).map(({ decode }) => decode(allUrls()));
  const [inWasm, inJavaScript] = filters;
  for (const unit of UNITS) {
    for (const before of ["http://a.example/", "http://", "", "http://a.example/?", "x:", "http://[", "http://é"])
      requireSameKeys(before + unit.repeat(5000 / unit.length));
    const long = `http://a.example/${unit.repeat(length / unit.length)}`;
    assert.equal(inJavaScript.matchUrl(long), inWasm.matchUrl(long), unit);
  }
  const long = `http://a.example/${"a%41/../".repeat(length)}`;
  for (const filter of filters) assert.equal(filter.matchUrl(long), "a.example/");
});
