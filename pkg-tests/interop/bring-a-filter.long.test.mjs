/** docs/bring-a-filter.md: its programs run unchanged, against Spark with two executors and against answers of RedisBloom. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { root, installed as tools } from "../../scripts/setup.mjs";
import { PATIENCE } from "../helpers/browsers.mjs";
import { folder } from "../helpers/installed.mjs";
import { skipped } from "../runtimes/table.mjs";
import { page, shell } from "./docs.mjs";
import * as systems from "./systems.mjs";

const { text, code } = page("bring-a-filter.md");

/** A folder from which scripts can import the package. */
const work = (name) => mkdtempSync(join(folder, `${name}-`));
const lines = (keys) => keys.map((key) => `${key}\n`).join("");

const spark = systems.pyspark();
const noSpark = spark.missing && skipped("docs/bring-a-filter.md, Spark", spark.missing);

test("Spark builds one filter of a table on two executors", { skip: noSpark, timeout: 900_000 }, async () => {
  const cwd = work("spark");
  const keys = Array.from({ length: 100_000 }, (_, i) => `key-é-${i}`);
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
  assert.ok(program.includes("CAPACITY, FPR = 5_000_000, 0.001"));
  await systems.run(alone, [["make", "string default", join(cwd, "alone"), join(cwd, "all.txt"), capacity, 0.001]]);
  const made = readFileSync(join(cwd, "keys.spark"));
  assert.ok(made.length * 8 > 71_887_938 && made.equals(readFileSync(join(cwd, "alone"))));

  shell("bloom-wasm import keys.spark --format spark --members all.txt -o keys.bloom", cwd);
});

/** A Redis that knows BF.SCANDUMP, and answers it with the chunks that a real one gave. */
async function recordedRedis(chunks) {
  const answer = ([command, ...args]) => {
    switch (command.toUpperCase()) {
      case "HELLO":
        return args[0] === "3" ? "%1\r\n$5\r\nproto\r\n:3\r\n" : "*2\r\n$5\r\nproto\r\n:2\r\n";
      case "INFO":
        return "$9\r\nloading:0\r\n";
      case "BF.SCANDUMP": {
        if (args[0] !== "list") return "-ERR not found\r\n";
        const at = chunks.findIndex(({ iterator }) => String(iterator) === args[1]);
        if (at < 0 && args[1] !== "0") return "-ERR no such iterator\r\n";
        const { iterator, bytes } = chunks[at + 1] ?? { iterator: 0, bytes: Buffer.alloc(0) };
        return Buffer.concat([Buffer.from(`*2\r\n:${iterator}\r\n$${bytes.length}\r\n`), bytes, Buffer.from("\r\n")]);
      }
      default:
        return "+OK\r\n";
    }
  };
  const server = createSocketServer((socket) => {
    let words = []; // all lines of a command: how many words, and then each word after its length
    socket.setEncoding("latin1").on("data", (text) => {
      words = [...words.slice(0, -1), ...`${words.at(-1) ?? ""}${text}`.split("\r\n")];
      for (let count; (count = 2 * Number(words[0]?.slice(1))) && words.length > count + 1; )
        socket.write(answer(words.splice(0, count + 1).filter((_, i) => i > 0 && i % 2 === 0)));
    });
  });
  await once(server.listen(0, "localhost"), "listening");
  return server;
}

const clients = tools("redis-clients", ["redis@6.3.1", "ioredis@6.0.0"]);
const noClients = !clients && skipped("docs/bring-a-filter.md, RedisBloom", "npm could not install redis and ioredis");

test("RedisBloom, by the program that joins its chunks", { skip: noClients, timeout: 4 * PATIENCE }, async () => {
  const home = join(root, "tests/interop/redisbloom");
  const { cases } = JSON.parse(readFileSync(join(home, "manifest.json"), "utf8"));
  // Without the type of the replies, the program fails instead of reading damaged chunks.
  const [program] = code.Redis.js;
  const [url, ask, connect] = [
    "process.env.REDIS_URL",
    'await client.bf.scanDump("list", at)',
    /^const client = .*$/m.exec(program)[0],
  ];
  const asStrings = program.replace(".withTypeMapping(asBytes)", "");
  const [, line] = /With `ioredis`, a chunk comes from `(.*)`\.$/m.exec(text);
  const ioredis = program
    .replace(/^import .* "redis";$/m, 'import Redis from "ioredis";')
    .replace(/^const asBytes.*\n/m, "")
    .replace(connect, `const client = new Redis(${url});`)
    .replace(`const { iterator, chunk } = ${ask};`, `${line};`)
    .replace("client.destroy()", "client.disconnect()");
  assert.ok(asStrings !== program && ioredis.includes(line) && !ioredis.includes(ask));
  for (const id of ["scaled-x2", "unicode", "v1.1.0-scaled-unicode"]) {
    const its = cases.find((one) => one.id === id);
    const chunks = its.chunks.map(({ iter, file }) => ({ iterator: iter, bytes: readFileSync(join(home, file)) }));
    const probes = readFileSync(join(home, its.probes), "utf8").trimEnd().split("\n");
    // No argument of a program has a NUL.
    const answers = probes.map((probe) => probe.split("\t")).filter(([, key]) => !key.includes("\\u0000"));
    assert.ok(answers.length > 300 && new Set(answers.map(([answer]) => answer)).size === 2);
    const server = await recordedRedis(chunks);
    try {
      const env = { ...process.env, REDIS_URL: `redis://localhost:${server.address().port}` };
      const ran = (code, keys) => {
        // In the folder where the clients are installed.
        const at = (name) => JSON.stringify(pathToFileURL(createRequire(join(clients, "user.cjs")).resolve(name)).href);
        const cwd = work("redisbloom");
        writeFileSync(
          join(cwd, "ask.mjs"),
          code.replace(/(?<=from )"(io)?redis"/, (name) => at(JSON.parse(name))),
        );
        return promisify(execFile)(process.execPath, ["ask.mjs", ...keys], { cwd, env, timeout: PATIENCE });
      };
      for (const code of [program, ioredis]) {
        const { stdout } = await ran(
          code,
          answers.map(([, key]) => JSON.parse(key)),
        );
        assert.deepEqual(
          stdout.trimEnd().split("\n"),
          answers.map(([answer]) => (answer === "1" ? "maybe" : "no")),
        );
      }
      await assert.rejects(ran(asStrings, ["a"]), /must be an instance of Buffer/);
      await assert.rejects(ran(program.replace('"list"', '"other"'), ["a"]), /not found/);
    } finally {
      server.close();
    }
  }
});
