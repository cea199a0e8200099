/**
 * A feed for months: the tool publishes a list that changes, and a client that follows it answers like a new one.
 * `KEYS=1000000 node --test pkg-tests/feeds/months.long.test.mjs` takes a longer list. Prints what a client fetches. The
 * list of URLs is one of hosts at first, and then gets pages, of other shapes each day.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { below, entry, random } from "../helpers/below.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { installed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";

const { openFeed, RibbonFilter, urlExpressions } = await installed();
const KEYS = given("KEYS", 10_000);
/** How long the feed is followed that is published each hour. */
const DAYS = given("DAYS", 5);
const FPR = 1e-3;
/** When the first list is published. By the clients' clock, nothing has expired yet. */
const BEGUN = Date.UTC(2099, 0, 1);
const tool = (cwd, ...args) => execFileSync(nativeTool(), args, { cwd, encoding: "utf8" });

const lines = (keys) => Buffer.from([...keys].map((key) => `${key}\n`).join(""));
const sum = (bytes) => bytes.reduce((total, byte) => total + byte, 0);

/** For each profile, the entries of its lists, their keys, and questions to be answered with yes or with no. */
const PROFILES = {
  raw() {
    let made = 0;
    return {
      take: (count) => Array.from({ length: count }, () => `host-${made++}.example`),
      key: (entry) => entry,
      stranger: (i) => `stranger-${i}.invalid`,
    };
  },
  url() {
    const next = random(1);
    let made = 0;
    const one = (slots) => {
      const its = entry(made++, slots, next);
      return { ...its, key: urlExpressions(its.host + its.path + its.query)[0] };
    };
    return {
      publishing: { "allow-suffixes": true },
      // The slots of hosts of two and of three labels, and later two others each day.
      take: (count, day) => {
        const slots = day === 0 ? [0, 0, 6] : [0, (7 * day) % 30, (11 * day + 5) % 30];
        return Array.from({ length: count }, () => one(slots));
      },
      key: ({ key }) => key,
      opened: (its) => below(its, next),
      stranger: (i) => `http://www.stranger-${i}.invalid/a/b/?c`,
    };
  },
};

/** Publishes `publishes` times, each time adding and removing a given number of keys. */
async function follow({ profile = "raw", publishes, perDay, changed }) {
  const { publishing, take, key, opened, stranger } = PROFILES[profile]();
  const work = mkdtempSync(join(tmpdir(), "bloom-wasm-months-"));
  tool(work, "feed", "keygen", "-o", "key");
  const publicKey = createPublicKey(readFileSync(join(work, "key"))).export({ format: "jwk" }).x;

  writeFeed(work, { profile, fpr: FPR, sign: ["key"], ...publishing, lists: { list: "list" } });

  const live = take(KEYS, 0);
  let added = live;
  const removed = new Set();
  const next = random(2);
  const count = Math.min(200_000, 2 * KEYS);
  const nonmembers = Array.from({ length: count }, (_, i) => stranger(i));
  /** How many of these a filter finds: keys, or URLs of a list of URLs. */
  const ask = (filter, questions) =>
    profile === "url" ? questions.map((url) => Number(filter.hasUrl(url))) : [...filter.hasLines(lines(questions))];
  const mean = (answers) => sum(answers) / answers.length;

  let fetched = 0;
  const fetch = async (url) => {
    const bytes = readFileSync(join(work, "public", basename(String(url))));
    fetched += bytes.length;
    return new Response(bytes);
  };
  const open = () => openFeed("https://feed.invalid/feed.json", { publicKey, fetch, cache: null });
  const full = publishes * RibbonFilter.from(live.map(key), { fpr: FPR, profile }).toBytes().length;
  const report = { full, deepest: 0, worstFpr: 0, oftenest: 0 };
  let follower;
  for (let publish = 0; publish <= publishes; publish++) {
    writeFileSync(join(work, "list"), lines(live.map(key)));
    const hours = Math.floor((publish * 24) / perDay);
    const time = new Date(BEGUN + hours * 3_600_000).toISOString();
    tool(work, "feed", "publish", "--created-at", time);

    if (follower) assert.equal(await follower.update(), true);
    else follower = await open();
    const soFar = fetched;
    const newcomer = await open();
    fetched = soFar;
    assert.equal(newcomer.generation, follower.generation);

    const members = lines(live.map(key));
    const gone = lines([...removed].map(key));
    // URLs that a browser opens below them: for all new ones, and some of the others.
    const asked = opened ? [...added, ...live.slice(0, 1000)].map(opened) : [];
    const [one, other] = [follower, newcomer].map(({ filter }) => {
      const answers = filter.hasLines(members);
      assert.equal(sum(answers), live.length, `a member is lost in publish ${publish}`);
      const missed = asked.filter((url) => !filter.hasUrl(url));
      assert.deepEqual(missed, [], `URLs are missed in publish ${publish}`);
      return { gone: filter.hasLines(gone), nonmembers: ask(filter, nonmembers) };
    });
    assert.deepEqual(one, other);
    const goneRate = removed.size ? mean(one.gone) : 0;
    const falseRate = mean(one.nonmembers);
    const { estimatedFpr, files, fpr } = follower.info();
    const { urlFpr, maxUrlFpr } = follower.filter.info();
    assert.ok((urlFpr ?? estimatedFpr) <= fpr, `${urlFpr ?? estimatedFpr} is over the budget`);
    // Five standard deviations.
    const most = (count, rate = FPR) => rate + 5 * Math.sqrt(rate / count);
    assert.ok(falseRate <= most(nonmembers.length, maxUrlFpr ?? FPR), `${falseRate} in publish ${publish}`);
    assert.ok(removed.size === 0 || goneRate <= most(removed.size), `${goneRate} of the removed in publish ${publish}`);
    report.worstFpr = Math.max(report.worstFpr, falseRate);
    report.oftenest = Math.max(report.oftenest, goneRate);
    report.deepest = Math.max(report.deepest, files - 1);
    newcomer.close();

    for (let i = 0; i < changed; i++) {
      const [entry] = live.splice(Math.floor(next() * live.length), 1);
      removed.add(entry);
    }
    added = take(changed, publish + 1);
    live.push(...added);
  }
  return { ...report, fetched };
}

for (const { name, ...how } of [
  { name: "60 days, 1 % added and 1 % removed a day", publishes: 60, perDay: 1, changed: KEYS / 100 },
  { name: `${DAYS} days of 24 publishes, 0.04 % changed each`, publishes: 24 * DAYS, perDay: 24, changed: KEYS / 5000 },
  { name: "60 days of URLs, of other shapes", profile: "url", publishes: 60, perDay: 1, changed: KEYS / 100 },
]) {
  test(`a feed for ${name}`, { timeout: 3_600_000 }, async () => {
    const { full, fetched, deepest, worstFpr, oftenest } = await follow(how);
    console.log(`months: ${KEYS} keys for ${name}: ${fetched} bytes fetched, ${((100 * fetched) / full).toFixed(1)} % of a
  whole filter each time. At most ${deepest} deltas; ${worstFpr} of non-members and ${oftenest} of removed keys at worst, of
  ${FPR} allowed.`);
    assert.ok(fetched < 0.22 * full);
  });
}
