/**
 * Feeds under chaos: six clients, three for each of two origins, share one cache, while the hosts publish or roll back,
 * and everything fails now and then. Both origins claim the same feedId, and one client of each checks no signature. Some
 * clients come with a copy of a generation. A client's cache throws, hangs, answers late, loses entries, returns old ones, or fails for a while. Clients are judged
 * by the generations that they had, by their answers and by what they fetched. `ROUNDS=10000` makes the test longer, and
 * `SEED=N` repeats its random choices.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, mock, test } from "node:test";
import { installed } from "../helpers/installed.mjs";
import { keyPair, manifest, sha256, ToolPublisher, webLocks } from "../helpers/publisher.mjs";
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

/** What the cache of all clients has, and what it had before the last write of each name. */
const store = new Map();
const before = new Map();

/** The generation of a head. */
function generationOf(bytes) {
  const { payload } = JSON.parse(Buffer.from(bytes).subarray(5, 5 + Buffer.from(bytes).readUInt32LE(1)));
  return JSON.parse(Buffer.from(payload, "base64url")).generation;
}

/** Whether tabs have Web Locks. Without them, two that write at once may set the cache back, or damage it. */
let hasLocks;

/** The first violation that a host has seen. If thrown there, it would only be one more fault. */
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
  /** How many bases its tabs have fetched, as far as their caches worked. */
  bases = 0;

  constructor(host, key) {
    this.host = host;
    this.publicKey = key;
    this.begin();
  }

  /** A new tab. If the tab before was killed, none of its calls have an effect any more. */
  begin() {
    this.feed = undefined;
    tabs.delete(this.tab);
    this.tab = { isKilled: false, isOut: false, asked: 0, found: 0, files: new Set(), isBlind: false };
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
      if (chance(0.003) && before.has(name)) {
        happened("an old entry");
        // For the next tab that would be a floor.
        [tab.isBlind, this.floor] = [true, this.feed?.generation ?? 0];
        return before.get(name);
      }
      if (chance(0.003) && store.delete(name)) {
        happened("a lost entry");
        for (const client of clients) {
          client.tab.isBlind = true;
          client.floor = client.feed?.generation ?? 0;
        }
      }
      return store.get(name);
    };
    const put = async (name, own) => {
      if (chance(0.3)) await turns(below(300));
      await fails("put", 0.04);
      const old = store.get(name);
      if (old) before.set(name, old);
      const isBack = old && name.startsWith("head-") && generationOf(own) < generationOf(old);
      if (isBack) happened("set back");
      if (isBack && hasLocks && !tab.isBlind) wrong ??= "the cache was set back";
      store.set(name, own);
    };
    const remove = async (name) => {
      await fails("delete", 0.02);
      if (name.startsWith("head-")) wrong ??= "a head was removed";
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

  /** The host as this tab sees it. No file may arrive twice as a whole, unless the tab has begun another generation. */
  fetch(tab = this.tab) {
    return async (url, { signal }) => {
      const path = url.split("/").at(-1);
      const { host } = this;
      const [, packaged] = /^https:\/\/app\.example\/(\d+)\//.exec(url) ?? [];
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
      if (packaged) {
        bytes = isManifest ? host.generations[packaged].source : host.publisher.files.get(path);
      } else if (isManifest) {
        // An edge may lag behind, or the host rolls back.
        const generation =
          host.replayed ?? Math.max(1, host.newest - (chance(0.4) ? below(chance(0.3) ? host.newest : 4) : 0));
        bytes = host.generations[generation].source;
        if (!fault && tab.found !== generation) [tab.found, tab.files] = [generation, new Set()];
      } else {
        bytes = host.publisher.files.get(path);
        if (tab.files.has(path) && !tab.isBlind) wrong ??= "a file was fetched twice";
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
            if (isManifest || fault || packaged) return;
            assert.equal(sha256(sent), path);
            tab.files.add(path);
            const isBase = host.generations.some((its) => its?.files[0].sha256 === path);
            if (isBase && !tab.isBlind) this.bases++;
            happened(isBase ? "bases" : "deltas");
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body);
    };
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
        const head = store.get(this.name("head"));
        this.floor = head && hasLocks ? generationOf(head) : 0;
        const packaged = chance(0.3) ? `https://app.example/${1 + below(host.newest)}/feed.json` : undefined;
        this.feed = await openFeed(host.url, packaged ? { ...options, packaged } : options);
        happened(packaged ? "opened with a package" : "opened");
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
    const keys = this.publicKey === null ? [] : [this.publicKey];
    return `${kind}-${sha256([kind, ...of, this.host.url, ...keys].join("\n"))}`;
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
    } else if (cacheError === undefined) {
      assert.ok(generation >= this.floor, `generation ${generation} after ${this.floor}, although the cache works`);
    } else {
      // Only if the head's base is gone.
      assert.match(cacheError.message, /the cache lacks a file/);
      happened("a base is gone");
    }
  }

  check() {
    const { feed, host } = this;
    assert.equal(wrong, undefined);
    if (!feed) return;
    const { generation, cacheError } = feed;
    if (generation < this.floor) happened("below the floor");
    assert.ok(
      generation >= this.floor || cacheError,
      `generation ${generation} after ${this.floor}, and nobody is told`,
    );
    assert.ok(cacheError === undefined || cacheError.code === "cache");
    if (feed.packagedError) happened(`packaged: ${feed.packagedError.code}`);
    this.floor = Math.max(this.floor, generation);
    const answers = feed.filter.hasLines(host.generations[feed.generation].lines);
    assert.ok(
      answers.every((answer) => answer === 1),
      `a member of generation ${feed.generation} is denied`,
    );
  }
}

