/** The memory that pages and shards take, in its own process. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { without } from "../helpers/publisher.mjs";
import { published } from "../helpers/sharded.mjs";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

/**
 * The memory in use, after garbage collections: as many as free something, since what ends late, such as a connection,
 * is freed late.
 */
async function used() {
  let least = Infinity;
  for (let same = 0; same < 3; same++) {
    await new Promise((resolve) => (gc(), setImmediate(resolve)));
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    if (heapUsed + arrayBuffers < least - 1000) same = 0;
    least = Math.min(least, heapUsed + arrayBuffers);
  }
  return least;
}

test("questions leave nothing behind, with a cache that forgets or without one", async () => {
  const forgetful = { get: async () => undefined, put: async () => {}, delete: async () => {} };
  const rounds = 40;
  const keys = Array.from({ length: 150 }, (_, i) => `key ${i}`);
  const { open, publisher } = await published(64, keys);
  for (const cache of [null, forgetful]) {
    const filter = await open({ cache, fetch: without(publisher), maxMemory: 0 });
    const ask = async (rounds) => {
      for (let i = 0; i < rounds; i++) for (const key of keys) assert.ok(await filter.has(key));
      return used();
    };
    // In the first rounds the code is compiled, which takes 400 kB.
    const before = await ask(15);
    const growth = (await ask(rounds)) - before;
    // Each question needs a page and a shard. Of each, 350 bytes once stayed, or 60, which only many rounds show.
    assert.ok(growth < 500_000 + 2 * keys.length * rounds * 10, `${growth} bytes`);
    filter.close();
  }
});

test("thousands of small shards stay within maxMemory", async () => {
  const maxMemory = 2 ** 21;
  const keys = Array.from({ length: 3000 }, (_, i) => `key ${i}`);
  const { open, site } = await published(1024, keys);
  const ask = async (its, options) => {
    const filter = await open(options);
    assert.ok((await filter.hasMany(its)).every((answer) => answer === 1));
    // The site keeps a log of requests.
    site.asked();
    return filter;
  };
  // Warm-up: code that questions compile, and memory that the server and fetch keep.
  (await ask(keys.slice(0, 500), { maxMemory: 0 })).close();
  const before = await used();
  const filter = await ask(keys, { maxMemory });
  const growth = (await used()) - before;
  // If they counted as half of what they take, all of them would fit: 4.9 MB.
  assert.ok(growth < 2 * maxMemory, `${growth} bytes`);
  assert.ok(growth > maxMemory / 4, `only ${growth} bytes: nothing was measured`);
  filter.close();
});
