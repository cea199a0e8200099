/** Tabs that share a cache: the slower one never sets it back. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import {
  answers,
  bases,
  basesIn,
  floorOf,
  gate,
  namesakeOf,
  older,
  published,
  RibbonFilter,
  tab,
} from "../helpers/feeds.mjs";
import { fails, noNetwork, tens, turns } from "../helpers/following.mjs";
import { memoryCache, webLocks, without } from "../helpers/publisher.mjs";

test("another tab is ahead: its generation is taken from the cache, and its cache isn't set back", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const [one, two] = [await open({ cache }), await open({ cache })];
  await two.update();
  publisher.delta("second");
  const second = older(publisher);
  publisher.delta("third");
  await one.update();
  const newer = publisher.manifest;
  publisher.manifest = second;
  site.asked();
  await fails("rollback", two.update());
  answers(two, 3, { name: "third" });
  publisher.manifest = newer;
  assert.equal(await two.update(), false);
  assert.deepEqual(site.asked(), ["feed.json", "feed.json"]);
});

test("a generation that another tab stores in between leaves nothing behind in the cache", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const views = [tab(cache), tab(cache)];
  const fetch = without(publisher);
  const [one, two] = await Promise.all(views.map((view) => open({ cache: view, fetch })));
  await one.update();
  await two.update();
  /** Holds the first put of a name with this beginning. */
  const held = (view, kind) => {
    const [reached, goOn] = [gate(), gate()];
    view.fault = (method, name) => {
      if (method !== "put" || !name.startsWith(kind)) return undefined;
      reached.open();
      return goOn.opened;
    };
    return { reached: reached.opened, goOn };
  };
  publisher.base(RibbonFilter.from(["between"]));
  const slow = held(views[1], "base-");
  const second = two.update();
  await slow.reached;
  publisher.base(bases.b);
  const slower = held(views[0], "base-");
  const third = one.update();
  await slower.reached;
  slow.goOn.open();
  await second;
  two.close();
  slower.goOn.open();
  await third;
  for (const view of views) view.fault = undefined;
  answers(one, 3, { which: "b" });
  assert.ok(cache.entries.size <= 3);
  await one.forget();
  assert.equal(cache.entries.size, 0);
});

/** Runs with `navigator.locks` as given. */
async function withLocks(locks, run) {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  try {
    return await run();
  } finally {
    if (before) Object.defineProperty(globalThis, "navigator", before);
    else delete globalThis.navigator;
  }
}

for (const fails of [false, true]) {
  test(`a tab whose put is slow${fails ? " and fails" : ""} doesn't set back what another has stored meanwhile`, async () => {
    for (const start of ["empty", "filled"]) {
      for (let n = 0; ; n++) {
        const { publisher, open } = await published();
        const cache = memoryCache();
        const slow = tab(cache);
        if (start === "filled") await open({ cache: slow });
        publisher.base(bases.b).delta("slow");
        const [hung, goOn] = [gate(), gate()];
        let puts = 0;
        // While the manifest itself is being put, only a lock helps: that is the next test.
        slow.fault = async (method, name) => {
          if (method !== "put" || name.startsWith("head-") || puts++ !== n) return;
          hung.open();
          await goOn.opened;
          if (fails) throw new DOMException("no room", "QuotaExceededError");
        };
        const one = open({ cache: slow }).then(async (feed) => {
          if (start === "filled") await feed.update(); // the one in the background
          return feed;
        });
        const ended = Symbol();
        if ((await Promise.race([hung.opened, one.then(() => ended)])) === ended) {
          assert.ok(n >= 1, "nothing was put");
          break;
        }
        publisher.base(bases.a).delta("ahead");
        const two = await open({ cache });
        await two.update();
        assert.equal(floorOf(cache), publisher.generation);
        goOn.open();
        await one;
        assert.equal(floorOf(cache), publisher.generation, `${start}, put ${n}`);
        // Without a lock, a base that is put late may have replaced the one that the head names. Then the host has it.
        const next = await open({ cache, ...(fails && { fetch: noNetwork }) });
        answers(next, publisher.generation, { name: "ahead" });
        assert.ok(cache.entries.size <= 3, [...cache.entries.keys()].join());
        // The slow one has its own generation, and continues from there.
        assert.equal((await one).cacheError, undefined);
        publisher.delta("after");
        assert.equal(await (await one).update(), true);
        assert.equal(floorOf(cache), publisher.generation);
      }
    }
  });
}

