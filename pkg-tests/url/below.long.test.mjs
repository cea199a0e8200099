/**
 * No false negative: every entry of lists, and what a browser opens below it, is found by both imports, by the tool, in
 * Rust (tests/suite/below.rs) and in Python (tests/readers/url_reader.py), in one blob and in folders of shards.
 * `PAIRS=10000000` is the number of URLs below made-up entries, of which Python gets a hundredth; `EACH=20` the number
 * below each entry of the real lists, and `EVERY=1` takes every entry of these. `LISTS=FOLDER` has more real lists, as
 * .txt or .txt.gz. `SEED=N` makes other entries and URLs, and `WRITE=1` writes the files in tests/below/.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { pythonPackages, root } from "../../scripts/setup.mjs";
import { below, entry, line, random, read } from "../helpers/below.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { engines, full } from "../helpers/engines.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { folder } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";
import { ODD_URLS, requireSameKeys } from "../helpers/urls.mjs";
import { skipped } from "../runtimes/table.mjs";

const { RibbonFilter, openSharded, urlExpressions } = full;

const PAIRS = given("PAIRS", 100_000);
const EACH = given("EACH", 2);
const EVERY = given("EVERY", 20);
const SEED = Number(process.env.SEED ?? 1);
/** How many made-up entries a blob has. Four times as many URLs below them are asked. */
const LIST = 25_000;

/** The folder that tests/suite/below.rs reads. */
const home = mkdtempSync(join(folder, "below-"));
const asked = join(home, "asked");
mkdirSync(asked);
after(() => rmSync(home, { recursive: true, force: true }));

const ALL = Array.from({ length: 30 }, (_, slot) => slot);
const HOSTS = [0, 6, 12, 18, 24];

/** The slots of the entries of list `i`: all, only hosts, a single one, two groups, or some. */
function shapes(i, next) {
  const some = () => ALL.filter(() => next() < 0.2);
  return [ALL, HOSTS, [ALL[i % 30]], [...Array(300).fill(0), 4, 10, 28], [...HOSTS, ...some()], [29, ...some()]][i % 6];
}
/** Nearly all are so low that chance can't hide a miss. */
const RATES = [1e-6, 1e-6, 1e-8, 1e-6, 1e-3];

const text = (lines) => lines.map((line) => `${line}\n`).join("");
const shown = (lines) => JSON.stringify(lines.slice(0, 10));

/** Runs a program; returns its standard output. */
function run(program, args, { status = [0], ...options } = {}) {
  const said = spawnSync(program, args, { cwd: home, maxBuffer: 2 ** 31 - 1, ...options });
  assert.ok(status.includes(said.status), `${program} ${args.join(" ")}: ${said.error ?? said.stderr}`);
  return said.stdout.toString();
}
const tool = (...args) => run(nativeTool(), args);

/** The URLs that a blob or a folder misses when the tool is asked. */
function missedByTool(blob, urls) {
  const found = run(nativeTool(), ["check", blob], { input: text(urls), status: [0, 1] });
  if (found === text(urls)) return [];
  const left = new Set(found.split("\n"));
  return urls.filter((url) => !left.has(url));
}

let [inTwoGroups, inCovered] = [0, 0];

/** The key in a line of a list. */
const keyOf = (line) => urlExpressions(/^\|\|(.*)\^$/.exec(line)?.[1] ?? line)[0];

/** The keys of a list, without the code that builds filters, and those of them that no other one covers. */
function listed(lines) {
  const keys = new Set(lines.map(keyOf));
  const isCovered = (key) => urlExpressions(`http://${key}`).some((its) => its !== key && keys.has(its));
  return { keys, needed: [...keys].filter((key) => !isCovered(key)) };
}

