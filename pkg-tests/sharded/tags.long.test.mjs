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
const home = mkdtempSync(join(folder, "tags-"));
const run = (command, args, input, env = process.env) =>
  execFileSync(command, args, { cwd: home, encoding: "utf8", input, env, maxBuffer: 2 ** 30 });

// In the order of their names, as the tool has them. List j has every (j + 2)th key.
const names = Array.from({ length: 64 }, (_, j) => `list ${String(j).padStart(2, "0")}`);
const tagsOf = (i) => names.filter((_, j) => i % (j + 2) === 0);
const members = Array.from({ length: KEYS }, (_, i) => ({ key: `key-${i}`, tags: tagsOf(i) })).filter(
  ({ tags }) => tags.length > 0,
);
const asked = [...members.map(({ key }) => key), ...Array.from({ length: 10_000 }, (_, i) => `stranger-${i}`)];
const lines = asked.map((key) => `${key}\n`).join("");

const lists = names.map((_, j) => Array.from({ length: Math.ceil(KEYS / (j + 2)) }, (_, i) => `key-${i * (j + 2)}`));
for (const [j, list] of lists.entries()) writeFileSync(join(home, `list-${j}`), list.join("\n"));
const files = Object.fromEntries(names.map((name, j) => [name, `list-${j}`]));
writeFeed(home, { public: "filter", profile: "raw", shards: 64, seed: 5, sign: [], tags: true, lists: files });
run(nativeTool(), ["feed", "publish"]);

/** The tool's answers: the tags of each key, or undefined. */
const found = new Map(
  run(nativeTool(), ["check", "filter"], lines)
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t")),
);
const answers = asked.map((key) => found.get(key));

test("the tool: each member has its tags, and a non-member none or a set that occurs", () => {
  const wrong = members.filter(({ tags }, i) => answers[i] !== tags.join());
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} members have other tags`);
  const sets = new Set(members.map(({ tags }) => tags.join()));
  const others = answers.slice(members.length).filter((tags) => tags !== undefined);
  assert.ok(others.length < 30, `${others.length} of 10,000 non-members at 0.001`);
  for (const tags of others) assert.ok(sets.has(tags), `a non-member has ${tags}`);
});

test("JavaScript says the same", async () => {
  const { openSharded } = await installed("bloom-wasm/reader");
  const url = pathToFileURL(join(home, "filter/shards.json"));
  const filter = await openSharded(url, { publicKey: null, cache: null });
  const expected = names.map((name, j) => ({ name, count: lists[j].length }));
  assert.deepEqual([filter.info().tags, filter.info().count], [expected, members.length]);
  for (const [i, key] of asked.entries()) assert.equal((await filter.tags(key)).join(), answers[i] ?? "", key);
});

const python = setup.pythonPackages("feeds", ["cryptography==50.0.2", "xxhash==4.1.0", "mmh3==5.3.1"]);
const noPython = !python && skipped("tests/readers/shards_reader.py", "pip could not install what it needs");

test("the reader in Python says the same", { skip: noPython }, () => {
  const script = join(setup.root, "tests/readers/shards_reader.py");
  const said = run("python3", [script, "--unsigned", "filter"], lines, { ...process.env, PYTHONPATH: python });
  const tags = said.trimEnd().split("\n");
  assert.deepEqual(
    tags.map((line) => (line === "0" ? undefined : line.slice(2))),
    answers,
  );
});
