/** The kinds other than bloom: what each can do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { engines, fails, full, golden, SECRET } from "../helpers/engines.mjs";
import { fails as rejects } from "../helpers/following.mjs";
import { CATCH_MEMORY, printed } from "../helpers/installed.mjs";

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

const keys = (count, from = 0) => Array.from({ length: count }, (_, i) => `key ${from + i}`);

test("every kind from keys, from a stream, and from its blob", async () => {
  for (const [kind, made] of Object.entries(classes)) {
    for (const count of [0, 1, 3000]) {
      const filter = made.from([...keys(count), ...keys(count)], { fpr: 0.01, seed: 5n, name: kind });
      assert.deepEqual([filter.kind, filter.info().name], [kind, kind]);
      assert.ok(filter instanceof made && filter.hasAll(keys(count)), "a false negative");
      const stream = new Blob([keys(count).reverse().join("\n")]).stream();
      const streamed = await made.fromStream(stream, { fpr: 0.01, seed: 5n });
      assert.ok(filter.equals(streamed), `${kind}: another order, another filter`);
      const read = decode(filter.toBytes());
      assert.ok(read instanceof made && read.equals(filter) && made.decode(filter.toBytes()).equals(read));
      // Within 4 sigma of the filter's own estimate.
      const rate = filter.hasMany(keys(20_000, 1e9)).reduce((sum, hit) => sum + hit, 0) / 20_000;
      assert.ok(Math.abs(rate - filter.estimatedFpr) < 4 * Math.sqrt(0.01 / 20_000), `${kind}: ${rate}`);
      const known = filter.info().count ?? filter.estimatedCount;
      assert.ok(Math.abs(known - count) <= count * 0.02, `${kind}: ${known}`);
    }
    if (kind !== "bloom") fails("wrong_kind", () => made.decode(BloomFilter.from(["a"]).toBytes()));
  }
  for (const run of [
    () => CountingBloomFilter.from(["a"], { counterBits: 5 }),
    () => ScalableBloomFilter.from(["a"], { growth: 0 }),
    () => new ScalableBloomFilter({ tightening: 1 }),
    () => new ScalableBloomFilter({ initialCapacity: 0.5 }),
    () => RibbonFilter.from(["a"], { fpr: 1e-12 }),
    () => new CuckooFilter(100, 0.01),
    () => new RibbonFilter(["a"]),
  ])
    fails("invalid_parameter", run);
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
  const taken = Number(printed(source));
  assert.ok(taken > 0 && taken <= 32 * count, `${taken / count} bytes a key`);
});

test("a counting filter forgets, counts, and becomes the Bloom filter of what is left", () => {
  for (const counterBits of [4, 8]) {
    const filter = CountingBloomFilter.withCapacity(1000, 0.01, { seed: 7n, counterBits });
    const { bits, hashes } = filter.info();
    const left = new BloomFilter(bits, hashes, { seed: 7n });
    assert.equal(filter.addMany(keys(1000)), left.addMany(keys(1000)));
    assert.ok(keys(500).every((key) => filter.remove(key)));
    left.clear();
    left.addMany(keys(500, 500));
    assert.ok(filter.toBloom().equals(left));
    assert.equal(filter.remove("never added, and definitely absent"), false);
    for (let i = 1; i <= 300; i++) filter.add("often");
    assert.deepEqual([filter.count("often"), filter.count("never")], [counterBits === 4 ? 15 : 255, 0]);
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
    filter.clear();
    assert.equal(filter.estimatedCount, 0);
  }
  const urls = CountingBloomFilter.from(["http://EVIL.example/"], { profile: "url" });
  urls.add("||evil.example^");
  assert.deepEqual([urls.count("https://evil.example:8080/#x"), urls.count("good.example")], [2, 0]);
  fails("invalid_key", () => urls.count("mailto:a@b.c"));
});

test("a filter that is full says so, and is unchanged", () => {
  const scalable = new ScalableBloomFilter({ initialCapacity: 1, growth: 16, tightening: 1e-12, fpr: 1e-3 });
  const before = scalable.toBytes();
  fails("filter_full", () => scalable.addMany(keys(1000)));
  assert.deepEqual(scalable.toBytes(), before);
  const filter = CuckooFilter.withCapacity(1000, 0.001);
  for (let copy = 1; copy <= 8; copy++) assert.equal(filter.add("same"), copy === 1);
  fails("filter_full", () => filter.add("same"));
  assert.deepEqual([filter.info().count, filter.estimatedCount], [8, 8]);
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

test("the Bloom filter of a counting one has its name and time", () => {
  const describe = { name: "größer", createdAt: 1.7e12 };
  for (const options of [describe, { profile: "url", ...describe }, {}]) {
    const counting = CountingBloomFilter.from(["evil.example"], options);
    const { name, createdAt, profile } = counting.toBloom().info();
    const { name: itsName = null, createdAt: itsTime = null, profile: its = "raw" } = options;
    assert.deepEqual([name, createdAt, profile], [itsName, itsTime, its]);
  }
});

test("a filter that was built with an allowlist can't be changed, whether it has a layer or not", () => {
  const [keys, allow] = ["key", "allowed"].map((name) => Array.from({ length: 60 }, (_, i) => `${name}-${i}`));
  let without = 0;
  for (const [kind, Class] of Object.entries(classes)) {
    if (kind === "ribbon") continue;
    for (let seed = 0n; seed < 4n; seed++) {
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
  // After an update, too.
  const child = decode(golden("bloom-child.bloom"));
  for (const method of ["add", "clear"]) fails("layered", () => child[method]("new"));
  assert.ok(without >= 4, `${without}`);
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
    const { message } = await rejects("wrong_kind", made.load(other.toBytes()));
    assert.ok(message.includes(other.kind), message);
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
  class Mine extends BloomFilter {
    hello() {
      return this.has("a");
    }
  }
  const blob = BloomFilter.from(["a"]).toBytes();
  for (const mine of [Mine.decode(blob), await Mine.load(blob), Mine.decode(blob).clone()])
    assert.ok(mine instanceof Mine && mine.hello() && mine.equals(decode(blob)));
  fails("wrong_kind", () => Mine.decode(RibbonFilter.from(["a"]).toBytes()));
  const { load } = BloomFilter;
  const { message } = await rejects("invalid_parameter", load(BloomFilter.from(["a"]).toBytes()));
  assert.match(message, /^load must be called on a class/);
});
