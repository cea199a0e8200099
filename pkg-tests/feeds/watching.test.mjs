/** Feeds that are watched: at their pace, slower after failures, until they are stopped. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mock, test } from "node:test";
import { bases, during, HOUR, openFeed, published } from "../helpers/feeds.mjs";
import { fails } from "../helpers/following.mjs";
import { folder, printed } from "../helpers/installed.mjs";
import { Publisher } from "../helpers/publisher.mjs";

test("the interval of watching", async () => {
  const { open } = await published();
  const feed = await open();
  assert.throws(() => feed.watch(), { code: "invalid_parameter" });
  for (const every of [undefined, "5s", null, "5000", 999, Infinity, NaN])
    assert.throws(() => feed.watch({ every }), { code: "invalid_parameter" });
  assert.throws(() => feed.watch({ every: 5000, onUpdate: 5 }), { code: "invalid_parameter" });
});

/** A feed without a network, so that its timers can be mocked. */
async function watched() {
  const publisher = new Publisher(bases.a);
  const site = { down: false, asked: 0 };
  const fetch = async (url) => {
    if (url.endsWith("feed.json")) site.asked++;
    if (site.down) throw new TypeError("offline");
    return new Response(url.endsWith("feed.json") ? publisher.manifest : publisher.files.get(url.split("/").at(-1)));
  };
  // Unsigned, because signatures are checked in another thread.
  const feed = await openFeed("https://lists.example/feed.json", { publicKey: null, cache: null, fetch });
  site.asked = 0;
  /** Waits until everything that has begun is done: only promises, in few turns. */
  const settled = async () => {
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { publisher, site, feed, settled };
}

test("watching: at its pace, with jitter, slower after failures, until it is stopped", async () => {
  const { publisher, site, feed, settled } = await watched();
  const random = mock.method(Math, "random", () => 0.5);
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const seen = [];
    const errors = [];
    const stop = feed.watch({
      every: 10_000,
      onUpdate: (its) => seen.push(its.generation),
      onError: (error) => errors.push(error.code),
    });
    const pass = async (milliseconds) => (mock.timers.tick(milliseconds), settled());
    publisher.delta();
    await pass(9_999);
    assert.equal(site.asked, 0);
    await pass(1);
    assert.equal(site.asked, 1);
    assert.deepEqual(seen, [2]);
    await pass(10_000);
    assert.deepEqual([site.asked, seen], [2, [2]]);
    // Updates by others are reported, too.
    publisher.delta();
    await feed.update();
    await settled();
    assert.deepEqual(seen, [2, 3]);
    site.down = true;
    await pass(10_000);
    assert.deepEqual(errors, ["network"]);
    for (const wait of [20_000, 40_000, 80_000, 80_000]) {
      const before = errors.length;
      await pass(wait - 1);
      assert.equal(errors.length, before, `before ${wait}`);
      await pass(1);
      assert.equal(errors.length, before + 1, `after ${wait}`);
    }
    site.down = false;
    await pass(80_000);
    const { asked } = site;
    await pass(10_000);
    assert.equal(site.asked, asked + 1);
    stop();
    stop();
    publisher.delta();
    await pass(1e6);
    assert.equal(site.asked, asked + 1);
    // Between 9 and 11 seconds.
    for (const [value, wait] of [
      [0, 9_000],
      [0.999_999_9, 11_000],
    ]) {
      random.mock.mockImplementation(() => value);
      const { asked } = site;
      const stop = feed.watch({ every: 10_000 });
      await pass(wait - 1);
      assert.equal(site.asked, asked, `${value}`);
      await pass(1);
      assert.equal(site.asked, asked + 1, `${value}`);
      stop();
    }
    // Longer than a timer can be.
    const before = site.asked;
    feed.watch({ every: 1e15 });
    await pass(2 ** 31 - 2);
    assert.equal(site.asked, before);
    feed.close();
    await pass(1e9);
    assert.equal(site.asked, before);
  } finally {
    mock.timers.reset();
    random.mock.restore();
  }
});

test("one that is stopped hears and does nothing more; one that begins during an update hears of its failure", async () => {
  const { publisher, site, feed, settled } = await watched();
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const heard = [];
    const every = 10_000;
    const stops = [
      feed.watch({ every, onUpdate: () => stops.forEach((stop) => stop()) }),
      feed.watch({ every, onUpdate: () => heard.push("stopped") }),
    ];
    publisher.delta();
    mock.timers.tick(11_000);
    await settled();
    assert.equal(feed.generation, 2);
    const { asked } = site;
    mock.timers.tick(1e6);
    await settled();
    assert.equal(site.asked, asked);
    site.down = true;
    feed.update().catch(() => {});
    feed.watch({ every, onError: ({ code }) => heard.push(code) });
    await settled();
    assert.deepEqual(heard, ["network"]);
    feed.close();
  } finally {
    mock.timers.reset();
  }
});

