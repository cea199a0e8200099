/**
 * The tool and the package against the software whose filters they read and write: filters made by either side give the
 * same answers on both, for 50,000 random keys and as many non-members. `COUNT` asks for others, and SEED=N
 * repeats a run.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { nativeTool } from "../helpers/built.mjs";
import { installed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";
import { skipped } from "../runtimes/table.mjs";
import { listed, randomKeys, randomly } from "./keys.mjs";
import * as systems from "./systems.mjs";

const COUNT = given("COUNT", 50_000);
const FPR = 0.01;
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
const tool = nativeTool();

/** A line as a key in JavaScript. */
const inJavaScript = { text: String, bytes: (line) => line, int: Number, long: (line) => BigInt(String(line)) };

/** The keys of each kind, the members and then non-members: as lines, as JavaScript has them, and in files. */
const lists = {};
let folder;

before(() => {
  console.log(`interop/interop.long.test.mjs: SEED=${SEED}`);
  folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  const below = randomly(SEED);
  for (const kind of ["text", "bytes", "int", "long"]) {
    const keys = randomKeys(kind, 2 * COUNT, below);
    const [members, all] = ["members", "all"].map((name) => join(folder, `${kind}-${name}`));
    writeFileSync(members, listed(keys.slice(0, COUNT)));
    writeFileSync(all, listed(keys));
    lists[kind] = { keys, own: keys.map(inJavaScript[kind]), members, all };
  }
});

after(() => rmSync(folder, { recursive: true, force: true }));

const bloomWasm = (...args) => execFileSync(tool, args.map(String), { encoding: "utf8", maxBuffer: 2 ** 30 });

/** 1 for each line of the list that the tool says may be in a blob, else 0. */
function check(blob, { keys, all }) {
  const { status, stdout, stderr } = spawnSync(tool, ["check", blob], { input: readFileSync(all), maxBuffer: 2 ** 30 });
  assert.ok(status === 0 || status === 1, `${stderr}`);
  let at = 0;
  const answers = keys.map((key) => {
    const line = stdout.subarray(at, at + key.length + 1);
    const found = line.length > key.length && line.at(-1) === 10 && key.equals(line.subarray(0, -1));
    if (found) at += line.length;
    return found ? 1 : 0;
  });
  assert.equal(at, stdout.length, "the tool prints lines that it wasn't asked for");
  return answers;
}

/** The other system's answers, one per key. */
function answersIn(file, list) {
  const answers = readFileSync(file, "latin1").trim().split("\n").map(Number);
  assert.equal(answers.length, list.keys.length);
  return answers;
}

/** Compares what the tool says of a blob with the other system's answers. */
function compare(blob, list, answersFile) {
  const expected = answersIn(answersFile, list);
  // Their own answers are right: no member is lost, and some non-members are false positives.
  assert.ok(expected.slice(0, COUNT).every(Boolean));
  const falsePositives = expected.slice(COUNT).filter(Boolean).length;
  assert.ok(falsePositives > 0.8 * FPR * COUNT && falsePositives < 1.2 * FPR * COUNT, `${falsePositives} of ${COUNT}`);
  const found = check(blob, list);
  const wrong = list.keys.filter((_, i) => found[i] !== expected[i]);
  assert.deepEqual(
    wrong.slice(0, 5).map((key) => key.toString("latin1")),
    [],
    `${wrong.length} keys are answered differently`,
  );
}

const options = (given) => Object.entries(given).flatMap(([name, value]) => ["--option", `${name}=${value}`]);

/** The number of bits that a Bloom filter of `count` keys needs. */
const BITS = Math.ceil((-COUNT * Math.log(FPR)) / Math.log(2) ** 2);
const SHAPE = { bits: BITS, hashes: 7 };

const funnels = { utf8: "text", "unencoded-chars": "text", bytes: "bytes", int: "int", long: "long" };
const guavaCases = [
  ...Object.entries(funnels).map(([funnel, kind]) => ({ kind, scheme: funnel, given: { funnel } })),
  // Guava still reads this, but no longer makes it.
  { kind: "text", scheme: "utf8", given: { funnel: "utf8" }, layout: { layout: "mitz-32" }, onlyOurs: true },
];

/**
 * The cases of each system: the kind of keys, its program's scheme, the tool's options when it reads and builds,
 * further options when it builds, and whether only we or only they make it.
 */
const SYSTEMS = {
  "Go's bits-and-blooms": {
    system: systems.goSystem,
    format: "go-bloom",
    cases: [
      { kind: "text", scheme: "binary" },
      { kind: "bytes", scheme: "binary" },
      { kind: "text", scheme: "json", layout: { layout: "json" } },
    ],
  },
  "Guava of Debian": { system: systems.guavaSystem, format: "guava", cases: guavaCases },
  "Guava of Spark": { system: systems.newerGuavaSystem, format: "guava", cases: guavaCases },
  Spark: {
    system: systems.sparkSystem,
    format: "spark",
    cases: Object.entries({ string: "text", bytes: "bytes", long: "long" }).flatMap(([keys, kind]) => [
      { kind, scheme: `${keys} default`, given: { keys }, layout: { layout: "v2" } },
      { kind, scheme: `${keys} V2 123456789`, given: { keys }, layout: { layout: "v2", seed: 123456789 } },
      { kind, scheme: `${keys} V1`, given: { keys }, layout: { layout: "v1" } },
    ]),
  },
  "a bitmap in Redis": {
    system: systems.redisSystem,
    using: systems.withRedis,
    format: "redis-bitmap",
    cases: [{ kind: "text", scheme: `${BITS} 7`, given: SHAPE }],
  },
  "flor of Python": {
    system: systems.florOfPython,
    format: "flor",
    cases: [{ kind: "text", scheme: "text", onlyTheirs: true }],
  },
  "bloom-filters of npm": {
    system: systems.bloomFiltersSystem,
    format: "npm-bloom-filters",
    cases: [
      { kind: "text", scheme: "text BloomFilter", onlyTheirs: true },
      { kind: "text", scheme: "text PartitionedBloomFilter", onlyTheirs: true },
    ],
  },
  "bloom_filter2 of Python": {
    system: systems.bloomFilter2System,
    format: "bloom-filter2",
    cases: ["text", "bytes"].map((kind) => {
      const scheme = `${kind} ${COUNT} ${FPR} mmap`;
      return { kind, scheme, given: { keys: kind === "text" ? "string" : kind, ...SHAPE }, onlyTheirs: true };
    }),
  },
  "DCSO's bloom of Go": {
    system: systems.florOfGo,
    format: "flor",
    cases: [
      { kind: "text", scheme: "text", onlyTheirs: true },
      { kind: "bytes", scheme: "text and data", onlyTheirs: true },
    ],
  },
};

