/** Sharded filters with a cache: it saves requests, and one that fails or lags does no harm. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { tab } from "../helpers/feeds.mjs";
import { fails, noNetwork, turns } from "../helpers/following.mjs";
import { keyPair, memoryCache, without } from "../helpers/publisher.mjs";
import { members, nonmembers, published } from "../helpers/sharded.mjs";

test("a cache saves requests, across restarts", async () => {
  const { publisher, site, open } = await published(16);
  const cache = memoryCache();
  // It may change what it is given.
  const put = async (name, bytes) => (await cache.put(name, bytes), bytes.fill(0));
  const first = await open({ cache: { ...tab(cache), put } });
  await first.hasMany(members);
  await turns();
  assert.ok((await first.hasMany(members)).every((answer) => answer === 1));
  first.close();
  site.asked();
  const again = await open({ cache });
  assert.ok((await again.hasMany(members)).every((answer) => answer === 1));
  assert.equal(await again.update(), false);
  assert.ok(site.asked().every((path) => path === "shards.json"));
  assert.equal(cache.entries.size, 1 + 1 + 16);
  again.close();
  // The next generation replaces this one.
  const parts = () => [...cache.entries.keys()].filter((name) => /^(page|shard)-/.test(name));
  const [before, fewer] = [new Map(cache.entries), members.slice(0, members.length / 2)];
  publisher.put(fewer);
  const next = await open({ cache });
  await next.update();
  assert.ok((await next.hasMany(fewer)).every((answer) => answer === 1));
  assert.equal(cache.entries.size, 1 + 1 + 16);
  assert.equal(parts().length, 1 + 16);
  for (const name of parts()) assert.notDeepEqual(cache.entries.get(name), before.get(name));
});

test("a cache that is damaged, full or slow", async () => {
  const { publisher, open } = await published(4);
  const cache = memoryCache();
  await (await open({ cache })).hasMany(members);
  for (const spoil of [(bytes) => bytes.map((byte) => byte ^ 255), (bytes) => bytes.slice(1), () => "text"]) {
    for (const name of [...cache.entries.keys()].filter((name) => /^(page|shard)-/.test(name)))
      cache.entries.set(name, spoil(cache.entries.get(name)));
    const filter = await open({ cache });
    assert.ok((await filter.hasMany(members)).every((answer) => answer === 1));
    filter.close();
  }
  cache.entries.clear();
  cache.fault = (method) => {
    if (method === "put") throw new Error("full");
  };
  const full = await open({ cache });
  assert.equal(full.cacheError?.code, "cache");
  assert.ok((await full.hasMany(members)).every((answer) => answer === 1));
  assert.equal(full.cacheError?.code, "cache");
  // The manifest can be stored again, but the last shard wasn't.
  cache.fault = (method, name) => {
    if (method === "put" && name.startsWith("shard-")) throw new Error("full");
  };
  assert.equal(await full.update(), false);
  assert.match(full.cacheError?.message, /could not keep a shard/);
  cache.fault = undefined;
  publisher.put(nonmembers);
  assert.equal(await full.update(), true);
  await full.has(nonmembers[0]);
  assert.equal(full.cacheError, undefined);
  // Puts of parts that never end hold nothing up.
  cache.fault = (method, name) => method === "put" && /^(page|shard)-/.test(name) && new Promise(() => {});
  const slow = await open({ cache });
  assert.equal(await slow.has(nonmembers[0]), true);
  assert.equal(await slow.has(members[0]), false);
});

test("a manifest that is put slowly doesn't replace a newer one, and holds no question up", async () => {
  const { publisher, open } = await published(4);
  const cache = memoryCache();
  const filter = await open({ cache });
  let release;
  const slow = new Promise((resolve) => (release = resolve));
  cache.fault = (method, name) => method === "put" && name.startsWith("head-") && slow;
  publisher.put(members.slice(1));
  const stop = new AbortController();
  const update = filter.update({ signal: stop.signal });
  while (filter.generation < 2) await new Promise(setImmediate);
  stop.abort();
  await assert.rejects(update, { name: "AbortError" });
  assert.equal(filter.generation, 2, "it is in place");
  publisher.files.clear();
  publisher.put(nonmembers);
  assert.equal(await filter.has(nonmembers[0]), true);
  assert.equal(filter.generation, 3);
  release();
  cache.fault = undefined;
  assert.equal(await filter.update(), false);
  const again = await open({ cache, fetch: () => new Promise(() => {}) });
  assert.equal(again.generation, 3);
});

test("forget removes what a cache holds of a sharded filter, for its own keys or others", async () => {
  const { publisher, open } = await published(16);
  const [old, next] = [publisher.key, keyPair()];
  publisher.signers = [old, next];
  publisher.publish();
  const other = await published(4);
  const cache = memoryCache();
  await (await other.open({ cache })).hasMany(members);
  await new Promise((resolve) => setImmediate(resolve));
  const others = new Map(cache.entries);
  const before = await open({ cache });
  await before.hasMany(members);
  const filter = await open({ cache, publicKey: next.publicKey });
  await before.forget();
  assert.equal(cache.entries.size, others.size + 1);
  await fails("freed", before.has(members[0]));
  await (await open({ cache })).hasMany(members);
  await filter.forget({ publicKey: old.publicKey });
  assert.equal(cache.entries.size, others.size + 1);
  assert.equal(await filter.has(members[0]), true);
  await fails("invalid_parameter", filter.forget({ publicKey: 5 }));
  // Including what is being put.
  publisher.put(nonmembers);
  await filter.update();
  cache.fault = (method) => method === "put" && turns();
  await filter.hasMany(nonmembers);
  await filter.forget();
  await turns();
  assert.deepEqual(cache.entries, others);
});

test("parts that no generation has any more are removed, by an update or by forget", async () => {
  const { publisher, open } = await published(512);
  const cache = memoryCache();
  const filter = await open({ cache, fetch: without(publisher) });
  await filter.hasMany(members);
  await filter.hasMany([]); // lets the pending puts finish
  publisher.put(members, 4);
  assert.equal(await filter.update(), true);
  await filter.hasMany(members);
  assert.equal(filter.cacheError, undefined);
  // The head, a page and four shards.
  assert.equal(cache.entries.size, 1 + 1 + 4);
  // The manifest of more shards can't be stored, but the requested parts can.
  cache.fault = (method, name) => {
    if (method === "put" && name.startsWith("head-")) throw new Error("full");
  };
  publisher.put(nonmembers, 512);
  assert.equal(await filter.update(), true);
  await filter.hasMany(nonmembers);
  assert.equal(filter.cacheError?.code, "cache");
  assert.equal(cache.entries.size, 1 + 2 + 512);
  await filter.forget();
  assert.deepEqual([...cache.entries.keys()], []);
});

test("parts that the cache doesn't put don't pile up", async () => {
  const { publisher, open } = await published(512);
  const cache = memoryCache();
  const hung = [];
  cache.fault = (method, name) => {
    if (method === "put" && name.startsWith("shard-")) return new Promise((resolve) => hung.push(resolve));
  };
  const filter = await open({ cache, fetch: without(publisher) });
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    await filter.hasMany(members.slice(0, 10));
    const before = hung.length;
    mock.timers.tick(10_000);
    await turns();
    assert.equal(filter.cacheError.code, "cache");
    assert.ok((await filter.hasMany(members.slice(10))).every((answer) => answer === 1));
    assert.equal(hung.length, before);
  } finally {
    mock.timers.reset();
  }
  cache.fault = undefined;
  for (const resolve of hung) resolve();
  await turns();
  publisher.put(nonmembers);
  await filter.update();
  await filter.hasMany(nonmembers);
  assert.equal(filter.cacheError, undefined);
  assert.equal(cache.entries.size, 1 + 2 + 512);
});

test("unreadable entries of a cache aren't overwritten, and a part that can be read again clears the error", async () => {
  const { publisher, open } = await published(2);
  const [cache, fetch] = [memoryCache(), without(publisher)];
  await (await open({ cache, fetch })).hasMany(members);
  await turns();
  const puts = [];
  cache.fault = (method, name) => (method === "get" ? assert.fail("the cache fails") : puts.push(name));
  const filter = await open({ cache, fetch });
  assert.ok((await filter.hasMany(members)).every((answer) => answer === 1));
  await turns();
  assert.equal(filter.cacheError.code, "cache");
  assert.deepEqual(puts, []);

  cache.fault = undefined;
  const offline = await open({ cache, fetch: noNetwork });
  cache.fault = (method, name) => method === "get" && name.startsWith("page-") && assert.fail("the cache fails");
  await fails("network", offline.has(members[0]));
  assert.equal(offline.cacheError.code, "cache");
  cache.fault = undefined;
  assert.equal(await offline.has(members[0]), true);
  assert.equal(offline.cacheError, undefined);
});
