/**
 * Makes cases of tests/interop anew, by the real software, with its answers:
 *
 *     node pkg-tests/interop/record.mjs NAME     those of the format NAME below
 *
 * Their keys are those of a case that is there already. Other cases in the folder stay as they are.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as systems from "./systems.mjs";

const root = fileURLToPath(new URL("../../tests/interop", import.meta.url));

/** Each format: the software for people, and its cases: their scheme, the file, whose keys, for how many, the rate. */
const FORMATS = {
  flor: {
    software: "Python flor 1.1.3, Go github.com/DCSO/bloom 0.2.4",
    cases: [
      { id: "python-small", system: systems.florOfPython, keys: "pybloomfiltermmap3/small", count: 40, fpr: 0.05 },
      { id: "python-lengths", system: systems.florOfPython, keys: "pybloomfiltermmap3/lengths", count: 80, fpr: 0.02 },
      { id: "python-one-bit", system: systems.florOfPython, keys: "pybloomfiltermmap3/small", count: 1, fpr: 0.5 },
      { id: "python-two-words", system: systems.florOfPython, keys: "pybloomfiltermmap3/small", count: 25, fpr: 0.085 },
      {
        id: "python-medium",
        system: systems.florOfPython,
        keys: "pybloomfiltermmap3/medium",
        count: 10_001,
        fpr: 0.01,
      },
      { id: "go-small", system: systems.florOfGo, keys: "pybloomfiltermmap3/small", count: 32, fpr: 0.05 },
      {
        id: "go-data",
        system: systems.florOfGo,
        keys: "pybloomfiltermmap3/small",
        count: 77,
        fpr: 1e-6,
        with: "more: data",
      },
      { id: "go-unicode", system: systems.florOfGo, keys: "pybloomfiltermmap3/unicode", count: 10_000, fpr: 0.05 },
    ].map((each) => ({ ...each, file: "filter.bloom", scheme: each.with ?? "" })),
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
const made = [];
for (const { id, system, scheme, file, keys, count, fpr, params = {} } of cases) {
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
  const form = `json ${scheme}`.trimEnd();
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
  made.push({
    id,
    blob: `${id}/${file}`,
    params: { count, fpr, ...params },
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
const others = (there.cases ?? []).filter(({ id }) => !made.some((one) => one.id === id));
writeFileSync(path, `${JSON.stringify({ ...there, cases: [...others, ...made] }, undefined, 1)}\n`);
console.log(`${folder}: ${made.length} cases`);
