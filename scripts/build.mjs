/** Builds the npm package into dist/ and prints how much a page has to download. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { LIMITS } from "./limits.mjs";
import { root, run, setup, shell } from "./setup.mjs";

/**
 * The entries of the package: "bloom-wasm" and "bloom-wasm/reader". For each: the cargo feature of its wasm and an
 * export that this must have, and the module with what the entry exports.
 */
const ENTRIES = {
  bloom: {
    feature: "builder",
    export: "digestlist_build",
    exports: "index",
  },
  reader: {
    feature: "reader",
    export: "filter_decode",
    exports: "reader",
  },
};

/**
 * Programs that import some of "bloom-wasm/nano", to be bundled and minified. The first asks for keys alone: by the
 * modules that do that, since no bundler drops methods of a class.
 */
const NANO = {
  "raw keys alone":
    'export { hasKey, readFilter } from "./nano/blob.js"; export { put, scratch } from "./nano/scratch.js";',
  "everything but feeds":
    'export { FilterError, canonicalizeUrl, decode, Filter, load, urlExpressions } from "./nano.js";',
  openFeed: 'export { openFeed } from "./nano.js";',
};

/** The ways to start an entry, each a module of js/start/. */
const STARTS = ["node", "inline", "workerd", "edge", "slim"];

const dist = join(root, "dist");
const work = join(root, "target/npm");

/** The paths of this machine don't belong in a file that others download. */
const NO_PATHS = [process.env.CARGO_HOME ?? join(homedir(), ".cargo"), root].map(
  (folder) => `--remap-path-prefix=${folder}=`,
);

/** Runs what calls cargo, with flags for rustc and a level of optimisation. */
function compiling(flags, level, ...command) {
  process.env.CARGO_ENCODED_RUSTFLAGS = [...NO_PATHS, ...flags].join("\x1f");
  process.env.CARGO_PROFILE_RELEASE_OPT_LEVEL = level;
  run(...command);
  delete process.env.CARGO_ENCODED_RUSTFLAGS;
  delete process.env.CARGO_PROFILE_RELEASE_OPT_LEVEL;
}

/** Everything that an entry's wasm is made of, as a hash. */
function ingredients() {
  const hash = createHash("sha256");
  const sources = readdirSync(join(root, "src"), { recursive: true }).map((name) => join("src", name));
  const others = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "package-lock.json"];
  for (const name of [...others, "scripts/build.mjs", "scripts/setup.mjs", ...sources.sort()]) {
    const path = join(root, name);
    if (statSync(path).isFile()) hash.update(`${name}\n`).update(readFileSync(path));
  }
  return hash.digest("hex");
}

/** Compiles the crate for an entry into target/npm/ENTRY, the wasm and its glue, unless that is there already. */
function compile(entry) {
  const stamp = join(work, entry, "ingredients");
  const current = ingredients();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === current) return;
  rmSync(join(work, entry), { recursive: true, force: true });
  const flags = [
    // A call is smaller than a copy of the called function, and one instruction is smaller than a row of stores. Code
    // that must be fast is marked #[inline]. Together these save 6 % of the wasm.
    "-Cllvm-args=--inline-threshold=45",
    "-Cllvm-args=--max-store-memcpy=1",
    "-Cllvm-args=--unroll-threshold=20",
    // SHA-256 with a loop instead of its 64 rounds in a row.
    '--cfg=sha2_backend_soft="compact"',
    // Talc adds lengths to addresses, and the sums must not wrap around.
    "-Clink-arg=--max-memory=2147483648",
  ];
  const crate = ["--package", "bloom-wasm", "--features", ENTRIES[entry].feature, "--locked"];
  compiling(
    flags,
    // Level 3 unrolls too much for a download. Levels s and z are larger, and slower too.
    "2",
    "wasm-pack",
    "--quiet",
    "build",
    "--target",
    "web",
    "--release",
    "--no-pack",
    "--out-dir",
    `target/npm/${entry}`,
    "--out-name",
    "bloom_wasm",
    ".",
    "--",
    ...crate,
  );
  writeFileSync(stamp, current);
}

/**
 * What entries have in common for esbuild. Their lines stay as they are, because an uncaught error shows its line in a
 * terminal, and bundlers minify anyway. All share one error class, which js/ imports and the glue has a copy of.
 */
const COMMON = {
  outdir: dist,
  bundle: true,
  format: "esm",
  target: "es2022",
  minifySyntax: true,
  external: ["node:*"],
  logLevel: "error",
};

/**
 * The command line tool for those without Rust: cli/ for WASI, and bin/ that runs it. With it the package is
 * whole: returns what is over its limit.
 */
async function tool() {
  const target = "wasm32-wasip1";
  compiling([], "3", "cargo", "build", "--release", "--locked", "--quiet", "--target", target, "--bin", "bloom-wasm");
  const wasm = join(dist, "tool.wasm");
  // Only names go: wasm-opt's -O3 saves 2 kB, gzipped, makes nothing faster, and joins functions until V8 takes 160 MB
  // more to compile them.
  run(
    "wasm-opt",
    "--strip-debug",
    "--strip-producers",
    join(root, `target/${target}/release/bloom-wasm.wasm`),
    "-o",
    wasm,
  );
  run("tsc", "-p", "bin");
  const { build } = await import("esbuild");
  await build({ ...COMMON, entryPoints: [join(root, "bin/tool.js")] });
  chmodSync(join(dist, "tool.js"), 0o755);
  console.log(`build: the tool: ${gzipped(readFileSync(wasm))} bytes gzipped`);

  const pack = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const stdio = ["ignore", "pipe", "ignore"];
  const [{ size }] = JSON.parse(execFileSync("npm", pack, { cwd: root, shell, encoding: "utf8", stdio }));
  console.log(`build: the tarball: ${size} bytes, of ${LIMITS.tarball} allowed`);
  return size > LIMITS.tarball ? [`the tarball is ${size - LIMITS.tarball} bytes over its limit`] : [];
}

