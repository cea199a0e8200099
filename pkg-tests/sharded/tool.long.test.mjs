/**
 * Sharded filters of the tool: a reader in Python agrees with JavaScript, and lists of any length. `KEYS=200000000` builds
 * from a longer list, and needs at least 20 bytes of disk for each key.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as setup from "../../scripts/setup.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";
import { skipped } from "../runtimes/table.mjs";

const KEYS = given("KEYS", 2_000_000);
const LF = 10;

const home = mkdtempSync(join(folder, "sharded-"));
const tool = nativeTool();
const run = (...args) => execFileSync(tool, args, { cwd: home, encoding: "utf8" });

/** Writes the keys from one number to another into a file. */
async function list(name, from, to) {
  const file = createWriteStream(join(home, name));
  for (let i = from; i < to; ) {
    let lines = "";
    for (const end = Math.min(to, i + 100_000); i < end; i++) lines += `key-${i}\n`;
    if (!file.write(lines)) await once(file, "drain");
  }
  await once(file.end(), "close");
}

const python = setup.pythonPackages("feeds", ["cryptography==50.0.2", "xxhash==4.1.0", "mmh3==5.3.1"]);
const noPython = !python && skipped("tests/readers/shards_reader.py", "pip could not install what it needs");

test("a reader in Python, written from the specifications alone, agrees on the golden folders", {
  skip: noPython,
}, async () => {
  const golden = join(setup.root, "tests/golden/shards");
  const passwords = ["größer", ...Array.from({ length: 300 }, (_, i) => `Password-${i}`)];
  const listed = readFileSync(join(golden, "url.txt"), "utf8").trim().split("\n");
  const members = {
    url: listed.map((line) => (line.includes("/") ? line : `${line}/`)),
    password: ["hUNTER2", ...passwords],
    sha1: ["hunter2", ...passwords],
    keyed: Array.from({ length: 1000 }, (_, i) => `key-${i}`),
    tags: Array.from({ length: 300 }, (_, i) => `host${i}.example/`),
  };
  const secret = Uint8Array.from({ length: 16 }, (_, i) => i);
  writeFileSync(join(home, "secret"), secret);
  const { openSharded } = await installed("bloom-wasm/reader");
  const script = join(setup.root, "tests/readers/shards_reader.py");
  const env = { ...process.env, PYTHONPATH: python };
  for (const [name, keys] of Object.entries(members)) {
    const asked = [...keys, ...Array.from({ length: 20_000 }, (_, i) => `stranger-${i}.example/`)];
    const isKeyed = name === "keyed";
    const args = [script, "--unsigned", ...(isKeyed ? ["--secret", join(home, "secret")] : []), join(golden, name)];
    const input = asked.map((key) => `${key}\n`).join("");
    const answers = execFileSync("python3", args, { env, input, encoding: "utf8" }).trim().split("\n");
    assert.ok(
      answers.slice(0, keys.length).every((answer) => answer.startsWith("1")),
      name,
    );
    const url = pathToFileURL(join(golden, name, "shards.json"));
    const filter = await openSharded(url, { publicKey: null, cache: null, ...(isKeyed && { secret }) });
    const ask = (key) => (/sha1|password/.test(name) ? filter.hasPassword(key) : filter.has(key));
    const tags = async (key) => (name === "tags" ? await filter.tags(key) : []);
    for (const [i, key] of asked.entries()) {
      const [answer, names = ""] = answers[i].split("\t");
      assert.equal(Number(await ask(key)), Number(answer), `${name} ${key}`);
      assert.equal((await tags(key)).join(), names, `${name} ${key}`);
      if (name === "tags" && i < 300) assert.equal(names, i % 7 ? "phishing" : "phishing,malware", key);
    }
  }
  const late = ["--unsigned", "--now", String(8.64e15), join(golden, "url")];
  assert.equal(spawnSync("python3", [script, ...late], { env, encoding: "utf8" }).stderr, "expired\n");
});

/** Runs the tool. Returns its peak memory in bytes; 0 on a system that doesn't tell it. */
async function peakOf(...args) {
  const child = spawn(tool, args, { cwd: home, stdio: ["ignore", "ignore", "inherit"] });
  let peak = 0;
  const look = () => {
    try {
      const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [0, 0];
      peak = Math.max(peak, 1024 * kilobytes);
    } catch {
      // Not on this system, or it has ended.
    }
  };
  const looking = setInterval(look, 20);
  const [code] = await once(child, "close");
  clearInterval(looking);
  assert.equal(code, 0);
  return peak;
}

test(`a list of ${KEYS} keys`, { timeout: 4 * 3_600_000 }, async () => {
  await list("long.txt", 0, KEYS);
  await list("nonmembers.txt", KEYS, KEYS + 1_000_000);
  // A million members, evenly spread over the list.
  const sample = createWriteStream(join(home, "sample.txt"));
  for (let i = 0; i < 1_000_000; i++) sample.write(`key-${Math.floor((i * KEYS) / 1_000_000)}\n`);
  await once(sample.end(), "close");
  for (const [fpr, shards, over] of [
    [0.001, 8192, 1.02],
    [1e-4, 1024, 1.01],
  ]) {
    // The same number of keys per shard as with 200,000,000.
    const count = Math.max(1, 2 ** Math.round(Math.log2((shards * KEYS) / 200_000_000)));
    for (const name of ["long", "state"]) rmSync(join(home, name), { recursive: true, force: true });
    writeFeed(home, { profile: "raw", shards: count, sign: [], fpr, public: "long", lists: { long: "long.txt" } });
    const peak = await peakOf("feed", "publish");
    const bytes = readdirSync(join(home, "long"))
      .map((name) => statSync(join(home, "long", name)).size)
      .reduce((sum, size) => sum + size);
    const ratio = bytes / ((KEYS * Math.log2(1 / fpr)) / 8);
    const { members, falseNegatives } = JSON.parse(run("verify", "long", "--members", "sample.txt", "--json"));
    assert.deepEqual([members, falseNegatives], [1_000_000, 0]);
    const check = spawn(tool, ["check", "long"], { cwd: home, stdio: ["pipe", "pipe", "inherit"] });
    createReadStream(join(home, "nonmembers.txt")).pipe(check.stdin);
    const hits = (await buffer(check.stdout)).filter((byte) => byte === LF).length;
    // Five standard deviations.
    assert.ok(Math.abs(hits - 1e6 * fpr) < 5 * Math.sqrt(1e6 * fpr), `${hits} of a million non-members at ${fpr}`);
    console.log(
      `${KEYS} keys at ${fpr} in ${count} shards: ${(peak / 2 ** 20).toFixed(0)} MiB of memory; ${bytes} bytes, ` +
        `${ratio.toFixed(4)} of the bound; ${hits} of 1,000,000 non-members`,
    );
    assert.ok(ratio <= over, `${ratio}`);
    assert.ok(peak <= 512 * 2 ** 20, `${peak} bytes of memory`);
  }
});
