/**
 * Feeds under chaos: six clients, three for each of two origins, share one cache, while the hosts publish or roll back,
 * and everything fails now and then. Both origins claim the same feedId, and one client of each checks no signature. A
 * client's cache throws, hangs, answers late, or fails for a while. `ROUNDS=10000` makes the test longer, and `SEED=N`
 * repeats its random choices.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, mock, test } from "node:test";
import { installed } from "../helpers/installed.mjs";
import { keyPair, manifest, memoryCache, sha256, ToolPublisher, webLocks } from "../helpers/publisher.mjs";
import { given } from "../helpers/turn.mjs";

const { FilterError, openFeed } = await installed("bloom-wasm/reader");
const ROUNDS = given("ROUNDS", 500);
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 32);

/** Random numbers from 0 to 1: mulberry32. */
let state = SEED;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
const below = (n) => Math.floor(random() * n);
/** Whether something with this probability happens now. */
const chance = (share) => random() < share && !isQuiet;
let isQuiet = false;

/** Lets others run, a few times. */
async function turns(n) {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
}

const FEED_ID = "f".repeat(32);

const work = mkdtempSync(join(tmpdir(), "bloom-wasm-chaos-"));
after(() => rmSync(work, { recursive: true, force: true }));

/** A feed whose list changes, at a host that may serve any of its last manifests. */
class Host {
  publisher = new ToolPublisher(work);
  live = Array.from({ length: 1000 }, (_, i) => `host-${i}.example`);
  made = this.live.length;
  /** By generation: the manifest, its files, and the keys of all hosts on the list, as lines. */
  generations = [undefined];

  key = keyPair();

  constructor(name) {
    this.url = `https://${name}.example/feed.json`;
    this.publish();
  }

  publish() {
    for (let i = 1 + below(30); i > 0; i--) this.live.splice(below(this.live.length), 1);
    while (this.live.length < 1000) this.live.push(`host-${this.made++}.example`);
    this.publisher.publish(...this.live);
    const payload = JSON.parse(Buffer.from(JSON.parse(this.publisher.manifest).payload, "base64url"));
    payload.feedId = FEED_ID;
    // The tool's own number is the clock's.
    payload.generation = this.generations.length;
    // Up to two generations back may be an edge that lags behind; more are a rollback.
    payload.createdAt = payload.generation * 4 * 60_000;
    const lines = Buffer.from(this.live.map((host) => `${host}/\n`).join(""));
    this.generations.push({ source: manifest(payload, [this.key]), files: payload.files, lines });
  }

  get newest() {
    return this.generations.length - 1;
  }
}

/** What the cache of all clients has. No manifest in it may ever go back, or be removed. */
const store = memoryCache();
const floors = new Map();
/** How often each name was removed. */
const removals = new Map();
const generationOf = (bytes) => JSON.parse(Buffer.from(JSON.parse(Buffer.from(bytes)).payload, "base64url")).generation;
store.fault = (method, name) => {
  if (method === "delete" && name.startsWith("head-")) wrong ??= "a floor was removed";
};

/** The first violation that a cache or a host has seen. If thrown there, it would only be one more fault. */
let wrong;

/** How often everything happened. */
const counts = {};
const happened = (what) => void (counts[what] = (counts[what] ?? 0) + 1);

/** Functions that end hanging calls of a cache that are to be answered late. */
const late = new Set();
/** How many calls have begun to hang since the clock last advanced. */
let hung = 0;
const clients = [];
/** The clients' tabs that are open. */
const tabs = new Set();

/** Lets ten seconds pass whenever a cache hangs. Other cache calls during that time take too long, too. */
async function clock(isOver) {
  mock.timers.enable({ apis: ["setTimeout"] });
  while (!isOver()) {
    await turns(50);
    for (const tab of hung > 0 ? tabs : []) if (tab.asked > 0) tab.isBlind = true;
    if (hung > 0) mock.timers.tick(10_000);
    hung = 0;
    if (chance(0.2)) answerLate();
  }
  mock.timers.reset();
}

