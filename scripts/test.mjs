/**
 * The tests, in three tiers: `npm test` is what every change must pass, `npm run test:all` what takes longer, and `npm
 * run test:scale` what takes hours or gigabytes. No tier repeats another. Each runs its rows of steps in parallel.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "../pkg-tests/helpers/install.mjs";
import { print } from "../pkg-tests/runtimes/table.mjs";
import { LONGER } from "./longer.mjs";
import { packages, python, root, setup, shell } from "./setup.mjs";

const started = performance.now();
const seconds = (since) => `${Math.round((performance.now() - since) / 1000)} s`;
const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
const table = join(folder, "table");
const crashes = join(folder, "crashes");
const env = {
  ...process.env,
  BLOOM_WASM_TABLE: table,
  BLOOM_WASM_MISSING: join(folder, "missing"),
  BLOOM_WASM_CRASHES: crashes,
  // Nothing is compiled twice here, so incremental data would be wasted. Nor is anything debugged.
  CARGO_INCREMENTAL: "0",
  CARGO_PROFILE_DEV_DEBUG: "0",
  CARGO_PROFILE_TEST_CODEGEN_UNITS: "1",
};
// The first two make tests write the files that they compare with. With the third, the tool would be elsewhere than
// where the package's tests look for it.
for (const name of ["GOLDEN", "WRITE", "CARGO_TARGET_DIR"]) delete env[name];
const tier = process.argv[2] ?? "fast";
let failed = 0;

/**
 * Removes the library that `cargo package` has unpacked for the tool. Cargo takes an unpacked package for any other of
 * the same version in that registry, whatever its contents; so each run has its registry in its own folder.
 */
function unpacked() {
  const sources = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry/src");
  // A registry without a host has a name that begins with a hyphen.
  for (const name of readdirSync(sources).filter((name) => name.startsWith("-"))) {
    const library = readdirSync(join(sources, name)).filter((its) => its.startsWith("bloom-wasm-"));
    for (const its of library) rmSync(join(sources, name, its), { recursive: true });
    if (readdirSync(join(sources, name)).length === 0) rmSync(join(sources, name), { recursive: true });
  }
}

/** What the commands that are running have printed. */
const running = new Set();
// Whoever stops a run that hangs wants to know where.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    for (const printed of running) process.stdout.write(Buffer.concat(printed));
    process.kill(process.pid, signal);
  });
}

/** No step takes half as long, even with both cores kept busy. What takes hours has limits of its own. */
const HANGS = 60 * 60_000;

/** The files of tests that failed, as their report says, if a browser crashed in each of them; otherwise none. */
function crashed(report) {
  const files = [...new Set(Array.from(report.matchAll(/^test at (.+?):\d+:\d+$/gm), ([, file]) => file))];
  const known = readFileSync(crashes, "utf8").split("\n");
  return files.every((file) => known.includes(join(root, file))) ? files : [];
}

/**
 * Runs a command and shows, when it has ended, what it printed. After a failure nothing more begins. But files of tests
 * that failed because their browser crashed run once more: Chromium crashes by itself once in some thousand starts.
 */
async function step(command, variables = {}, again = true) {
  if (failed) return;
  const begun = performance.now();
  const [program, ...args] = command.split(" ");
  const stdio = ["ignore", "pipe", "pipe"];
  const child = spawn(program, args, { cwd: root, shell, env: { ...env, ...variables }, stdio });
  const printed = [];
  running.add(printed);
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => printed.push(data));
  let limit;
  const status = await new Promise((ended) => {
    child.on("close", ended).on("error", ({ message }) => ended(message));
    if (tier !== "scale")
      limit = setTimeout(() => {
        child.kill();
        ended("it hangs");
      }, HANGS);
  });
  clearTimeout(limit);
  running.delete(printed);
  const shown = [...Object.entries(variables).map((pair) => pair.join("=")), command].join(" ");
  console.log(`test: ${shown}: ${status === 0 ? "passed" : `FAILED (${status})`} in ${seconds(begun)}`);
  process.stdout.write(Buffer.concat(printed));
  if (status === 0) return;
  const files = again ? crashed(Buffer.concat(printed).toString()) : [];
  if (files.length === 0) failed++;
  else
    await step([...command.split(" ").filter((word) => !word.endsWith(".mjs")), ...files].join(" "), variables, false);
}

// Leftovers of a test, such as an open port, must not keep its process alive, and no file of tests may run forever.
const NODE = "node --test --test-force-exit --test-concurrency=3 --test-reporter=spec --test-timeout";
const QUARTER = 15 * 60_000;
/** No file of the fast tier takes a minute. */
const FAST = 5 * 60_000;

/** The files of the package's tests: those of the fast tier, or the long ones, as the name says. */
function packageTests(long) {
  const names = readdirSync(join(root, "pkg-tests"), { recursive: true }).map((name) => name.replaceAll("\\", "/"));
  const files = names.filter((name) => name.endsWith(".test.mjs") && name.endsWith(".long.test.mjs") === long).sort();
  const paths = files.map((name) => `pkg-tests/${name}`).join(" ");
  return step(`${NODE}=${long ? QUARTER : FAST} ${paths}`, long ? {} : inMemory());
}

/** Puts temporary files into memory if there is room, because publishing waits until files are on the disk. */
function inMemory() {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return {};
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 ** 30 ? { TMPDIR: memory } : {};
}

/** Runs the longer forms. */
async function longer() {
  for (const { folder, files, names, variables } of LONGER) {
    // Commands are split at blanks.
    const patterns = names.map((name) => `--test-name-pattern=${name.replaceAll(" ", ".")}`);
    const paths = files.map((name) => `pkg-tests/${folder}/${name}.test.mjs`);
    await step([`${NODE}=${QUARTER}`, ...patterns, ...paths].join(" "), variables);
  }
}

