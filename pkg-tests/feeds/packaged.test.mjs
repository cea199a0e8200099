/** Feeds that come with an app: a first start needs no network, and an update takes deltas alone. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  answers,
  bases,
  basesIn,
  floorOf,
  gate,
  HOUR,
  namesakeOf,
  older,
  openSharded,
  published,
  tab,
} from "../helpers/feeds.mjs";
import { fails, tens } from "../helpers/following.mjs";
import { keyPair, memoryCache, Publisher, without } from "../helpers/publisher.mjs";

const home = mkdtempSync(join(tmpdir(), "packaged-"));
let folders = 0;

/** A copy of the folder as it is now. */
function copyOf({ manifest, listed, files }, path = "feed") {
  const folder = join(home, String(folders++), path);
  mkdirSync(folder, { recursive: true });
  for (const { sha256 } of listed) writeFileSync(join(folder, sha256), files.get(sha256));
  writeFileSync(join(folder, "feed.json"), manifest);
  return { folder, packaged: pathToFileURL(join(folder, "feed.json")) };
}

/**
 * Runs with a clock that is moved by hand. `cache` gives the view of a cache that doesn't answer before `answer` is
 * called; `seconds` lets seconds pass until a promise has settled, calls `each` with their number, and returns it.
 */
async function inSeconds(run) {
  const { opened, open: answer } = gate();
  const cache = (stored) => Object.assign(tab(stored), { fault: () => opened });
  const seconds = async (promise, each = () => {}) => {
    let passed = 0;
    await tens(promise, () => {
      mock.timers.tick(1000);
      each(++passed);
    });
    return passed;
  };
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    await run(cache, answer, seconds);
  } finally {
    mock.timers.reset();
  }
}

const isOffline = (site) => Object.assign(site, { fault: (_, response) => response.destroy() });

test("a first start without a network answers; the update after it takes deltas alone", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("packaged");
  const { packaged } = copyOf(publisher);
  isOffline(site);
  const cache = memoryCache();
  const feed = await open({ cache, packaged });
  answers(feed, 2, { name: "packaged" });
  assert.equal(feed.packagedError, undefined);
  await fails("network", feed.update());
  assert.deepEqual([...cache.entries.keys()], [], "the host hasn't confirmed it");

  site.fault = undefined;
  site.asked();
  publisher.delta("newest");
  const { sha256 } = publisher.listed.at(-1);
  assert.equal(await feed.update(), true);
  answers(feed, 3, { name: "newest" });
  assert.deepEqual(site.asked(), ["feed.json", sha256]);
  assert.deepEqual([floorOf(cache), basesIn(cache).length, feed.cacheError], [3, 1, undefined]);

  // The next start needs neither.
  isOffline(site);
  answers(await open({ cache }), 3, { name: "newest" });
});

test("what the host has, too, isn't fetched, and is kept", async () => {
  const { publisher, site, open } = await published();
  const { packaged } = copyOf(publisher);
  const cache = memoryCache();
  const feed = await open({ cache, packaged });
  assert.equal(await feed.update(), false);
  assert.deepEqual(new Set(site.asked()), new Set(["feed.json"]));
  assert.equal(floorOf(cache), 1);
  const without = await open({ cache: null, packaged: packaged.href });
  answers(without, 1);
});

test("it may have expired, and is stale then", async () => {
  const { publisher, site, open } = await published();
  publisher.publish({ createdAt: Date.now() - 2 * HOUR, expires: Date.now() - HOUR });
  const { packaged } = copyOf(publisher);
  isOffline(site);
  const feed = await open({ packaged });
  answers(feed, 2);
  assert.equal(feed.stale, true);
  site.fault = undefined;
  await fails("expired", feed.update());
  publisher.delta("new");
  await feed.update();
  assert.deepEqual([feed.stale, feed.generation, feed.packagedError], [false, 3, undefined]);
});

test("it counts as accepted: an older manifest of the host, or another feed's, is refused", async () => {
  const { publisher, site, open } = await published();
  const first = older(publisher);
  publisher.delta("packaged");
  const { packaged } = copyOf(publisher);
  publisher.manifest = first;
  const feed = await open({ packaged, cache: memoryCache() });
  await fails("rollback", feed.update());
  answers(feed, 2, { name: "packaged" });

  site.publisher = namesakeOf(publisher);
  await fails("wrong_feed", feed.update());
  answers(feed, 2, { name: "packaged" });
  assert.equal(feed.packagedError, undefined);
});

