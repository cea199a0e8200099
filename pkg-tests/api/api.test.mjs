/** The JavaScript API: what each name does, and what misuse leads to. */
import assert from "node:assert/strict";
import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { inspect } from "node:util";
import { fails, full, testEach } from "../helpers/engines.mjs";
import { folder } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";

const { BloomFilter, CountingBloomFilter, RibbonFilter, countFor, decode, fprFor, load, optimal } = full;

const encode = (text) => new TextEncoder().encode(text);

test("add tells what is new", () => {
  const filter = BloomFilter.withCapacity(1000, 0.001);
  assert.equal(filter.add("a"), true);
  assert.equal(filter.add("a"), false);
  assert.equal(filter.addMany(["a", "b", encode("c")]), 2);
  assert.equal(filter.addLines(encode("c\nd\r\n\ne")), 2);
  assert.deepEqual([...filter.hasMany(["a", "b", "c", "d", "e", "f", "d\r", ""])], [1, 1, 1, 1, 1, 0, 0, 0]);
  assert.equal(filter.estimatedCount, 5);
});

test("an iterator may refill one buffer for each key, also of an allowlist", () => {
  function* refilled(count) {
    const buffer = new Uint8Array(1);
    for (let i = 0; i < count; i++) {
      buffer[0] = i;
      yield buffer;
    }
  }
  const conflicts = [];
  const filter = RibbonFilter.from(refilled(200), {
    allow: refilled(100),
    allowWins: true,
    onConflict: ({ key, removed }) => conflicts.push([key, removed]),
  });
  assert.equal(filter.info().count, 100);
  for (let i = 100; i < 200; i++) assert.ok(filter.has(Uint8Array.of(i)), `${i}`);
  // A text, if the key is UTF-8.
  assert.deepEqual(conflicts.at(-1), [String.fromCharCode(99), true]);
  assert.equal(conflicts.length, 100);
});

// `KEYS` is the number of keys in a call. With more, the memory grows further.
test("keys that are bytes, while the memory grows", async () => {
  const count = given("KEYS", 60_000);
  const bytes = RibbonFilter.from(["a", ""]).toBytes();
  const large = BloomFilter.withCapacity(33 * count, 0.01).toBytes();
  const grow = () => decode(large);
  for (const keys of [() => [new Uint8Array(0)], () => [encode("a")], () => [Buffer.from("a")], () => ["", "a"]]) {
    const small = decode(bytes);
    grow();
    assert.ok(small.hasMany(keys()).every(Boolean));
    grow();
    assert.ok(keys().every((key) => small.has(key)));
    grow();
    assert.deepEqual([...small.hasMany([])], []);
    assert.deepEqual([...small.hasLines(encode("a\n\na"))], [1, 0, 1]);
  }
  const many = Array.from({ length: count }, (_, i) => encode(`k${i}`));
  const filter = BloomFilter.from(many);
  assert.ok(filter.hasMany(many).every(Boolean));
  assert.equal(filter.addMany(many), 0);
});

test("bytes whose buffer was transferred are neither a key nor an empty list", () => {
  const gone = encode("a\nb");
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const filter = BloomFilter.from(["", "a"]);
  for (const use of [
    () => filter.add(gone),
    () => filter.addLines(gone),
    () => filter.addMany(["c", gone]),
    () => filter.locations(gone),
    () => RibbonFilter.from([gone]),
  ]) {
    fails("invalid_key", use);
  }
  assert.ok(!filter.has("c") && filter.has(new Uint8Array(0)));
});

test("a prototype that frees a filter while it is combined or compared", () => {
  for (const method of ["union", "intersect", "equals"]) {
    const filter = BloomFilter.from(["a"]);
    const other = BloomFilter.from(["a"]);
    const proto = Object.getPrototypeOf(other);
    const freeing = {
      getPrototypeOf() {
        filter.free();
        return proto;
      },
    };
    Object.setPrototypeOf(other, new Proxy(proto, freeing));
    fails("freed", () => filter[method](other));
    assert.ok(other.has("a"));
  }
});

test("an iterator that uses filters, and grows the memory, while it is read", () => {
  const other = BloomFilter.from(["other"], { fpr: 1e-9 });
  const held = [];
  function* keys() {
    for (let i = 0; i < 300; i++) {
      assert.ok(other.has("other") && !other.has(`long ${"-".repeat(i * 100)}`));
      if (i % 100 === 0) held.push(new BloomFilter(8 * 10_000_000, 1));
      yield `key ${i}`;
    }
  }
  const filter = BloomFilter.from(keys());
  for (let i = 0; i < 300; i++) assert.ok(filter.has(`key ${i}`));
  held.forEach((one) => one.free());
});