test("a base and a head are put under a lock, which is held for nothing else", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const locks = webLocks();
  const [under, outside] = [[], []];
  cache.fault = (method, name) => void (locks.held.size > 0 ? under : outside).push(`${method} ${name.split("-")[0]}`);
  await withLocks(locks, async () => {
    const fetched = (...args) => (assert.equal(locks.held.size, 0), fetch(...args));
    const feed = await open({ cache, fetch: fetched });
    publisher.base(bases.b).delta("second");
    under.length = 0;
    assert.equal(await feed.update(), true);
    assert.ok(under.includes("put head") && under.filter((call) => call === "put base").length === 1, under.join());
    assert.ok(
      outside.every((call) => call.startsWith("get")),
      outside.join(),
    );
    assert.equal(feed.cacheError, undefined);
  });
});

test("the lock is held until a put that was given up on has ended", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const slow = tab(cache);
  const fetch = without(publisher);
  await withLocks(webLocks(), async () => {
    const [one, two] = [await open({ cache: slow, fetch }), await open({ cache, fetch })];
    await Promise.all([one.update(), two.update()]);
    publisher.delta("slow");
    const [hung, goOn] = [gate(), gate()];
    slow.fault = async (method) => {
      if (method !== "put") return;
      hung.open();
      await goOn.opened;
    };
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const tick = (milliseconds) => mock.timers.tick(milliseconds);
      const updating = one.update();
      await hung.opened;
      assert.equal(await tens(updating, tick), 1);
      assert.match(one.cacheError.message, /doesn't answer/);
      publisher.delta("ahead");
      await tens(two.update(), tick);
      assert.match(two.cacheError.message, /lock/);
      // It takes effect, but not after a newer one.
      goOn.open();
      await turns();
    } finally {
      mock.timers.reset();
    }
    assert.equal(floorOf(cache), 2);
    slow.fault = undefined;
    assert.equal(await two.update(), false);
    assert.equal(await one.update(), true);
    assert.equal(floorOf(cache), 3);
    assert.deepEqual([one.cacheError, two.cacheError], [undefined, undefined]);
  });
});

test("a start reads the head once more if another tab has replaced the base meanwhile", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const two = await open({ cache });
  await two.update();
  publisher.base(bases.b).delta("third");
  const view = tab(cache);
  let heads = 0;
  view.fault = async (method, name) => {
    if (method !== "get") return;
    if (name.startsWith("head-")) heads++;
    else if (heads === 1) await two.update();
  };
  answers(await open({ cache: view, fetch: noNetwork }), 3, { name: "third", which: "b" });
  // One whose base is gone is read once more, and no more often.
  for (const name of basesIn(cache)) cache.entries.delete(name);
  const asked = [];
  view.fault = async (method, name) => void asked.push(`${method} ${name.split("-")[0]}`);
  await fails("network", open({ cache: view, fetch: noNetwork }));
  const once = ["get head", "get base", "get base"];
  const read = [...once, ...once];
  assert.deepEqual(asked, [...read, ...read]);
});

test("a tab isn't turned to another feed that a second tab has found after the cache was emptied", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const one = await open({ cache });
  await one.update();
  cache.entries.clear();
  site.publisher = namesakeOf(publisher, { feedId: "b".repeat(32) });
  answers(await open({ cache }), 10, { which: "b" });
  await fails("wrong_feed", one.update());
  answers(one, 1);
  assert.match(one.cacheError.message, /another tab has found the feed b{32}/);
  assert.equal(floorOf(cache), 10);
});

test("a lock that isn't free within five seconds is a cacheError, until the next update", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const locks = webLocks();
  await withLocks(locks, async () => {
    const feed = await open({ cache, fetch: without(publisher) });
    publisher.delta("second");
    const taken = gate();
    const { request } = locks;
    let name;
    locks.request = (its, ...args) => ((name = its), request(its, ...args));
    await feed.update();
    publisher.delta("third");
    const holding = request(name, { signal: new AbortController().signal }, () => taken.opened);
    const waiting = new Promise((resolve) => {
      locks.request = (...args) => (resolve(), request(...args));
    });
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const updating = feed.update();
      await waiting;
      mock.timers.tick(4999);
      await turns();
      assert.equal(feed.cacheError, undefined);
      mock.timers.tick(1);
      assert.equal(await updating, true);
    } finally {
      mock.timers.reset();
    }
    answers(feed, 3, { name: "third" });
    assert.equal(feed.cacheError.code, "cache");
    assert.match(feed.cacheError.cause.message, /lock/);
    assert.equal(floorOf(cache), 2);
    taken.open();
    await holding;
    assert.equal(await feed.update(), false);
    assert.equal(feed.cacheError, undefined);
    assert.equal(floorOf(cache), 3);
  });
  // A page with an opaque origin has locks that it may not use.
  const request = () => Promise.reject(new DOMException("not here", "SecurityError"));
  await withLocks({ request }, async () => {
    const feed = await open({ cache });
    publisher.delta("fourth");
    assert.equal(await feed.update(), true);
    assert.equal(feed.cacheError, undefined);
    assert.equal(floorOf(cache), 4);
  });
});