function answerLate() {
  for (const answer of late) answer();
  late.clear();
}

class Client {
  fetched = 0;

  constructor(host, key) {
    this.host = host;
    this.publicKey = key;
    this.begin();
  }

  /** A new tab. If the tab before was killed, none of its calls have an effect any more. */
  begin() {
    this.feed = undefined;
    tabs.delete(this.tab);
    this.tab = { isKilled: false, isOut: false, asked: 0, files: new Map(), allowed: 0, fetched: 0, isBlind: false };
    tabs.add(this.tab);
    /** The highest generation that this tab had, or that was there when it began. */
    this.floor = 0;
  }

  /** The cache as this tab sees it: slow, and failing now and then. */
  cache(tab = this.tab) {
    const fails = async (method, share) => {
      await turns(below(4));
      if (tab.isKilled) throw new Error("killed");
      if (!chance(share) && !tab.isOut) return;
      tab.isBlind = true;
      const how = ["failed", "failed", "was late", "hung"][below(method === "get" ? 4 : 3)];
      happened(`${method} ${how}`);
      if (how === "failed") throw new Error("the cache fails");
      hung++;
      // What never answers isn't waited for.
      if (how === "hung") tab.asked--;
      await new Promise((resolve) => how === "was late" && late.add(resolve));
    };
    /** Counts a call until it is answered. */
    const asked = async (call) => {
      tab.asked++;
      try {
        return await call();
      } finally {
        tab.asked--;
      }
    };
    const get = async (name) => {
      await fails("get", 0.01);
      return store.get(name);
    };
    const put = async (name, own) => {
      if (chance(0.3)) await turns(below(300));
      await fails("put", 0.04);
      if (name.startsWith("head-")) {
        const generation = generationOf(own);
        const floor = floors.get(name) ?? 0;
        if (generation < floor) wrong ??= `the floor goes back from ${floor} to ${generation}`;
        floors.set(name, generation);
      }
      await store.put(name, own);
    };
    const remove = async (name) => {
      await fails("delete", 0.02);
      removals.set(name, (removals.get(name) ?? 0) + 1);
      for (const client of clients) client.lost(name);
      return store.delete(name);
    };
    return {
      get: (name) => asked(() => get(name)),
      put: (name, bytes) => {
        const own = bytes.slice();
        return asked(() => put(name, own));
      },
      delete: (name) => asked(() => remove(name)),
    };
  }