/** Asks for the tags of URLs below two lists that have entries in common, and entries below each other's. */
function askTags(name, lines, urls) {
  const lists = { one: lines.filter((_, i) => i % 3 !== 0), two: lines.filter((_, i) => i % 4 < 2) };
  const untagged = lines.filter((_, i) => i % 12 === 3);
  const all = new Map(untagged.map((line) => [keyOf(line), new Set()]));
  for (const [tag, list] of Object.entries(lists))
    for (const key of list.map(keyOf)) all.set(key, new Set([...(all.get(key) ?? []), tag]));
  const tagged = RibbonFilter.fromTagged(lists, { untagged, profile: "url", fpr: 1e-8 });
  assert.ok(tagged.info().count < all.size, `${name}: some are covered`);
  for (const [entry, { decode }] of Object.entries(engines)) {
    const filter = decode(tagged.toBytes());
    for (const url of urls) {
      const expected = new Set(urlExpressions(url).flatMap((key) => [...(all.get(key) ?? [])]));
      assert.deepEqual(
        filter.urlTags(url),
        Object.keys(lists).filter((tag) => expected.has(tag)),
        `${entry}: ${url}`,
      );
    }
    filter.free();
  }
}

/**
 * Builds a blob with the tool and with the package, and asks both imports and the tool. Leaves it to be asked by
 * others.
 */
function ask(name, lines, urls, nonmembers, fpr) {
  const at = (extension) => join(asked, `${name}.${extension}`);
  const list = join(home, "list.txt");
  writeFileSync(list, text(lines));
  tool("build", list, "-o", at("bloom"), "--profile", "url", "--allow-suffixes", "--fpr", String(fpr));
  const blob = readFileSync(at("bloom"));
  assert.ok(blob.equals(RibbonFilter.from(lines, { profile: "url", fpr }).toBytes()), `${name}: the tool's blob`);
  writeFileSync(at("urls"), text(urls));
  if (nonmembers.length) writeFileSync(at("nonmembers"), text(nonmembers));
  const { keys, needed } = listed(lines);
  inCovered += keys.size - needed.length;
  for (const [entry, { decode }] of Object.entries(engines)) {
    const filter = decode(blob);
    inTwoGroups += filter.info().layers;
    assert.equal(filter.info().count, needed.length, `${name}: keys that no other covers`);
    const missed = urls.filter((url) => !filter.hasUrl(url));
    assert.equal(missed.length, 0, `${name}, ${entry}: missed ${missed.length}: ${shown(missed)}`);
    // The keys themselves, with the methods that don't take URLs.
    assert.ok(filter.hasAll(needed), `${name}, ${entry}: keys`);
    for (const answers of [filter.hasMany(needed), filter.hasLines(Buffer.from(text(needed)))])
      assert.ok(answers.length === needed.length && answers.every((answer) => answer === 1), `${name}, ${entry}: keys`);
    assert.ok(
      urls.slice(0, 1000).every((url) => filter.matchUrl(url) !== null),
      `${name}, ${entry}: matches`,
    );
    const present = nonmembers.filter((url) => filter.hasUrl(url));
    const others = present.filter((url) => !urlExpressions(url).some((key) => keys.has(key)));
    assert.ok(
      present.length <= 0.1 * nonmembers.length,
      `${name}: ${present.length} of ${nonmembers.length} non-members`,
    );
    assert.ok(others.length <= 2 * fpr * nonmembers.length + 5, `${name}, ${entry}: by chance ${shown(others)}`);
    filter.free();
  }
  const missed = missedByTool(at("bloom"), urls);
  assert.equal(missed.length, 0, `${name}, the tool: missed ${missed.length}: ${shown(missed)}`);
}

/** A list of made-up entries, and URLs below them, determined by its number. */
function made(i, count) {
  const next = random(SEED * 1_000_003 + i);
  const slots = shapes(i, next);
  const entries = Array.from({ length: count }, (_, j) => entry(j, slots, next));
  const lines = entries.map((its) => line(its, next));
  // Others cover what is below them, however it is spelled, if a list may have it at all.
  const more = new Set(entries.filter((_, j) => j % 5 === 0).map((its) => below(its, next)));
  RibbonFilter.from(more, { profile: "url", onSkip: ({ key }) => more.delete(key) });
  return {
    lines: [...lines, ...more],
    urls: entries.flatMap((its) => [0, 1, 2, 3].map(() => below(its, next))),
    nonmembers: Array.from({ length: 1000 }, (_, j) => below(entry(2 ** 24 + j, slots, next), next)),
  };
}

const lists = Math.ceil(PAIRS / (4 * LIST));

