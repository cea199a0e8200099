/**
 * Hands made-up blobs to the decoder for ten minutes, or for `npm run fuzz -- --seconds 30`, and fails if one gets the
 * better of it. `npm run fuzz -- FILE` tries that one input again. The seeds are the golden files and fuzz/seeds/, which
 * has blobs of about a hundred bytes at most, some of full filters.
 */
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fuzzer, root, run } from "./setup.mjs";

const artifacts = join(root, "fuzz/artifacts/decode");
const corpus = join(root, "fuzz/corpus/decode");

try {
  const { values, positionals } = parseArgs({ options: { seconds: { type: "string", default: "600" } }, allowPositionals: true });
  if (!/^[1-9]\d*$/.test(values.seconds)) throw new Error("--seconds must be a whole number from 1 on");
  fuzzer();
  mkdirSync(artifacts, { recursive: true });
  mkdirSync(corpus, { recursive: true });
  // What it learns goes into the first folder, for the next time.
  const inputs = positionals.length ? positionals : [corpus, "tests/golden", "fuzz/seeds/decode"];
  // An input of 4 kB that takes 10 seconds is a finding too.
  const options = [`-max_total_time=${values.seconds}`, "-max_len=4096", "-timeout=10", "-verbosity=0", "-print_final_stats=1"];
  console.log(positionals.length ? "fuzz: building" : `fuzz: building, then running for ${values.seconds} s`);
  const started = Date.now();
  try {
    run("cargo", "+nightly", "fuzz", "run", "decode", ...inputs, "--", ...options);
  } catch (error) {
    const found = readdirSync(artifacts).filter((name) => statSync(join(artifacts, name)).mtimeMs >= started);
    throw found.length ? new Error(`found fuzz/artifacts/decode/${found.join(", ")}`) : error;
  }
  console.log(positionals.length ? "fuzz: nothing wrong" : `fuzz: nothing found in ${values.seconds} s`);
} catch (error) {
  console.error(`fuzz: ${error.message}`);
  process.exit(1);
}
