/**
 * Hands made-up blobs to the decoder for ten minutes, or as long as `npm run fuzz -- --seconds 30` says, and fails if
 * one breaks it. `npm run fuzz -- FILE` tries that one input again. The seeds are the golden files and fuzz/seeds/,
 * which has blobs of up to about a hundred bytes, some of full filters. `--target url` hands made-up URLs to the
 * canonicaliser instead, and `--target foreign` made-up files to the readers of other software's filters; to try a FILE
 * from there again, give the target, too.
 */
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fuzzer, root, run } from "./setup.mjs";

const targets = {
  decode: ["tests/golden", "fuzz/seeds/decode"],
  foreign: ["fuzz/seeds/foreign"],
  url: ["fuzz/seeds/url"],
};

try {
  const options = { seconds: { type: "string", default: "600" }, target: { type: "string", default: "decode" } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (!/^[1-9]\d*$/.test(values.seconds)) throw new Error("--seconds must be a whole number from 1 on");
  const { target } = values;
  if (!Object.hasOwn(targets, target)) throw new Error(`--target must be ${Object.keys(targets).join(" or ")}`);
  const artifacts = join(root, "fuzz/artifacts", target);
  const corpus = join(root, "fuzz/corpus", target);
  fuzzer();
  mkdirSync(artifacts, { recursive: true });
  mkdirSync(corpus, { recursive: true });
  // The fuzzer saves what it learns in the first folder, for the next time.
  const inputs = positionals.length ? positionals : [corpus, ...targets[target]];
  // An input of 4 kB that takes 10 seconds is a finding too.
  const limits = [
    `-max_total_time=${values.seconds}`,
    "-max_len=4096",
    "-timeout=10",
    "-verbosity=0",
    "-print_final_stats=1",
  ];
  console.log(positionals.length ? "fuzz: building" : `fuzz: building, then running for ${values.seconds} s`);
  const started = Date.now();
  try {
    run("cargo", "+nightly", "fuzz", "run", target, ...inputs, "--", ...limits);
  } catch (error) {
    const found = readdirSync(artifacts).filter((name) => statSync(join(artifacts, name)).mtimeMs >= started);
    throw found.length ? new Error(`found fuzz/artifacts/${target}/${found.join(", ")}`) : error;
  }
  console.log(positionals.length ? "fuzz: nothing wrong" : `fuzz: nothing found in ${values.seconds} s`);
} catch (error) {
  console.error(`fuzz: ${error.message}`);
  process.exit(1);
}