test(`${PAIRS} URLs below entries`, { timeout: 4 * 3_600_000 }, () => {
  for (let i = 0; i < Math.max(lists, 6); i++) {
    const { lines, urls, nonmembers } = made(i, Math.min(LIST, Math.ceil(PAIRS / 24)));
    ask(`made-${i}`, lines, urls, nonmembers, RATES[i % RATES.length]);
    if (i < 6) askTags(`made-${i}`, lines, [...urls.slice(0, 2000), ...nonmembers]);
  }
  assert.ok(inTwoGroups >= 2 && inCovered > 0.1 * lists * LIST, `${inTwoGroups}, ${inCovered}`);
});

const inPackage = (name) => join(root, "node_modules", name);
const LISTS = {
  "disposable-email-domains": () => JSON.parse(readFileSync(inPackage("disposable-email-domains/index.json"), "utf8")),
  "eth-phishing-detect": () =>
    JSON.parse(readFileSync(inPackage("eth-phishing-detect/src/config.json"), "utf8")).blacklist,
};
const more = process.env.LISTS ? readdirSync(process.env.LISTS).filter((name) => /\.txt(\.gz)?$/.test(name)) : [];
for (const name of more) {
  const bytes = () => readFileSync(join(process.env.LISTS, name));
  LISTS[name] = () => (name.endsWith(".gz") ? gunzipSync(bytes()) : bytes()).toString().split("\n").filter(Boolean);
}
const noMore = !more.length && skipped("more real lists", "LISTS names no folder of them");
test("more real lists are checked, too", { skip: noMore }, () => {});

for (const [name, list] of Object.entries(LISTS)) {
  test(`the list ${name}`, { timeout: 4 * 3_600_000 }, () => {
    const next = random(SEED);
    const skippedLines = new Set();
    const all = [...new Set(list())].filter((_, i) => i % EVERY === 0);
    RibbonFilter.from(all, { profile: "url", onSkip: ({ key }) => skippedLines.add(key) });
    const lines = all.filter((line) => !skippedLines.has(line));
    const entries = lines.map(read);
    const known = entries.filter(Boolean);
    console.log(
      `below: ${name}: ${lines.length} lines and ${skippedLines.size} skipped; below ${known.length} of them`,
    );
    assert.ok(skippedLines.size <= 0.01 * all.length && known.length > 0.9 * lines.length);
    // In parts, since strings take memory.
    for (let from = 0; from < lines.length; from += 2 * LIST) {
      const part = lines.slice(from, from + 2 * LIST);
      const its = entries.slice(from, from + 2 * LIST).filter(Boolean);
      const urls = its.flatMap((entry) => Array.from({ length: EACH }, () => below(entry, next)));
      ask(`${name}-${from}`, part, [...part, ...urls], [], 1e-6);
    }
  });
}

test("in folders of 1 to 8,192 shards", { timeout: 3_600_000 }, async () => {
  const { lines, urls, nonmembers } = made(0, Math.min(20_000, PAIRS / 20));
  writeFileSync(join(home, "sharded.txt"), text(lines));
  const described = { profile: "url", "allow-suffixes": true, fpr: 1e-6, sign: [], lists: { sharded: "sharded.txt" } };
  for (const shards of [1, 2, 64, 1024, 8192]) {
    const [dir, state] = [join(home, `shards-${shards}`), join(home, "state")];
    writeFeed(home, { ...described, shards, public: dir });
    tool("feed", "publish", join(home, "feed.toml"));
    const filter = await openSharded(pathToFileURL(join(dir, "shards.json")), { publicKey: null, cache: null });
    const answers = async (urls) => {
      const found = [];
      for (let i = 0; i < urls.length; i += 1000)
        found.push(...(await Promise.all(urls.slice(i, i + 1000).map((url) => filter.hasUrl(url)))));
      return found;
    };
    const some = [...lines.filter((line) => !line.startsWith("||")), ...urls.filter((_, i) => i % 4 === 0)];
    const found = await answers(some);
    const missed = some.filter((_, i) => !found[i]);
    assert.equal(missed.length, 0, `${shards} shards: missed ${missed.length}: ${shown(missed)}`);
    assert.equal(missedByTool(dir, some).length, 0, `${shards} shards, the tool`);
    const present = (await answers(nonmembers)).filter(Boolean).length;
    assert.ok(present <= 0.1 * nonmembers.length, `${present} of ${nonmembers.length} non-members`);
    filter.close();
    for (const made of [dir, state]) rmSync(made, { recursive: true });
  }
});

