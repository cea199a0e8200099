/** The kinds other than bloom: what each can do. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { engines, fails, full, golden, SECRET } from "../helpers/engines.mjs";
import { CATCH_MEMORY, folder } from "../helpers/installed.mjs";

const {
  BloomFilter,
  CountingBloomFilter,
  CuckooFilter,
  FilterError,
  ForeignFilter,
  RibbonFilter,
  ScalableBloomFilter,
  decode,
} = full;
const classes = {
  bloom: BloomFilter,
  counting: CountingBloomFilter,
  scalable: ScalableBloomFilter,
  cuckoo: CuckooFilter,
  ribbon: RibbonFilter,
};

/** Asserts that a promise rejects with a FilterError of this code, whose message has these words. */
async function rejects(code, promise, words = "") {
  const error = await promise.then(
    () => assert.fail(`${code}: it resolved`),
    (its) => its,
  );
  fails(code, () => {
    throw error;
  });
  assert.ok(error.message.includes(words), error.message);
}

const keys = (count, from = 0) => Array.from({ length: count }, (_, i) => `key ${from + i}`);
const hits = (filter, count) => filter.hasMany(keys(count, 1e9)).reduce((sum, hit) => sum + hit, 0);

test("every kind from keys, from a stream, and from its blob", async () => {
  for (const [kind, made] of Object.entries(classes)) {
    for (const count of [0, 1, 10, 3000]) {
      const filter = made.from([...keys(count), ...keys(count)], { fpr: 0.01, seed: 5n, name: kind });
      assert.equal(filter.kind, kind);
      assert.equal(filter.info().name, kind);
      assert.ok(filter instanceof made && filter.hasAll(keys(count)), "a false negative");
      const stream = new Blob([keys(count).reverse().join("\n")]).stream();
      const streamed = await made.fromStream(stream, { fpr: 0.01, seed: 5n });
      assert.ok(filter.equals(streamed), `${kind}: another order, another filter`);
      const read = decode(filter.toBytes());
      assert.ok(read instanceof made && read.equals(filter) && made.decode(filter.toBytes()).equals(read));
      assert.ok(read.clone().equals(filter));
      if (count === 3000) {
        // Within 4 sigma of the target, and of the filter's own estimate.
        const rate = hits(filter, 100_000) / 100_000;
        assert.ok(rate < 0.01 + 4 * Math.sqrt(0.01 / 100_000), `${kind}: ${rate}`);
        assert.ok(Math.abs(rate - filter.estimatedFpr) < 4 * Math.sqrt(0.01 / 100_000), `${kind}: ${rate}`);
        const { count: known } = filter.info();
        if (known !== null) assert.ok(Math.abs(known - 3000) <= 3000 * 0.02, `${kind}: ${known}`);
      }
    }
  }
  fails("invalid_parameter", () => CountingBloomFilter.from(["a"], { counterBits: 5 }));
  fails("invalid_parameter", () => ScalableBloomFilter.from(["a"], { growth: 0 }));
  fails("invalid_parameter", () => new ScalableBloomFilter({ tightening: 1 }));
  fails("invalid_parameter", () => new ScalableBloomFilter({ initialCapacity: 0.5 }));
  fails("invalid_parameter", () => RibbonFilter.from(["a"], { fpr: 1e-12 }));
  fails("invalid_parameter", () => new CuckooFilter(100, 0.01));
  fails("invalid_parameter", () => new RibbonFilter(["a"]));
  fails("wrong_kind", () => CuckooFilter.decode(RibbonFilter.from(["a"]).toBytes()));
});

test("building a ribbon filter takes at most 32 bytes a key beside the result", () => {
  // A number of keys for which the array of their digests has just grown.
  const count = 2 ** 20 + 1;
  const source = `
    ${CATCH_MEMORY}
    const { RibbonFilter } = started(await import("bloom-wasm"));
    const keys = function* () { for (let i = 0; i < ${count}; i++) yield "key " + i; };
    const before = memory.buffer.byteLength;
    const filter = RibbonFilter.from(keys());
    console.log(memory.buffer.byteLength - before - filter.info().byteLength);
  `;
  const taken = Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", source], { cwd: folder, encoding: "utf8" }),
  );
  assert.ok(taken > 0 && taken <= 32 * count, `${taken / count} bytes a key`);
});

