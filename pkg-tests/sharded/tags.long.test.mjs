/**
 * A sharded filter with the tags of 64 lists: the tool, JavaScript and the reader in Python give the lists of each
 * member. `KEYS=1000000` uses more keys.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as setup from "../../scripts/setup.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";
import { skipped } from "../runtimes/table.mjs";

const KEYS = given("KEYS", 30_000);
const LISTS = 64;

const home = mkdtempSync(join(folder, "tags-"));
const tool = nativeTool();
const run = (command, args, input, env = process.env) =>
  execFileSync(command, args, { cwd: home, encoding: "utf8", input, env, maxBuffer: 2 ** 30 });

// The sizes of the lists follow Zipf's law: list j has a share of 1 / (j + 1). A key is on one to three of them.
let state = 1;
const random = (below) => {
  // Xorshift, 32 bits.
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return ((state >>> 0) / 2 ** 32) * below;
};
// In the order of their names, as the tool has them.
const names = Array.from({ length: LISTS }, (_, j) => `list ${String(j).padStart(2, "0")}`);
const ends = names.map((_, j) => names.slice(0, j + 1).reduce((sum, _, i) => sum + 1 / (i + 1), 0));
const members = Array.from({ length: KEYS }, (_, i) => {
  const its = new Set();
  for (const size = 1 + Math.floor(random(3)); its.size < size; ) {
    const at = random(ends.at(-1));
    its.add(ends.findIndex((end) => at < end));
  }
  return { key: `key-${i}`, tags: [...its].sort((a, b) => a - b).map((j) => names[j]) };
});
const nonmembers = Array.from({ length: 10_000 }, (_, i) => `stranger-${i}`);
const asked = [...members.map(({ key }) => key), ...nonmembers];
const lines = asked.map((key) => `${key}\n`).join("");

const lists = names.map((name) => members.filter(({ tags }) => tags.includes(name)).map(({ key }) => key));
for (const [j, list] of lists.entries()) writeFileSync(join(home, `list-${j}`), `${list.join("\n")}\n`);
const tagged = names.flatMap((name, j) => ["--tag", `${name}=list-${j}`]);
writeFeed(home, {
  public: "filter",
  profile: "raw",
  shards: 64,
  seed: 5,
  sign: [],
  tags: true,
  lists: Object.fromEntries(names.map((name, j) => [name, `list-${j}`])),
});
run(tool, ["feed", "publish"]);

/**
 * Asserts that each member has its tags, and a non-member none or a set that occurs. `of` has a reader's answers for the
 * keys.
 */
function requireExact(of) {
  assert.equal(of.length, asked.length);
  const wrong = members.filter(({ tags }, i) => of[i] !== tags.join());
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} of ${KEYS} members have other tags`);
  const sets = new Set(members.map(({ tags }) => tags.join()));
  const found = of.slice(KEYS).filter((tags) => tags !== undefined);
  assert.ok(found.length < 30, `${found.length} of 10,000 non-members at 0.001`);
  for (const tags of found) assert.ok(sets.has(tags), `a non-member has ${tags}`);
}

let answers;

test("the tool", () => {
  const found = new Map(
    run(tool, ["check", "filter"], lines)
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t")),
  );
  answers = asked.map((key) => found.get(key));
  requireExact(answers);
  const { wrongTags, falseNegatives } = JSON.parse(
    run(tool, ["verify", "filter", ...tagged, "--probes", "1000", "--json"]),
  );
  assert.deepEqual([wrongTags, falseNegatives], [0, 0]);
});

test("JavaScript", async () => {
  const { openSharded } = await installed("bloom-wasm/reader");
  const url = pathToFileURL(join(home, "filter/shards.json"));
  const filter = await openSharded(url, { publicKey: null, cache: null });
  assert.deepEqual(
    filter.info().tags,
    names.map((name, j) => ({ name, count: lists[j].length })),
  );
  assert.equal(filter.info().count, KEYS);
  const said = [];
  for (const [i, key] of asked.entries()) {
    const tags = await filter.tags(key);
    said.push(i < KEYS || tags.length > 0 ? tags.join() : undefined);
  }
  requireExact(said);
  assert.deepEqual(said, answers, "the same as the tool, including non-members");
  filter.close();
});

const python = setup.pythonPackages("feeds", ["cryptography==50.0.2", "xxhash==4.1.0", "mmh3==5.3.1"]);
const noPython = !python && skipped("tests/readers/shards_reader.py", "pip could not install what it needs");

test("the reader in Python", { skip: noPython }, () => {
  const script = join(setup.root, "tests/readers/shards_reader.py");
  const said = run("python3", [script, "--unsigned", "filter"], lines, { ...process.env, PYTHONPATH: python });
  const tags = said
    .trimEnd()
    .split("\n")
    .map((line) => (line === "0" ? undefined : line.slice(2)));
  requireExact(tags);
  assert.deepEqual(tags, answers, "the same as the tool, including non-members");
});