test("union, intersect, clear, clone, equals", () => {
  const make = (...keys) => {
    const filter = new BloomFilter(1000, 3, { seed: 5n });
    filter.addMany(keys);
    return filter;
  };
  const filter = make("a", "b");
  const copy = filter.clone();
  filter.union(make("c"));
  assert.ok(filter.equals(make("a", "b", "c")) && copy.equals(make("a", "b")) && !copy.equals(filter));
  filter.intersect(make("b", "c", "d"));
  assert.deepEqual([...filter.hasMany(["a", "b", "c", "d"])], [0, 1, 1, 0]);
  filter.union(filter);
  filter.clear();
  assert.ok(filter.equals(make()) && !copy.equals({}));
  assert.equal(filter.estimatedFpr, 0);
  for (const other of [
    new BloomFilter(1001, 3, { seed: 5n }),
    new BloomFilter(1000, 4, { seed: 5n }),
    new BloomFilter(1000, 3),
  ]) {
    fails("incompatible", () => copy.union(other));
    fails("incompatible", () => copy.intersect(other));
  }
  for (const other of [{}, null, undefined, "filter", [filter], filter.toBytes(), Promise.resolve(filter)])
    for (const method of ["union", "intersect"]) fails("invalid_parameter", () => filter[method](other));
  for (const other of [RibbonFilter.from(["a"]), CountingBloomFilter.from(["a"])])
    for (const method of ["union", "intersect"]) fails("not_mergeable", () => filter[method](other));
  assert.ok(copy.equals(make("a", "b")));
});

test("locations are the bits that are set", () => {
  const filter = new BloomFilter(1000, 7);
  filter.add("a");
  const payload = filter.toBytes().slice(22, -4);
  const set = [...payload].flatMap((byte, i) =>
    [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte >> bit) & 1).map((bit) => 8 * i + bit),
  );
  const locations = filter.locations("a");
  assert.equal(locations.length, 7);
  assert.deepEqual(
    [...new Set(locations)].sort((a, b) => a - b),
    set,
  );
  // Of the key that the profile makes of its argument.
  const urls = BloomFilter.from(["evil.example"], { profile: "url" });
  assert.deepEqual(urls.locations("HTTP://EVIL.example:80/"), urls.locations("||evil.example^"));
  fails("invalid_key", () => urls.locations("mailto:a@b.c"));
});

test("the first error is the one reported, however the cleanup of a stream ends", async () => {
  const first = new Error("the first");
  const second = () => {
    throw new Error("the second");
  };
  const later = () => Promise.reject(new Error("the second"));
  for (const end of [second, later, () => undefined, () => 5]) {
    const iterator = { next: async () => Promise.reject(first), return: end };
    const keys = { [Symbol.asyncIterator]: () => iterator };
    await assert.rejects(RibbonFilter.fromStream(keys), first);
    const getter = {
      next: () => ({ value: 5 }),
      get return() {
        return second();
      },
    };
    await assert.rejects(RibbonFilter.fromStream({ [Symbol.iterator]: () => getter }), { code: "invalid_key" });
    const reader = { read: async () => ({ value: 5 }), cancel: end, releaseLock: end };
    const stream = { getReader: () => reader, cancel: end };
    await assert.rejects(RibbonFilter.fromStream(stream), { code: "invalid_parameter", message: /chunk/ });
    await assert.rejects(load({ stream: () => stream }), { code: "invalid_parameter", message: /chunk/ });
    const broken = { getReader: () => ({ ...reader, read: () => Promise.reject(first) }), cancel: end };
    for (const run of [() => RibbonFilter.fromStream(broken), () => load({ stream: () => broken })])
      await assert.rejects(run(), { code: "network", cause: first });
  }
});

test("the formulas", () => {
  assert.deepEqual(optimal(1_000_000, 0.01), { bits: 9_585_059, hashes: 7, bytes: 1_198_133 });
  assert.equal(countFor(9_585_059, 0.01), 1_000_000);
  assert.equal(fprFor(100, 200, 1).toFixed(4), "0.3942");
  const filter = BloomFilter.withCapacity(1_000_000, 0.01);
  assert.equal(filter.info().bits, 9_585_059);
});