/** The files that tests/suite/below.rs reads by itself. */
const SMALL = { hosts: HOSTS, urls: ALL, groups: [...Array(300).fill(0), 4, 10, 28] };

test("tests/below/ has the entries and URLs made here; WRITE=1 writes it again", () => {
  for (const [name, slots] of Object.entries(SMALL)) {
    const next = random(7);
    const entries = Array.from({ length: name === "groups" ? 2000 : 500 }, (_, i) => entry(i, slots, next));
    const lines = entries.map((its) => line(its, next));
    const some = [...entries.filter(({ path }) => path !== "/"), ...entries].slice(0, 500);
    const files = {
      bloom: Buffer.from(RibbonFilter.from(lines, { profile: "url", fpr: 1e-6 }).toBytes()),
      urls: Buffer.from(text(some.flatMap((its) => [below(its, next), below(its, next)]))),
    };
    for (const [extension, bytes] of Object.entries(files)) {
      const file = join(root, `tests/below/${name}.${extension}`);
      if (process.env.WRITE) writeFileSync(file, bytes);
      assert.ok(bytes.equals(readFileSync(file)), file);
    }
  }
});

const noRust = spawnSync("cargo", ["--version"]).status !== 0 && skipped("tests/suite/below.rs", "there is no cargo");

test("in Rust", { skip: noRust, timeout: 4 * 3_600_000 }, () => {
  // Compiled as scripts/test.mjs does it, so that nothing is compiled again: by itself, the crate has other features.
  const clippy = { RUSTC_WORKSPACE_WRAPPER: "clippy-driver", CLIPPY_ARGS: "-Dwarnings" };
  const env = { ...process.env, ...clippy, BELOW: asked };
  const said = run("cargo", ["test", "--workspace", "--locked", "--test", "suite", "--", "below::", "--nocapture"], {
    cwd: root,
    env,
  });
  const [line, urls] = /^below: (\d+) URLs.*$/m.exec(said);
  assert.ok(Number(urls) >= PAIRS, said);
  console.log(line);
});

const python = pythonPackages("urls", ["ada-url==4.0.0", "xxhash==4.1.0", "mmh3==5.3.1"]);
const noPython = !python && skipped("tests/readers/url_reader.py", "pip could not install what it needs");

test("in Python, odd hosts", { skip: noPython }, () => {
  // Its parser takes hosts that are too long for any browser, and doesn't bring others to NFC.
  const urls = ODD_URLS.filter((url) => !/[\n\t]|\u0323|^ /.test(url) && url.length < 1000);
  const args = [join(root, "tests/readers/url_reader.py"), join(root, "tests/below/hosts.bloom")];
  const said = run("python3", args, { env: { ...process.env, PYTHONPATH: python }, input: text(urls) });
  const keys = said.trimEnd().replace(/^.\t/gm, "");
  assert.equal(keys, urls.map((url) => urlExpressions(url).sort().join(" ")).join("\n"));
});

test("in Python", { skip: noPython, timeout: 4 * 3_600_000 }, () => {
  const each = Math.max(1000, Math.floor(PAIRS / 100 / Math.max(lists, 6)));
  const env = { ...process.env, PYTHONPATH: python };
  let count = 0;
  for (let i = 0; i < Math.max(lists, 6); i++) {
    const urls = readFileSync(join(asked, `made-${i}.urls`), "utf8")
      .split("\n")
      .slice(0, each);
    const args = [join(root, "tests/readers/url_reader.py"), join(asked, `made-${i}.bloom`)];
    const said = run("python3", args, { env, input: text(urls) })
      .trimEnd()
      .split("\n");
    assert.equal(said.length, urls.length);
    said.forEach((answer, j) => {
      const [found, keys] = answer.split("\t");
      assert.equal(found, "1", `made-${i}: ${shown(urls.slice(j, j + 1))}`);
      assert.equal(urlExpressions(urls[j]).sort().join(" "), keys, shown(urls.slice(j, j + 1)));
      requireSameKeys(urls[j]);
    });
    count += urls.length;
  }
  console.log(`below: ${count} URLs in Python: none missed, and all have the same keys`);
});
