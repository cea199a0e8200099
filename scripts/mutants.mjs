/**
 * Breaks the code in one place at a time, as the lists in tests/mutants/ say, and checks that a test notices:
 *
 *     node scripts/mutants.mjs                 all; takes hours
 *     node scripts/mutants.mjs tool feed/      only the list `tool`, and of that the files whose path has `feed/`
 *
 * Works in the checkout. A file that it breaks must be committed, so that `git checkout` brings it back whatever happens.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, setup } from "./setup.mjs";

/** What builds the tests of a suite, and what runs those that a mutant names. A build that fails is no test that fails. */
const SUITES = {
  core: {
    build: "cargo test --locked --quiet -p bloom-wasm --lib --test suite --test memory --no-run",
    run: (test) => `cargo test --locked --quiet -p bloom-wasm --lib --test suite --test memory -- ${test}`,
  },
  tool: {
    build: "cargo test --locked --quiet -p bloom-wasm-cli --lib --test suite --no-run",
    run: (test) => `cargo test --locked --quiet -p bloom-wasm-cli --lib --test suite -- ${test}`,
  },
  package: {
    build: "node scripts/build.mjs --no-tool",
    run: (test) => `node --test --test-force-exit --test-timeout=${patience(test)} ${files(test)}`,
  },
  // Without the docs, which take minutes.
  site: {
    build: "node scripts/www.mjs --built --sections",
    run: (test) =>
      `env BLOOM_WASM_SITE=built node --test --test-force-exit --test-timeout=${patience(test)} ${files(test)}`,
  },
};

/** A broken loop may never end. */
const HANGS = 10 * 60_000;

/** No file of the fast tier takes a minute. */
const patience = (test) => (test.includes(".long") ? HANGS : 60_000);

function files(test) {
  return test
    .split(" ")
    .map((file) => `pkg-tests/${file}.test.mjs`)
    .join(" ");
}

/** The exit code of a command and what it printed; the code is null if it hung. */
function start(command) {
  const [program, ...args] = command.split(" ");
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    timeout: HANGS,
  });
  if (error && error.code !== "ETIMEDOUT") throw error;
  return { status, printed: `${stdout}${stderr}` };
}

function build(suite) {
  const { status, printed } = start(SUITES[suite].build);
  // A mutant may make the package a few bytes larger.
  if (status !== 0 && !printed.includes("over its limit")) return printed;
}

/** Whether the tests pass, which must be some. */
function passes(suite, test, shown = false) {
  const { status, printed } = start(SUITES[suite].run(test));
  if (shown && status !== 0) console.log(printed);
  const passed = [...printed.matchAll(/(\d+) passed|^. pass (\d+)/gm)].reduce(
    (sum, [, a, b]) => sum + Number(a ?? b),
    0,
  );
  if (status === 0 && passed === 0) throw new Error(`no test is named ${test}`);
  return status === 0;
}

const [part = "", path = ""] = process.argv.slice(2);
const parts = readdirSync(join(root, "tests/mutants")).filter((name) => name.startsWith(part));
if (parts.length === 0) throw new Error(`tests/mutants/ has no list ${part}`);
setup();
let caught = 0;
const missed = [];
for (const name of parts) {
  const { suite, mutants } = (await import(`../tests/mutants/${name}`)).default;
  const chosen = mutants.filter(({ file }) => file.includes(path));
  const broken = build(suite);
  if (broken) throw new Error(broken);
  for (const test of new Set(chosen.map(({ test }) => test)))
    if (!passes(suite, test, true)) throw new Error(`${test} fails before anything is broken`);
  for (const { file, from, to, test } of chosen) {
    const mutant = `${file}: ${from.trim()} -> ${to.trim()}`;
    const source = readFileSync(join(root, file), "utf8");
    if (source.split(from).length !== 2) throw new Error(`${mutant}: the file must have this once`);
    if (execFileSync("git", ["status", "--porcelain", file], { cwd: root, encoding: "utf8" }) !== "")
      throw new Error(`${file} has changes that aren't committed`);
    try {
      writeFileSync(
        join(root, file),
        source.replace(from, () => to),
      );
      const refused = build(suite);
      const verdict = refused ? "DOESN'T COMPILE" : passes(suite, test) ? "MISSED" : "caught";
      if (verdict === "caught") caught++;
      else missed.push(`${verdict}: ${mutant}`);
      console.log(`mutants: ${verdict}: ${mutant}`);
    } finally {
      writeFileSync(join(root, file), source);
    }
  }
}
console.log(`mutants: ${caught} caught, ${missed.length} missed`);
for (const mutant of missed) console.log(`mutants: ${mutant}`);
process.exitCode = missed.length > 0 ? 1 : 0;
