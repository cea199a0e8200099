/**
 * Makes cases of tests/interop again with the real software, and records its answers:
 *
 *     node pkg-tests/interop/record.mjs NAME     those of the format NAME below
 *
 * Their keys are those of an existing case. Other cases in the folder stay as they are.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as systems from "./systems.mjs";

const root = fileURLToPath(new URL("../../tests/interop", import.meta.url));

/** The existing cases whose keys the cases below use, by the last word of their names. */
const LIKE = {
  small: "pybloomfiltermmap3/small",
  lengths: "pybloomfiltermmap3/lengths",
  medium: "pybloomfiltermmap3/medium",
  unicode: "pybloomfiltermmap3/unicode",
  bytes: "pybloomfiltermmap3/bytes",
  surrogates: "npm-bloom-filters/v3.0.4-lone-surrogates",
};

/**
 * The cases of a program: each has a name, the number of keys that it is for, the rate, and the rest of the scheme
 * after the keys' form.
 */
const made = (system, file, cases) =>
  cases.map(([id, count, fpr, scheme = ""]) => {
    return { system, file, id, count, fpr, scheme, keys: LIKE[/[a-z]+$/.exec(id)[0]] };
  });

/** Each format: the software's human-readable name, and its cases. */
const FORMATS = {
  flor: {
    software: "Python flor 1.1.3, Go github.com/DCSO/bloom 0.2.4",
    cases: [
      ...made(systems.florOfPython, "filter.bloom", [
        ["python-small", 40, 0.05],
        ["python-lengths", 80, 0.02],
        ["python-one-bit-small", 1, 0.5],
        ["python-two-words-small", 25, 0.085],
        ["python-medium", 10_001, 0.01],
      ]),
      ...made(systems.florOfGo, "filter.bloom", [
        ["go-small", 32, 0.05],
        ["go-data-small", 77, 1e-6, "more: data"],
        ["go-unicode", 10_000, 0.05],
      ]),
    ],
  },
  "bloom-filter2": {
    software: "Python bloom-filter2 2.0.0",
    cases: made(systems.bloomFilter2System, "filter.bin", [
      ["seek-small", 40, 0.05, "seek"],
      ["mmap-lengths", 80, 0.02, "mmap"],
      ["array-bytes", 200, 0.02, "array"],
      ["seek-one-bit-small", 1, 0.7, "seek"],
      ["array-whole-bytes-small", 25, 0.085, "array"],
      ["mmap-medium", 10_000, 0.01, "mmap"],
      ["mmap-unicode", 10_000, 0.05, "mmap"],
      ["seek-lone-surrogates", 30, 0.01, "seek"],
    ]).map((its) => {
      const bits = Math.ceil((-its.count * Math.log(its.fpr)) / Math.LN2 ** 2);
      const hashes = Math.ceil((bits / its.count) * Math.LN2);
      return { ...its, scheme: `${its.count} ${its.fpr} ${its.scheme}`, params: { bits, hashes } };
    }),
  },
  "npm-bloom-filters": {
    cases: made(systems.bloomFiltersSystem, "filter.json", [
      ["v3.0.4-partitioned-small", 40, 0.05, "PartitionedBloomFilter"],
      ["v3.0.4-partitioned-lengths", 71, 0.003, "PartitionedBloomFilter"],
      ["v3.0.4-partitioned-seed-negative-small", 35, 0.1, "PartitionedBloomFilter -2"],
      ["v3.0.4-partitioned-one-slice-small", 40, 0.5, "PartitionedBloomFilter"],
      ["v3.0.4-partitioned-unicode", 10_000, 0.05, "PartitionedBloomFilter"],
      ["v3.0.4-partitioned-lone-surrogates", 30, 0.01, "PartitionedBloomFilter"],
      ["v3.0.4-scalable-small", 8, 0.05, "ScalableBloomFilter"],
      ["v3.0.4-scalable-seeded-lengths", 5, 0.01, "ScalableBloomFilter 42"],
      ["v3.0.4-scalable-not-grown-small", 100, 0.05, "ScalableBloomFilter"],
      ["v3.0.4-scalable-medium", 4000, 0.01, "ScalableBloomFilter"],
    ]),
  },
};