/** An entry's script for one way to start: it starts that way, and exports what the entry exports. */
function script(entry, start) {
  const starting =
    start === "slim" ? 'export { init, initSync } from "./start/slim.js";' : `import "./start/${start}.js";`;
  return `${starting}\nexport * from "./${ENTRIES[entry].exports}.js";\n`;
}

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length;

/** Bundles an entry's scripts, by default into dist/: one for each way to start, and one that they share. */
async function bundle(entry, starts, options) {
  const { build } = await import("esbuild");
  const wasm = join(work, entry, "bloom_wasm_bg.wasm");
  return build({
    ...COMMON,
    entryPoints: starts.map((start) => ({ in: `${entry}:${start}`, out: `${entry}.${start}` })),
    splitting: true,
    chunkNames: entry,
    loader: { ".wasm": "base64" },
    define: { WASM_FILE: JSON.stringify(`${entry}.wasm`), WASM_EXPORT: JSON.stringify(ENTRIES[entry].export) },
    plugins: [
      {
        name: "entry",
        setup({ onLoad, onResolve }) {
          onResolve({ filter: /^\w+:\w+$/, namespace: "" }, ({ path, kind }) => {
            if (kind === "entry-point") return { path, namespace: "script" };
          });
          onLoad({ filter: /./, namespace: "script" }, ({ path }) => {
            return { contents: script(...path.split(":")), resolveDir: join(work, "js") };
          });
          // According to package.json, only files in dist/ have side effects.
          onResolve({ filter: /^\.\/start\// }, ({ path }) => ({ path: join(work, "js", path), sideEffects: true }));
          onResolve({ filter: /bloom_wasm\.js$/ }, () => ({ path: join(work, entry, "bloom_wasm.js") }));
          onResolve({ filter: /^wasm:base64$/ }, () => ({ path: wasm }));
          onResolve({ filter: /^wasm:module/ }, ({ path }) => ({
            path: path.replace("wasm:module", `./${entry}.wasm`),
            external: true,
          }));
          // One class for all entries: js/ imports it, and the glue imports its copy.
          onResolve({ filter: /\/error\.js$/ }, () => ({ path: "./error.js", external: true }));
        },
      },
    ],
    ...options,
  });
}

/** What a page downloads of an entry's JavaScript, minified. */
async function javascript(entry) {
  const { outputFiles } = await bundle(entry, ["inline"], { splitting: false, minify: true, write: false });
  const wasm = readFileSync(join(dist, `${entry}.wasm`)).toString("base64");
  return outputFiles[0].text.replace(wasm, "") + readFileSync(join(dist, "error.js"), "utf8");
}

/** Bundles "bloom-wasm/nano", which is one file for every runtime. Returns what is over its limit. */
async function nano() {
  const { build } = await import("esbuild");
  const sharedError = {
    name: "error",
    setup: ({ onResolve }) => onResolve({ filter: /\/error\.js$/ }, () => ({ path: "./error.js", external: true })),
  };
  // Pages may have it without a bundler, so it has no blanks, and its lines are short. Shorter names would hide classes
  // in the console, and a bundler drops less of what keeps its name.
  const short = { minifyWhitespace: true, lineLimit: 160 };
  await build({ ...COMMON, ...short, entryPoints: [join(work, "js/nano.js")], plugins: [sharedError] });
  const over = [];
  for (const [name, contents] of Object.entries(NANO)) {
    const limit = LIMITS.nano[name];
    const stdin = { contents, resolveDir: join(work, "js") };
    const { outputFiles } = await build({ ...COMMON, stdin, minify: true, write: false });
    const size = gzipped(outputFiles[0].contents);
    console.log(`build: nano, ${name}: ${size} bytes gzipped, of ${limit} allowed`);
    if (size > limit) over.push(`nano, ${name}, is ${size - limit} bytes over its limit`);
  }
  return over;
}

/** Builds the package, with the tool or, in half the time, without it. */
export async function build(withTool = true) {
  setup();
  for (const folder of [dist, join(work, "js")]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(dist);
  for (const entry of Object.keys(ENTRIES)) compile(entry);
  run("tsc", "-p", ".");
  copyFileSync(join(work, "js/error.js"), join(dist, "error.js"));

  const over = [];
  for (const [entry, { exports }] of Object.entries(ENTRIES)) {
    const limits = LIMITS[entry];
    const wasm = join(dist, `${entry}.wasm`);
    copyFileSync(join(work, entry, "bloom_wasm_bg.wasm"), wasm);
    await bundle(entry, STARTS);
    writeFileSync(
      join(dist, `${entry}.slim.d.ts`),
      `export { init, initSync } from "./start/slim.js";\nexport * from "./${exports}.js";\n`,
    );
    const sizes = { wasm: gzipped(readFileSync(wasm)), javascript: gzipped(await javascript(entry)) };
    for (const [part, size] of Object.entries(sizes)) {
      console.log(`build: ${entry}, ${part}: ${size} bytes gzipped, of ${limits[part]} allowed`);
      if (size > limits[part]) over.push(`the ${part} of ${entry} is ${size - limits[part]} bytes over its limit`);
    }
  }
  over.push(...(await nano()));
  if (withTool) over.push(...(await tool()));
  if (over.length > 0) throw new Error(over.join("; "));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build(!process.argv.includes("--no-tool"));
