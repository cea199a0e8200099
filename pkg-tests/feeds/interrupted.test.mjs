/** Feeds: aborts, closings, hosts that hang or lack a file, and clients that end and start over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, bases, basesIn, openFeed, published } from "../helpers/feeds.mjs";
import { fails, noNetwork } from "../helpers/following.mjs";
import { memoryCache } from "../helpers/publisher.mjs";
import { given } from "../helpers/turn.mjs";

test("simultaneous updates are one; each caller's signal ends its own wait, and the last one's also the transfer", async () => {
  const { publisher, site, open } = await published();
  const feed = await open();
  publisher.delta("second");
  site.asked();
  assert.deepEqual(await Promise.all([feed.update(), feed.update(), feed.update()]), [true, true, true]);
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[1].sha256]);

  publisher.delta("third");
  const reason = new Error("enough");
  await assert.rejects(feed.update({ signal: AbortSignal.abort(reason) }), reason);
  assert.deepEqual(site.asked(), []);
  let closed;
  const hang = () =>
    new Promise((asked) => {
      site.fault = (path, response) => {
        if (path !== publisher.listed.at(-1).sha256) return false;
        closed = new Promise((done) => response.on("close", done));
        response.writeHead(200).write("x", asked);
        return true;
      };
    });
  const stops = [new AbortController(), new AbortController()];
  let asked = hang();
  const both = stops.map(({ signal }) => feed.update({ signal }));
  await asked;
  const first = new Error("the first has enough");
  stops[0].abort(first);
  await assert.rejects(both[0], first);
  stops[1].abort(reason);
  // Not with the other's.
  await assert.rejects(both[1], reason);
  await closed;
  answers(feed, 2, { name: "second" });
  // A later caller starts over.
  site.fault = undefined;
  assert.equal(await feed.update(), true);
  answers(feed, 3, { name: "third" });

  publisher.delta("fourth");
  asked = hang();
  const updating = feed.update();
  await asked;
  feed.close();
  await fails("freed", updating);
  await closed;
  answers(feed, 3, { name: "third" });
});

test("a cache that has lost another tab's base doesn't make an update forget what it has fetched", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const feed = await open({ cache });
  await feed.update();
  publisher.base(bases.b);
  await (await open({ cache })).update(); // another tab
  for (const name of basesIn(cache)) cache.entries.delete(name);
  publisher.base(bases.a).delta("first").delta("second");
  const last = publisher.listed.at(-1).sha256;
  site.fault = (path, response) => path === last && response.writeHead(503).end();
  await fails("http", feed.update());
  site.asked();
  await fails("http", feed.update());
  assert.deepEqual(site.asked(), ["feed.json", last]);
});

/** A publisher for all further tests. */
let stage;

/**
 * Opens or updates a feed of two new files, and calls `strike` at the n-th of all its steps: fetches, chunks, and calls
 * of the cache. Returns whether there were `n` steps.
 */
