/** examples/spark with spark-submit and two executors: the shards are those of the tool, to the byte. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { root } from "../../scripts/setup.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { folder } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";
import * as systems from "../interop/systems.mjs";
import { skipped } from "../runtimes/table.mjs";

const ROWS = given("ROWS", 40_000);
const SHARDS = 64;
/** A feed of SHA-1 hashes. */
const hashed = { profile: "password", sha1: true, shards: 2 };
const release = join(root, "target/release");
const packages = systems.sparkHashes();
const missing = systems.pyspark().missing ?? packages.missing;
const skip = missing && skipped("examples/spark", missing);

process.env.PATH = `${release}${delimiter}${process.env.PATH}`;

/** Runs the example in a folder, over the text files in `keys`. */
function spark(master, cwd, described, format = "text") {
  writeFeed(cwd, { ...described, sign: [], public: "spark", parts: "parts" });
  const script = [join(root, "examples/spark/sharded.py"), "keys", "value", "--format", format];
  const settings = { "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": 8 };
  return systems.sparkSubmit(cwd, master, script, settings, packages.path);
}

/** Publishes the same with only the tool. */
function alone(cwd, paths, described) {
  const lists = Object.fromEntries(paths.map((path) => [path, path]));
  writeFeed(cwd, { ...described, sign: [], public: "alone", state: "alone-state", lists }, "alone.toml");
  execFileSync(join(release, "bloom-wasm"), ["feed", "publish", "alone.toml"], { cwd });
}

/** The files of a sharded filter, and its manifest without times and number. */
function contents(dir) {
  const { generation, createdAt, expires, ...payload } = JSON.parse(
    Buffer.from(JSON.parse(readFileSync(join(dir, "shards.json"))).payload, "base64url"),
  );
  assert.ok(generation && createdAt < expires);
  const names = readdirSync(dir).filter((name) => name !== "shards.json");
  return {
    payload,
    files: Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(dir, name), "hex")])),
  };
}

/** Kills one of the executors of the job in a folder, once there are some shards. */
async function killOne(cwd) {
  while (!readdirSync(join(cwd, "parts")).some((name) => name.startsWith("shard-"))) await pause(20);
  const executor = readdirSync("/proc").find((pid) => {
    try {
      const [command, environment] = ["cmdline", "environ"].map((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"));
      return command.includes("CoarseGrainedExecutorBackend") && environment.includes(join(cwd, "spark-local"));
    } catch {
      return false; // no process, another user's, or gone
    }
  });
  process.kill(Number(executor), "SIGKILL");
}

describe("a sharded filter by Spark", { skip, timeout: 3_600_000 }, () => {
  const work = () => {
    const cwd = mkdtempSync(join(folder, "spark-"));
    for (const name of ["keys", "parts"]) mkdirSync(join(cwd, name));
    return cwd;
  };

  test(`${ROWS} strings, with one executor killed in the middle`, async () => {
    const cwd = work();
    // Each key occurs about twice. They have all lengths modulo 4 and 16, which the hashes treat differently.
    for (let part = 0; part < 8; part++) {
      const keys = Array.from({ length: ROWS / 8 }, (_, i) => {
        const n = ((part * ROWS) / 8 + i) % Math.floor(ROWS / 2);
        return `${"é".repeat(n % 3)}${"k".repeat(n % 41)}${n}`;
      });
      writeFileSync(join(cwd, `keys/${part}.txt`), keys.map((key) => `${key}\n`).join(""));
    }
    writeFileSync(join(cwd, "keys/8.txt"), Buffer.from("ff6bfe800a", "hex")); // not UTF-8
    const lists = Array.from({ length: 9 }, (_, part) => `keys/${part}.txt`);
    const described = { profile: "raw", shards: SHARDS, fpr: 0.001 };
    alone(cwd, lists, described);
    const running = spark("local-cluster[2,1,512]", cwd, described);
    await Promise.all([running, killOne(cwd)]);
    assert.deepEqual(contents(join(cwd, "spark")), contents(join(cwd, "alone")));
    assert.deepEqual(readdirSync(join(cwd, "parts")), [], "the published parts are gone");
  });

  test("SHA-1 hashes, with counts and without", async () => {
    const cwd = work();
    const hashes = Array.from({ length: 1000 }, (_, i) => {
      const hash = i.toString(16).padStart(40, "9a");
      return i % 2 ? hash : `${hash.toUpperCase()}:${i}`;
    });
    writeFileSync(join(cwd, "keys/1.txt"), hashes.map((hash) => `${hash}\n`).join(""));
    alone(cwd, ["keys/1.txt"], hashed);
    await spark("local[2]", cwd, hashed);
    assert.deepEqual(contents(join(cwd, "spark")), contents(join(cwd, "alone")));
  });

  test("a null, or a value that isn't a hash, fails the job by name", async () => {
    for (const [name, text, described, format, words] of [
      ["1.txt", `${"a".repeat(40)}\nno hash\n`, hashed, "text", /value has a null, or what isn't a SHA-1 hash/],
      ["1.json", '{"value":"a"}\n{"value":null}\n', { profile: "raw", shards: 2 }, "json", /value has a null/],
    ]) {
      const cwd = work();
      writeFileSync(join(cwd, "keys", name), text);
      await assert.rejects(spark("local[2]", cwd, described, format), words);
      assert.ok(!existsSync(join(cwd, "spark/shards.json")));
    }
  });
});