const json = (file) => JSON.parse(readFileSync(file, "utf8"));
const lines = (file) => readFileSync(file, "utf8").trimEnd().split("\n");

/** The keys of a rule, as tests/interop/README.md has it. */
const numbered = ({ formats, from, to, mul, add }) =>
  Array.from({ length: to - from }, (_, at) => {
    const i = from + at;
    return JSON.stringify(formats[i % formats.length].replace("%d", i * mul + add));
  });

const name = process.argv[2];
const { software, cases } = FORMATS[name] ?? {};
if (!cases) throw new Error(`the name of a format is needed: ${Object.keys(FORMATS).join(", ")}`);
const folder = join(root, name);
mkdirSync(folder, { recursive: true });
const work = mkdtempSync(join(tmpdir(), "bloom-wasm-record-"));
const recorded = [];
for (const { id, system, scheme, file, keys, count, fpr, params } of cases) {
  const { missing, ...program } = system();
  if (missing) throw new Error(missing);
  const from = join(root, dirname(keys));
  const like = json(join(from, "manifest.json")).cases.find((its) => its.id === keys.split("/")[1]);
  const [member] = like.members;
  const members = member.file ? lines(join(from, member.file)) : numbered(member.rule);
  const probes = lines(join(from, like.probes)).map((line) => line.slice(2));
  const ranges = like.probe_ranges.map(({ rule }) => rule);
  const asked = [...probes, ...ranges.flatMap(numbered)];

  rmSync(join(folder, id), { recursive: true, force: true });
  mkdirSync(join(folder, id));
  const blob = join(folder, id, file);
  const [list, all, answered] = ["members", "all", "answers"].map((what) => join(work, what));
  writeFileSync(list, `${members.join("\n")}\n`);
  writeFileSync(all, `${[...members, ...asked].join("\n")}\n`);
  const form = `${like.key_encoding === "hex-per-line" ? "hex" : "json"} ${scheme}`.trimEnd();
  await systems.run(program, [
    ["make", form, blob, list, count, fpr],
    ["ask", form, blob, all, answered],
  ]);
  const answers = lines(answered);
  const lost = members.filter((_, at) => answers[at] !== "1");
  if (answers.length !== members.length + asked.length || lost.length) throw new Error(`${id} lost ${lost}`);
  answers.splice(0, members.length);
  const rows = probes.map((key, at) => `${answers[at]}\t${key}\n`);
  answers.splice(0, probes.length);
  writeFileSync(join(folder, id, "probes.tsv"), rows.join(""));
  if (member.file) writeFileSync(join(folder, id, "members.txt"), `${members.join("\n")}\n`);
  recorded.push({
    id,
    blob: `${id}/${file}`,
    params: { count, fpr, ...(scheme && { scheme }), ...params },
    key_encoding: like.key_encoding,
    members: member.file ? [{ file: `${id}/members.txt` }] : [member],
    member_count: members.length,
    probes: `${id}/probes.tsv`,
    probe_count: probes.length,
    probe_ranges: ranges.map((rule) => {
      const own = answers.splice(0, rule.to - rule.from);
      return { rule, true_indices: own.flatMap((answer, at) => (answer === "1" ? [at] : [])) };
    }),
  });
}
rmSync(work, { recursive: true });
const path = join(folder, "manifest.json");
const there = existsSync(path)
  ? json(path)
  : { schema: 1, system: name, software, provenance: "pkg-tests/interop/record.mjs" };
const others = (there.cases ?? []).filter(({ id }) => !recorded.some((one) => one.id === id));
// One case per line.
const head = Object.entries({ ...there, cases: undefined }).flatMap(([key, value]) =>
  value === undefined ? [] : [`  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`],
);
const written = [...others, ...recorded].map((its) => `    ${JSON.stringify(its)}`).join(",\n");
writeFileSync(path, `{\n${head.join("")}  "cases": [\n${written}\n  ]\n}\n`);
console.log(`${folder}: ${recorded.length} cases`);