test("a line that is too long is skipped, and never held in memory", async () => {
  const expected = BloomFilter.from(["first", "last"]);
  const skipped = [];
  const onSkip = (skip) => skipped.push(skip);
  const long = new Uint8Array(2 ** 20 + 1).fill(120);
  async function* endless() {
    yield encode("first\n");
    for (let i = 0; i < 40; i++) yield long;
    for (let i = 0; i < 1000; i++) yield encode("x");
    yield encode("x\nlast");
  }
  const built = await BloomFilter.fromStream(ReadableStream.from(endless()), { onSkip });
  assert.ok(built.equals(expected));
  assert.deepEqual(
    skipped.map(({ reason }) => reason),
    ["too_long"],
  );
  assert.ok(skipped[0].key.length < 2 ** 20 + 100);
  // To the byte.
  const text = (...parts) => encode(parts.join(""));
  const key = "x".repeat(2 ** 20);
  const both = BloomFilter.from([key, "last"]);
  for (const bytes of [text("\ufeff", key, "\r\nlast"), text(key, "x\n", key, "\nlast\n", key, "x")]) {
    for (const size of [2 ** 16, 2 ** 20 + 8, 2 ** 23]) {
      const chunks = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
      assert.ok((await BloomFilter.fromStream(ReadableStream.from(chunks))).equals(both));
    }
  }
  // Where nothing may be skipped, the whole text is refused.
  const filter = BloomFilter.from(["first", "last"]);
  assert.throws(() => filter.addLines(text("new\n", key, "x\n")), { code: "invalid_key" });
  assert.ok(filter.equals(expected));
});

test("streams of bytes and of keys", async () => {
  const text = encode("alpha\nbeta\r\n\nключ\nlast");
  const expected = BloomFilter.from(["alpha", "beta", "ключ", "last"]);
  for (const size of [1, 7, 100]) {
    const chunks = [];
    for (let at = 0; at < text.length; at += size) chunks.push(text.slice(at, at + size));
    const seen = [];
    const filter = await BloomFilter.fromStream(ReadableStream.from(chunks), {
      onProgress: ({ loaded }) => seen.push(loaded),
    });
    assert.ok(filter.equals(expected), `chunks of ${size}`);
    assert.equal(seen.at(-1), text.length);
  }
  async function* keys() {
    yield* ["alpha", encode("beta"), "ключ", "last"];
  }
  let read = 0;
  const onProgress = ({ loaded }) => (read = loaded);
  assert.ok((await BloomFilter.fromStream(keys(), { onProgress })).equals(expected) && read === 4);
  const file = join(folder, "list.txt");
  writeFileSync(file, text);
  assert.ok((await BloomFilter.fromStream(createReadStream(file, { highWaterMark: 5 }))).equals(expected));

  const reason = new Error("enough");
  const stop = new AbortController();
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(encode("x\n")) });
  const building = BloomFilter.fromStream(endless, { signal: stop.signal, onProgress: () => stop.abort(reason) });
  await assert.rejects(building, reason);
  const late = new AbortController();
  const hanging = BloomFilter.fromStream(new ReadableStream({}), { signal: late.signal });
  setImmediate(() => late.abort(reason));
  await assert.rejects(hanging, reason);
  let cancelled = false;
  const broken = { start: (its) => its.enqueue(5), cancel: () => void (cancelled = true) };
  await assert.rejects(BloomFilter.fromStream(new ReadableStream(broken)), { code: "invalid_parameter" });
  assert.ok(cancelled);
  await assert.rejects(BloomFilter.fromStream(42), { code: "invalid_key" });
  const over = createReadStream(file);
  for await (const _ of over);
  await assert.rejects(BloomFilter.fromStream(over), { code: "invalid_parameter", message: /read already/ });
  for (const read of [
    (stream) => stream.getReader(),
    // Its keys would be lost.
    async (stream) => {
      const reader = stream.getReader();
      await reader.read();
      reader.releaseLock();
    },
  ]) {
    const used = new Blob(["a"]).stream();
    await read(used);
    await assert.rejects(BloomFilter.fromStream(used), { code: "invalid_parameter", message: /read already/ });
  }
  assert.equal((await RibbonFilter.fromStream(new Blob([]).stream())).info().count, 0);
});

