/**
 * `node bench/feed.mjs`: what a feed costs its host. Publishes a list that changes with the command line tool, follows it
 * with the package, and prints the tables of docs/benchmarks.md: bytes of an update, and requests, bytes and money a
 * month.
 *
 * `--keys 20000` makes the list shorter, and `--publishes 5` the run.
 */
import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { openFeed } from "../dist/reader.js";
import { root, run } from "../scripts/setup.mjs";
import { rows } from "./table.mjs";

const { values } = parseArgs({
  options: { keys: { type: "string", default: "1000000" }, publishes: { type: "string" } },
});
const KEYS = Number(values.keys);
const [HOUR, DAY, MONTH] = [60, 24 * 60, 30 * 24 * 60]; // in minutes

/** The size of a response's headers, in bytes, with or without content: some 20 lines at GitHub Pages. */
const HEADERS = 700;

/**
 * How often a feed is published, in minutes, how many keys come and go each time, and how often a slow client checks
 * for updates.
 */
const feeds = [
  {
    name: "each hour, 1 % of the keys a day",
    every: HOUR,
    changes: Math.round(KEYS / 100 / 24),
    slow: DAY,
    publishes: 48,
  },
  { name: "each minute, 20 keys", every: 1, changes: 20, slow: HOUR / 2, publishes: 120 },
];

/** What a month costs in US dollars, by the public list of August 2026: https://developers.cloudflare.com/r2/pricing/ */
const r2 = ({ requests }) => Math.max(0, requests - 10e6) * 0.36e-6; // reads; the first ten million are free

/** https://aws.amazon.com/cloudfront/pricing/, for North America. */
function cloudFront({ requests, bytes }) {
  const tiers = [
    [1e12, 0],
    [10e12, 0.085],
    [50e12, 0.08],
    [150e12, 0.06],
    [500e12, 0.04],
    [1024e12, 0.03],
    [5e15, 0.025],
    [Infinity, 0.02],
  ];
  let [dollars, below] = [Math.max(0, requests - 10e6) * 1e-6, 0];
  for (const [end, price] of tiers) {
    dollars += (Math.max(0, Math.min(bytes, end) - below) / 1e9) * price;
    below = end;
  }
  return dollars;
}

/** It is free, with a soft limit of 100 GB a month: https://docs.github.com/pages, "GitHub Pages limits". */
const PAGES = 100e9;

const number = (value, digits = 2) => Number(value.toPrecision(digits)).toLocaleString("en");
const size = (bytes) => {
  const [unit, name] = [
    [1, "bytes"],
    [1e3, "kB"],
    [1e6, "MB"],
    [1e9, "GB"],
    [1e12, "TB"],
    [1e15, "PB"],
  ].findLast(([unit]) => bytes >= unit);
  return `${number(bytes / unit)} ${name}`;
};

/** Follows a feed in a folder, and counts what is fetched; its manifest gzipped, as hosts send JSON. */
async function client(folder, publicKey) {
  const fetched = { requests: 0, bytes: 0, updates: 0 };
  const fetch = async (url) => {
    const name = url.split("/").at(-1);
    const bytes = readFileSync(join(folder, "public", name));
    fetched.requests++;
    fetched.bytes += name === "feed.json" ? gzipSync(bytes).length : bytes.length;
    return new Response(bytes);
  };
  const feed = await openFeed("https://lists.example/feed.json", { publicKey, fetch, cache: null });
  Object.assign(fetched, { requests: 0, bytes: 0 }); // the base isn't an update
  return { fetched, feed };
}

/** Publishes a feed for a while. Returns what an update costs a client that checks each time, and a slow one. */
async function measure({ every, changes, slow, publishes }) {
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  const tool = (...args) =>
    execFileSync(join(root, "target/release/bloom-wasm"), args, { cwd: folder, encoding: "utf8" });
  try {
    tool("feed", "init", "list.txt", "--profile", "url");
    const publicKey = createPublicKey(readFileSync(join(folder, "feed.key"))).export({ format: "jwk" }).x;
    const half = Math.max(1, changes >> 1);
    const publish = (at) => {
      const hosts = Array.from({ length: KEYS }, (_, i) => `host-${i + at * half}.example\n`);
      writeFileSync(join(folder, "list.txt"), hosts.join(""));
      return JSON.parse(tool("feed", "publish", "--json"));
    };
    const base = publish(0).byteLength;
    const each = await client(folder, publicKey);
    const seldom = await client(folder, publicKey);
    let whole;
    for (let at = 1; at <= publishes; at++) {
      whole = publish(at).byteLength;
      for (const { fetched, feed } of (at * every) % slow === 0 || at === publishes ? [each, seldom] : [each])
        fetched.updates += Number(await feed.update());
    }
    const average = ({ fetched: { requests, bytes, updates } }) => ({
      requests: requests / updates,
      bytes: bytes / updates,
    });
    // Once the deltas weigh half of the base there is a new base.
    const minutesOfBase = (publishes * every * (base / 2)) / (whole - base);
    const manifest = gzipSync(readFileSync(join(folder, "public/feed.json"))).length;
    return { base, manifest, minutesOfBase, each: average(each), seldom: average(seldom) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The requests and bytes in a month of a client that checks at this interval, in minutes. */
function month({ every, slow, base, minutesOfBase, each, seldom }, looks) {
  const polls = MONTH / looks;
  const updates = Math.min(polls, MONTH / every);
  const update = looks < slow ? each : seldom;
  const requests = polls - updates + updates * update.requests;
  const bytes = requests * HEADERS + updates * update.bytes + (base * MONTH) / minutesOfBase;
  return { polls, requests, bytes };
}

run("cargo", "build", "--release", "--package", "bloom-wasm-cli", "--locked", "--quiet");
const measured = [];
for (const feed of feeds) {
  const publishes = values.publishes ? Number(values.publishes) : feed.publishes;
  measured.push({ ...feed, ...(await measure({ ...feed, publishes })) });
}
console.log(
  rows(
    ["published", "base", "manifest, gzipped", "an update", "an update of a slow client", "a new base"],
    measured.map(({ name, base, manifest, each, seldom, slow, minutesOfBase }) => [
      name,
      size(base),
      size(manifest),
      size(each.bytes),
      `${size(seldom.bytes)}, every ${slow} minutes`,
      `every ${number(minutesOfBase / 60 / 24)} days`,
    ]),
  ),
);
const [hourly, minutely] = measured;
for (const [feed, looks] of [
  [hourly, DAY],
  [hourly, HOUR / 2],
  [minutely, HOUR / 2],
  [minutely, 1],
]) {
  const one = month(feed, looks);
  console.log(`published ${feed.name}; clients look every ${looks} minutes: ${size(one.bytes)} a client\n`);
  const lines = [3, 4, 5, 6, 7].map((power) => {
    const all = { requests: one.requests * 10 ** power, bytes: one.bytes * 10 ** power };
    const dollars = (price) => (price(all) < 0.5 ? "$0" : `$${number(price(all))}`);
    return [
      (10 ** power).toLocaleString("en"),
      number(all.requests / MONTH / 60),
      number(all.requests / 1e6),
      size(all.bytes),
      all.bytes <= PAGES ? "$0" : `${number(all.bytes / PAGES)} times the limit`,
      dollars(r2),
      dollars(cloudFront),
    ];
  });
  const head = [
    "clients",
    "requests a second",
    "millions a month",
    "bytes a month",
    "GitHub Pages",
    "R2",
    "CloudFront",
  ];
  console.log(rows(head, lines));
}
