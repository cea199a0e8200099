/** What feeds and sharded filters have in common, tested for both: options, manifests and the cache. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { inspect } from "node:util";
import { collectGarbage, fails, hanging, noNetwork, served, turns, workerRequests } from "../helpers/following.mjs";
import { installed } from "../helpers/installed.mjs";
import { refused, refusedShards } from "../helpers/manifests.mjs";
import { keyPair, manifest, memoryCache, Publisher, ShardsPublisher, without } from "../helpers/publisher.mjs";

const { RibbonFilter } = await installed();
const { Feed, ShardedFilter, openFeed, openSharded } = await installed("bloom-wasm/reader");

const keysOf = (which) => Array.from({ length: 1000 }, (_, i) => `${which} key ${i}`);
const feedOf = (which) => new Publisher(RibbonFilter.from(keysOf(which)));
const shardsOf = (which) => new ShardsPublisher(RibbonFilter, 2, keysOf(which));

const kinds = [
  {
    noun: "feed",
    publisherOf: feedOf,
    otherOf: shardsOf,
    opening: openFeed,
    Class: Feed,
    wrong: [{ onProgress: 5 }, { maxAge: "1" }, { maxAge: -1 }, { maxAge: NaN }, { maxBytes: 1n }, { maxBytes: -1 }],
    refused,
    hasAll: async (feed, keys) => feed.filter.hasAll(keys),
  },
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

  /** Asserts that it answers from this generation, and from all of it. */
  const answers = async (opened, generation, which = "a") => {
    assert.equal(opened.generation, generation);
    assert.ok(await hasAll(opened, keysOf(which)), "a false negative");
  };

  test(`a ${noun}: an update of another request of a Worker isn't waited for, and is given up on after a minute`, async (context) => {
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

    // It continues after all, and changes nothing.
    requests.at = 1;
    hung.pop()();
    await fails("network", lost);
    requests.at = 2;
    await answers(opened, 3);
    publisher.publish();
    requests.at = 3;
    assert.equal(await opened.update(), true, "one that has ended is in no one's way");
    await answers(opened, 4);
    opened.close();
  });

  test(`a ${noun}: is closed and forgotten even if another request of a Worker has begun an update`, async (context) => {
    const { site, open } = await published();
    const cache = memoryCache();
    const opened = await open({ cache });
    await opened.update();
    assert.ok(cache.entries.size > 0);
    const requests = workerRequests(context);
    let hangs = false;
    site.fault = () => (hangs = true);
    opened.update().catch(() => {});
    while (!hangs) await turns();
    requests.at = 2;
    await opened.forget();
    assert.equal(cache.entries.size, 0);
    await fails("freed", opened.update());
  });

  test(`a ${noun}: a write that another request of a Worker has begun isn't waited for`, async (context) => {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const opened = await open({ cache });
    await opened.update();
    const requests = workerRequests(context);
    let hung = 0;
    cache.fault = (method) => method === "put" && new Promise(() => hung++);
    publisher.publish();
    opened.update().catch(() => {});
    while (hung === 0) await turns();
    requests.at = 2;
    cache.fault = undefined;
    publisher.publish();
    assert.equal(await opened.update(), true);
    await answers(opened, 3);
    assert.equal(opened.cacheError, undefined);
    assert.equal((await open({ cache, fetch: noNetwork })).generation, 3);
    await opened.forget();
    assert.equal(cache.entries.size, 0);
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
    // Of a feed, a base and a delta.
    if (publisher.delta) publisher.delta();
    else publisher.publish();
    const cache = memoryCache();
    const opened = await open({ cache });
    await answers(opened, 2);
    const kept = new Map(cache.entries);
    for (const [i, [code, make, what = make.toString()]] of refused.entries()) {
      publisher.manifest = Buffer.from(make(publisher));
      await fails(code, opened.update(), `${i}: ${what}`);
      // A new client can't know of another feed, or of a rollback.
      if (!["wrong_feed", "rollback"].includes(code)) await fails(code, open(), `${i}, first: ${what}`);
    }
    await answers(opened, 2);
    assert.deepEqual(cache.entries, kept, "the cache was changed");
    // The other kind's, which isn't signed.
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

  test(`a ${noun}: what a runtime prints of it`, async () => {
    const { publisher, open } = await published();
    const opened = await open();
    const { createdAt, count } = JSON.parse(Buffer.from(JSON.parse(publisher.manifest).payload, "base64url"));
    assert.deepEqual([opened.createdAt, opened.stale, opened.cacheError], [new Date(createdAt), false, undefined]);
    assert.equal(Object.prototype.toString.call(opened), `[object ${Class.name}]`);
    assert.equal(inspect(opened), `${Class.name} { generation: 1, count: ${count}, fpr: 0.001, stale: false }`);
    opened.close();
    assert.equal(inspect(opened), `${Class.name} { generation: 1, count: ${count}, fpr: 0.001, stale: false }`);
  });

  test(`a ${noun}: name, homepage and license are described, and may change`, async () => {
    const { publisher, open } = await published();
    const opened = await open();
    const most = "https://lists.example/".padEnd(255, "a");
    for (const [name, homepage, license] of [
      ["b", "http://lists.example/?a=b#c~", "MIT OR Apache-2.0"],
      ["ä".repeat(127), most, "ä".repeat(127)],
      [undefined, undefined, undefined],
      ["", "https://a", ""],
    ]) {
      publisher.publish({ name, homepage, license });
      assert.equal(await opened.update(), true);
      for (const info of [opened.info(), (await open()).info()]) {
        const said = [info.name, info.homepage, info.license];
        assert.deepEqual(said, [name ?? null, homepage ?? null, license ?? null]);
      }
    }
  });

  test(`a ${noun}: unsigned ones that claim the same feedId don't mix their files`, async () => {
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
    // A URL's fragment makes no difference.
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
      // After a reset, once more.
      assert.deepEqual(site.asked(), Array(end === "offline" ? 2 : 1).fill(publisher.path));
      await answers(opened, publisher.generation);
      const again = await open({ cache, fetch: noNetwork });
      await answers(again, publisher.generation);
      again.close();
      opened.close();
    }
  });

  /** A cache that has generation 3, and a host that has gone back to generation 2, which hasn't expired. */
  const rolledBack = async () => {
    const { publisher, site, open } = await published();
    publisher.publish({ createdAt: Date.now() - 30 * 60_000 });
    const first = publisher.manifest;
    publisher.publish();
    const [cache, fetch, third] = [memoryCache(), without(publisher), publisher.manifest];
    const ahead = await open({ cache, fetch });
    assert.equal(ahead.generation, 3);
    ahead.close();
    publisher.manifest = first;
    return { publisher, site, cache, first, third, open: (options) => open({ cache, fetch, ...options }) };
  };

  for (const how of ["throws", "never answers"])
    test(`a ${noun}: a cache that ${how} isn't taken for one without a floor`, async (context) => {
      const { hang, patiently } = hanging(context);
      const fault = () => (how === "throws" ? assert.fail("the cache fails") : hang());
      for (let failing = 1; failing <= 12; failing++) {
        const { cache, open } = await rolledBack();
        let left = failing;
        cache.fault = (method) => method === "get" && left-- > 0 && fault();
        const opened = await patiently(open());
        const isTold = () => opened.generation === 3 || opened.cacheError?.code === "cache";
        assert.ok(isTold(), `${failing}: generation ${opened.generation}, ${opened.cacheError}`);
        // It is read in step 1, and once more before step 5.
        if (how === "throws" && failing < 3) assert.equal(opened.generation, 3);
        await patiently(opened.update().catch(() => {}));
        assert.ok(isTold(), `${failing}, updated: generation ${opened.generation}, ${opened.cacheError}`);
        // Now it works, even if an earlier call is still unanswered.
        left = 0;
        await patiently(opened.update().catch(({ code }) => assert.equal(code, "rollback")));
        await answers(opened, 3);
        assert.equal(opened.cacheError, undefined, failing);
        opened.close();
        await answers(await open({ fetch: noNetwork }), 3);
      }
    });

  test(`a ${noun}: the cache's newer generation is put in place even if the host is down`, async () => {
    const { cache, publisher, open } = await rolledBack();
    cache.fault = (method) => method === "get" && assert.fail("the cache fails");
    let isDown = false;
    const opened = await open({ fetch: (url) => (isDown ? noNetwork() : without(publisher)(url)) });
    await answers(opened, 2);
    [isDown, cache.fault] = [true, undefined];
    await fails("network", opened.update());
    await answers(opened, 3);
    assert.equal(opened.cacheError, undefined);
  });

  test(`a ${noun}: one found while the cache is unreadable gives way to the one that the cache is bound to`, async () => {
    const { cache, publisher, third, open } = await rolledBack();
    const { feedId } = publisher;
    publisher.feedId = "0".repeat(32);
    publisher.generation = 8;
    publisher.publish();
    cache.fault = (method) => method === "get" && assert.fail("the cache fails");
    const opened = await open();
    assert.equal(opened.info().feedId, "0".repeat(32));
    assert.equal(opened.cacheError.code, "cache");
    cache.fault = undefined;
    await fails("wrong_feed", opened.update());
    assert.equal(opened.info().feedId, feedId);
    await answers(opened, 3);
    publisher.manifest = third;
    assert.equal(await opened.update(), false);
    assert.equal(opened.cacheError, undefined);
  });

  test(`a ${noun}: what the cache said of the floor holds, even if it fails after that`, async () => {
    for (const calls of [2, 3, 4]) {
      const { cache, open } = await rolledBack();
      let left = calls;
      cache.fault = () => left-- > 0 || assert.fail("the cache fails");
      // A feed needs its files, too; a sharded filter only its manifest.
      const opened = await open().catch(({ code }) => assert.equal(code, "rollback"));
      if (opened) await assert.doesNotReject(answers(opened, 3));
    }
  });

  test(`a ${noun}: while the floor is open, another URL's cached feed isn't put in place`, async () => {
    const [one, two] = [await published("a"), await published("b")];
    const { key, signers } = one.publisher;
    Object.assign(two.publisher, { key, signers, feedId: "b".repeat(32), generation: 8 }).publish();
    const cache = memoryCache();
    await two.open({ cache });
    cache.fault = (method) => method === "get" && assert.fail("the cache fails");
    let host = one.publisher;
    // The files of both are there all the time.
    const fetch = async (url) => {
      const response = await without(host)(url);
      return response.ok ? response : without(one.publisher)(url);
    };
    const opened = await one.open({ cache, fetch });
    host = two.publisher;
    // It answers once the floor of the host's feed is looked up.
    let left = 1;
    cache.fault = (method) => method === "get" && left-- > 0 && assert.fail("the cache fails");
    await fails("wrong_feed", opened.update());
    await answers(opened, 1);
    await fails("wrong_feed", opened.update());
    await answers(opened, 1);
  });

  test(`a ${noun}: one that was swapped while the cache failed is replaced by the right one, whatever the cache lacks`, async () => {
    const [right, wrong] = [await published("a"), await published("b")];
    const { key, signers } = right.publisher;
    Object.assign(wrong.publisher, { key, signers, feedId: "b".repeat(32) }).publish();
    const cache = memoryCache();
    let host = right.publisher;
    const open = () => right.open({ cache, fetch: (url) => without(host)(url) });
    await open();
    host = wrong.publisher;
    cache.fault = (method) => method === "get" && assert.fail("the cache fails");
    const opened = await open();
    await answers(opened, 2, "b");
    for (const name of cache.entries.keys()) if (/^(base|page|shard)-/.test(name)) cache.entries.delete(name);
    cache.fault = undefined;
    host = right.publisher;
    right.publisher.publish();
    await opened.update();
    await answers(opened, 2);
    await opened.update();
    assert.equal(opened.cacheError, undefined);
  });

  test(`a ${noun}: the time that a cache takes doesn't count as the host's`, async (context) => {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const opened = await open({ cache, timeout: 8000, fetch: without(publisher) });
    publisher.publish();
    const { hang, patiently } = hanging(context);
    cache.fault = (method) => method === "get" && hang();
    assert.equal(await patiently(opened.update()), true);
    await answers(opened, 2);
    assert.equal(opened.cacheError.code, "cache");
  });

  test(`a ${noun}: forgets even if a call of the cache is still unanswered`, async (context) => {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const opened = await open({ cache, fetch: without(publisher) });
    await opened.update();
    const { hang, patiently } = hanging(context);
    let left = 1;
    cache.fault = (method) => method === "get" && left-- > 0 && hang();
    await patiently(opened.update());
    await patiently(opened.forget());
    assert.deepEqual([...cache.entries.keys()], []);
  });

  test(`a ${noun}: forgets what it can if the cache can't read the head`, async () => {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const opened = await open({ cache, fetch: without(publisher) });
    await opened.update();
    cache.fault = (method, name) => {
      if (method === "get" && name.startsWith("head-")) throw new Error("torn");
    };
    // Without its head, nobody knows how many shards there are.
    if (noun === "feed") await opened.forget();
    else await fails("cache", opened.forget());
    cache.fault = undefined;
    await opened.forget();
    assert.deepEqual([...cache.entries.keys()], []);
  });

  test(`a ${noun}: a cache that was emptied has the floor again after the next update`, async () => {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const opened = await open({ cache, fetch: without(publisher) });
    const first = publisher.manifest;
    publisher.publish();
    assert.equal(await opened.update(), true);
    assert.equal(await opened.update(), false);
    cache.entries.clear();
    assert.equal(await opened.update(), false);
    assert.equal(opened.cacheError, undefined);
    opened.close();
    publisher.manifest = first;
    const again = await open({ cache, fetch: without(publisher) });
    assert.equal(again.generation, 2);
    again.close();
  });

  test(`a ${noun}: a clock that was set back doesn't keep an abandoned update alive`, async (context) => {
    const { site, open } = await published();
    const opened = await open({ cache: null });
    const requests = workerRequests(context);
    let hangs = false;
    site.fault = () => (hangs = true);
    opened.update().catch(() => {});
    while (!hangs) await turns();
    site.fault = undefined;
    requests.at = 2;
    await fails("network", opened.update());
    const now = Date.now();
    context.mock.method(Date, "now", () => now - 86_400_000);
    assert.equal(await opened.update(), false);
    opened.close();
  });

  test(`a ${noun}: closing leaves cacheError as it is`, async () => {
    const { cache, open } = await rolledBack();
    cache.fault = () => assert.fail("the cache fails");
    const opened = await open();
    const held = [];
    cache.fault = async (_, name) => {
      if (name.startsWith("head-")) await new Promise((resolve) => held.push(resolve));
      assert.fail("the cache fails");
    };
    opened.update().catch(() => {});
    while (held.length === 0) await turns();
    opened.close();
    for (const goOn of held) goOn();
    await turns();
    assert.equal(opened.cacheError.code, "cache");
  });

  test(`a ${noun}: a cache that returns stale data keeps its newest manifest`, async () => {
    for (const stale of [
      [0, 2],
      [0, 1, 3],
    ]) {
      const { publisher, open } = await published();
      const [cache, fetch] = [memoryCache(), without(publisher)];
      const opened = await open({ cache, fetch });
      await opened.update();
      const [name, first] = [...cache.entries].find(([name]) => name.startsWith("head-"));
      publisher.publish();
      publisher.publish();
      const third = publisher.manifest;
      publisher.publish();
      await (await open({ cache, fetch })).update();
      const fourth = cache.entries.get(name);
      publisher.manifest = third;
      let reads = 0;
      const get = cache.get.bind(cache);
      cache.get = async (its) => (its === name && stale.includes(reads++) ? first : get(its));
      await opened.update().catch(({ code }) => assert.equal(code, "rollback"));
      assert.deepEqual(cache.entries.get(name), fourth);
    }
  });

  test(`a ${noun}: a cache that has another head each time that it is read is given up on`, async () => {
    const { publisher, open } = await published();
    const [cache, fetch] = [memoryCache(), without(publisher)];
    const heads = [];
    for (let i = 0; i < 2; i++) {
      const opened = await open({ cache, fetch });
      await opened.update();
      opened.close();
      heads.push([...cache.entries].find(([name]) => name.startsWith("head-")));
      publisher.publish();
    }
    for (const name of cache.entries.keys()) if (name.startsWith("base-")) cache.entries.delete(name);
    let reads = 0;
    const get = cache.get.bind(cache);
    cache.get = async (name) => (name === heads[0][0] ? heads[reads++ % 2][1] : get(name));
    const opened = await open({ cache, fetch });
    await opened.update();
    await answers(opened, 3);
    assert.equal(opened.cacheError.code, "cache");
  });

  test(`a ${noun}: Cache Storage is the default; it is opened anew each time, and may fail or be forbidden`, async (context) => {
    const { publisher, open } = await published();
    const fetch = without(publisher);
    // As in browsers: a Cache that was deleted goes on in memory, and no later one has anything of it.
    let entries = new Map();
    const works = async (name) => {
      assert.equal(name, "bloom-wasm");
      const mine = entries;
      return {
        match: async (url) => mine.get(url)?.clone(),
        put: async (url, response) => void mine.set(url, response),
        delete: async (url) => mine.delete(url),
      };
    };
    let opening;
    context.after(() => delete globalThis.caches);
    globalThis.caches = { open: (...args) => opening(...args) };
    const started = (its = fetch) => open({ cache: undefined, fetch: its });

    // Once it fails, and then it works.
    let left = 1;
    opening = async (name) => (left-- > 0 ? assert.fail("not now") : works(name));
    const opened = await started();
    await opened.update();
    assert.equal(opened.cacheError, undefined);
    assert.ok(entries.size > 0);
    for (const [url, response] of entries) {
      assert.match(url, /^https:\/\/bloom-wasm\.invalid\/[a-z0-9.-]+$/);
      assert.equal(response.headers.get("cache-control"), "max-age=31536000");
    }
    // It is emptied under the client.
    entries = new Map();
    publisher.publish();
    assert.equal(await opened.update(), true);
    assert.equal(opened.cacheError, undefined);
    assert.equal((await started(noNetwork)).generation, 2);

    // It never works, or never answers.
    opening = async () => assert.fail("never");
    const lost = await started();
    assert.match(lost.cacheError.message, /never/);
    const { hang, patiently } = hanging(context);
    opening = hang;
    const hung = await patiently(started());
    await answers(hung, 2);
    assert.equal(hung.cacheError.code, "cache");
    opening = works;
    for (const its of [lost, hung]) {
      await patiently(its.update());
      assert.equal(its.cacheError, undefined);
    }
    // A page without access to storage has none.
    mock.timers.reset();
    const forbidden = () => {
      throw new DOMException("insecure", "SecurityError");
    };
    opening = async () => forbidden();
    assert.equal((await started()).cacheError, undefined);
    for (const value of [{ get: forbidden }, { value: undefined }]) {
      Object.defineProperty(globalThis, "caches", { ...value, configurable: true });
      assert.equal((await started()).cacheError, undefined);
    }
  });

  test(`a ${noun}: a store that returns anything but bytes isn't empty`, async () => {
    const { publisher, open } = await published();
    const fetch = without(publisher);
    for (const other of [new ArrayBuffer(8), "text", false, 0, {}]) {
      const cache = { ...memoryCache(), get: async () => other };
      const { cacheError } = await open({ cache, fetch });
      assert.equal(cacheError?.code, "cache", String(other));
      assert.match(cacheError.message, /what it returns must be a Uint8Array, not/);
    }
    for (const nothing of [null, undefined]) {
      const cache = { ...memoryCache(), get: async () => nothing };
      assert.equal((await open({ cache, fetch })).cacheError, undefined);
    }
  });

  test(`a ${noun}: a method that is called on something else says so`, async () => {
    const { open } = await published();
    const opened = await open();
    const { update, close, forget } = opened;
    for (const call of [update, forget]) await fails("invalid_parameter", call());
    await fails("invalid_parameter", new Proxy(opened, {}).update());
    const wrong = { name: "FilterError", code: "invalid_parameter" };
    assert.throws(() => close(), wrong);
    for (const copy of [new Proxy(opened, {}), Object.create(opened), Object.create(Class.prototype)])
      assert.throws(() => copy.generation, wrong);
    assert.throws(() => opened.info.call({}), wrong);
    if (noun === "feed") assert.throws(() => new Proxy(opened, {}).filter, wrong);
    else await assert.rejects(Promise.all(["a key 1"].map(opened.has)), wrong);
    await answers(opened, 1);
  });

  test(`a ${noun}: forget with the keys in use removes nothing`, async () => {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const opened = await open({ cache, fetch: without(publisher) });
    await opened.update();
    const before = new Map(cache.entries);
    await fails("invalid_parameter", opened.forget({ publicKey: publisher.key.publicKey }));
    assert.deepEqual(cache.entries, before);
    await answers(opened, 1);
  });

  test(`a ${noun}: no message shows the user or the query of a URL`, async () => {
    const { open, publisher, site } = await published();
    const url = `${site.url.replace("://", "://somebody:secret@")}?token=secret`;
    const from = (fetch, options) =>
      opening(url, { publicKey: publisher.key.publicKey, cache: null, fetch, ...options });
    const answer =
      (bytes, status = 200) =>
      async () =>
        new Response(bytes, { status });
    for (const [code, fetch, options] of [
      ["network", noNetwork],
      ["http", answer("", 404)],
      ["not_a_feed", answer("<html>")],
      ["too_large", answer(new Uint8Array(2 ** 21 + 1))],
      ["signature", answer(manifest(publisher.payload(), [keyPair()], publisher.header))],
      ["truncated", async () => new Response("{}", { headers: { "content-length": "5" } })],
      ["network", () => new Promise(() => {}), { timeout: 1 }],
    ]) {
      const { message } = await fails(code, from(fetch, options), code);
      assert.ok(message.startsWith(site.url) && !message.includes("secret"), message);
    }
    // Nor does one about another file than the manifest.
    const other = new TextEncoder().encode("another file".repeat(1e5));
    for (const bytes of [other.subarray(0, 12), other]) {
      const fetch = async (url) => new Response(url.includes(".json") ? publisher.manifest : bytes);
      const asked = from(fetch).then((opened) => opened.has("key"));
      const { message } = await fails("integrity", asked, "integrity");
      assert.ok(message.startsWith(site.address) && !message.includes("secret"), message);
    }
    await answers(await open(), 1);
  });

  test(`a ${noun}: the reason why a cached generation didn't open is reported if the host doesn't answer`, async (context) => {
    const { open } = await published();
    const cache = memoryCache();
    await open({ cache });
    const offline = { cache, fetch: noNetwork };
    const { message } = await fails("wrong_secret", open({ ...offline, secret: new Uint8Array(16) }));
    assert.match(message, /offline/);
    if (noun !== "sharded filter") await fails("too_large", open({ ...offline, maxBytes: 10 }));
    cache.fault = () => assert.fail("the cache fails");
    assert.match((await fails("network", open(offline))).message, /the cache could not be read: the cache fails/);
    cache.fault = undefined;
    const { verify } = crypto.subtle;
    context.after(() => (crypto.subtle.verify = verify));
    crypto.subtle.verify = () => Promise.reject(new TypeError("injected"));
    await assert.rejects(open({ cache }), { name: "TypeError", message: "injected" });
  });

  test(`a ${noun}: a host that hangs is abandoned after the timeout, whatever is garbage-collected meanwhile`, {
    timeout: 60_000,
  }, async () => {
    const { publisher, site, open } = await published();
    for (const timeout of [0, -1, NaN, "1", null]) await fails("invalid_parameter", open({ timeout }), String(timeout));
    const { signal } = new AbortController();
    const late = async (promise) => {
      let isSettled = false;
      const settled = () => (isSettled = true);
      promise.then(settled, settled);
      while (!isSettled) {
        collectGarbage();
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
      const { message } = await fails("network", promise);
      assert.match(message, /longer than 100 ms/);
    };
    // From the cache, because on a busy machine the host may take longer.
    const cache = memoryCache();
    (await open({ cache })).close();
    const opened = await open({ cache, timeout: 100 });
    await opened.update().catch(({ code }) => assert.equal(code, "network")); // the one in the background
    site.fault = () => true;
    await late(open({ timeout: 100, signal }));
    await late(opened.update());
    await late(opened.update({ signal }));
    if (noun === "sharded filter") await late(opened.has("a key 1"));
    site.fault = undefined;
    publisher.publish();
    // In the end it succeeds, however busy the machine is.
    const got = async () => {
      await opened.update();
      await answers(opened, 2);
      return true;
    };
    while (!(await got().catch(({ code, stack }) => assert.equal(code, "network", stack))));
  });
}
