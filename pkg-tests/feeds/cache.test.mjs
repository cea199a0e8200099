/** Feeds with a cache: they open at once and offline, and a cache that fails, forgets or hangs does no harm. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import {
  answers,
  bases,
  basesIn,
  FilterError,
  floorOf,
  gate,
  headName,
  headOf,
  keysOf,
  namesakeOf,
  older,
  openFeed,
  published,
  RibbonFilter,
} from "../helpers/feeds.mjs";
import { fails, hanging, noNetwork, tens, turns } from "../helpers/following.mjs";
import { keyPair, memoryCache, sha256, without } from "../helpers/publisher.mjs";

test("with a cache a feed opens at once, offline too, and updates in the background", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const cache = memoryCache();
  await open({ cache });
  for (const name of cache.entries.keys()) assert.match(name, /^[a-z0-9.-]+$/);
  const [base, delta] = publisher.listed;
  assert.deepEqual(
    basesIn(cache).map((name) => sha256(cache.entries.get(name))),
    [base.sha256],
  );
  assert.equal(sha256(headOf(cache).deltas), delta.sha256);
  assert.equal(cache.entries.size, 2);
  site.asked();

  publisher.delta("third");
  const feed = await open({ cache });
  answers(feed, 2, { name: "second" });
  assert.equal(await feed.update(), true); // joins the one in the background
  answers(feed, 3, { name: "third" });
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[2].sha256]);

  publisher.base(bases.b);
  assert.equal(await feed.update(), true);
  // The old base and all deltas are gone.
  assert.equal(cache.entries.size, 2);
  assert.equal(headOf(cache).deltas.length, 0);
  site.fault = (_, response) => (response.destroy(), true);
  const offline = await open({ cache });
  answers(offline, 4, { name: "b", which: "b" });
  await fails("network", offline.update());
  answers(offline, 4, { name: "b", which: "b" });
  assert.deepEqual(site.asked().slice(-1), ["feed.json"]);
});

test("what a cache remembers: the highest generation of a feed, and the feed of a URL", async () => {
  const { publisher, site, open } = await published();
  const first = older(publisher);
  publisher.delta("second");
  const cache = memoryCache();
  await open({ cache });
  publisher.manifest = first;
  const restarted = await open({ cache });
  await fails("rollback", restarted.update());
  answers(restarted, 2, { name: "second" });
  // Without the base, too.
  for (const name of basesIn(cache)) assert.ok(cache.entries.delete(name));
  await fails("rollback", open({ cache }));
  // At another URL it begins anew.
  const elsewhere = (options) =>
    openFeed(`${site.url}?elsewhere`, { publicKey: publisher.key.publicKey, cache, ...options });
  answers(await elsewhere(), 1);
  // Without the cache this can't be known.
  answers(await open(), 1);
  site.publisher = namesakeOf(publisher);
  await fails("wrong_feed", open({ cache }));
  await fails("wrong_feed", (await elsewhere()).update());
  // For other keys it is another URL.
  await open({ cache, publicKey: [publisher.key.publicKey, keyPair().publicKey] });
});

test("a cache that becomes full at any moment keeps its old generation, and this is reported", async () => {
  const { publisher, open } = await published();
  publisher.delta("second");
  for (const start of ["empty", "filled"]) {
    for (let full = 0; ; full++) {
      const cache = memoryCache();
      const errors = [];
      let old;
      if (start === "filled") {
        old = await open({ cache });
        await old.update();
      }
      const before = old?.generation ?? 0;
      publisher.base(bases[full % 2 ? "a" : "b"]).delta(`full ${full}`);
      let puts = 0;
      cache.fault = (method) => {
        if (method === "put" && puts++ >= full) throw new DOMException("no room", "QuotaExceededError");
      };
      const feed = old ?? (await open({ cache }));
      const stop = feed.watch({ every: 1e6, onError: (error) => errors.push(error) });
      if (old) assert.equal(await feed.update(), true);
      assert.equal(feed.generation, publisher.generation);
      stop();
      if (puts <= full) {
        assert.equal(feed.cacheError, undefined);
        assert.ok(full >= 2, "nothing was put");
        break;
      }
      assert.ok(feed.cacheError instanceof FilterError);
      assert.equal(feed.cacheError.code, "cache");
      assert.equal(feed.cacheError.cause.name, "QuotaExceededError");
      if (old) assert.deepEqual(errors, [feed.cacheError]);
      assert.equal(floorOf(cache), before, `${start}, full after ${full}`);
      if (old) assert.equal((await open({ cache, fetch: noNetwork })).generation, before);
      // There is room again: everything is put, including what was fetched before.
      cache.fault = undefined;
      publisher.delta(`room ${full}`);
      assert.equal(await feed.update(), true);
      assert.equal(feed.cacheError, undefined);
      const offline = await open({ cache, fetch: noNetwork });
      assert.equal(offline.filter.info().name, `room ${full}`);
      await fails("network", offline.update());
    }
  }
});

test("from a cache that is damaged, forgetful, slow or of another kind, everything still valid is used", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const good = memoryCache();
  await open({ cache: good });
  const flipped = (bytes) => bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 1 : byte));
  const damages = {
    flipped,
    shorter: (bytes) => bytes.subarray(1),
    longer: (bytes) => new Uint8Array([...bytes, 0]),
    another: (_, name) => [...good.entries].find(([other]) => other !== name)[1],
    missing: () => undefined,
    text: () => "text",
    transferred(bytes) {
      const copy = bytes.slice();
      structuredClone(copy, { transfer: [copy.buffer] });
      return copy;
    },
    throws() {
      throw new Error("no");
    },
  };
  for (const [what, damage] of Object.entries(damages)) {
    // With "another", what was never there would be the base.
    for (const damaged of [...good.entries.keys(), ...(what === "another" ? [] : [/./])]) {
      const hit = (name) => (typeof damaged === "string" ? name === damaged : damaged.test(name));
      const cache = memoryCache();
      for (const [name, bytes] of good.entries) cache.entries.set(name, bytes);
      // Not even a promise.
      const get = (name) =>
        hit(name) ? damage(good.entries.get(name) ?? new Uint8Array(9), name) : cache.entries.get(name);
      site.asked();
      const feed = await open({
        cache: { get, put: cache.put.bind(cache), delete: (name) => cache.entries.delete(name) },
      });
      await feed.update();
      answers(feed, 2, { name: "second" });
      const files = site.asked().filter((path) => path !== "feed.json");
      const [base, delta] = publisher.listed.map(({ sha256 }) => sha256);
      // A byte after the last delta does no harm.
      const isHeadLost = what !== "longer" && headName(good).some(hit);
      const expected = [...(basesIn(good).some(hit) ? [base] : []), ...(isHeadLost ? [delta] : [])];
      assert.deepEqual(files, expected, `${what} ${damaged}`);
    }
  }
});

test("a cache that doesn't answer is given up on after ten seconds, and asked again once it does", async () => {
  const { publisher, open } = await published();
  const tick = (milliseconds) => mock.timers.tick(milliseconds);
  for (const silent of ["put head-", "put base-", "get head-", "get base-", "delete base-"]) {
    publisher.base(bases.a);
    const cache = memoryCache();
    const fetch = without(publisher);
    const feed = await open({ cache, fetch });
    await feed.update();
    const before = floorOf(cache);
    const errors = [];
    feed.watch({ every: 1e6, onError: (error) => errors.push(error) });
    const hung = gate();
    const speaks = gate();
    let asked = 0;
    cache.fault = async (method, name) => {
      asked++;
      if (!`${method} ${name}`.startsWith(silent)) return;
      hung.open();
      await speaks.opened;
    };
    publisher.base(bases.b).delta(silent);
    const generation = publisher.generation;
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const updating = feed.update();
      await hung.opened;
      mock.timers.tick(9999);
      await turns();
      assert.deepEqual(errors, [], silent);
      // Several calls mean several waits.
      const waits = await tens(updating, tick);
      assert.ok(waits <= 4, `${silent}: ${waits} waits`);
      assert.equal(await updating, true, silent);
      answers(feed, generation, { name: silent, which: "b" });
      if (!["get base-", "delete base-"].includes(silent)) {
        assert.equal(feed.cacheError?.code, "cache", silent);
        assert.equal(floorOf(cache), before, silent);
      }
      // Nothing piles up, and the error isn't reported again.
      const told = errors.length;
      for (let i = 0; i < 3; i++) {
        const before = asked;
        publisher.delta(`${silent} ${i}`);
        const updating = feed.update();
        await tens(updating, tick);
        assert.equal(await updating, true, silent);
        assert.ok(asked - before < 8, `${silent}: ${asked - before} calls`);
      }
      if (silent.startsWith("put")) assert.equal(errors.length, told, silent);
      // This doesn't wait for it either.
      const second = open({ cache, fetch: noNetwork }).catch(({ code }) => code);
      await tens(second, tick);
    } finally {
      mock.timers.reset();
    }
    // Once it answers, the newest generation is kept, and no older one instead.
    cache.fault = undefined;
    speaks.open();
    for (let i = 0; i < 10; i++) {
      await turns();
      await feed.update();
    }
    assert.equal(feed.cacheError, undefined, silent);
    assert.equal(floorOf(cache), publisher.generation, silent);
    const offline = await open({ cache, fetch: noNetwork });
    answers(offline, publisher.generation, { name: `${silent} 2`, which: "b" });
    assert.ok(cache.entries.size <= 3, [silent, ...cache.entries.keys()].join());
    offline.close();
    // forget reports it, too.
    cache.fault = () => new Promise(() => {});
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const forgetting = fails("cache", feed.forget());
      await tens(forgetting, tick);
      await forgetting;
    } finally {
      mock.timers.reset();
    }
  }
});

test("a base whose generation never came into place spares the one that did, and is overwritten", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const feed = await open({ cache });
  await feed.update();
  // After the first round, the head's base is in the other slot.
  for (const inPlace of ["a", "b"]) {
    const { generation } = feed;
    for (const which of ["b", "a"]) {
      publisher.base(RibbonFilter.from(keysOf(which), { name: `lost ${generation}` })).delta("lost");
      const lost = publisher.listed[1].sha256;
      site.fault = (path, response) => path === lost && (response.writeHead(404).end(), true);
      await fails("http", feed.update());
      // The base in place and the one on its way, but not the one before.
      const kept = basesIn(cache).map((name) => sha256(cache.entries.get(name)));
      assert.equal(kept.length, 2);
      assert.ok(kept.includes(publisher.listed[0].sha256));
      answers(await open({ cache, fetch: noNetwork }), generation, { which: inPlace });
    }
    site.fault = undefined;
    publisher.base(inPlace === "a" ? bases.b : bases.a);
    assert.equal(await feed.update(), true);
    assert.equal(cache.entries.size, 2);
  }
});

test("forget removes what a cache holds of a feed, for its own keys or others", async () => {
  const { publisher, site, open } = await published();
  const [old, next] = [publisher.key, keyPair()];
  publisher.signers = [old, next];
  publisher.delta("second");
  const other = await published("b");
  const cache = memoryCache();
  await other.open({ cache });
  const others = new Map(cache.entries);
  const before = await open({ cache });
  // It has begun another generation too.
  publisher.base(bases.b).delta("third");
  site.fault = (path, response) => path === publisher.listed[1].sha256 && (response.writeHead(404).end(), true);
  await fails("http", before.update());
  before.close();
  site.fault = undefined;
  const feed = await open({ cache, publicKey: next.publicKey });
  await feed.forget({ publicKey: old.publicKey });
  const mine = [...cache.entries.keys()].filter((name) => !others.has(name));
  assert.equal(mine.length, 2);
  const offline = { cache, fetch: noNetwork };
  await fails("network", open(offline));
  answers(await open({ ...offline, publicKey: next.publicKey }), 4, { name: "third", which: "b" });
  // It stays open.
  publisher.delta("fifth");
  assert.equal(await feed.update(), true);
  assert.equal(feed.cacheError, undefined);
  // Without the last one, a key that is missing by mistake would remove what the present keys have.
  for (const publicKey of ["", [], 5, "A".repeat(42), undefined])
    await fails("invalid_parameter", feed.forget({ publicKey }));
  cache.fault = (method) => {
    if (method === "delete") throw new Error("no");
  };
  await fails("cache", feed.forget());
  cache.fault = undefined;
  await feed.forget();
  assert.deepEqual(cache.entries, others);
  await fails("freed", feed.update());
  await feed.forget();
  answers(feed, 5, { name: "fifth", which: "b" });
});

test("a cache that was emptied is filled again by the next update, deltas and all", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const cache = memoryCache();
  let feed = await open({ cache });
  const isWhole = async (generation, name) => {
    assert.equal(feed.cacheError, undefined);
    answers(await open({ cache, fetch: noNetwork }), generation, { name });
  };
  assert.equal(await feed.update(), false);
  cache.entries.clear();
  assert.equal(await feed.update(), false);
  await isWhole(2, "second");

  await feed.update();
  cache.entries.clear();
  publisher.delta("third");
  assert.equal(await feed.update(), true);
  await isWhole(3, "third");

  // A client that has it all from the cache needs no file of the host, either.
  feed.close();
  feed = await open({ cache });
  await feed.update();
  cache.entries.clear();
  site.fault = (path, response) => path !== "feed.json" && (response.writeHead(503).end(), true);
  assert.equal(await feed.update(), false);
  await isWhole(3, "third");
  cache.entries.clear();
  site.fault = (_, response) => (response.destroy(), true);
  await fails("network", feed.update());
  await isWhole(3, "third");
  site.fault = undefined;
});

test("a base that can't be read, or hangs, is put again with the next generation", async (context) => {
  const { publisher, open } = await published();
  publisher.delta("second");
  const cache = memoryCache();
  const feed = await open({ cache, fetch: without(publisher) });
  await feed.update();
  const [bad] = basesIn(cache);
  cache.fault = (method, name) => {
    if (method === "get" && name === bad) throw new Error("corrupt entry");
  };
  const { message } = await fails("network", open({ cache, fetch: noNetwork }));
  assert.match(message, /could not be read: corrupt entry/);
  for (const how of ["throws", "hangs"]) {
    let isBad = true;
    let asked = 0;
    const { hang, patiently } = hanging(context);
    cache.fault = (method, name) => {
      if (name !== bad) return undefined;
      if (method === "put") isBad = false;
      if (method !== "get" || !isBad) return undefined;
      asked++;
      if (how === "throws") throw new Error("corrupt entry");
      return hang();
    };
    publisher.delta(how);
    assert.equal(await patiently(feed.update()), true);
    mock.timers.reset();
    assert.ok(asked > 0);
    assert.equal(feed.cacheError, undefined, how);
    cache.fault = undefined;
    answers(await open({ cache, fetch: noNetwork }), publisher.generation, { name: how });
  }
});

test("nothing stays in the cache because a delete once failed or its head was lost", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const feed = await open({ cache });
  await feed.update();
  let failures = 0;
  cache.fault = (method) => {
    if (method === "delete" && failures++ < 1) throw new Error("busy");
  };
  publisher.base(bases.b);
  await feed.update();
  cache.fault = undefined;
  assert.equal(basesIn(cache).length, 2, "the old base is still there");
  assert.equal(feed.cacheError, undefined);
  await feed.forget();
  assert.deepEqual([...cache.entries.keys()], []);
  const again = await open({ cache });
  await again.update();
  cache.entries.delete(headName(cache)[0]);
  await again.forget();
  assert.deepEqual([...cache.entries.keys()], []);
});

test("a cache that loses single entries, as at an edge, gets them again without the host's help", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const cache = memoryCache();
  const feed = await open({ cache });
  const isWhole = async () => {
    assert.equal(feed.cacheError, undefined);
    const offline = await open({ cache, fetch: noNetwork });
    answers(offline, publisher.generation, { name: `${publisher.generation}` });
    offline.close();
    assert.equal(cache.entries.size, 2);
  };
  await feed.update();
  assert.ok(cache.entries.delete(basesIn(cache)[0]));
  publisher.delta("3");
  site.asked();
  assert.equal(await feed.update(), true);
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed.at(-1).sha256]);
  await isWhole();
  assert.ok(cache.entries.delete(headName(cache)[0]));
  site.asked();
  assert.equal(await feed.update(), false);
  assert.deepEqual(site.asked(), ["feed.json"]);
  await isWhole();
});

test("a generation that is still being written doesn't count as lost", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const feed = await open({ cache });
  publisher.delta("second").delta("third");
  site.asked();
  const puts = [];
  const goOn = gate();
  cache.fault = (method, name) => method === "put" && (puts.push(name), goOn.opened);
  const first = feed.update();
  while (feed.generation < 3 || puts.length === 0) await turns();
  const second = feed.update();
  const looked = () => site.log.filter((path) => path === "feed.json").length;
  while (looked() < 2) await turns();
  await turns();
  goOn.open();
  assert.deepEqual(await Promise.all([first, second]), [true, false]);
  assert.equal(feed.cacheError, undefined);
  assert.deepEqual([...new Set(puts)], puts, "each file is put once");
  const names = publisher.listed.slice(1).map(({ sha256 }) => sha256);
  assert.deepEqual(site.asked().sort(), ["feed.json", "feed.json", ...names].sort());
  answers(await open({ cache }), 3, { name: "third" });

  // A feed that was closed meanwhile begins no other write.
  publisher.base(bases.b);
  await feed.update();
  const held = gate();
  cache.fault = (method) => method === "put" && held.opened;
  for (const generation of [5, 6]) {
    publisher.publish();
    for (; feed.generation < generation; await turns()) feed.update().catch(() => {});
  }
  feed.close();
  held.open();
  await turns();
  assert.equal(floorOf(cache), 5);
});

test("a cache may change or transfer the bytes that it is given, and those that it has given", async () => {
  const flip = (bytes) => bytes.forEach((byte, i) => (bytes[i] = byte ^ 0x55));
  const stores = {
    "changes them": {
      keep: (bytes) => (flip(bytes), bytes.slice()),
      give: (bytes) => (flip((bytes = bytes.slice())), bytes),
    },
    "transfers them": {
      keep: (bytes) => structuredClone(bytes, { transfer: [bytes.buffer] }),
      give: (bytes) => bytes,
    },
  };
  for (const [what, { keep, give }] of Object.entries(stores)) {
    const { publisher, site, open } = await published();
    publisher.delta("second");
    const [entries, given] = [new Map(), []];
    const cache = {
      async get(name) {
        if (!entries.has(name)) return undefined;
        given.push(give(entries.get(name)));
        return given.at(-1);
      },
      put: async (name, bytes) => void entries.set(name, keep(bytes)),
      delete: async (name) => void entries.delete(name),
    };
    const feed = await open({ cache });
    assert.equal(feed.cacheError, undefined, what);
    publisher.delta("third");
    await feed.update();
    assert.equal(feed.cacheError, undefined, what);
    // What it has given is nothing that a client writes later.
    const restored = await open({ cache });
    await restored.update();
    for (const bytes of given) bytes.fill(0);
    entries.clear();
    await restored.update();
    site.close();
    answers(await open({ cache }), 3, { name: "third" });
  }
});