  /** The host as this tab sees it. Counts the files that arrive complete and correct. */
  fetch(tab = this.tab) {
    return async (url, { signal }) => {
      const path = url.split("/").at(-1);
      const { host } = this;
      await turns(below(6));
      signal.throwIfAborted();
      const fault = chance(0.25) ? ["down", "missing", "cut", "short", "damaged", "hangs"][below(6)] : undefined;
      if (fault) happened(fault);
      if (fault === "down") throw new TypeError("fetch failed");
      if (fault === "missing") return new Response("no", { status: [404, 503][below(2)] });
      if (fault === "hangs") {
        await turns(100);
        throw new TypeError("timed out");
      }
      const isManifest = path === "feed.json";
      let bytes;
      if (isManifest) {
        // An edge may lag behind, or the host rolls back.
        const generation =
          host.replayed ?? Math.max(1, host.newest - (chance(0.4) ? below(chance(0.3) ? host.newest : 4) : 0));
        bytes = host.generations[generation].source;
        if (!fault) this.told(tab, host.generations[generation]);
      } else {
        bytes = host.publisher.files.get(path);
        // It was there when the tab learned of it, and still is.
        const wasThere = tab.files.get(path)?.there === (removals.get(this.name("file", path)) ?? 0);
        if (wasThere && !tab.isBlind) wrong ??= "a file was fetched that the cache has";
      }
      let sent = new Uint8Array(bytes);
      // The byte is no longer ASCII, so no manifest is valid: with other changes, an unsigned one could be.
      if (fault === "damaged") sent[below(sent.length)] ^= 0x80;
      if (fault === "short") sent = sent.subarray(0, below(sent.length));
      const ends = fault === "cut" ? below(sent.length) : sent.length;
      const size = 1 + below(sent.length);
      let at = 0;
      const body = new ReadableStream(
        {
          pull: async (controller) => {
            await turns(below(3));
            if (at < ends) return controller.enqueue(sent.slice(at, (at = Math.min(at + size, ends))));
            if (fault === "cut") return controller.error(new TypeError("terminated"));
            controller.close();
            if (isManifest || fault) return;
            assert.equal(sha256(sent), path);
            tab.fetched += sent.length;
            if (!tab.isBlind) this.fetched += sent.length;
            happened("files");
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body);
    };
  }

  /**
   * Called when a tab turns to a generation. It may fetch each of its files once, except those that it could fetch for
   * the previous one.
   */
  told(tab, { files }) {
    for (const { sha256, bytes } of files) if (!tab.files.has(sha256)) tab.allowed += bytes;
    const there = (name) => (store.entries.has(name) ? (removals.get(name) ?? 0) : undefined);
    tab.files = new Map(files.map(({ sha256, bytes }) => [sha256, { bytes, there: there(this.name("file", sha256)) }]));
  }

  /** Called when a name is removed from the cache: this tab may need the file once more. */
  lost(name) {
    for (const [sha256, { bytes }] of this.tab.files) if (this.name("file", sha256) === name) this.tab.allowed += bytes;
  }

  /** Opens the feed, updates it, or closes it. */
  async act() {
    const { tab, host } = this;
    if (this.feed && chance(0.1)) {
      tab.isKilled = random() < 0.5;
      happened(tab.isKilled ? "killed" : "closed");
      this.feed.close();
      this.begin();
      return;
    }
    if (chance(0.15)) tab.isOut = !tab.isOut;
    const stop = new AbortController();
    if (chance(0.15)) turns(1 + below(60)).then(() => stop.abort());
    const { signal } = stop;
    try {
      if (this.feed) await this.feed.update({ signal });
      else {
        const options = { publicKey: this.publicKey, cache: this.cache(), fetch: this.fetch(), signal };
        this.floor = floors.get(this.name("manifest")) ?? 0;
        this.feed = await openFeed(host.url, options);
        happened("opened");
      }
      happened("updated");
    } catch (error) {
      const isExpected = error === signal.reason || error instanceof FilterError;
      if (!isExpected || error.code === "wrong_feed") throw error;
      happened(error === signal.reason ? "aborted" : error.code);
      if (!this.feed) this.begin();
    }
    this.check();
  }

  /** A name in the cache. FEED-FORMAT.md has it. */
  name(kind, ...of) {
    return `${kind}-${sha256([kind, FEED_ID, ...of, this.publicKey ?? this.host.url].join("\n"))}`;
  }

  /** Once the cache works, one update is enough to get everything that this tab ever had, whatever the host does. */
  async heals() {
    if (!this.feed) return;
    const replayed = this.host.replayed !== undefined;
    await this.feed.update().catch((error) => {
      if (!replayed || error.code !== "rollback") throw error;
    });
    this.check();
    const { generation, cacheError } = this.feed;
    if (!replayed) {
      assert.equal(generation, this.host.newest);
      assert.equal(cacheError, undefined);
    } else if (this.isWhole) {
      assert.ok(generation >= this.floor, `generation ${generation} after ${this.floor}, although the cache works`);
      assert.equal(cacheError, undefined);
    } else happened("a file was lost");
  }

  /** Whether the cache has all files of its generation. A tab that begins an older one may have removed some. */
  get isWhole() {
    const { files } = this.host.generations[floors.get(this.name("manifest"))];
    return files.every(({ sha256 }) => store.entries.has(this.name("file", sha256)));
  }

  check() {
    const { feed, tab, host } = this;
    assert.equal(wrong, undefined);
    assert.ok(
      tab.isBlind || tab.fetched <= tab.allowed,
      `${tab.fetched} bytes were fetched, of ${tab.allowed} that were needed`,
    );
    if (!feed) return;
    const { generation, cacheError } = feed;
    if (generation < this.floor) happened("below the floor");
    assert.ok(
      generation >= this.floor || cacheError,
      `generation ${generation} after ${this.floor}, and nobody is told`,
    );
    assert.ok(cacheError === undefined || cacheError.code === "cache");
    this.floor = Math.max(this.floor, generation);
    const answers = feed.filter.hasLines(host.generations[feed.generation].lines);
    assert.ok(
      answers.every((answer) => answer === 1),
      `a member of generation ${feed.generation} is denied`,
    );
  }
}

test(`feeds under chaos, ${ROUNDS} rounds`, { timeout: 7_200_000 }, async () => {
  const hosts = [new Host("one"), new Host("two")];
  for (const host of hosts)
    for (const key of [host.key.publicKey, host.key.publicKey, null]) clients.push(new Client(host, key));
  Object.defineProperty(globalThis, "navigator", { value: { locks: webLocks() }, configurable: true });
  let failed = false;
  let isOver = false;
  const ticking = clock(() => isOver);
  try {
    // Each at its own pace, and all end at the first error.
    const live = async (client, i) => {
      for (let round = 0; round < 50 && !failed; round++) {
        // Several at once, so that tabs at different edges move on to different ones.
        for (let n = i === 0 && chance(0.1) ? 3 : 0; n > 0; n--) for (const host of hosts) host.publish();
        await client.act();
      }
    };
    const fail = (error) => {
      failed = true;
      throw error;
    };
    for (let rounds = 0; rounds < ROUNDS; rounds += 50) {
      await Promise.all(clients.map((client, i) => live(client, i).catch(fail)));
      // First only the caches are well again, then the hosts, too.
      isQuiet = true;
      for (const tab of tabs) tab.isOut = false;
      answerLate();
      for (let still = 0; still < 50; still++) {
        await turns(20);
        // A client may still be verifying a signature, in another thread.
        await crypto.subtle.digest("SHA-256", new Uint8Array(1));
        if ([...tabs].some(({ asked }) => asked > 0)) still = 0;
      }
      for (const host of hosts) host.replayed = 1 + below(host.newest);
      for (const client of clients) await client.heals();
      for (const host of hosts) host.replayed = undefined;
      for (const client of clients) await client.heals();
      isQuiet = false;
    }
    // All is well again.
    isQuiet = true;
    await Promise.all(clients.map((client) => client.act()));
    for (const client of clients) await client.feed.update();
    for (const { feed, host } of clients) {
      assert.equal(feed.generation, host.newest);
      assert.equal(feed.cacheError, undefined);
    }
    for (const client of clients) {
      const { host, fetched } = client;
      client.feed.close();
      client.begin();
      const fetch = () => Promise.reject(new TypeError("offline"));
      client.feed = await openFeed(host.url, { publicKey: client.publicKey, cache: client.cache(), fetch });
      assert.equal(client.feed.generation, host.newest);
      client.check();
      // All generations as a whole, and the largest once more.
      const weights = host.generations.slice(1).map(({ files }) => files.reduce((sum, { bytes }) => sum + bytes, 0));
      const most = weights.reduce((sum, bytes) => sum + bytes, Math.max(...weights));
      assert.ok(fetched <= most, `${fetched} bytes, of generations that weigh ${most}`);
    }
    const published = hosts.map(({ newest }) => newest).join(" and ");
    console.log(`chaos: ${published} generations; seed ${SEED}; ${JSON.stringify(counts)}`);
    const often = ["killed", "closed", "rollback", "put failed", "get failed", "get hung", "get was late", "damaged"];
    // A few times in 500 rounds, so that chance may leave one out.
    const seldom = ["put was late", "delete was late", "delete failed", "below the floor"];
    for (const what of ROUNDS < 5000 ? often : [...often, ...seldom]) assert.ok(counts[what] > 0, `never: ${what}`);
  } catch (error) {
    console.log(`chaos: SEED=${SEED}`);
    throw error;
  } finally {
    isOver = true;
    await ticking;
    delete globalThis.navigator;
  }
});
