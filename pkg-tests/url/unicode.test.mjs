/** The tables of Unicode that Rust and JavaScript share. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../scripts/setup.mjs";
import { files, rows } from "../../scripts/unicode.mjs";

test("both are up to date with scripts/unicode.mjs", () => {
  for (const [name, text] of Object.entries(files))
    assert.equal(readFileSync(join(root, name), "utf8"), text, `${name}: run node scripts/unicode.mjs`);
});

test("the rows of a table are in order, and don't overlap", () => {
  for (const table of ["map", "valid", "invisible"]) {
    const its = rows.filter((row) => row.table === table);
    assert.ok(its.length > 10);
    its.forEach(({ first, last }, i) =>
      assert.ok(first <= last && first > (its[i - 1]?.last ?? 0), first.toString(16)),
    );
  }
});
