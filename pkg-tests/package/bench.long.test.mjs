/** The benchmark runs on few keys, and refuses filters that answer wrongly. No time is judged. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { race } from "../../bench/race.mjs";
import { NOT_INSTALLED, packages, root } from "../../scripts/setup.mjs";

const skip = !packages("bench") && NOT_INSTALLED;
if (skip) console.log(`package/bench.long.test.mjs skipped: ${skip}`);

for (const [program, ...options] of [
  ["run", "--quick", "--rounds", "1", "--only", "has,add,many,url,keyed,engines,load,page"],
  ["rivals", "--quick"],
  ["feed", "--keys", "2400", "--days", "2"],
])
  test(`bench/${program}.mjs runs, and prints tables without gaps`, { skip }, () => {
    const args = ["--expose-gc", join(root, `bench/${program}.mjs`), ...options];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", maxBuffer: 2 ** 28 });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^\| .*\d/m);
    assert.doesNotMatch(stdout, /NaN|undefined|Infinity/);
  });

test("a filter that loses a key is refused, and one whose answers change", { skip }, async () => {
  const { bench } = await import("../../bench/cases.mjs");
  const shared = bench({ count: 1000, rounds: 1 });
  const set = { name: "set", create: () => new Set(), add: "filter.add(key)", has: "filter.has(key)" };
  assert.equal(shared.built(set, 0.01).fpr, 0);
  const forgetful = { ...set, name: "forgetful", add: "filter.size < 999 && filter.add(key)" };
  assert.throws(() => shared.built(forgetful, 0.01), /^Error: forgetful misses 1 of its keys$/);
  const answers = [0, 1];
  const changing = { name: "changing", keys: 1, run: () => answers.shift() };
  await assert.rejects(race([changing], 1), /changing answered 1, and before 0/);
});
