/** Keyed filters: built, loaded, followed and asked with their secret, and refused at once without it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { inspect } from "node:util";
import { engines, full, SECRET as goldenSecret, reader, testEach } from "../helpers/engines.mjs";
import { memoryCache, Publisher, serve } from "../helpers/publisher.mjs";

const { FilterError, ForeignFilter, RibbonFilter, decode, load, openFeed, openSharded } = full;

const secret = Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i);
const other = new Uint8Array(16);
const keys = Array.from({ length: 1000 }, (_, i) => `key-${i}`);
const nonmembers = Array.from({ length: 10_000 }, (_, i) => `stranger-${i}`);

/** That it throws or rejects with a FilterError of this code, which shows nothing of the secret. */
async function fails(code, run) {
  const error = await (async () => run())().then(
    (value) => assert.fail(`${code}: it gave ${inspect(value)}`),
    (error) => error,
  );
  assert.ok(error instanceof FilterError, error?.stack);
  assert.equal(error.code, code, error.message);
  const shown = inspect(error, { depth: 9 }) + JSON.stringify(error);
  // The first bytes of the secret, in digits of either kind.
  assert.ok(!/a0[\s,x0]*a1|160[\s,]*161/.test(shown), shown);
}

const makers = {
  "BloomFilter.from": (options) => full.BloomFilter.from(keys, options),
  "CountingBloomFilter.from": (options) => full.CountingBloomFilter.from(keys, options),
  "ScalableBloomFilter.from": (options) => full.ScalableBloomFilter.from(keys, options),
  "CuckooFilter.from": (options) => full.CuckooFilter.from(keys, options),
  "RibbonFilter.from": (options) => RibbonFilter.from(keys, options),
  "RibbonFilter.fromStream": (options) => RibbonFilter.fromStream(new Blob([keys.join("\n")]).stream(), options),
  "new BloomFilter": (options) => filled(new full.BloomFilter(20_000, 7, options)),
  "BloomFilter.withCapacity": (options) => filled(full.BloomFilter.withCapacity(1000, 0.001, options)),
  "new CountingBloomFilter": (options) => filled(new full.CountingBloomFilter(20_000, 7, options)),
  "CountingBloomFilter.withCapacity": (options) => filled(full.CountingBloomFilter.withCapacity(1000, 0.001, options)),
  "new ScalableBloomFilter": (options) => filled(new full.ScalableBloomFilter(options)),
  "CuckooFilter.withCapacity": (options) => filled(full.CuckooFilter.withCapacity(1000, 0.001, options)),
};

function filled(filter) {
  filter.addMany(keys.slice(1));
  filter.add(keys[0]);
  return filter;
}

for (const [name, make] of Object.entries(makers)) {
  test(`${name} with a secret`, async () => {
    const filter = await make({ secret });
    const bytes = filter.toBytes();
    assert.equal(bytes[7], 32);
    for (const { decode } of Object.values(engines)) {
      const read = decode(bytes, { secret });
      assert.ok(keys.every((key) => read.has(key)));
      assert.ok(nonmembers.filter((key) => read.has(key)).length < 100);
      assert.ok(read.info().keyed && read.clone().has("key-1"));
      await fails("secret_required", () => decode(bytes));
      await fails("wrong_secret", () => decode(bytes, { secret: other }));
    }
    // A different seed each time, and the same bytes for the same seed.
    assert.notEqual(filter.info().seed, (await make({ secret })).info().seed);
    assert.deepEqual((await make({ secret, seed: 7n })).toBytes(), (await make({ secret, seed: 7n })).toBytes());
    // An ordinary filter is as it always was.
    const plain = await make({});
    assert.ok(plain.toBytes()[4] === 1 && !plain.info().keyed && plain.info().seed === "0");
    await fails("wrong_secret", () => decode(plain.toBytes(), { secret }));
  });
}

test("values that aren't a secret", async () => {
  const bytes = RibbonFilter.from(keys, { secret }).toBytes();
  const hex = Buffer.from(secret).toString("hex");
  for (const wrong of [hex, secret.slice(1), new Uint8Array(17), secret.buffer, null, 7, {}, [...secret]]) {
    for (const run of [
      () => decode(bytes, { secret: wrong }),
      () => reader.decode(bytes, { secret: wrong }),
      () => RibbonFilter.decode(bytes, { secret: wrong }),
      () => load(bytes, { secret: wrong }),
      () => RibbonFilter.from(keys, { secret: wrong }),
      () => full.CuckooFilter.withCapacity(9, 0.1, { secret: wrong }),
      () => openFeed("https://a.example/feed.json", { publicKey: null, cache: null, secret: wrong }),
      () => openSharded("https://a.example/shards.json", { publicKey: null, cache: null, secret: wrong }),
    ]) {
      await fails("invalid_parameter", run);
    }
  }
  // If the environment lacks the secret, no unkeyed filter is built.
  for (const make of Object.values(makers)) await fails("invalid_parameter", () => make({ secret: undefined }));
  // As a callback that gets more arguments than it asked for.
  assert.ok([RibbonFilter.from(keys).toBytes()].map(decode)[0].has("key-1"));
});

