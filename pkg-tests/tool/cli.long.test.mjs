/** The native command line tool and the package: the same keys and options give the same bytes, and odd lines the same keys. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { nativeTool } from "../helpers/built.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { ODD_URLS } from "../helpers/urls.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter, decode } = await installed();
const tool = nativeTool();
const [list, allowed, blob] = ["list", "allowed", "blob"].map((name) => join(folder, name));

/** The blob that the tool builds of these lines. */
function build(lines, ...options) {
  writeFileSync(list, typeof lines === "string" ? lines : lines.join("\n"));
  execFileSync(tool, ["build", list, "-o", blob, "--allow-empty", ...options], { stdio: "ignore" });
  return readFileSync(blob);
}

/** Asserts that the package's filter has these bytes, and that both describe them alike. */
function requireSame(filter, bytes, what) {
  assert.deepEqual(Buffer.from(filter.toBytes()), bytes, what);
  const info = JSON.parse(execFileSync(tool, ["info", blob, "--json"], { encoding: "utf8" }));
  assert.deepEqual(info, decode(bytes).info(), what);
  filter.free();
}

const keys = (count) => Array.from({ length: count }, (_, i) => `ключ-${i * 7919}.example`);

test("both build the same bytes of every kind, and describe them alike", () => {
  const classes = {
    bloom: BloomFilter,
    counting: CountingBloomFilter,
    scalable: ScalableBloomFilter,
    cuckoo: CuckooFilter,
    ribbon: RibbonFilter,
  };
  for (const [kind, made] of Object.entries(classes)) {
    for (const count of [0, 1, 50, 1000, 30_000]) {
      for (const fpr of [0.7, 0.2, 1e-3, 1e-6]) {
        const bytes = build(keys(count), "--kind", kind, "--fpr", `${fpr}`);
        requireSame(made.from(keys(count), { fpr }), bytes, `${kind}: ${count} keys at ${fpr}`);
      }
    }
  }
  const options = ["--seed", "18446744073709551615", "--name", "größer", "--created-at", "2026-11-21T09:00:00.250Z"];
  const same = { seed: 2n ** 64n - 1n, name: "größer", createdAt: new Date("2026-11-21T09:00:00.250Z") };
  requireSame(RibbonFilter.from(keys(50), same), build(keys(50), ...options));
});

test("both make the same keys of any line", () => {
  const lines = ODD_URLS.map((url) => url.replaceAll("\n", ""));
  for (const some of [...lines.map((line) => [line, "key.example"]), lines])
    assert.deepEqual(
      Buffer.from(RibbonFilter.from(some, { profile: "url", onSkip() {} }).toBytes()),
      build(some, "--profile", "url", "--allow-suffixes"),
      some[0].slice(0, 100),
    );
  // The same when asked: the tool prints what is maybe present.
  const { stdout } = spawnSync(tool, ["check", blob], {
    input: lines.join("\n"),
    encoding: "utf8",
    maxBuffer: 1 << 24,
  });
  const filter = decode(readFileSync(blob));
  assert.deepEqual(
    stdout.split("\n").slice(0, -1),
    lines.filter((url) => filter.hasUrl(url)),
  );
  const latin1 = [
    "http://m\xfcnchen.example/\xfc",
    "evil.example/\xff%ff",
    "1.2.3.4\xff a.example",
    "0.0.0.0 b.example\xe9",
  ];
  const bytes = latin1.map((line) => new Uint8Array(Buffer.from(line, "latin1")));
  writeFileSync(list, Buffer.from(latin1.join("\n"), "latin1"));
  execFileSync(tool, ["build", list, "-o", blob, "--profile", "url"], { stdio: "ignore" });
  assert.deepEqual(Buffer.from(RibbonFilter.from(bytes, { profile: "url" }).toBytes()), readFileSync(blob));
});

test("both build the same bytes from real lists, with an allowlist, and of passwords", () => {
  const { blacklist, whitelist } = createRequire(import.meta.url)("eth-phishing-detect/src/config.json");
  writeFileSync(allowed, whitelist.join("\n"));
  for (const allowWins of [false, true]) {
    const options = ["--profile", "url", "--fpr", "0.3", "--allow-suffixes", "--allow", allowed];
    const bytes = build(blacklist, ...options, ...(allowWins ? ["--allow-wins"] : []));
    // For the second group of the list, and the allowlist.
    assert.equal(decode(bytes).info().layers, 2);
    requireSame(RibbonFilter.from(blacklist, { profile: "url", fpr: 0.3, allow: whitelist, allowWins }), bytes);
  }
  const passwords = [
    "Passwo\u0308rd",
    "\u0130stanbul",
    "STRASSE\u00df",
    "\u03a3\u039f\u03a6",
    "#1",
    " a ",
    "\u1e9b\u0323",
  ];
  for (const lowercase of [false, true]) {
    const bytes = build(passwords, "--profile", "password", ...(lowercase ? ["--lowercase"] : []));
    requireSame(RibbonFilter.from(passwords, { profile: "password", lowercase }), bytes);
  }
  const hashes = passwords.map((password, i) => `${createHash("sha1").update(password).digest("hex")}:${i}`);
  const bytes = build(hashes.join("\r\n"), "--profile", "password", "--sha1", "--min-count", "3");
  requireSame(RibbonFilter.from(hashes, { profile: "password", sha1: true, minCount: 3 }), bytes);
});