test("misuse throws a FilterError with its code, and the next call works", () => {
  const filter = BloomFilter.from(["a"]);
  const before = filter.toBytes();
  // The questions' are in engines.test.mjs.
  for (const key of [42, undefined, {}, [1], new ArrayBuffer(1), Symbol("key"), new Uint16Array(1)]) {
    fails("invalid_key", () => filter.add(key));
    fails("invalid_key", () => filter.addMany(["new", key]));
    fails("invalid_key", () => filter.locations(key));
    fails("invalid_key", () => BloomFilter.from([key]));
  }
  for (const keys of [undefined, null, 5, "a string", {}]) {
    fails("invalid_key", () => filter.addMany(keys));
    fails("invalid_key", () => BloomFilter.from(keys));
  }
  for (const text of ["text", undefined, [1]]) fails("invalid_key", () => filter.addLines(text));
  assert.throws(
    () =>
      filter.addMany(
        (function* () {
          yield "new";
          throw new RangeError("mine");
        })(),
      ),
    RangeError,
  );
  assert.deepEqual(filter.toBytes(), before, "a failed call changed the filter");

  const shapes = [
    [0, 1],
    [1, 0],
    [1, 65],
    [2 ** 32, 1],
    [1.5, 1],
    [-1, 1],
    ["8", 1],
    [NaN, 1],
  ];
  for (const [bits, hashes] of shapes) fails("invalid_parameter", () => new BloomFilter(bits, hashes));
  for (const seed of [5, -1n, 2n ** 64n, null]) fails("invalid_parameter", () => new BloomFilter(8, 1, { seed }));
  const sizes = [
    [-1, 0.1],
    [10, 0],
    [10, 1],
    [10, NaN],
    [10, "0.1"],
    [1.5, 0.1],
    [2 ** 53, 0.1],
    [10, undefined],
  ];
  for (const [count, fpr] of sizes) {
    fails("invalid_parameter", () => BloomFilter.withCapacity(count, fpr));
    fails("invalid_parameter", () => optimal(count, fpr));
  }
  fails("too_large", () => BloomFilter.withCapacity(1e12, 0.001));
  fails("invalid_parameter", () => fprFor(1, 0, 1));
  fails("invalid_parameter", () => countFor(1, 5));
  for (const options of [
    { fpr: 3 },
    { name: 5 },
    { name: "é".repeat(128) },
    { name: "a\udfff" },
    { lowercase: "false" },
    { profile: "urls" },
    { onSkip: 5 },
    { allowWins: true },
    { profile: "password", minLength: 0.5 },
  ])
    fails("invalid_parameter", () => BloomFilter.from(["a"], options));
  for (const bytes of ["text", undefined, {}]) fails("invalid_parameter", () => BloomFilter.decode(bytes));
  fails("wrong_kind", () => RibbonFilter.decode(before));
  assert.ok(filter.has("a") && BloomFilter.decode(before).has("a") && BloomFilter.decode(before.buffer).has("a"));
});

test("neither a freed filter, nor a Proxy or a copy of one, can be changed; a frozen one can", () => {
  const [filter, other] = [BloomFilter.from(["a"]), BloomFilter.from(["b"])];
  const copies = [
    new Proxy(other, {}),
    Object.assign(Object.create(Object.getPrototypeOf(other)), other),
    Object.create(other),
  ];
  filter.free();
  const third = BloomFilter.from(["c"]); // takes the freed one's place
  const calls = {
    add: ["a"],
    addMany: [[]],
    addLines: [encode("a")],
    clear: [],
    locations: ["a"],
    union: [other],
    intersect: [other],
  };
  for (const [method, args] of Object.entries(calls)) {
    fails("freed", () => filter[method](...args));
    for (const copy of copies) fails("invalid_parameter", () => copy[method](...args));
  }
  for (const method of ["union", "intersect", "equals"]) {
    fails("freed", () => third[method](filter));
    for (const copy of copies) fails("invalid_parameter", () => third[method](copy));
  }
  Object.freeze(third);
  assert.ok(third.has("c") && third.add("d"));
  assert.ok(other.has("b") && !other.has("a"));
});

testEach("console.log prints a filter's class and kind, and throws for none", ({ decode }) => {
  const filter = decode(BloomFilter.from(["a"]).toBytes());
  assert.ok(inspect(filter).startsWith(`${filter.constructor.name} { kind: "bloom", estimatedCount: 1`));
  for (const other of [new Proxy(filter, {}), Object.create(filter)]) assert.match(inspect(other), /not a filter/);
  filter.free();
  assert.match(inspect(filter), /freed/);
});