test("of the cache's and the packaged generation, the higher one stays", async () => {
  const { publisher, site, open } = await published();
  const old = copyOf(publisher);
  publisher.delta("cached");
  const cache = memoryCache();
  await open({ cache });
  publisher.delta("packaged");
  const newer = copyOf(publisher);
  isOffline(site);
  for (const [{ packaged }, generation] of [
    [old, 2],
    [newer, 3],
  ]) {
    const feed = await open({ cache, packaged });
    answers(feed, 2); // at once: a package may be slower than the cache
    await fails("network", feed.update());
    answers(feed, generation);
    assert.deepEqual([feed.packagedError, feed.cacheError], [undefined, undefined]);
  }
  site.fault = undefined;
  site.asked();
  const feed = await open({ cache, packaged: newer.packaged });
  await feed.update();
  answers(feed, 3, { name: "packaged" });
  assert.deepEqual(new Set(site.asked()), new Set(["feed.json"]));
  assert.equal(floorOf(cache), 3);
});

test("one that can't be used counts as none, and says why", async (context) => {
  const { publisher, site, open } = await published();
  const damaged = copyOf(publisher);
  writeFileSync(join(damaged.folder, publisher.listed[0].sha256), "damaged");
  const noJson = copyOf(publisher);
  writeFileSync(join(noJson.folder, "feed.json"), "<!doctype html>");
  const lacking = { packaged: pathToFileURL(join(home, "nothing", "feed.json")) };
  for (const [what, { packaged }, code] of [
    ["another key's", copyOf(new Publisher(bases.b)), "signature"],
    ["a damaged file", damaged, "integrity"],
    ["no manifest", noJson, "not_a_feed"],
    ["no file", lacking, "network"],
  ]) {
    await context.test(what, async () => {
      site.fault = undefined;
      const feed = await open({ cache: memoryCache(), packaged });
      answers(feed, 1);
      assert.deepEqual([feed.packagedError.code, feed.cacheError], [code, undefined]);
      isOffline(site);
      const error = await fails("network", open({ packaged }));
      assert.match(error.message, /, and what is packaged can't be used: /);
    });
  }
  await context.test("another feed than the cache's, even if that has lost its base", async () => {
    site.fault = undefined;
    for (const isLost of [false, true]) {
      const cache = memoryCache();
      await open({ cache });
      if (isLost) for (const name of basesIn(cache)) cache.entries.delete(name);
      const feed = await open({ cache, packaged: copyOf(namesakeOf(publisher)).packaged });
      answers(feed, 1);
      await feed.update();
      answers(feed, 1);
      assert.equal(feed.packagedError.code, "wrong_feed");
    }
  });
  await context.test("another payload of the same generation", async () => {
    const cache = memoryCache();
    await open({ cache });
    const { manifest } = publisher;
    publisher.manifest = publisher.changed({ count: 7 });
    const { packaged } = copyOf(publisher);
    publisher.manifest = manifest;
    const feed = await open({ cache, packaged });
    await feed.update();
    assert.equal(feed.info().count, 1000);
    assert.equal(feed.packagedError.code, "rollback");
  });
});

test("an app that packed another feed by mistake isn't bound to it: the next package is right", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const wrong = await open({ cache, packaged: copyOf(namesakeOf(publisher)).packaged });
  await fails("wrong_feed", wrong.update());
  const right = await open({ cache, packaged: copyOf(publisher).packaged });
  await right.update();
  answers(right, 1);
  assert.equal(floorOf(cache), 1);
});

test("a cache that doesn't answer holds it up for a second, and its floor stays open", async () => {
  const { publisher, site, open } = await published();
  const { packaged } = copyOf(publisher);
  const stored = memoryCache();
  publisher.delta("cached");
  await open({ cache: stored });
  isOffline(site);
  await inSeconds(async (cache, answer, seconds) => {
    const opening = open({ cache: cache(stored), packaged });
    assert.ok((await seconds(opening)) <= 3);
    const feed = await opening;
    answers(feed, 1);
    assert.equal(feed.cacheError.code, "cache");
    answer();
    const updating = fails("network", feed.update());
    await seconds(updating);
    await updating;
    answers(feed, 2, { name: "cached" });
  });
});

