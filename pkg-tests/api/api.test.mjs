/** The JavaScript API: what each name does, and what misuse leads to. */
import assert from "node:assert/strict";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { inspect } from "node:util";
import { errorCodes } from "../../js/error.js";
import { fails, full, reader, testEach } from "../helpers/engines.mjs";
import { folder } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, countFor, decode, fprFor, load, optimal } = full;

const encode = (text) => new TextEncoder().encode(text);

test("docs/errors.md has a row for each code", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| (`.*?`) \|/gm)].map(([, codes]) => codes);
  const listed = rows.flatMap((codes) => [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => code));
  assert.deepEqual(listed.sort(), [...errorCodes].sort());
});

test("the first example of the README", () => {
  const filter = BloomFilter.from(["evil.example", "worse.example"], { fpr: 0.001 });
  const received = decode(filter.toBytes());
  assert.equal(received.has("evil.example"), true);
  assert.equal(received.has("good.example"), false);
});

test("add tells what is new", () => {
  const filter = BloomFilter.withCapacity(1000, 0.001);
  assert.equal(filter.add("a"), true);
  assert.equal(filter.add("a"), false);
  assert.equal(filter.addMany(["a", "b", encode("c")]), 2);
  assert.equal(filter.addLines(encode("c\nd\r\n\ne")), 2);
  assert.deepEqual([...filter.hasMany(["a", "b", "c", "d", "e", "f", "d\r", ""])], [1, 1, 1, 1, 1, 0, 0, 0]);
  assert.equal(filter.estimatedCount, 5);
});

test("many keys, of every length, one by one and in batches", () => {
  const keys = Array.from({ length: 20_000 }, (_, i) => (i % 7 ? `key ${i} ${"x".repeat(i % 90)}` : `ключ ${i} 🔑`));
  const filter = BloomFilter.from(keys, { fpr: 0.01 });
  assert.ok(
    keys.every((key) => filter.has(key)),
    "a false negative",
  );
  assert.ok(
    filter.hasMany(keys).every((answer) => answer === 1),
    "a false negative in a batch",
  );
  assert.ok(
    keys.every((key) => filter.has(encode(key))),
    "a string is not its UTF-8 bytes",
  );
  const nonmembers = keys.map((key) => `${key}!`);
  const hits = filter.hasMany(nonmembers);
  assert.deepEqual(
    [...hits],
    nonmembers.map((key) => Number(filter.has(key))),
  );
  const rate = hits.reduce((sum, hit) => sum + hit, 0) / nonmembers.length;
  assert.ok(Math.abs(rate - filter.estimatedFpr) < 4 * Math.sqrt(0.01 / nonmembers.length), `${rate}`);
});

test("the order and the number of times don't matter", () => {
  const one = BloomFilter.from(["a", "b", "c"]);
  const other = BloomFilter.from(["c", "a", "b", "a", "c"]);
  assert.deepEqual(one.toBytes(), other.toBytes());
  assert.ok(one.equals(other));
});

test("unusual keys are legal", () => {
  const keys = [
    "",
    "\0",
    "a\0b",
    "🔑",
    "\u{10ffff}",
    "\ud800",
    "x".repeat(1_000_000),
    "é".repeat(1_000_000),
    new Uint8Array(0),
    new Uint8Array(1_000_000),
  ];
  for (const key of keys) {
    const filter = BloomFilter.withCapacity(10, 1e-6);
    assert.equal(filter.has(key), false);
    filter.add(key);
    assert.equal(filter.has(key), true);
    assert.equal(filter.has("another"), false);
  }
  // A lone surrogate is hashed as U+FFFD, as TextEncoder writes it.
  const filter = BloomFilter.from(["a\ud800b"]);
  assert.ok(
    filter.has("a\ufffdb") && filter.has(new Uint8Array([0x61, 0xef, 0xbf, 0xbd, 0x62])) && filter.has("a\udfffb"),
  );
  assert.ok(BloomFilter.from([Buffer.from("buffer")]).has("buffer"));
});

