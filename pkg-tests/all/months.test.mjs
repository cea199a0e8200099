/**
 * A feed for months: the tool publishes a list that changes, and a client that follows answers like one that comes new.
 * `KEYS=1000000 HOSTS=hosts.txt.gz node --test pkg-tests/all/months.test.mjs` takes a real list, of a million lines.
 * Prints what a client fetches, and how long a query takes.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { root } from "../../scripts/setup.mjs";
import { installed } from "../installed.mjs";

const { openFeed, RibbonFilter } = await installed();
const KEYS = Number(process.env.KEYS ?? 20_000);
const FPR = 1e-3;
/** When the first list is published. The clients read the clock, to which nothing has expired by then. */
const BEGUN = Date.UTC(2099, 0, 1);
const tool = (cwd, ...args) => execFileSync(join(root, "target/release/bloom-wasm"), args, { cwd, encoding: "utf8" });

/** The first hosts of the real list, if there is one; after its end, and without one, made-up ones. */
function* hosts() {
  if (process.env.HOSTS) yield* gunzipSync(readFileSync(process.env.HOSTS)).toString().split("\n").filter(Boolean);
  for (let i = 0; ; i++) yield `host-${i}-${Math.imul(i, 0x9e3779b1) >>> 0}.example`;
}

/** Random numbers from 0 to 1, the same in each run: a linear congruential generator. */
function random(state = 1) {
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const lines = (keys) => Buffer.from([...keys].map((key) => `${key}\n`).join(""));
const sum = (bytes) => bytes.reduce((total, byte) => total + byte, 0);

/** The base-2 logarithm of the number of ways to choose k of n, by Stirling's formula. */
function bitsToChoose(n, k) {
  const part = (p) => (p === 0 ? 0 : -p * Math.log2(p));
  return n * (part(k / n) + part(1 - k / n));
}

/** Publishes so often, with so many keys added and as many removed each time. */
async function follow({ publishes, perDay, changed }) {
  const work = mkdtempSync(join(tmpdir(), "bloom-wasm-months-"));
  tool(work, "feed", "keygen", "-o", "key");
  tool(work, "feed", "init", "public", "--state", "state", "--fpr", String(FPR));
  const publicKey = createPublicKey(readFileSync(join(work, "key"))).export({ format: "jwk" }).x;

  const source = hosts();
  const take = (count) => Array.from({ length: count }, () => source.next().value);
  const live = take(KEYS);
  const removed = new Set();
  const next = random();
  const strangers = lines(Array.from({ length: Math.min(200_000, 2 * KEYS) }, (_, i) => `stranger-${i}.invalid`));
  const stranger = (answers) => sum(answers) / answers.length;

  let fetched = 0;
  const fetch = async (url) => {
    const bytes = readFileSync(join(work, "public", basename(String(url))));
    fetched += bytes.length;
    return new Response(bytes);
  };
  const open = () => openFeed("https://feed.invalid/feed.json", { publicKey, fetch, cache: null });
  const full = publishes * RibbonFilter.from(live, { fpr: FPR }).toBytes().length;
  const report = { first: 0, full, deepest: 0, worstFpr: 0, oftenest: 0 };
  let follower;
  let deepest;
  let base;
  for (let publish = 0; publish <= publishes; publish++) {
    writeFileSync(join(work, "list"), lines(live));
    const hours = Math.floor((publish * 24) / perDay);
    const time = new Date(BEGUN + hours * 3_600_000).toISOString();
    tool(work, ..."feed publish public list --state state --sign key --created-at".split(" "), time);

    const before = fetched;
    if (follower) assert.equal(await follower.update(), true);
    else follower = await open();
    if (publish === 0) report.first = fetched - before;
    const soFar = fetched;
    const newcomer = await open();
    fetched = soFar;
    assert.equal(newcomer.generation, follower.generation);

    const members = lines(live);
    const gone = lines(removed);
    const [missed, goneRate, strangerRate] = [follower, newcomer]
      .map(({ filter }) => {
        const answers = filter.hasLines(members);
        assert.equal(sum(answers), live.length, `a member is lost in publish ${publish}`);
        return [filter.hasLines(gone), filter.hasLines(strangers)];
      })
      .reduce((one, other) => {
        assert.ok(Buffer.compare(one[0], other[0]) === 0 && Buffer.compare(one[1], other[1]) === 0);
        return [0, removed.size ? stranger(one[0]) : 0, stranger(one[1])];
      });
    assert.equal(missed, 0);
    const { estimatedFpr, files, fpr } = follower.info();
    assert.ok(estimatedFpr <= fpr, `${estimatedFpr} is over the budget`);
    // Five standard deviations of so many tries.
    const most = (count) => FPR + 5 * Math.sqrt(FPR / count);
    assert.ok(strangerRate <= most(strangers.length / 25), `${strangerRate} in publish ${publish}`);
    assert.ok(removed.size === 0 || goneRate <= most(removed.size), `${goneRate} of the removed in publish ${publish}`);
    report.worstFpr = Math.max(report.worstFpr, strangerRate);
    report.oftenest = Math.max(report.oftenest, goneRate);
    if (publish === 0) base = follower.filter;
    if (files - 1 >= report.deepest) [report.deepest, deepest] = [files - 1, follower.filter];
    newcomer.close();

    for (let i = 0; i < changed; i++) {
      const [key] = live.splice(Math.floor(next() * live.length), 1);
      removed.add(key);
    }
    live.push(...take(changed));
  }
  const day = (bitsToChoose(KEYS, changed) + changed * Math.log2(1 / FPR)) / 8;
  const bound = (KEYS * Math.log2(1 / FPR)) / 8 + publishes * day;
  return { ...report, fetched, bound, times: times(base, deepest, live) };
}

/** How much longer `has` of a string of 60 characters takes on one filter than on another. Interleaved medians. */
function times(base, deepest, live) {
  const padded = live.slice(0, 50_000).map((key, i) => (i % 2 ? key : `x${key}`).padEnd(60, "-"));
  const rounds = Array.from({ length: 9 }, () =>
    [base, deepest].map((filter) => {
      const begun = process.hrtime.bigint();
      for (const key of padded) filter.has(key);
      return Number(process.hrtime.bigint() - begun) / padded.length;
    }),
  );
  const median = (of) => rounds.map((round) => round[of]).sort((a, b) => a - b)[4];
  return { base: median(0), deepest: median(1), ratio: median(1) / median(0) };
}

const kB = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

for (const { name, ...how } of [
  { name: "60 days, 1 % added and 1 % removed a day", publishes: 60, perDay: 1, changed: KEYS / 100 },
  {
    name: "10 days of 24 publishes, 0.04 % of the keys changed each",
    publishes: 240,
    perDay: 24,
    changed: KEYS / 5000,
  },
]) {
  test(`a feed for ${name}`, { timeout: 3_600_000 }, async () => {
    const { first, full, fetched, bound, deepest, worstFpr, oftenest, times } = await follow(how);
    const days = how.publishes / how.perDay;
    console.log(`months: ${KEYS} keys for ${name}: ${kB(fetched)} fetched in all, ${kB(first)} of them at first,
  ${kB((fetched - first) / days)} a day after that. A whole filter each time: ${kB(full)}, of which that is
  ${((100 * fetched) / full).toFixed(1)} %. The entropy of it is ${kB(bound)}.
  At most ${deepest} deltas; ${worstFpr} of strangers and ${oftenest} of removed keys at worst, of ${FPR} allowed.
  has of 60 characters: ${times.base.toFixed(0)} ns on the first base, ${times.deepest.toFixed(0)} ns on the deepest stack,
  ${times.ratio.toFixed(2)} times as long.`);
    assert.ok(fetched < 0.22 * full || how.perDay > 1);
  });
}
