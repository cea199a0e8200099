/** What the benchmark makes of its times. bench.long.test.mjs runs it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { nonmembers, strings } from "../../bench/keys.mjs";
import { table, withSummary } from "../../bench/table.mjs";
import { root } from "../../scripts/setup.mjs";

test("a ratio is the median of the rounds' ratios, not the ratio of medians", () => {
  const { rows } = table("", { rival: [10, 40, 90], own: [5, 10, 60] }, { rival: "rival" });
  assert.deepEqual(rows[1], { name: "own", nanoseconds: 10, ratio: { median: 2, least: 1.5, most: 4 } });
  const [, { ratio }] = table("", { rival: [10, 40], own: [5, 10] }, { rival: "rival" }).rows;
  assert.deepEqual(ratio, { median: 3, least: 2, most: 4 });
});

test("the keys in Rust are those in JavaScript", () => {
  const [key] = strings(nonmembers(1));
  assert.ok(readFileSync(join(root, "bench/peers.rs"), "utf8").includes(key));
});

test("docs/benchmarks.md has the tables of docs/bench.json", () => {
  const page = readFileSync(join(root, "docs/benchmarks.md"), "utf8");
  assert.equal(withSummary(page, JSON.parse(readFileSync(join(root, "docs/bench.json")))), page);
});
