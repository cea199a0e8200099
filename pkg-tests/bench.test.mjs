/** The benchmark runs on few keys, and the README's table is made from its numbers. No number is judged. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { strangers, strings } from "../bench/keys.mjs";
import { withSummary } from "../bench/table.mjs";
import { NOT_INSTALLED, packages, root } from "../scripts/setup.mjs";

const skip = !packages("bench") && NOT_INSTALLED;
if (skip) console.log(`bench.test.mjs skipped: ${skip}`);

test("every case that needs no compiler gives its numbers", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  try {
    const file = join(folder, "bench.json");
    const only = ["has", "add", "many", "url", "load", "page"];
    const args = ["--expose-gc", join(root, "bench/run.mjs"), "--quick", "--only", only.join(), "--json", file];
    const printed = execFileSync(process.execPath, args, { encoding: "utf8" });
    const { tables, claims } = JSON.parse(readFileSync(file));
    for (const title of ["has", "making", "many", "adding", "matchUrl", "from what", "the first", "from import"]) {
      assert.ok(
        tables.some((table) => table.title.startsWith(title)),
        title,
      );
    }
    for (const { title, rows } of tables) {
      assert.ok(printed.includes(title));
      for (const { name, nanoseconds, milliseconds, fpr = 0 } of rows) {
        assert.ok((nanoseconds ?? milliseconds) >= 0, `${title}: ${name}`);
        assert.ok(fpr >= 0 && fpr < 0.05, `${title}: ${name}`);
      }
    }
    for (const { what, least, median, most } of claims) assert.ok(least <= median && median <= most, what);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the keys in Rust are those in JavaScript", () => {
  const [key] = strings(strangers(1));
  assert.ok(readFileSync(join(root, "bench/peers.rs"), "utf8").includes(key));
});

test("the README's table is that of docs/bench.json", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  assert.ok(readme.includes("| bloomfilter | 1.00x |"));
  assert.equal(withSummary(readme, JSON.parse(readFileSync(join(root, "docs/bench.json")))), readme);
});
