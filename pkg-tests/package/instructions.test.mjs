/** Only a line in the CHANGELOG lets a workload take more instructions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { known } from "../../scripts/instructions.mjs";

test("a workload may take more instructions if the CHANGELOG says why", () => {
  const after = (changelog) => known("bloom hit", 200, changelog);
  const line = "bloom hit: 200 to 230 instructions, because of a good reason";
  assert.equal(after(""), 200);
  assert.equal(after(`# Changelog\n\n- ${line}.\n`), 230);
  assert.equal(after(`bloom hit: 230 to 260 instructions, because of another.\n${line}`), 260);
  for (const other of [
    "bloom hit: 200 to 230 instructions",
    line.replace("200", "190"),
    line.replace("230", "150"),
    line.replace("hit", "miss"),
    `counting ${line}`,
  ]) {
    assert.equal(after(other), 200, other);
  }
});
