/**
 * `npm run bench`: this package against its peers, on the same keys, interleaved. Prints tables in Markdown.
 *
 * `--json FILE` writes the numbers. `--docs` writes them to docs/bench.json and updates docs/benchmarks.md.
 * `--only has,url` runs some of the cases, and `--count` and `--rounds` change how much is measured. `--quick` only
 * checks that everything works.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { packages, root } from "../scripts/setup.mjs";
import { tell } from "./race.mjs";
import { markdown, withSummary } from "./table.mjs";

try {
  const options = {
    json: { type: "string" },
    docs: { type: "boolean" },
    only: { type: "string" },
    count: { type: "string" },
    rounds: { type: "string" },
    quick: { type: "boolean" },
  };
  const { values } = parseArgs({ options });
  if (values.docs && (values.only || values.count || values.quick))
    throw new Error("--docs needs the whole run, without --only, --count and --quick");
  if (!packages("bench")) throw new Error("npm could not install the peers");
  const { bench, cases } = await import("./cases.mjs");
  // A hundred million keys take several gigabytes, so only on request.
  const names = values.only?.split(",") ?? Object.keys(cases).filter((name) => name !== "large");
  for (const name of names) {
    if (!Object.hasOwn(cases, name)) throw new Error(`--only takes ${Object.keys(cases).join(",")}`);
  }
  const number = (value, usual) => (value === undefined ? usual : Number(value));
  const [count, rounds] = [
    number(values.count, values.quick ? 20_000 : 1_000_000),
    number(values.rounds, values.quick ? 2 : 7),
  ];
  if (!(Number.isInteger(count / 1000) && count > 0)) throw new Error("--count must be a multiple of 1000");
  if (!(Number.isInteger(rounds) && rounds > 0)) throw new Error("--rounds must be a whole number from 1 on");
  const machine = `${cpus()[0].model}, ${cpus().length} cores, Node ${process.versions.node}`;
  const result = { machine, count, rounds, tables: [], claims: [] };
  const shared = bench({ count, rounds });
  try {
    for (const name of names) {
      tell(`the case ${name}`);
      const { tables, claims } = await cases[name](shared);
      for (const table of tables) console.log(markdown.table(table));
      result.tables.push(...tables);
      result.claims.push(...claims);
    }
  } finally {
    shared.end();
  }
  console.log(markdown.claims(result));
  if (values.docs) {
    values.json ??= join(root, "docs/bench.json");
    const page = join(root, "docs/benchmarks.md");
    writeFileSync(page, withSummary(readFileSync(page, "utf8"), result));
  }
  if (values.json) writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
} catch (error) {
  console.error(`bench: ${error.stack}`);
  process.exit(1);
}