test("a buffer that an iterator refills for each key", () => {
  function* keys() {
    const buffer = new Uint8Array(1);
    for (let i = 0; i < 200; i++) {
      buffer[0] = i;
      yield buffer;
    }
  }
  const filter = BloomFilter.from(keys());
  for (let i = 0; i < 200; i++) assert.ok(filter.has(new Uint8Array([i])), `${i}`);
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
  assert.deepEqual([...filter.hasMany(["b", "c"])], [1, 1]);
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

test("locations are those of the key that the profile makes of its argument", () => {
  for (const [profile, given, key] of [
    ["url", "http://EVIL.example/a?b", "evil.example/a?b"],
    ["url", "||evil.example^", "evil.example/"],
    ["password", "Passwo\u0308rd", "Passw\u00f6rd"],
  ]) {
    const filter = BloomFilter.from([given], { profile });
    const { bits, hashes } = filter.info();
    assert.deepEqual(filter.locations(given), new BloomFilter(bits, hashes).locations(key));
    const { length } = filter.toBytes();
    const set = new Set(filter.locations(given));
    assert.equal(Math.ceil(bits / 8), length - 4 - 22);
    assert.ok(Math.abs(filter.estimatedFpr / (set.size / bits) ** hashes - 1) < 1e-9);
  }
  fails("invalid_key", () => BloomFilter.from([], { profile: "url" }).locations("mailto:a@b.c"));
});

test("the error for a too low rate names the lowest rate that the caller may pass", () => {
  // The least that works, and a little less, by kind and profile. A key of a URL gets a tenth of the rate or, in a
  // ribbon filter, a twelfth or more, depending on the list's shapes.
  for (const [made, least, share] of [
    [RibbonFilter, 2 ** -32, 12],
    [CuckooFilter, 2 ** -29, 10],
  ]) {
    for (const [profile, times] of [
      ["raw", 1],
      ["password", 1],
      ["url", share],
    ]) {
      const fpr = least * times;
      made.from([], { profile, fpr: fpr * 1.0001 });
      assert.throws(
        () => made.from([], { profile, fpr: fpr * 0.999 }),
        ({ code, message }) => {
          assert.equal(code, "invalid_parameter");
          // The rate in the message works for this profile.
          const numbers = message.match(/\d\.\d+e-\d+/g).map(Number);
          const said = profile === "url" ? numbers.at(-1) : numbers[0];
          assert.ok(said >= fpr && said < fpr * 1.01, `${profile}: ${message}`);
          made.from([], { profile, fpr: said });
          return true;
        },
      );
    }
  }
});

test("optimal is what its documentation says", () => {
  const documented = (count, fpr) => {
    let bits = (-count * Math.log(fpr)) / Math.LN2 ** 2;
    if (fpr > 2 ** -2.5) bits = (-2 * count) / Math.log(1 - Math.sqrt(fpr));
    if (fpr > 2 ** -1.5) bits = -count / Math.log(1 - fpr);
    bits = Math.ceil(bits);
    return { bits, hashes: Math.max(1, Math.round((bits / count) * Math.LN2)) };
  };
  for (const count of [1000, 12_345, 1_000_000]) {
    for (let permille = 1; permille < 1000; permille++) {
      const { bits, hashes } = optimal(count, permille / 1000);
      assert.deepEqual({ bits, hashes }, documented(count, permille / 1000), `${count} keys at ${permille} per mille`);
    }
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
  // To the byte, with everything that may be around it.
  const text = (...parts) => encode(parts.join(""));
  const key = "x".repeat(2 ** 20);
  const both = BloomFilter.from([key, "last"]);
  for (const bytes of [
    text(key, "\nlast"),
    text("\ufeff", key, "\r\nlast"),
    text("last\n", key),
    text(key, "x\n", key, "\nlast\n", key, "x"),
  ]) {
    for (const size of [2 ** 16, 2 ** 20 + 8, 2 ** 23]) {
      const chunks = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
      assert.ok((await BloomFilter.fromStream(ReadableStream.from(chunks))).equals(both));
    }
  }
  // Where nothing may be skipped, the whole text is refused. A key that isn't a line may have any length.
  const filter = BloomFilter.from(["first", "last"]);
  assert.throws(() => filter.addLines(text("new\n", key, "x\n")), { code: "invalid_key" });
  assert.ok(filter.equals(expected));
  assert.equal(filter.add(`${key}x`), true);
  assert.ok(BloomFilter.from([`${key}x`]).has(`${key}x`));
});

test("streams of bytes and of keys", async () => {
  const text = encode("alpha\nbeta\r\n\nключ\nlast");
  const expected = BloomFilter.from(["alpha", "beta", "ключ", "last"]);
  for (const size of [1, 2, 3, 7, 100]) {
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
  assert.ok((await BloomFilter.fromStream(keys())).equals(expected));

  for (const size of [1, 5, 100]) {
    const file = join(folder, "list.txt");
    writeFileSync(file, text);
    assert.ok(
      (await BloomFilter.fromStream(createReadStream(file, { highWaterMark: size }))).equals(expected),
      "Node's own stream",
    );
  }

  const reason = new Error("enough");
  const stop = new AbortController();
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(encode("x\n")) });
  const building = BloomFilter.fromStream(endless, { signal: stop.signal, onProgress: () => stop.abort(reason) });
  await assert.rejects(building, reason);
  const late = new AbortController();
  const hanging = BloomFilter.fromStream(new ReadableStream({}), { signal: late.signal });
  setImmediate(() => late.abort(reason));
  await assert.rejects(hanging, reason);
  await assert.rejects(BloomFilter.fromStream(ReadableStream.from([encode("a\n"), 5])), { code: "invalid_parameter" });
  await assert.rejects(BloomFilter.fromStream(42), { code: "invalid_key" });
  const over = createReadStream(join(folder, "list.txt"));
  for await (const _ of over);
  await assert.rejects(BloomFilter.fromStream(over), { code: "invalid_parameter", message: /read already/ });
  for (const read of [
    (stream) => stream.cancel(),
    (stream) => stream.getReader(),
    async (stream) => {
      for await (const _ of stream);
    },
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
  for (const key of [
    42,
    undefined,
    null,
    true,
    1n,
    {},
    [],
    new ArrayBuffer(1),
    [1],
    Symbol("key"),
    new Uint16Array(1),
  ]) {
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

  for (const [bits, hashes, seed] of [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 65],
    [2 ** 32, 1],
    [1.5, 1],
    [-1, 1],
    ["8", 1],
    [NaN, 1],
    [8, 1, 5],
    [8, 1, -1n],
    [8, 1, 2n ** 64n],
    [8, 1, null],
  ]) {
    fails("invalid_parameter", () => new BloomFilter(bits, hashes, { seed }));
  }
  for (const [count, fpr] of [
    [-1, 2],
    [10, 0],
    [10, 1],
    [10, NaN],
    [10, "0.1"],
    [1.5, 0.1],
    [2 ** 53, 0.1],
    [undefined, 0.1],
    [10, undefined],
    [1e6, 1e-15],
  ]) {
    fails("invalid_parameter", () => BloomFilter.withCapacity(count, fpr));
    fails("invalid_parameter", () => optimal(count, fpr));
  }
  fails("too_large", () => BloomFilter.withCapacity(1e12, 0.001));
  fails("invalid_parameter", () => fprFor(1, 0, 1));
  fails("invalid_parameter", () => countFor(1, 5));
  fails("invalid_parameter", () => BloomFilter.from(["a"], { fpr: 3 }));
  fails("invalid_parameter", () => BloomFilter.from(["a"], { name: 5 }));
  fails("invalid_parameter", () => BloomFilter.from(["a"], { name: "é".repeat(128) }));
  fails("invalid_parameter", () => BloomFilter.from(["a"], { createdAt: "yesterday" }));
  fails("invalid_parameter", () => filter.union({}));
  for (const bytes of ["text", undefined, {}]) fails("invalid_parameter", () => BloomFilter.decode(bytes));
  fails("wrong_kind", () => RibbonFilter.decode(before));
  assert.ok(filter.has("a") && BloomFilter.decode(before).has("a") && BloomFilter.decode(before.buffer).has("a"));
});

test("a freed filter can't be changed, but another that takes its place can", () => {
  const [filter, other] = [BloomFilter.from(["a"]), BloomFilter.from(["b"])];
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
  for (const [method, args] of Object.entries(calls)) fails("freed", () => filter[method](...args));
  for (const method of ["union", "intersect", "equals"]) fails("freed", () => other[method](filter));
  fails("freed", () => filter.has("c"));
  assert.ok(other.has("b") && third.has("c") && third.add("d"));
});

test("lists are a Map, and neither a Proxy nor a copy of one", () => {
  for (const lists of [new Proxy(new Map([["t", ["a"]]]), {}), Object.create(Map.prototype)])
    fails("invalid_parameter", () => RibbonFilter.fromTagged(lists));
  assert.deepEqual(RibbonFilter.fromTagged(new Map([["t", ["a"]]])).tags("a"), ["t"]);
});

test("a Proxy or a copy of a filter isn't changed; a frozen filter can be", () => {
  const filter = BloomFilter.from(["a"]);
  const copies = [
    new Proxy(filter, {}),
    Object.assign(Object.create(Object.getPrototypeOf(filter)), filter),
    Object.create(filter),
  ];
  for (const copy of copies) {
    for (const [method, args] of [
      ["add", ["b"]],
      ["addMany", [[]]],
      ["addLines", [encode("b")]],
      ["clear", []],
      ["union", [filter]],
    ]) {
      fails("invalid_parameter", () => copy[method](...args));
    }
    fails("invalid_parameter", () => filter.union(copy));
  }
  Object.freeze(filter);
  assert.ok(filter.has("a") && filter.add("b") && !filter.has("c"));
  filter.free();
  fails("freed", () => filter.add("a"));
});

/** What console.log prints for a filter. */
const shown = (name, { kind, estimatedCount, estimatedFpr }) =>
  `${name} { kind: "${kind}", estimatedCount: ${estimatedCount}, estimatedFpr: ${estimatedFpr} }`;

test("console.log prints the class, kind, count and rate", () => {
  class Seen extends BloomFilter {}
  const ribbon = RibbonFilter.from(["a", "b", "c"]);
  const cases = {
    BloomFilter: BloomFilter.from(["a"]),
    Seen: Seen.decode(BloomFilter.from(["a"]).toBytes()),
    RibbonFilter: ribbon,
    ForeignFilter: full.ForeignFilter.from(["a"], { format: "go-bloom" }),
    Filter: reader.decode(ribbon.toBytes()),
  };
  for (const [name, filter] of Object.entries(cases)) {
    assert.equal(inspect(filter), shown(name, filter));
    assert.equal(inspect({ filter }, { compact: true, breakLength: Infinity }), `{ filter: ${shown(name, filter)} }`);
  }
  assert.match(inspect(ribbon), /^RibbonFilter \{ kind: "ribbon", estimatedCount: 3, estimatedFpr: 0\.00\d+ \}$/);
  const tooFull = new BloomFilter(1, 1);
  tooFull.add("a");
  assert.equal(inspect(tooFull), 'BloomFilter { kind: "bloom", estimatedCount: Infinity, estimatedFpr: 1 }');
});

testEach("console.log prints a freed filter, a Proxy and a copy, and throws for none", ({ decode }) => {
  const filter = decode(BloomFilter.from(["a"]).toBytes());
  const { name } = filter.constructor;
  for (const other of [new Proxy(filter, {}), Object.create(filter)])
    assert.match(inspect(other), new RegExp(`^${name} \\(this is not a filter; .*\\)$`));
  filter.free();
  assert.equal(inspect(filter), `${name} (this filter was freed)`);
});

testEach("the bytes of a filter go to a worker without a copy, and the filter stays", ({ decode }) => {
  const filter = decode(BloomFilter.from(["a"]).toBytes());
  const bytes = filter.toBytes();
  const there = structuredClone(bytes, { transfer: [bytes.buffer] });
  assert.equal(bytes.length, 0);
  assert.ok(decode(there).has("a") && filter.has("a") && filter.equals(decode(there)));
});

test("an object that only looks like a Date, and options that change while they are read", () => {
  class Late extends Date {
    getTime() {
      throw new Error("mine");
    }
  }
  const dates = [new Proxy(new Date(0), {}), Object.create(Date.prototype), new Date(NaN)];
  for (const createdAt of dates) fails("invalid_parameter", () => RibbonFilter.from(["a"], { createdAt }));
  const refused = (createdAt, message) =>
    assert.throws(() => RibbonFilter.from(["a"], { createdAt }), { code: "invalid_parameter", message });
  for (const late of [2 ** 53, 8.64e15 + 1, 1.5, Infinity]) refused(late, /whole milliseconds .* at most 8\.64e15/);
  for (const early of [-1, new Date(-1), -8.64e15]) refused(early, /1970 or later/);
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
  for (const name of ["\ud800", "a\udfff"]) fails("invalid_parameter", () => RibbonFilter.from(["a"], { name }));
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