test("errors of callbacks are reported as uncaught, and watching continues", async () => {
  const source = `
    import { openFeed } from "bloom-wasm/reader";
    import { readFileSync } from "node:fs";
    const [publicKey, ...manifests] = JSON.parse(readFileSync("watched.json"));
    const base = readFileSync("watched.bloom");
    let next = 0;
    const fetch = async (url) => {
      if (url.endsWith("feed.json") && next === manifests.length) throw new TypeError("offline");
      return new Response(url.endsWith("feed.json") ? manifests[next++] : base);
    };
    const feed = await openFeed("https://lists.example/feed.json", { publicKey, cache: null, fetch });
    let run;
    globalThis.setTimeout = (its) => ((run = its), { unref() {} });
    process.on("uncaughtException", (error) => console.log("uncaught", error.message));
    feed.watch({
      every: 1000,
      onUpdate: ({ generation }) => { throw new Error("update " + generation); },
      onError: ({ code }) => { throw new Error(code); },
    });
    for (let i = 0; i < 3; i++) {
      await run();
      await new Promise((resolve) => setImmediate(resolve));
    }
    console.log(feed.generation);
  `;
  const publisher = new Publisher(bases.a);
  const manifests = [1, 2, 3].map(() => String(publisher.publish().manifest));
  writeFileSync(join(folder, "watched.json"), JSON.stringify([publisher.key.publicKey, ...manifests]));
  writeFileSync(join(folder, "watched.bloom"), bases.a.toBytes());
  assert.equal(printed(source), "uncaught update 3\nuncaught update 4\nuncaught network\n4\n");
});

test("watching alone doesn't keep a program running", () => {
  const publisher = new Publisher(bases.a);
  writeFileSync(join(folder, "ends.json"), JSON.stringify([publisher.key.publicKey, String(publisher.manifest)]));
  writeFileSync(join(folder, "ends.bloom"), bases.a.toBytes());
  const source = `
    import { openFeed } from "bloom-wasm/reader";
    import { readFileSync } from "node:fs";
    const [publicKey, manifest] = JSON.parse(readFileSync("ends.json"));
    const base = readFileSync("ends.bloom");
    const fetch = async (url) => new Response(url.endsWith("feed.json") ? manifest : base);
    const feed = await openFeed("https://lists.example/feed.json", { publicKey, cache: null, fetch });
    feed.watch({ every: 600_000 });
    console.log("watching");
  `;
  const options = { cwd: folder, encoding: "utf8", timeout: 60_000 };
  assert.equal(execFileSync(process.execPath, ["--input-type=module", "-e", source], options), "watching\n");
});

test("update with `every` waits longer and longer for a host that fails, and says why", async () => {
  const { publisher, site, feed } = await watched();
  const now = Date.now();
  const at = (minutes, run) => during(now + minutes * 60_000, run);
  const every = 30 * 60_000;
  for (const wrong of [0, 999, "1000", NaN, Infinity, null])
    await fails("invalid_parameter", feed.update({ every: wrong }), String(wrong));
  publisher.publish({ expires: now + 100 * HOUR });
  await at(0, () => feed.update({ every }));
  site.down = true;
  let error;
  const asked = [];
  // An alarm every half hour, a little early or late.
  for (let alarm = 1; alarm <= 30; alarm++) {
    const before = site.asked;
    const told = await at(30 * alarm + (alarm % 3) - 1, () => fails("network", feed.update({ every })));
    if (site.asked > before) asked.push(alarm);
    else assert.equal(told, error);
    error = told;
  }
  assert.deepEqual(asked, [1, 3, 7, 15, 23]);
  // Without an interval, every call asks the host.
  site.down = false;
  const { asked: sofar } = site;
  publisher.publish({ expires: now + 100 * HOUR });
  assert.equal(await at(901, () => feed.update()), true);
  assert.equal(site.asked, sofar + 1);
  assert.equal(await at(902, () => feed.update({ every })), false);
  // A clock that was set back must not hold anything up. Any time before that of the failure will do.
  site.down = true;
  await at(903, () => fails("network", feed.update({ every })));
  site.down = false;
  assert.equal(await at(-5000, () => feed.update({ every })), false);
  feed.close();
});