for (const [name, { system, using = (use) => use(), format, cases }] of Object.entries(SYSTEMS)) {
  const { missing, ...program } = system();
  const skip = missing && skipped(`interop, ${name}`, missing);
  describe(name, { skip, timeout: 600_000 }, () => {
    const file = (i, what) => join(folder, `${name.replaceAll(/\W/g, "-")}-${i}.${what}`);

    before(async () => {
      const jobs = cases.flatMap(({ kind, scheme, given = {}, layout = {}, onlyOurs, onlyTheirs }, i) => {
        const { members, all } = lists[kind];
        const [ours, theirs] = ["ours", "theirs"].map((whose) => file(i, whose));
        const made = [
          ["make", scheme, theirs, members, COUNT, FPR],
          ["ask", scheme, theirs, all, `${theirs}-answers`],
        ];
        if (onlyTheirs) return made;
        const told = [...options({ ...given, ...layout }), ...(given.bits ? [] : ["--fpr", FPR])];
        bloomWasm("build", members, "--kind", format, ...told, "-o", `${ours}-blob`);
        bloomWasm("export", `${ours}-blob`, "--format", format, "-o", ours);
        return [...(onlyOurs ? [] : made), ["ask", scheme, ours, all, `${ours}-answers`]];
      });
      await using((...more) => systems.run(program, jobs, ...more));
    });

    for (const [i, { kind, scheme, given = {}, layout, onlyOurs, onlyTheirs }] of cases.entries()) {
      const what = `${onlyOurs ? layout.layout : scheme}, keys of ${kind}`;
      const bytesOf = (whose) => readFileSync(file(i, whose));

      if (!onlyTheirs) {
        test(`${what}: we write, and they answer`, () => {
          compare(file(i, "ours-blob"), lists[kind], file(i, "ours-answers"));
        });
      }

      if (onlyOurs) continue;
      test(`${what}: they write${onlyTheirs ? "" : " the same bytes"}, and we answer`, () => {
        const blob = file(i, "theirs-blob");
        bloomWasm("import", file(i, "theirs"), "--format", format, ...options(given), "-o", blob);
        compare(blob, lists[kind], file(i, "theirs-answers"));
        if (onlyTheirs) return;
        bloomWasm("export", blob, "--format", format, "-o", file(i, "again"));
        assert.ok(bytesOf("again").equals(bytesOf("theirs")), "import and export change the bytes");
        assert.ok(bytesOf("ours").equals(bytesOf("theirs")), "build makes other bytes");
      });

      test(`${what}: the package reads${onlyTheirs ? "" : " and makes"} these bytes and the blob`, async () => {
        const { ForeignFilter, decode } = await installed();
        const answers = answersIn(`${file(i, "theirs")}-answers`, lists[kind]);
        const wrapped = decode(bytesOf("theirs-blob"));
        const filter = decode(bytesOf("theirs"), { format, ...given });
        const { own } = lists[kind];
        for (const asked of [wrapped, filter]) {
          const wrong = own.findIndex((key, at) => asked.has(key) !== (answers[at] === 1));
          assert.equal(wrong, -1, `${lists[kind].keys[wrong]} is answered differently`);
          asked.free();
        }
        if (onlyTheirs) return;
        const shape = given.bits ? {} : { fpr: FPR };
        const made = ForeignFilter.from(own.slice(0, COUNT), { format, ...given, ...layout, ...shape });
        assert.ok(bytesOf("theirs").equals(made.toForeign()));
        made.free();
      });
    }
  });
}

{
  const { missing, path } = systems.bloomFilters();
  const skip = missing && skipped("interop, ScalableBloomFilter", missing);
  // This one counts all its bits before it adds a key, so there are fewer keys.
  test("ScalableBloomFilter of npm, from one filter to many", { skip }, async () => {
    const { ScalableBloomFilter } = (await import(pathToFileURL(path).href)).default;
    const { decode } = await installed();
    const { own } = lists.text;
    for (const [count, size] of [
      [0, 8],
      [9, 8],
      [100, 1],
      [3000, 300],
    ]) {
      const theirs = ScalableBloomFilter.create(size, FPR);
      for (const key of own.slice(0, count)) theirs.add(key);
      const filter = decode(theirs.saveAsJSON(), { format: "npm-bloom-filters" });
      const asked = [...own.slice(0, count), ...own.slice(-3000)];
      const wrong = asked.filter((key) => filter.has(key) !== theirs.has(key));
      assert.deepEqual(wrong, [], `of ${count} keys, for ${size}`);
      assert.ok(filter.hasAll(own.slice(0, count)));
      assert.equal(filter.info().foreign.filters ?? 1, theirs._filters.length);
    }
  });
}