for (const locks of [true, false])
  test(`feeds under chaos, ${ROUNDS} rounds, ${locks ? "with" : "without"} locks`, { timeout: 7_200_000 }, () =>
    chaos(locks),
  );

async function chaos(locks) {
  hasLocks = locks;
  isQuiet = false;
  wrong = undefined;
  for (const what of Object.keys(counts)) delete counts[what];
  for (const its of [store, before, tabs, late]) its.clear();
  clients.length = 0;
  const hosts = [new Host("one"), new Host("two")];
  for (const host of hosts)
    for (const key of [host.key.publicKey, host.key.publicKey, null]) clients.push(new Client(host, key));
  if (locks) Object.defineProperty(globalThis, "navigator", { value: { locks: webLocks() }, configurable: true });
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
      const { host } = client;
      client.feed.close();
      client.begin();
      const fetch = () => Promise.reject(new TypeError("offline"));
      const options = { publicKey: client.publicKey, cache: client.cache(), fetch };
      client.feed = await openFeed(host.url, options).catch((error) => {
        if (locks) throw error;
        happened("no filter offline");
      });
      if (client.feed) assert.equal(client.feed.generation, host.newest);
      client.check();
      const made = new Set(host.generations.slice(1).map(({ files }) => files[0].sha256)).size;
      assert.ok(client.bases <= made, `${client.bases} bases were fetched, of ${made}`);
    }
    const published = hosts.map(({ newest }) => newest).join(" and ");
    console.log(`chaos: ${published} generations; seed ${SEED}; ${JSON.stringify(counts)}`);
    const often = [
      "opened with a package",
      "killed",
      "closed",
      "rollback",
      "put failed",
      "get failed",
      "get was late",
      "damaged",
    ];
    // A few times in 500 rounds, so that chance may leave one out.
    const seldom = ["put was late", "delete was late", "delete failed"];
    // Without locks, nobody knows the floor of a tab that begins.
    if (locks) seldom.push("below the floor");
    for (const what of ROUNDS < 5000 ? often : [...often, ...seldom]) assert.ok(counts[what] > 0, `never: ${what}`);
  } catch (error) {
    console.log(`chaos: SEED=${SEED}`);
    throw error;
  } finally {
    isOver = true;
    await ticking;
    delete globalThis.navigator;
  }
}