test("an object that only looks like a Date, and options that change while they are read", () => {
  class Late extends Date {
    getTime() {
      throw new Error("mine");
    }
  }
  const dates = [new Proxy(new Date(0), {}), Object.create(Date.prototype), new Date(NaN)];
  for (const createdAt of dates) fails("invalid_parameter", () => RibbonFilter.from(["a"], { createdAt }));
  for (const createdAt of [8.64e15 + 1, 1.5, Infinity, -1, new Date(-1), null, true, "2026"])
    fails("invalid_parameter", () => RibbonFilter.from(["a"], { createdAt }));
  for (const createdAt of [0, 8.64e15])
    assert.equal(RibbonFilter.from(["a"], { createdAt }).info().createdAt, createdAt);
  assert.equal(RibbonFilter.from(["a"], { createdAt: new Late(5) }).info().createdAt, 5);
  for (const [name, good, bad, made = RibbonFilter] of [
    ["profile", "url", null],
    ["name", "n", {}],
    ["fpr", 0.1, Symbol()],
    ["counterBits", 8, {}, CountingBloomFilter],
    ["onSkip", () => {}, 5],
    ["createdAt", 1, "x"],
  ]) {
    let reads = 0;
    const options = {
      get [name]() {
        return reads++ ? bad : good;
      },
    };
    assert.ok(made.from(["a.example", "*"], options) && reads === 1, name);
  }
  for (const use of [
    (options) => BloomFilter.from(["a"], options),
    (options) => new BloomFilter(9, 1, options),
    (options) => BloomFilter.withCapacity(9, 0.1, options),
  ]) {
    for (const options of [null, 5, "x"]) fails("invalid_parameter", () => use(options));
  }
  const filter = BloomFilter.from(["a"]);
  for (const its of [null, () => {}, new Proxy({}, {})]) {
    const odd = Object.assign(BloomFilter.from(["a"]), { constructor: its });
    fails("invalid_parameter", () => odd.clone());
  }
  fails("invalid_parameter", () => (0, filter.add)("a"));
  fails("invalid_parameter", () => (0, BloomFilter.decode)(filter.toBytes()));
  assert.ok(filter.has("a"));
});

test("lines of a stream whose source refills one Buffer for each chunk", async () => {
  const lines = Array.from({ length: 5000 }, (_, i) => `line ${i}`);
  const text = Buffer.from(lines.join("\n"));
  const buffer = Buffer.alloc(1000);
  let at = 0;
  const stream = new ReadableStream(
    {
      pull(controller) {
        const length = text.subarray(at, (at += 1000)).copy(buffer);
        return length ? controller.enqueue(buffer.subarray(0, length)) : controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const filter = await RibbonFilter.fromStream(stream, { fpr: 1e-6 });
  assert.ok(lines.every((line) => filter.has(line)));
});

test("an abort takes effect while keys hang, and after the last of them", async () => {
  const reason = new Error("enough");
  const stop = new AbortController();
  let returned = false;
  const keys = {
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: async () => ((returned = true), {}) }),
  };
  const building = RibbonFilter.fromStream(keys, { signal: stop.signal });
  setImmediate(() => stop.abort(reason));
  await assert.rejects(building, reason);
  assert.ok(returned);
  const late = new AbortController();
  async function* few() {
    yield "a";
    late.abort(reason);
  }
  await assert.rejects(RibbonFilter.fromStream(few(), { signal: late.signal }), reason);
  const hanging = new Readable({ read() {} });
  const stopped = new AbortController();
  const reading = RibbonFilter.fromStream(hanging, { signal: stopped.signal });
  setImmediate(() => stopped.abort(reason));
  await assert.rejects(reading, reason);
  assert.ok(hanging.destroyed);
});

test("a byte order mark is dropped from a stream's start, and nowhere else", async () => {
  const mark = "\uFEFF";
  const chunks = [`${mark}first\n`, `${mark}second\n${mark}third\n`, `${mark}fourth`].map(encode);
  const filter = await RibbonFilter.fromStream(ReadableStream.from(chunks), { fpr: 1e-9 });
  const keys = ["first", "second", "third", "fourth"];
  assert.deepEqual([...filter.hasMany(keys)], [1, 0, 0, 0]);
  assert.deepEqual([...filter.hasMany(keys.map((key) => mark + key))], [0, 1, 1, 1]);
});