test("a counting filter forgets, counts, and becomes the Bloom filter of what is left", () => {
  for (const counterBits of [4, 8]) {
    const filter = CountingBloomFilter.withCapacity(1000, 0.01, { seed: 7n, counterBits });
    const { bits, hashes } = filter.info();
    assert.equal(filter.addMany(keys(1000)), new BloomFilter(bits, hashes, { seed: 7n }).addMany(keys(1000)));
    assert.ok(keys(500).every((key) => filter.remove(key)));
    const left = new BloomFilter(bits, hashes, { seed: 7n });
    left.addMany(keys(500, 500));
    assert.ok(filter.toBloom().equals(left));
    assert.equal(filter.remove("never added, and definitely absent"), false);
    for (let i = 1; i <= 300; i++) filter.add("often");
    assert.equal(filter.count("often"), counterBits === 4 ? 15 : 255);
    assert.equal(filter.count("never"), 0);
    const other = CountingBloomFilter.withCapacity(1000, 0.01, { seed: 7n, counterBits });
    other.addMany(["one", "two"]);
    filter.union(other);
    assert.ok(filter.hasAll(["one", "two", "often", ...keys(500, 500)]));
    const twice = other.clone();
    twice.union(twice);
    assert.deepEqual([twice.count("one"), other.count("one")], [2, 1]);
    filter.intersect(other);
    assert.ok(filter.equals(other) && !filter.has("often"));
    fails("incompatible", () => filter.union(new CountingBloomFilter(bits, hashes, { seed: 8n, counterBits })));
    for (const method of ["union", "intersect"]) {
      for (const [one, other] of [
        [filter, left],
        [left, filter],
        [filter, RibbonFilter.from(["a"])],
        [left, ForeignFilter.from(["a"], { format: "guava" })],
      ])
        fails("not_mergeable", () => one[method](other));
      for (const other of [{}, null, undefined, "filter", [filter], filter.toBytes(), Promise.resolve(filter)])
        fails("invalid_parameter", () => filter[method](other));
    }
    filter.clear();
    assert.equal(filter.estimatedCount, 0);
  }
});

test("a scalable filter grows a thousandfold below its rate", () => {
  const filter = new ScalableBloomFilter({ initialCapacity: 100, fpr: 0.01 });
  const before = filter.info().byteLength;
  assert.ok(filter.add("key 0") && !filter.add("key 0"));
  filter.addMany(keys(100_000));
  assert.ok(filter.hasAll(keys(100_000)) && filter.info().byteLength > 100 * before);
  const rate = hits(filter, 200_000) / 200_000;
  assert.ok(rate < 0.01, `${rate}`);
  filter.clear();
  assert.ok(filter.equals(new ScalableBloomFilter({ initialCapacity: 100, fpr: 0.01 })));
});

test("a scalable filter that can't grow any more is unchanged", () => {
  const filter = new ScalableBloomFilter({ initialCapacity: 1, growth: 16, tightening: 1e-12, fpr: 1e-3 });
  filter.addMany(["a"]);
  const before = filter.toBytes();
  fails("filter_full", () => filter.addMany(keys(1000)));
  assert.deepEqual(filter.toBytes(), before);
  assert.ok(filter.has("a"));
});

test("a cuckoo filter that is full says so, and is unchanged", () => {
  const filter = CuckooFilter.withCapacity(1000, 0.001);
  filter.addMany(keys(1000));
  const added = keys(1000);
  const full = () => {
    for (let i = 1000; ; i++) {
      filter.add(`key ${i}`);
      added.push(`key ${i}`);
    }
  };
  fails("filter_full", full);
  assert.ok(added.length > 1000 && filter.hasAll(added), "a false negative");
  assert.equal(filter.info().count, added.length);
  filter.remove(added.pop());
  fails("filter_full", () => filter.addMany(keys(50, 5000)));
  assert.equal(filter.info().count, added.length);
  assert.ok(filter.hasAll(added), "a false negative after a failed addMany");
  assert.ok(added.every((key) => filter.remove(key)));
  assert.equal(filter.info().count, 0);

  for (let copy = 1; copy <= 8; copy++) assert.equal(filter.add("same"), copy === 1);
  fails("filter_full", () => filter.add("same"));
  for (let copy = 1; copy <= 8; copy++) assert.ok(filter.remove("same"));
  assert.equal(filter.remove("same"), false);
});