testEach("a secret is copied, and may be a Buffer", async ({ load }) => {
  const own = Buffer.from(secret);
  const loading = load(RibbonFilter.from(keys, { secret: own }).toBytes(), { secret: own });
  own.fill(0);
  assert.ok((await loading).has("key-1"));
});

test("a class decodes with a secret; other software has none", async () => {
  const bytes = RibbonFilter.from(keys, { secret }).toBytes();
  assert.ok(RibbonFilter.decode(bytes, { secret }) instanceof RibbonFilter);
  await fails("wrong_kind", () => full.BloomFilter.decode(bytes, { secret }));
  const foreign = ForeignFilter.from(keys, { format: "go-bloom" });
  await fails("invalid_parameter", () => ForeignFilter.from(keys, { format: "go-bloom", secret }));
  await fails("invalid_parameter", () => decode(foreign.toForeign(), { format: "go-bloom", secret }));
  await fails("wrong_secret", () => decode(foreign.toBytes(), { secret }));
});

testEach("load refuses a keyed blob after its first bytes", async ({ load }) => {
  const bytes = RibbonFilter.from(keys, { secret }).toBytes();
  for (const [options, code] of [
    [{}, "secret_required"],
    [{ secret: other }, "wrong_secret"],
  ]) {
    let cancelled = false;
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue(bytes.slice(0, 100)),
      cancel: () => void (cancelled = true),
    });
    // The rest never comes.
    await fails(code, () => load(new Response(stream), options));
    assert.ok(cancelled);
  }
  assert.ok((await load(bytes, { secret })).has("key-1"));
});

test("filters of different secrets aren't merged", async () => {
  const make = (options) => full.BloomFilter.from(keys, { seed: 1n, ...options });
  const filter = make({ secret });
  filter.union(make({ secret }));
  await fails("incompatible", () => filter.union(make({ secret: other })));
  await fails("incompatible", () => filter.union(make({})));
  assert.ok(!filter.equals(make({})) && filter.equals(make({ secret })));
});

test("a keyed feed", async () => {
  const publisher = new Publisher(RibbonFilter.from(keys, { secret }));
  const site = await serve(publisher);
  after(() => site.close());
  const cache = memoryCache();
  const open = (options) => openFeed(site.url, { publicKey: publisher.key.publicKey, cache, ...options });
  await fails("secret_required", () => open());
  await fails("wrong_secret", () => open({ secret: other }));
  assert.equal(cache.entries.size, 0);
  assert.deepEqual(site.asked(), ["feed.json", "feed.json"], "before any file");
  const feed = await open({ secret });
  assert.ok(feed.filter.has("key-1") && feed.filter.info().keyed);
  // Under another secret it keeps what it has.
  publisher.base(RibbonFilter.from(["new"], { secret: other }));
  await fails("wrong_secret", () => feed.update());
  assert.ok(feed.filter.has("key-1"));
  feed.close();
  // From the cache. With a cached generation of the old secret, a client with the new one starts over.
  const offline = await open({ secret, fetch: () => Promise.reject(new TypeError("offline")) });
  assert.ok(offline.filter.has("key-1"));
  offline.close();
  const next = await open({ secret: other });
  assert.ok(next.filter.has("new"));
  next.close();
});

test("a keyed sharded filter", async () => {
  const url = new URL("../../tests/golden/shards/keyed/shards.json", import.meta.url);
  const open = (options) => openSharded(url, { publicKey: null, cache: null, ...options });
  await fails("secret_required", () => open());
  await fails("wrong_secret", () => open({ secret }));
  const filter = await open({ secret: goldenSecret });
  assert.ok(filter.info().keyed);
  assert.ok((await filter.hasMany(keys)).every((answer) => answer === 1));
  assert.equal(await filter.has("key-7"), true);
  assert.ok((await filter.hasMany(nonmembers)).filter((answer) => answer === 1).length < 40);
  filter.close();
  const plain = new URL("../url/shards.json", url);
  await fails("wrong_secret", () => openSharded(plain, { publicKey: null, cache: null, secret }));
  const cache = memoryCache();
  (await open({ secret: goldenSecret, cache })).close();
  await fails("secret_required", () => open({ cache }));
});
