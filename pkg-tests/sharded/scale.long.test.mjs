/** docs/scale.md: its programs run unchanged, against Spark with two executors and against Redis. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { optimal } from "bloom-wasm";
import { folder } from "../helpers/installed.mjs";
import { page, prints, shell } from "../interop/docs.mjs";
import * as systems from "../interop/systems.mjs";
import { skipped } from "../runtimes/table.mjs";

const { text, code } = page("scale.md");

/** A folder from which scripts can import the package. */
const work = (name) => mkdtempSync(join(folder, `${name}-`));
const lines = (keys) => keys.map((key) => `${key}\n`).join("");
const numbered = (from, to, prefix = "key-é-") => Array.from({ length: to - from }, (_, i) => `${prefix}${from + i}`);

/** The keys of a list that may be in a blob. */
function check(cwd, blob, keys) {
  return prints("bloom-wasm", ["check", blob], { cwd, input: lines(keys) })
    .trimEnd()
    .split("\n");
}

test("each section about a way to build has programs", () => {
  assert.deepEqual(
    Object.entries(code).map(([title, of]) => [title, Object.keys(of)]),
    [
      ["Which for how many keys", []],
      ["Five billion mail addresses", []],
      ["Parts that merge", ["sh"]],
      ["Spark", ["python", "sh", "js"]],
      ["Redis", ["python", "sh", "js"]],
      ["What it costs", []],
    ],
  );
});

test("parts merge into the filter of the whole list, byte for byte", () => {
  const cwd = work("parts");
  const [north, south] = [numbered(0, 60_000), numbered(50_000, 100_000)];
  writeFileSync(join(cwd, "north.txt"), lines(north));
  writeFileSync(join(cwd, "south.txt"), lines(south));
  writeFileSync(join(cwd, "whole.txt"), lines(numbered(0, 100_000).reverse()));
  shell(code["Parts that merge"].sh[0], cwd);
  const sized = ["--kind", "bloom", "--capacity", 1_000_000, "--fpr", 0.001];
  prints("bloom-wasm", ["build", "whole.txt", ...sized, "-o", "at-once.bloom"], { cwd });
  const merged = readFileSync(join(cwd, "whole.bloom"));
  assert.ok(merged.equals(readFileSync(join(cwd, "at-once.bloom"))));
  assert.ok(merged.length > 1_797_198 && merged.length < 1_797_198 + 100);
});

const spark = systems.pyspark();
const noSpark = spark.missing && skipped("docs/scale.md, Spark", spark.missing);

test("Spark builds one filter of a table on two executors", { skip: noSpark, timeout: 900_000 }, async () => {
  const cwd = work("spark");
  const keys = numbered(0, 100_000);
  mkdirSync(join(cwd, "keys"));
  for (let part = 0; part < 8; part++)
    writeFileSync(join(cwd, `keys/${part}.txt`), lines(keys.slice(part * 12_500, (part + 1) * 12_500)));
  mkdirSync(join(cwd, "events"));
  const [program] = code.Spark.python;
  writeFileSync(join(cwd, "keys.py"), program);
  await systems.sparkSubmit(cwd, "local-cluster[2,1,512]", "keys.py", {
    "spark.executor.memory": "512m",
    "spark.eventLog.enabled": true,
    "spark.eventLog.rolling.enabled": false,
    "spark.eventLog.compress": false,
    "spark.eventLog.dir": `file://${join(cwd, "events")}`,
  });
  const events = shell("cat events/*", cwd);
  const executors = new Set([...events.matchAll(/"Executor ID":"(\d+)"/g)].map(([, id]) => id));
  assert.equal(executors.size, 2);

  // The same filter, made in one process with only the class, without a limit.
  writeFileSync(join(cwd, "all.txt"), lines(keys));
  const alone = systems.sparkSystem();
  const capacity = 5_000_000;
  assert.ok(program.includes("CAPACITY = 5_000_000"));
  await systems.run(alone, [["make", "string default", join(cwd, "alone"), join(cwd, "all.txt"), capacity, 0.001]]);
  const made = readFileSync(join(cwd, "keys.spark"));
  assert.ok(made.length * 8 > 71_887_938 && made.equals(readFileSync(join(cwd, "alone"))));

  shell(code.Spark.sh[0], cwd);
  assert.deepEqual(check(cwd, "keys.bloom", [...keys, ...numbered(0, 1000, "stranger-")]), keys);
  writeFileSync(join(cwd, "ask.mjs"), code.Spark.js[0]);
  assert.match(prints(process.execPath, ["ask.mjs"], { cwd }), /^false \{/);
});

const redis = systems.redisTools();
const noRedis = redis.missing && skipped("docs/scale.md, Redis", redis.missing);

describe("Redis", { skip: noRedis, timeout: 600_000 }, () => {
  test("many writers share one bitmap per day, and the days of a week become one filter", () =>
    systems.withRedis(async (port) => {
      const cwd = work("redis");
      const env = { ...process.env, PYTHONPATH: redis.path };
      const [writer, exporter] = code.Redis.python;
      writeFileSync(join(cwd, "writer.py"), writer);
      writeFileSync(join(cwd, "export.py"), exporter);

      /** Runs the writer of a day. */
      async function write(day, keys) {
        const child = spawn("python3", ["writer.py", port, day], { cwd, env, stdio: ["pipe", "inherit", "inherit"] });
        child.stdin.end(lines(keys));
        assert.deepEqual(await once(child, "exit"), [0, null]);
      }
      const keys = ["session-1", ...numbered(0, 12_000)];
      await Promise.all([
        write("monday", keys.slice(0, 5000)),
        write("monday", keys.slice(4000, 8000)),
        write("tuesday", keys.slice(7000)),
        write("long-ago", numbered(0, 1000, "old-")),
      ]);
      prints("python3", ["export.py", port, "monday", "tuesday"], { cwd, env });

      // The same bitmap, made by the tool.
      writeFileSync(join(cwd, "all.txt"), lines(keys));
      const shape = ["--option", "bits=14377588", "--option", "hashes=10"];
      prints("bloom-wasm", ["build", "all.txt", "--kind", "redis-bitmap", ...shape, "-o", "same.bloom"], { cwd });
      shell("bloom-wasm export same.bloom --format redis-bitmap -o same.bitmap", cwd);
      assert.ok(readFileSync(join(cwd, "week.bitmap")).equals(readFileSync(join(cwd, "same.bitmap"))));

      shell(code.Redis.sh[0], cwd);
      assert.deepEqual(check(cwd, "week.bloom", [...keys, ...numbered(0, 1000, "old-")]), keys);
      writeFileSync(join(cwd, "ask.mjs"), code.Redis.js[0]);
      assert.match(prints(process.execPath, ["ask.mjs"], { cwd }), /^true \{/);
    }));

  test("the shape is what `optimal` says", () => {
    assert.ok(text.includes("`optimal(1_000_000, 0.001)`") && text.includes("14,377,588 bits and 10\nhashes"));
    const { bits, hashes } = optimal(1_000_000, 0.001);
    assert.deepEqual([bits, hashes], [14_377_588, 10]);
  });
});
