/**
 * `node bench/feed.mjs`: what a feed costs its clients and its host. Publishes lists that change with the command line
 * tool, follows them with the package, and prints the tables of docs/benchmarks.md: bytes a day, and requests, bytes and
 * money a month.
 *
 * `--days 5` makes the run shorter, and `--keys 20000` the lists.
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
  options: { keys: { type: "string", default: "Infinity" }, days: { type: "string", default: "60" } },
});
const [MOST, DAYS] = [Number(values.keys), Number(values.days)];

/** The size of a response's headers, in bytes, with or without content: some 20 lines at GitHub Pages. */
const HEADERS = 700;

/**
 * The size of lists, the share of the keys that come or go in a day, half of them each, how often a list is published
 * in a day, and how often clients look in a day whose costs are printed.
 */
const feeds = [
  {
    name: "13,752 hosts, 3 % a day, published each hour",
    keys: 13_752,
    share: 0.03,
    perDay: 24,
    looks: { "13,752 hosts each hour; they look daily": 1, "the same; they look every 30 minutes": 48 },
  },
  { name: "the same, published each day", keys: 13_752, share: 0.03, perDay: 1, looks: {} },
  { name: "200,000 hosts, 2 %, each day", keys: 200_000, share: 0.02, perDay: 1, looks: {} },
  {
    name: "1.1 million hosts, 1 %, each day",
    keys: 1_100_000,
    share: 0.01,
    perDay: 1,
    looks: { "1.1 million hosts each day; they look daily": 1 },
  },
].map((feed) => ({ ...feed, keys: Math.min(feed.keys, MOST) }));

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

/** Follows a feed in a folder, and counts what is fetched after the first time; a manifest gzipped, as hosts send JSON. */
async function client(folder, publicKey) {
  const fetched = { files: 0, bytes: 0 };
  const fetch = async (url) => {
    const name = url.split("/").at(-1);
    const bytes = readFileSync(join(folder, "public", name));
    fetched.files += Number(name !== "feed.json");
    fetched.bytes += name === "feed.json" ? gzipSync(bytes).length : bytes.length;
    return new Response(bytes);
  };
  const feed = await openFeed("https://lists.example/feed.json", { publicKey, fetch, cache: null });
  const first = fetched.bytes;
  Object.assign(fetched, { files: 0, bytes: 0 });
  return { first, fetched, feed };
}

/** Publishes a feed for all days. Returns what a client takes that has every generation, and one that has one a day. */
async function measure({ keys, share, perDay }) {
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  const tool = (...args) =>
    execFileSync(join(root, "target/release/bloom-wasm"), args, { cwd: folder, encoding: "utf8" });
  let state = 1;
  /** Numbers from 0 to below 1, the same in each run: a linear congruential generator. */
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  let made = 0;
  const host = () => `host-${made}-${Math.imul(made++, 0x9e3779b1) >>> 0}.example\n`;
  const list = Array.from({ length: keys }, host);
  try {
    tool("feed", "init", "list.txt", "--profile", "url");
    const publicKey = createPublicKey(readFileSync(join(folder, "feed.key"))).export({ format: "jwk" }).x;
    let [each, daily] = [];
    for (let at = 0; at <= DAYS * perDay; at++) {
      while (made < keys + Math.round((at * keys * share) / 2 / perDay)) list[Math.floor(random() * keys)] = host();
      writeFileSync(join(folder, "list.txt"), list.join(""));
      tool("feed", "publish");
      if (at === 0) {
        [each, daily] = [await client(folder, publicKey), await client(folder, publicKey)];
        continue;
      }
      await each.feed.update();
      if (at % perDay === 0) await daily.feed.update();
    }
    const aDay = ({ fetched: { files, bytes } }) => ({ files: files / DAYS, bytes: bytes / DAYS });
    return { first: each.first, each: aDay(each), daily: aDay(daily) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The bits of so many random numbers below `range`, sorted, if the gaps are Rice-coded with the best parameter. */
function rice(count, range) {
  const bits = (k) => k + 1 / (1 - (1 - count / range) ** (2 ** k));
  return count * Math.min(...Array.from({ length: 32 }, (_, k) => bits(k)));
}

/** What surrounds the two lists of an answer of Safe Browsing: a checksum, a version and parameters, about. */
const ANSWER = 130;

/** The bytes a day of Safe Browsing v5, by formula: new values of 32 bits, and the places of those that are gone. */
function safeBrowsing({ keys, share, perDay }) {
  const changed = (keys * share) / 2 / perDay;
  return perDay * (ANSWER + (rice(changed, 2 ** 32) + rice(changed, keys)) / 8);
}

/** The requests and bytes in a month of a client that looks so many times a day. */
function month({ perDay, each, daily }, looks) {
  const { files, bytes } = looks < perDay ? daily : each;
  const requests = 30 * (looks + files);
  return { requests, bytes: requests * HEADERS + 30 * bytes };
}

run("cargo", "build", "--release", "--package", "bloom-wasm-cli", "--locked", "--quiet");
const measured = [];
for (const feed of feeds) measured.push({ ...feed, ...(await measure(feed)) });
const kB = (bytes) => (bytes / 1000).toFixed(1);
console.log(
  rows(
    ["kB a day", "every generation", "one a day", "Safe Browsing", "the first download"],
    measured.map((feed) => [
      feed.name,
      ...[feed.each.bytes, feed.daily.bytes, safeBrowsing(feed)].map(kB),
      size(feed.first),
    ]),
  ),
);
const CLIENTS = 1e6;
const dollars = (price) => (price < 0.5 ? "$0" : `$${number(price)}`);
console.log(
  rows(
    ["a million clients", "million requests", "bytes", "GitHub Pages", "R2", "CloudFront"],
    measured.flatMap((feed) =>
      Object.entries(feed.looks).map(([what, looks]) => {
        const one = month(feed, looks);
        const all = { requests: one.requests * CLIENTS, bytes: one.bytes * CLIENTS };
        return [
          what,
          number(all.requests / 1e6),
          size(all.bytes),
          all.bytes <= PAGES ? "$0" : `${number(all.bytes / PAGES)} times the limit`,
          dollars(r2(all)),
          dollars(cloudFront(all)),
        ];
      }),
    ),
  ),
);
