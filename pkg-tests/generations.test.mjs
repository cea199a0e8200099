/** What feeds and sharded filters have in common, each as a table of both: options, manifests, and a cache of theirs. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { fails, noNetwork, served, turns, workerRequests } from "./following.mjs";
import { installed } from "./installed.mjs";
import { refused, refusedShards } from "./manifests.mjs";
import { manifest, memoryCache, Publisher, ShardsPublisher } from "./publisher.mjs";

const { Feed, RibbonFilter, ShardedFilter, openFeed, openSharded } = await installed();
const nano = await installed("bloom-wasm/nano");

const keysOf = (which) => Array.from({ length: 1000 }, (_, i) => `${which} key ${i}`);
const feedOf = (which) => new Publisher(RibbonFilter.from(keysOf(which)));
const shardsOf = (which) => new ShardsPublisher(RibbonFilter, 2, keysOf(which));

const kinds = [
  ...[
    { noun: "feed", opening: openFeed, Class: Feed },
    { noun: "feed of nano", opening: nano.openFeed, Class: nano.Feed },
  ].map((its) => ({
    ...its,
    publisherOf: feedOf,
    otherOf: shardsOf,
    wrong: [{ onProgress: 5 }, { maxAge: "1" }, { maxAge: -1 }, { maxAge: NaN }, { maxBytes: 1n }, { maxBytes: -1 }],
    refused,
    hasAll: async (feed, keys) => feed.filter.hasAll(keys),
  })),
  {
    noun: "sharded filter",
    publisherOf: shardsOf,
    otherOf: feedOf,
    opening: openSharded,
    Class: ShardedFilter,
    wrong: [{ maxMemory: -1 }, { maxMemory: "1" }, { maxMemory: NaN }],
    refused: refusedShards,
    hasAll: async (filter, keys) => (await filter.hasMany(keys)).every((answer) => answer === 1),
  },
];

for (const { noun, publisherOf, otherOf, opening, Class, wrong, refused, hasAll } of kinds) {
  const published = (which = "a") => served(publisherOf(which), opening);

  /** That it answers from this generation, and from the whole of it. */
  const answers = async (opened, generation, which = "a") => {
    assert.equal(opened.generation, generation);
    assert.ok(await hasAll(opened, keysOf(which)), "a false negative");
  };

  test(`a ${noun}: an update of another request of a Worker is not waited for, and given up after a minute`, async (context) => {
    const { publisher, site, open } = await published();
    const opened = await open();
    const requests = workerRequests(context);
    const hung = [];
    site.fault = (_, response, bytes) => hung.push(() => response.end(bytes));
    publisher.publish();
    const lost = opened.update();
    while (hung.length === 0) await turns();

    requests.at = 2;
    const refused = async () => {
      const { message, cause } = await fails("network", opened.update());
      assert.match(message, /ctx\.waitUntil/);
      assert.match(cause.message, /different request/);
    };
    site.fault = undefined;
    site.asked();
    await refused();
    mock.timers.enable({ apis: ["Date"], now: Date.now() + 59_000 });
    context.after(() => mock.timers.reset());
    await refused();
    await answers(opened, 1);
    assert.ok(!site.asked().includes(publisher.path));

    mock.timers.tick(2000);
    publisher.publish();
    assert.equal(await opened.update(), true);
    await answers(opened, 3);
    assert.equal(await opened.update(), false);

    // It goes on after all, and changes nothing.
    requests.at = 1;
    hung.pop()();
    await fails("network", lost);
    requests.at = 2;
    await answers(opened, 3);
    publisher.publish();
    requests.at = 3;
    assert.equal(await opened.update(), true, "one that has ended is in nobody's way");
    await answers(opened, 4);
    opened.close();
  });

  test(`a ${noun}: closes although another request of a Worker has begun an update`, async (context) => {
    const { site, open } = await published();
    const opened = await open();
    const requests = workerRequests(context);
    let hangs = false;
    site.fault = () => (hangs = true);
    opened.update().catch(() => {});
    while (!hangs) await turns();
    requests.at = 2;
    opened.close();
    await fails("freed", opened.update());
  });

  test(`a ${noun}: options of a wrong type`, async () => {
    const { publisher, site } = await published();
    const { publicKey } = publisher.key;
    const keys = [undefined, "", "abc", [], [undefined], [publicKey, 5], 5];
    const spelled = [`${publicKey}=`, `${publicKey}\n`, publicKey.slice(1)];
    // The last bits are unused, and must be 0.
    spelled.push(publicKey.slice(0, -1) + String.fromCharCode(publicKey.charCodeAt(42) + 1));
    const calls = [
      [site.url],
      [site.url, null],
      [site.url, {}],
      ...[...keys, ...spelled].map((publicKey) => [site.url, { publicKey }]),
      ...[publisher.path, "", undefined, null, 5].map((url) => [url, { publicKey }]),
      ...[{ cache: {} }, { cache: 5 }, { fetch: 5 }, { signal: {} }, ...wrong].map((options) => [
        site.url,
        { publicKey, ...options },
      ]),
    ];
    for (const args of calls) await fails("invalid_parameter", opening(...args), JSON.stringify(args.map(String)));
    assert.deepEqual(site.asked(), []);
    const opened = await opening(new URL(site.url), { publicKey, cache: null });
    await fails("invalid_parameter", opened.update({ signal: {} }));
    await fails("invalid_parameter", opened.update({ signal: null }));
    assert.equal(await opened.update(null), false);
    assert.throws(() => new Class(), { code: "invalid_parameter" });
    if (Symbol.dispose) opened[Symbol.dispose]();
    else opened.close();
    await fails("freed", opened.update());
  });

  test(`a ${noun}: ${refused.length} manifests that are refused, each with its code, at the first time and later`, async () => {
    const { publisher, site, open } = await published();
    publisher.publish();
    const cache = memoryCache();
    const opened = await open({ cache });
    await answers(opened, 2);
    const kept = new Map(cache.entries);
    for (const [i, [code, make, what = make.toString()]] of refused.entries()) {
      publisher.manifest = Buffer.from(make(publisher));
      await fails(code, opened.update(), `${i}: ${what}`);
      // Nobody who comes anew can know of another feed, or of a rollback.
      if (!["wrong_feed", "rollback"].includes(code)) await fails(code, open(), `${i}, first: ${what}`);
    }
    await answers(opened, 2);
    assert.deepEqual(cache.entries, kept, "the cache was changed");
    // The other's, which nobody has signed.
    publisher.manifest = manifest(otherOf("a").payload());
    await fails("not_a_feed", open({ publicKey: null }));
    site.fault = (_path, response) => (response.writeHead(500).end(), true);
    await fails("http", open());
    site.fault = undefined;
    publisher.generation = 2;
    publisher.publish();
    assert.equal(await opened.update(), true);
    await answers(opened, 3);
  });

  test(`a ${noun}: unsigned ones that claim one feedId keep apart what they have`, async () => {
    const [one, two] = [await published("a"), await published("b")];
    for (const { publisher } of [one, two]) publisher.signers = [];
    one.publisher.publish();
    Object.assign(two.publisher, { feedId: one.publisher.feedId, generation: 9 }).publish();
    const unsigned = { cache: memoryCache(), publicKey: null };
    const first = await one.open(unsigned);
    await answers(first, 2);
    await answers(await two.open(unsigned), 10, "b");
    await answers(await one.open({ ...unsigned, fetch: noNetwork }), 2);
    one.publisher.publish();
    assert.equal(await first.update(), true);
    assert.equal(first.cacheError, undefined);
    await answers(await one.open({ ...unsigned, fetch: noNetwork }), 3);
    await answers(await two.open({ ...unsigned, fetch: noNetwork }), 10, "b");
    // The hash of a URL makes no other.
    await answers(await opening(`${one.site.url}#part`, { ...unsigned, fetch: noNetwork }), 3);
  });

  test(`a ${noun}: what the cache couldn't keep is put again by the next update, newer or not, online or not`, async () => {
    const { publisher, site, open } = await published();
    const cache = memoryCache();
    for (const end of ["false", "newer", "offline"]) {
      cache.entries.clear();
      cache.fault = (method) => {
        if (method === "put") throw new DOMException("no room", "QuotaExceededError");
      };
      const opened = await open({ cache });
      assert.equal(opened.cacheError.code, "cache");
      await opened.update();
      assert.equal(opened.cacheError.code, "cache");
      cache.fault = undefined;
      site.asked();
      if (end === "newer") publisher.publish();
      if (end === "offline") site.fault = (_, response) => (response.destroy(), true);
      if (end === "offline") await fails("network", opened.update());
      else assert.equal(await opened.update(), end === "newer");
      site.fault = undefined;
      assert.equal(opened.cacheError, undefined);
      assert.deepEqual(site.asked(), [publisher.path]);
      await answers(opened, publisher.generation);
      const again = await open({ cache, fetch: noNetwork });
      await answers(again, publisher.generation);
      again.close();
      opened.close();
    }
  });
}
