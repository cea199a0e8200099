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
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { LIMITS } from "./limits.mjs";
import { root, run, setup, shell } from "./setup.mjs";

/**
 * Programs that import parts of "bloom-wasm/reader", to be bundled and minified. The first only looks up keys, using
 * the modules underneath, since no bundler drops methods of a class.
 */
const PROGRAMS = {
  "raw keys alone":
    'export { hasKey, readFilter } from "./plain/blob.js"; export { put, scratch } from "./plain/scratch.js";',
  "without feeds": 'export { FilterError, canonicalizeUrl, decode, Filter, load, urlExpressions } from "./reader.js";',
  "with feeds":
    'export { FilterError, canonicalizeUrl, decode, Filter, load, openFeed, urlExpressions } from "./reader.js";',
  "with feeds and shards": 'export * from "./reader.js";',
};

/** The ways to start "bloom-wasm", each a module of js/start/. */
const STARTS = ["node", "inline", "workerd", "edge", "slim"];

const dist = join(root, "dist");
const work = join(root, "target/npm");
const glue = join(work, "bloom");

/** Keeps the paths of the machine that builds out of a file that others download. */
const NO_PATHS = [process.env.CARGO_HOME ?? join(homedir(), ".cargo"), root].map(
  (folder) => `--remap-path-prefix=${folder}=`,
);

/** Runs a command that calls cargo, with flags for rustc, a profile and its level of optimisation. */
function compiling(flags, profile, level, ...command) {
  process.env.CARGO_ENCODED_RUSTFLAGS = [...NO_PATHS, ...flags].join("\x1f");
  process.env[`CARGO_PROFILE_${profile.toUpperCase()}_OPT_LEVEL`] = level;
  run(...command);
  delete process.env.CARGO_ENCODED_RUSTFLAGS;
  delete process.env[`CARGO_PROFILE_${profile.toUpperCase()}_OPT_LEVEL`];
}

/** A hash of everything that the wasm is made of. */
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

/** Compiles the crate into target/npm/bloom, the wasm and its glue, unless it is up to date. */
function compile() {
  const stamp = join(glue, "ingredients");
  const current = ingredients();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === current) return;
  rmSync(glue, { recursive: true, force: true });
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
  const crate = ["--no-default-features", "--features", "npm", "--locked"];
  compiling(
    flags,
    "npm",
    // Level 3 unrolls too much for a download. Levels s and z are larger, and slower too.
    "2",
    "wasm-pack",
    "--quiet",
    "build",
    "--target",
    "web",
    "--profile",
    "npm",
    "--no-pack",
    "--out-dir",
    "target/npm/bloom",
    "--out-name",
    "bloom_wasm",
    ".",
    "--",
    ...crate,
  );
  writeFileSync(stamp, current);
}

/**
 * What all bundles have in common. Pages may use them without a bundler, so they have no blanks. An uncaught error
 * prints its line in a terminal, so lines are short. Names aren't shortened: that would hide classes in the console,
 * and esbuild's option to keep names of classes would stop bundlers from dropping unused ones.
 */
const COMMON = {
  outdir: dist,
  bundle: true,
  format: "esm",
  target: "es2022",
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 160,
  external: ["node:*"],
  logLevel: "error",
};

/**
 * The command line tool for those without Rust: cli/ for WASI, and bin/ that runs it. This completes the package.
 * Returns what is over its limit.
 */
async function tool() {
  const target = "wasm32-wasip1";
  const program = ["--package", "bloom-wasm-cli", "--target", target];
  compiling([], "release", "3", "cargo", "build", "--release", "--locked", "--quiet", ...program);
  const wasm = join(dist, "tool.wasm");
  // Only strips names: wasm-opt's -O3 saves 2 kB gzipped, makes nothing faster, and merges functions until V8 needs 160
  // MB more to compile them.
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

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length;

/** What "bloom-wasm" exports and "bloom-wasm/reader" doesn't, or does without WebAssembly. */
function ofWebAssembly() {
  const index = readFileSync(join(work, "js/index.js"), "utf8");
  return [...index.matchAll(/^export \{(.*?)\}/gms)].flatMap(([, names]) => names.match(/\w+/g));
}

/**
 * Without it, wasm-bindgen's glue frees nothing that is collected: it would do so even in an instance in which a call was
 * cut off. js/wasm/instance.ts has its own.
 */
const define = { FinalizationRegistry: "undefined" };

/** Resolves the modules of js/ that the build generates, or that are elsewhere. */
const entries = {
  name: "entries",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^start:/ }, ({ path }) => ({ path: path.slice(6), namespace: "start" }));
    // Exports everything. What needs WebAssembly brings the way to start it along, so that a bundler drops both, or none.
    onLoad({ filter: /./, namespace: "start" }, ({ path }) => {
      const lines = ['export * from "./index.js";'];
      if (path === "slim") lines.push('export { init, initSync } from "./start/slim.js";');
      else {
        lines.push(`import { begin } from "./start/${path}.js";`, "const beginning = (its) => (begin(), its);");
        for (const name of ofWebAssembly())
          lines.push(
            `import { ${name} as its${name} } from "./index.js";`,
            `export const ${name} = beginning(its${name});`,
          );
      }
      return { contents: lines.join("\n"), resolveDir: join(work, "js") };
    });
    onResolve({ filter: /bloom_wasm\.js$/ }, () => ({ path: join(glue, "bloom_wasm.js") }));
    onResolve({ filter: /^wasm:base64$/ }, () => ({ path: join(glue, "bloom_wasm_bg.wasm") }));
    onResolve({ filter: /^wasm:module/ }, ({ path }) => ({
      path: path.replace("wasm:module", "./bloom.wasm"),
      external: true,
    }));
    // The glue has its own copies of these files, but there must be only one of each.
    onResolve({ filter: /\/(error|parser|saved)\.js$/ }, ({ path }) => ({ path: join(work, "js", basename(path)) }));
  },
};