/** Runs the reader of blobs in Python. */
function reader(command) {
  const { PYTHONPATH } = python() ?? {};
  if (PYTHONPATH) return step(command, { PYTHONPATH });
  console.log("test: skipped tests/readers/check.py: there is no Python 3 with the packages xxhash and mmh3");
}

/** Builds the package, and installs it once for all tests of it. */
async function build(...options) {
  await step(["node scripts/build.mjs", ...options].join(" "));
  if (failed) return;
  env.BLOOM_WASM_INSTALLED = join(folder, "installed");
  install(env.BLOOM_WASM_INSTALLED);
}

/**
 * Tests the crate. Clippy runs as part of this compilation: by itself it would check all crates again, which takes as
 * long as compiling them.
 */
function crateTests(options = "", variables = {}) {
  const clippy = { RUSTC_WORKSPACE_WRAPPER: "clippy-driver", CLIPPY_ARGS: "-Dwarnings" };
  return step(`cargo test --workspace --locked --quiet ${options}`.trim(), { ...clippy, ...inMemory(), ...variables });
}

/** Packs both crates, and unless told otherwise compiles them from their packages, as their users do. */
async function cratePackages(...options) {
  const target = join(folder, "packages");
  const command = "cargo package --workspace --allow-dirty --locked --quiet --target-dir";
  await step([command, target, ...options].join(" "));
  unpacked();
}

/** What `npm test` does for the package; `npm test -- package` does no more. */
async function packageRow() {
  await build("--no-tool");
  packages("www/docs");
  await step("tsc -p www");
  await packageTests(false);
}

const tiers = {
  package: [packageRow],
  fast: [
    async () => {
      await step("biome check --error-on-warnings");
      for (const manifest of ["Cargo.toml", "bench/Cargo.toml"])
        await step(`cargo fmt --all --check --manifest-path ${manifest}`);
      await crateTests();
    },
    () => reader("python3 tests/readers/check.py"),
    packageRow,
  ],
  all: [
    async () => {
      await step("cargo doc --workspace --no-deps --lib --locked --quiet", { RUSTDOCFLAGS: "-D warnings" });
      for (const features of ["", "--no-default-features --features npm "])
        await step(`cargo clippy ${features}--target wasm32-unknown-unknown --lib --locked --quiet -- -D warnings`);
      await cratePackages("--no-verify");
      await crateTests("--tests -- --ignored");
      const loops = "hostile::mutations interop::damaged cuckoo::nothing_is_left";
      await crateTests(`--test suite -- ${loops}`, { EVERY: 1, MUTATIONS: 30_000 });
      await crateTests("--test suite -- tool::every_command", { EVERY: 1, MUTATIONS: 2000 });
      await step("node scripts/instructions.mjs");
    },
    async () => {
      await step("cargo build --release --package bloom-wasm-cli --locked --quiet");
      await build();
      await step("node scripts/www.mjs --built");
      env.BLOOM_WASM_SITE = "built";
      await Promise.all([packageTests(true), longer()]);
    },
  ],
  scale: [
    async () => {
      await cratePackages();
      await crateTests("--test suite -- tool:: hostile:: interop::damaged", { EVERY: 1, MUTATIONS: 100_000 });
      await crateTests("--test suite -- tags:: --ignored", { KEYS: 1_000_000 });
    },
    async () => {
      await step("cargo build --release --package bloom-wasm-cli --locked --quiet");
      await build();
      await step(`${NODE}=${8 * QUARTER} pkg-tests/api/hostile.test.mjs`, { MUTATIONS: 300_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/api/exhaustion.long.test.mjs`, { EVERY: 1 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/api/reader-linear.long.test.mjs`, { LENGTH: 125_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/api/handles.long.test.mjs`, { FILTERS: 1_000_000, STEPS: 300_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/url/spellings.long.test.mjs`, { SPELLINGS: 105_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/url/hosts.long.test.mjs`, { CASES: 1_000_000 });
      const all = { PAIRS: 10_000_000, EACH: 20, EVERY: 1 };
      await step(`${NODE}=${24 * QUARTER} pkg-tests/url/below.long.test.mjs`, all);
      await step(`${NODE}=${8 * QUARTER} pkg-tests/api/engines.long.test.mjs`, { CASES: 1_000_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/feeds/months.long.test.mjs`, { KEYS: 1_000_000, DAYS: 10 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/feeds/chaos.long.test.mjs`, { ROUNDS: 10_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/sharded/tool.long.test.mjs`, { KEYS: 200_000_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/sharded/tags.long.test.mjs`, { KEYS: 1_000_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/site/pages.long.test.mjs`, { EVERY: 1 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/interop/interop.long.test.mjs`, { COUNT: 100_000 });
      await step(`${NODE}=${8 * QUARTER} pkg-tests/sharded/spark.long.test.mjs`, { ROWS: 20_000_000 });
      await step("node --expose-gc bench/run.mjs --only large");
      await step("node --expose-gc --max-old-space-size=8000 bench/run.mjs --only many --count 10000000");
    },
  ],
};

try {
  setup();
  for (const file of [table, crashes]) writeFileSync(file, "");
  await Promise.all(tiers[tier].map((row) => row()));
  // By itself, because it changes the code.
  if (tier === "scale") await step("node scripts/mutants.mjs");
  print(table);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`test: ${failed ? `${failed} FAILED` : `all passed`} in ${seconds(started)}`);
process.exitCode = failed ? 1 : 0;