test("addMany and addLines that fail change no byte, however many batches there were", () => {
  const crowd = () => {
    const filter = CuckooFilter.withCapacity(20_000, 0.001);
    filter.addMany(keys(15_000));
    return filter;
  };
  // A batch has 64 kB, and the 20,000 keys have some 250.
  const many = keys(20_000, 1e6);
  const text = new TextEncoder().encode(many.join("\n"));
  const broken = function* (error) {
    yield* many.slice(0, 4000);
    throw error;
  };
  for (const [code, add] of [
    ["filter_full", (filter) => filter.addMany(many)],
    ["filter_full", (filter) => filter.addLines(text)],
    ["invalid_key", (filter) => filter.addMany([...many.slice(0, 4000), 5])],
    ["network", (filter) => filter.addMany(broken(new FilterError("network", "the caller's own")))],
  ]) {
    const filter = crowd();
    const before = filter.toBytes();
    fails(code, () => add(filter));
    assert.deepEqual(filter.toBytes(), before);
    // As needed for the next delta.
    assert.equal(filter.info().id, decode(before).info().id);
    assert.ok(filter.addMany(keys(1000, 2e6)) > 900 && filter.hasAll(keys(1000, 2e6)) && filter.hasAll(keys(15_000)));
  }
  for (const made of [BloomFilter, CountingBloomFilter, ScalableBloomFilter]) {
    const filter = made.from(["a"]);
    const before = filter.toBytes();
    fails("invalid_key", () => filter.addMany([...many, 5]));
    fails("network", () => filter.addMany(broken(new FilterError("network", "the caller's own"))));
    assert.deepEqual(filter.toBytes(), before);
  }
});

test("a cuckoo filter counts a key as often as it was added", () => {
  const twice = CuckooFilter.from(["a"]);
  twice.add("a");
  assert.deepEqual([twice.info().count, twice.estimatedCount], [2, 2]);
});

test("the Bloom filter of a counting one has its name and time", () => {
  const describe = { name: "größer", createdAt: 1.7e12 };
  for (const options of [describe, { profile: "url", ...describe }, {}]) {
    const counting = CountingBloomFilter.from(["evil.example"], options);
    const { name, createdAt, profile } = counting.toBloom().info();
    const { name: itsName = null, createdAt: itsTime = null, profile: its = "raw" } = options;
    assert.deepEqual([name, createdAt, profile], [itsName, itsTime, its]);
  }
});

test("golden files of every kind, of which those with layers can't be changed", () => {
  const files = readdirSync(new URL("../../tests/golden/", import.meta.url)).filter((name) => name.endsWith(".bloom"));
  const kinds = new Set();
  const layered = new Set();
  for (const name of files) {
    const bytes = golden(name);
    const filter = decode(bytes, name.startsWith("keyed-") ? { secret: SECRET } : {});
    kinds.add(filter.kind);
    // Flag 16: also after an update that needed no layer.
    if ((bytes[7] & 16) === 0) continue;
    for (const its of [filter, filter.clone()]) {
      // A key in every profile.
      for (const method of ["add", "remove", "count"])
        if (its[method]) fails("layered", () => its[method]("0".repeat(40)));
      for (const method of ["clear", "toBloom"]) if (its[method]) fails("layered", () => its[method]());
      if (its.union) fails("layered", () => its.union(its.clone()));
      assert.deepEqual(its.toBytes(), bytes);
    }
    layered.add(filter.kind);
  }
  const foreign = [...kinds].filter((kind) => !(kind in classes));
  assert.ok(kinds.size - foreign.length === Object.keys(classes).length && foreign.length >= 11, [...kinds].join());
  assert.deepEqual(layered, new Set(["bloom", "counting", "ribbon"]));
});