async function struck(n, { opening, strike }) {
  stage ??= published();
  const { publisher, site } = await stage;
  publisher.base(bases.a).delta("before");
  const cache = memoryCache();
  let steps = -1;
  let feed;
  const stop = new AbortController();
  const reason = new Error("enough");
  const step = () => {
    if (steps >= 0 && steps++ === n) strike({ feed, stop, reason });
  };
  cache.fault = step;
  const fetch = async (url, options) => {
    step();
    const response = await globalThis.fetch(url, options);
    step();
    const through = new TransformStream({
      transform(chunk, controller) {
        step();
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(through));
  };
  const { publicKey } = publisher.key;
  const open = (signal) => openFeed(site.url, { publicKey, cache, fetch, signal });
  if (!opening) {
    feed = await open();
    publisher.base(bases.b).delta("after");
  }
  steps = 0;
  const result = await (opening ? open(stop.signal) : feed.update({ signal: stop.signal })).catch((error) => error);
  const reached = steps > n;
  steps = -1;
  return { publisher, cache, feed: opening ? undefined : feed, result, reached, reason, open };
}

// At every `EVERY`th step; with 1, at all of them.
const EVERY = given("EVERY", 2);

test("an abort at every step leaves one complete generation, and the next update succeeds", async () => {
  let ended = 0;
  for (let n = 0; ; n += EVERY) {
    const { publisher, cache, feed, result, reached, reason, open } = await struck(n, {
      strike: ({ stop, reason }) => stop.abort(reason),
    });
    if (!reached) break;
    assert.ok(result === reason, `step ${n}: ${result?.stack ?? result}`);
    const { name } = feed.filter.info();
    if (name === "before") answers(feed, publisher.generation - 2, { which: "a" });
    else answers(feed, publisher.generation, { name: "after", which: "b" });
    assert.equal(await feed.update(), name === "before");
    answers(feed, publisher.generation, { name: "after", which: "b" });
    assert.ok(cache.entries.size <= 3);
    assert.equal((await open()).filter.info().name, "after");
    ended++;
  }
  assert.ok(ended > 15 / EVERY, `only ${ended} steps`);
  ended = 0;
  for (let n = EVERY - 1; ; n += EVERY) {
    const { result, reached, reason, open } = await struck(n, {
      opening: true,
      strike: ({ stop, reason }) => stop.abort(reason),
    });
    if (!reached) break;
    assert.ok(result === reason, `step ${n} of opening: ${result?.stack ?? result}`);
    assert.equal((await open()).filter.info().name, "before");
    ended++;
  }
  assert.ok(ended > 15 / EVERY, `only ${ended} steps`);
});

test("closing at every step: the filter keeps answering", async () => {
  let freed = 0;
  let whole = 0;
  for (let n = EVERY - 1; ; n += EVERY) {
    const { publisher, feed, result, reached, open } = await struck(n, { strike: ({ feed }) => feed.close() });
    if (!reached) break;
    const { name } = feed.filter.info();
    if (result === true) answers(feed, publisher.generation, { name: "after", which: "b" });
    else {
      assert.equal(result.code, "freed", result.stack);
      answers(feed, publisher.generation - 2, { name: "before", which: "a" });
    }
    if (result === true) whole++;
    else freed++;
    await fails("freed", feed.update());
    assert.throws(() => feed.watch({ every: 1000 }), { code: "freed" });
    feed.close();
    answers(feed, feed.generation, { name, which: name === "after" ? "b" : "a" });
    assert.equal(feed.info().generation, feed.generation);
    const next = await open();
    await next.update();
    assert.equal(next.filter.info().name, "after");
  }
  assert.ok(freed > 10 / EVERY && whole > 3 / EVERY, `${freed} and ${whole}`);
});

test("a fetch or a cache that hangs is abandoned", async () => {
  const { open } = await published();
  const reason = new Error("enough");
  const never = () => new Promise(() => {});
  const cache = memoryCache();
  cache.fault = (method) => (method === "get" ? never() : undefined);
  for (const options of [{ fetch: never }, { cache }]) {
    const stop = new AbortController();
    const opening = open({ ...options, signal: stop.signal });
    setImmediate(() => stop.abort(reason));
    await assert.rejects(opening, reason);
  }
  // The next update doesn't wait for them.
  for (const hanging of ["head-", /^[0-9a-f]{64}$/, "feed.json"]) {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const hung = new Promise((resolve) => {
      cache.hang = (name) => {
        if (!name.match(hanging)) return undefined;
        setImmediate(resolve);
        return never();
      };
    });
    let hangs = false;
    cache.fault = (method, name) => (hangs && method === "get" ? cache.hang(name) : undefined);
    const fetch = (url, options) =>
      (hangs ? cache.hang(url.split("/").at(-1)) : undefined) ?? globalThis.fetch(url, options);
    const feed = await open({ cache, fetch });
    await feed.update();
    publisher.delta("after");
    hangs = true;
    const stop = new AbortController();
    const updating = feed.update({ signal: stop.signal });
    await hung;
    stop.abort(reason);
    await assert.rejects(updating, reason);
    hangs = false;
    assert.equal(await feed.update(), true);
    answers(feed, 2, { name: "after" });
  }
});

test("one delta that can't be fetched: all other files are fetched once, with a cache or without, across restarts", async () => {
  for (const kind of ["no cache", "cache", "restarts"]) {
    const { publisher, site, open } = await published();
    const cache = kind === "no cache" ? null : memoryCache();
    let feed = await open({ cache });
    publisher.base(bases.b).delta("second").delta("third");
    const [base, second, third] = publisher.listed.map(({ sha256 }) => sha256);
    site.fault = (path, response) => path === third && (response.writeHead(404).end(), true);
    site.asked();
    for (let i = 0; i < 3; i++) {
      if (kind === "restarts") {
        feed.close();
        feed = await open({ cache });
      }
      await fails("http", feed.update());
      answers(feed, 1);
      const asked = site.asked();
      // A restart loses the deltas, not the base.
      const again = kind === "restarts" ? [second, third] : [third];
      assert.deepEqual(asked, ["feed.json", ...(i === 0 ? [base, second, third] : again)], kind);
    }
    // The host publishes the next generation.
    site.fault = undefined;
    publisher.delta("fourth", 1);
    assert.equal(await feed.update(), true);
    answers(feed, 5, { name: "fourth", which: "b" });
    assert.deepEqual(site.asked(), ["feed.json", publisher.listed[2].sha256], kind);
    assert.equal(feed.cacheError, undefined);
    feed.close();
    if (!cache) continue;
    assert.equal(cache.entries.size, 2);
    const offline = await open({ cache, fetch: noNetwork });
    answers(offline, 5, { name: "fourth", which: "b" });
  }
});

test("the timeout is for all files of an update together", async () => {
  const { publisher, open } = await published();
  publisher.delta("second");
  const fetch = async (url, options) => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    return globalThis.fetch(url, options);
  };
  // Each of the three takes less, but all together take more, however busy the machine is.
  await fails("network", open({ fetch, timeout: 1000 }));
});

test("each file whose connection was reset is asked for once more, the manifest too", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const paths = ["feed.json", ...publisher.listed.map(({ sha256 }) => sha256)];
  const faults = new Set(paths);
  site.fault = (path, response) => faults.delete(path) && (response.destroy(), true);
  answers(await open(), 2, { name: "second" });
  assert.deepEqual(
    site.asked(),
    paths.flatMap((path) => [path, path]),
  );
});

test("callers who give up don't count as failures of the host", async () => {
  const { publisher, site, open } = await published();
  const feed = await open();
  publisher.delta("second");
  site.fault = () => true;
  const stop = new AbortController();
  const update = feed.update({ signal: stop.signal });
  stop.abort(new Error("left the page"));
  await assert.rejects(update, /left the page/);
  site.fault = undefined;
  await assert.rejects(feed.update({ every: 3_600_000, signal: AbortSignal.abort(new Error("mine")) }), /mine/);
  assert.equal(await feed.update({ every: 3_600_000 }), true);
  answers(feed, 2, { name: "second" });
  await fails("invalid_parameter", openFeed(site.url, Promise.resolve({ publicKey: null })));
});