test("a cache that lost the base of a newer generation says so, while the packaged one answers", async () => {
  const { publisher, site, open } = await published();
  const { packaged } = copyOf(publisher);
  const cache = memoryCache();
  publisher.base(bases.b);
  await open({ cache });
  for (const name of basesIn(cache)) cache.entries.delete(name);
  isOffline(site);
  const feed = await open({ cache, packaged });
  answers(feed, 1);
  assert.match(feed.cacheError.message, /generation 2, which can't be put in place/);
  site.fault = undefined;
  publisher.manifest = older(publisher);
  await fails("rollback", feed.update());
  answers(feed, 1);
});

test("wrong URLs of a package are refused, and sharded filters have none", async () => {
  const { open } = await published();
  for (const packaged of ["feed/feed.json", 7, null, "data:,x"]) {
    const error = await fails("invalid_parameter", open({ packaged }));
    assert.match(error.message, /^packaged must be /);
  }
  const { publicKey } = keyPair();
  await fails("invalid_parameter", openSharded("https://a.example/x", { publicKey, packaged: "https://a.example/y" }));
});

test("a slow cache gets its time if nothing packaged can be used", async () => {
  const { site, open } = await published();
  const packaged = pathToFileURL(join(home, "nothing", "feed.json"));
  const stored = memoryCache();
  await open({ cache: stored });
  isOffline(site);
  await inSeconds(async (cache, answer, seconds) => {
    const opening = open({ cache: cache(stored), packaged });
    await seconds(opening, (passed) => passed === 2 && answer());
    const feed = await opening;
    answers(feed, 1);
    assert.deepEqual([feed.packagedError.code, feed.cacheError], ["network", undefined]);
  });
});

/** A cache whose first read fails. */
function failsOnce(stored) {
  const cache = tab(stored);
  cache.fault = (method) => {
    if (method !== "get") return;
    cache.fault = undefined;
    throw new Error("busy");
  };
  return cache;
}

test("a cache that is well again is no error any more, though the host is away", async () => {
  const { publisher, site, open } = await published();
  const [empty, older] = [memoryCache(), memoryCache()];
  await open({ cache: older });
  publisher.delta("packaged");
  const { packaged } = copyOf(publisher);
  isOffline(site);
  for (const stored of [empty, older]) {
    const feed = await open({ cache: failsOnce(stored), packaged });
    answers(feed, 2);
    assert.equal(feed.cacheError.code, "cache");
    await fails("network", feed.update());
    assert.equal(feed.cacheError, undefined);
  }
});

test("a late cache of another feed, or with another payload of the generation, wins, and the package is reported", async () => {
  for (const code of ["wrong_feed", "rollback"]) {
    const { publisher, site, open } = await published();
    const stored = memoryCache();
    await open({ cache: stored });
    if (code === "rollback") publisher.manifest = publisher.changed({ count: 7 });
    const { packaged } = copyOf(code === "rollback" ? publisher : namesakeOf(publisher));
    isOffline(site);
    const feed = await open({ cache: failsOnce(stored), packaged });
    assert.deepEqual([feed.generation, feed.info().count], code === "rollback" ? [1, 7] : [10, 1000]);
    await fails("network", feed.update());
    answers(feed, 1);
    assert.equal(feed.info().count, 1000);
    assert.deepEqual([feed.packagedError.code, feed.cacheError], [code, undefined]);
  }
});

test("a base that the cache has lost is put there again, from the package", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const { packaged } = copyOf(publisher);
  const cache = memoryCache();
  await open({ cache });
  for (const name of basesIn(cache)) cache.entries.delete(name);
  const feed = await open({ cache, packaged });
  await feed.update();
  answers(feed, 2);
  assert.deepEqual([basesIn(cache).length, feed.cacheError], [1, undefined]);
  isOffline(site);
  answers(await open({ cache }), 2);
});

test("a package that hangs holds up one update at most, for ten seconds at most", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  await open({ cache });
  publisher.delta("second");
  let asked = gate();
  let times = 0;
  const fetch = (url) => {
    if (!url.startsWith("https://app.example/")) return without(publisher)(url);
    times++;
    asked.open();
    return new Promise(() => {});
  };
  const hanging = async () => {
    asked = gate();
    const feed = await open({ cache, fetch, packaged: "https://app.example/feed.json" });
    await asked.opened;
    return feed;
  };
  const feed = await hanging();
  const stop = new AbortController();
  const updating = feed.update({ signal: stop.signal });
  stop.abort();
  await assert.rejects(updating, { name: "AbortError" });
  await feed.update();
  answers(feed, 2);
  assert.equal(feed.packagedError.code, "network");
  assert.equal(times, 1);

  await inSeconds(async (_cache, _answer, seconds) => {
    const feed = await hanging();
    assert.ok((await seconds(feed.update())) <= 12);
    assert.match(feed.packagedError.message, /longer than 10000 ms/);
  });
});