test("a filter that was built with an allowlist can't be changed, whether it has a layer or not", () => {
  const [keys, allow] = ["key", "allowed"].map((name) => Array.from({ length: 60 }, (_, i) => `${name}-${i}`));
  let without = 0;
  for (const [kind, Class] of Object.entries(classes)) {
    if (kind === "ribbon") continue;
    for (let seed = 0n; seed < 10n; seed++) {
      const made = Class.from(keys, { allow, seed, fpr: 0.01 });
      without += made.info().layers === 0 ? 1 : 0;
      const bytes = made.toBytes();
      for (const its of [made, made.clone(), decode(bytes)]) {
        fails("layered", () => its.add("new"));
        fails("layered", () => its.addMany(["new"]));
        fails("layered", () => its.addLines(new TextEncoder().encode("new\n")));
        for (const method of ["remove", "count"]) if (its[method]) fails("layered", () => its[method]("key-1"));
        for (const method of ["clear", "toBloom"]) if (its[method]) fails("layered", () => its[method]());
        for (const method of ["union", "intersect"]) {
          if (!its[method]) continue;
          const other = Class.from(keys, { seed, fpr: 0.01 });
          fails("layered", () => its[method](other));
          fails("layered", () => other[method](its));
        }
        assert.deepEqual(its.toBytes(), bytes);
        assert.ok(!its.hasMany(allow).includes(1));
      }
      for (const engine of Object.values(engines)) assert.equal(engine.decode(bytes).info().count, keys.length);
    }
    fails("layered", () => Class.from(["a"], { allow: [] }).add("b"));
  }
  assert.ok(without >= 10, `${without}`);
});

test("each class loads its own kind", async () => {
  const foreign = ForeignFilter.from(["a"], { format: "guava" });
  const filters = [...Object.values(classes).map((made) => made.from(["a"])), foreign];
  for (const filter of filters) {
    const made = filter.constructor;
    const bytes = filter.toBytes();
    for (const source of [bytes, new Blob([bytes]), new Response(bytes)]) {
      const read = await made.load(source);
      assert.ok(read instanceof made && read.equals(filter));
    }
    const other = filters.find((its) => its.constructor !== made);
    await rejects("wrong_kind", made.load(other.toBytes()), other.kind);
    await rejects("too_large", made.load(bytes, { maxBytes: 9 }));
    await rejects("truncated", made.load(bytes.subarray(0, -1)));
  }
  const seen = await ScalableBloomFilter.load(new ScalableBloomFilter().toBytes());
  assert.ok(seen.add("a") && seen.has("a"));
  const secret = SECRET;
  assert.ok((await CuckooFilter.load(CuckooFilter.from(["a"], { secret }).toBytes(), { secret })).has("a"));
  const guava = foreign.toForeign();
  assert.ok((await ForeignFilter.load(guava, { format: "guava" })).equals(foreign));
  await rejects("invalid_parameter", BloomFilter.load(guava, { format: "guava" }));
  class Mine extends BloomFilter {}
  assert.ok((await Mine.load(BloomFilter.from(["a"]).toBytes())) instanceof Mine);
  const { load } = BloomFilter;
  await rejects("invalid_parameter", load(BloomFilter.from(["a"]).toBytes()), "load must be called on a class");
});

test("a user's subclass decodes to itself", () => {
  class Mine extends BloomFilter {
    hello() {
      return this.has("a");
    }
  }
  const bytes = BloomFilter.from(["a"]).toBytes();
  const mine = Mine.decode(bytes);
  assert.ok(mine instanceof Mine && mine.hello() && mine.clone() instanceof Mine && mine.equals(decode(bytes)));
  mine.union(BloomFilter.decode(bytes));
  fails("wrong_kind", () => Mine.decode(RibbonFilter.from(["a"]).toBytes()));
});

test("a filter of URLs, or of passwords, counts keys as they were added", () => {
  const urls = CountingBloomFilter.from(["http://EVIL.example/"], { profile: "url" });
  urls.add("||evil.example^");
  assert.deepEqual(
    [urls.count("evil.example"), urls.count("https://evil.example:8080/#x"), urls.count("good.example")],
    [2, 2, 0],
  );
  const passwords = CountingBloomFilter.from(["Password"], { profile: "password", lowercase: true });
  assert.equal(passwords.count("PASSWORD"), 1);
  fails("invalid_key", () => urls.count("mailto:a@b.c"));
});
