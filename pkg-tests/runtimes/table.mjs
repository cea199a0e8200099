/** The table of targets printed after the tests: each test file adds its rows, in its own process. */
import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";

/**
 * Adds a target's verdict, `{ passed, failed, ms }` of cases.mjs, and fails the test if a case has failed. There is no
 * `ms` where the clock stands still while code runs.
 */
export function record(target, version, { passed, failed, ms }) {
  add({
    target,
    version,
    cases: `${passed} of ${passed + failed.length}`,
    "first answer": ms === undefined ? "no clock" : `${ms.toFixed(1)} ms`,
  });
  assert.deepEqual(failed, [], target);
  assert.ok(passed > 0, target);
}

/** Adds a recipe of the docs that was tried with this version of the real software. */
export function tried(target, version, what) {
  add({ target, version, cases: what, "first answer": "" });
  console.log(`${target} ${version}: ${what}`);
}

/** Adds a target that isn't available here, and why. Returns the reason, for skipping its test. */
export function skipped(target, reason) {
  add({ target, version: "", cases: `skipped: ${reason}`, "first answer": "" });
  console.log(`${target} skipped: ${reason}`);
  return reason;
}

function add(row) {
  if (process.env.BLOOM_WASM_TABLE) appendFileSync(process.env.BLOOM_WASM_TABLE, `${JSON.stringify(row)}\n`);
}

/** Prints the whole table, in columns. */
export function print(file) {
  const rows = readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((row) => JSON.parse(row));
  const names = ["target", "version", "cases", "first answer"];
  const lines = [
    Object.fromEntries(names.map((name) => [name, name])),
    ...rows.sort((a, b) => (a.target < b.target ? -1 : 1)),
  ];
  const widths = names.map((name) => Math.max(...lines.map((line) => line[name].length)));
  for (const line of lines)
    console.log(
      names
        .map((name, i) => line[name].padEnd(widths[i]))
        .join("  ")
        .trimEnd(),
    );
}