/**
 * Bundles the package's scripts into dist/: `reader.js`, one of "bloom-wasm" for each way to start, and what they
 * share, so that a filter is the same class wherever it comes from. `bloom.js` is what the latter share, and `core.js`
 * what all share.
 */
async function bundle() {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [
      { in: join(work, "js/reader.js"), out: "reader" },
      ...STARTS.map((start) => ({ in: `start:${start}`, out: `bloom.${start}` })),
    ],
    splitting: true,
    sourcemap: "linked",
    write: false,
    loader: { ".wasm": "base64" },
    define,
    plugins: [entries],
  });
  const shared = outputFiles.map(({ path }) => basename(path)).filter((name) => /^chunk-.*js$/.test(name));
  const importing = (name) => outputFiles.find(({ path }) => basename(path) === name).text;
  // The reader knows nothing of WebAssembly.
  const core = shared.find((name) => importing("reader.js").includes(`./${name}`));
  if (shared.length !== 2 || core === undefined) throw new Error(`esbuild has made the chunks ${shared.join(", ")}`);
  const renamed = (text) =>
    shared.reduce((its, name) => {
      const ours = name === core ? "core.js" : "bloom.js";
      // The blanks keep the columns that follow an import where the source map says.
      return its.replaceAll(`"./${name}"`, `"./${ours}"`.padEnd(name.length + 4)).replaceAll(name, ours);
    }, text);
  // esbuild drops these comments with the blanks, and without them bundlers keep what nobody uses.
  const pure = (text) => text.replaceAll(/=\s*beginning\(/g, "=/* @__PURE__ */beginning(");
  for (const { path, text } of outputFiles) writeFileSync(join(dist, renamed(basename(path))), pure(renamed(text)));
}

/** The size of a program that a page downloads, minified and gzipped. */
async function weigh(contents) {
  const { build } = await import("esbuild");
  const stdin = { contents, resolveDir: join(work, "js") };
  const options = {
    ...COMMON,
    minify: true,
    lineLimit: 0,
    write: false,
    loader: { ".wasm": "empty" },
    define,
    plugins: [entries],
  };
  const { outputFiles } = await build({ ...options, stdin });
  return gzipped(outputFiles[0].contents);
}

/** Builds the package, with the tool or, in half the time, without it. */
export async function build(withTool = true) {
  setup();
  for (const folder of [dist, join(work, "js")]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(dist);
  compile();
  run("tsc", "-p", ".");
  const wasm = join(dist, "bloom.wasm");
  copyFileSync(join(glue, "bloom_wasm_bg.wasm"), wasm);
  await bundle();
  writeFileSync(
    join(dist, "bloom.slim.d.ts"),
    'export { init, initSync } from "./start/slim.js";\nexport * from "./index.js";\n',
  );
  writeFileSync(
    `${wasm}.d.ts`,
    "/** The compiled module, as bundlers for Cloudflare Workers import it. */\ndeclare const module: WebAssembly.Module;\nexport default module;\n",
  );

  const over = [];
  const sizes = { wasm: gzipped(readFileSync(wasm)), JavaScript: await weigh('export * from "start:inline"') };
  for (const [name, contents] of Object.entries(PROGRAMS)) sizes[`the reader, ${name}`] = await weigh(contents);
  for (const [what, size] of Object.entries(sizes)) {
    const limit = LIMITS.gzipped[what];
    console.log(`build: ${what}: ${size} bytes gzipped, of ${limit} allowed`);
    if (!(size <= limit)) over.push(`${what}: ${size - limit} bytes over its limit`);
  }
  if (withTool) over.push(...(await tool()));
  if (over.length > 0) throw new Error(over.join("; "));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build(!process.argv.includes("--no-tool"));
