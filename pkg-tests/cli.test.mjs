/** The native command line tool and the package: the same keys and options give the same bytes. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { folder, installed } from "./installed.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter, decode } = await installed();
const tool = fileURLToPath(new URL(`../target/release/bloom-wasm${process.platform === "win32" ? ".exe" : ""}`, import.meta.url));

function build(keys, ...options) {
  return buildKind("bloom", keys, ...options);
}

function buildKind(kind, keys, ...options) {
  const [list, blob] = [join(folder, "list.txt"), join(folder, "cli.bloom")];
  writeFileSync(list, keys.join("\n"));
  execFileSync(tool, ["build", list, "-o", blob, "--kind", kind, ...options]);
  return readFileSync(blob);
}

const keys = (count) => Array.from({ length: count }, (_, i) => `ключ-${i * 7919}.example`);

test("equal bytes from both", () => {
  for (const count of [1, 2, 3, 10, 999, 12_345, 200_000]) {
    for (const fpr of [0.9, 0.5, 0.3, 0.2, 0.1, 0.037, 0.01, 1e-3, 1e-6]) {
      if (count > 100_000 && fpr !== 1e-3) continue;
      assert.deepEqual(Buffer.from(BloomFilter.from(keys(count), { fpr }).toBytes()), build(keys(count), "--fpr", `${fpr}`), `${count} keys at ${fpr}`);
    }
  }
  const options = ["--seed", "18446744073709551615", "--name", "größer", "--created-at", "2026-11-21T09:00:00.250Z"];
  const same = { seed: 2n ** 64n - 1n, name: "größer", createdAt: new Date("2026-11-21T09:00:00.250Z") };
  assert.deepEqual(Buffer.from(BloomFilter.from(keys(50), same).toBytes()), build(keys(50), ...options));
});

test("both describe a blob in the same fields", () => {
  const bytes = build(keys(100), "--name", "n");
  const json = JSON.parse(execFileSync(tool, ["info", join(folder, "cli.bloom"), "--json"], { encoding: "utf8" }));
  assert.deepEqual(json, decode(bytes).info());
});

test("a ribbon blob of the tool answers here as there", () => {
  for (const count of [0, 1, 50, 1000, 30_000]) {
    for (const fpr of [0.7, 0.01, 1e-3, 1e-6]) {
      const bytes = buildKind("ribbon", keys(count), "--fpr", `${fpr}`);
      const filter = decode(bytes);
      assert.ok(filter instanceof RibbonFilter && filter.kind === "ribbon");
      assert.ok(filter.hasAll(keys(count)), `${count} keys at ${fpr}: a false negative`);
      assert.deepEqual(Buffer.from(filter.toBytes()), bytes);
      const info = JSON.parse(execFileSync(tool, ["info", join(folder, "cli.bloom"), "--json"], { encoding: "utf8" }));
      assert.deepEqual(info, filter.info());
      const strangers = Array.from({ length: 5000 }, (_, i) => `stranger-${i}`);
      const { stdout } = spawnSync(tool, ["check", join(folder, "cli.bloom")], { input: strangers.join("\n"), encoding: "utf8" });
      assert.deepEqual(strangers.filter((key) => filter.has(key)), stdout.split("\n").filter(Boolean), `${count} keys at ${fpr}`);
      filter.free();
    }
  }
});

test("both build the same bytes of every kind", () => {
  const classes = { counting: CountingBloomFilter, scalable: ScalableBloomFilter, cuckoo: CuckooFilter, ribbon: RibbonFilter };
  for (const [kind, made] of Object.entries(classes)) {
    for (const count of [0, 1, 50, 1000, 30_000]) {
      for (const fpr of [0.7, 0.01, 1e-3, 1e-6]) {
        const bytes = buildKind(kind, keys(count), "--fpr", `${fpr}`);
        const filter = made.from(keys(count), { fpr });
        assert.deepEqual(Buffer.from(filter.toBytes()), bytes, `${kind}: ${count} keys at ${fpr}`);
        const info = JSON.parse(execFileSync(tool, ["info", join(folder, "cli.bloom"), "--json"], { encoding: "utf8" }));
        assert.deepEqual(info, decode(bytes).info());
        filter.free();
      }
    }
  }
});
