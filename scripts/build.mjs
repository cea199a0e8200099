/** Builds the npm package into dist/ and prints what a page has to download. */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { root, run, setup } from "./setup.mjs";

/** The most that each may weigh in the default entry for pages, gzipped. */
const BUDGET = { wasm: 20_000, javascript: 6_000 };

const dist = join(root, "dist");
const work = join(root, "target/npm");

/** Compiles the crate with a cargo feature into target/npm/FEATURE: the wasm and its glue. */
function compile(feature) {
  // The paths of this machine don't belong into a file that others download.
  const home = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  const flags = [
    `--remap-path-prefix=${home}=`,
    `--remap-path-prefix=${root}=`,
    // A call is smaller than a copy of what it calls, and one instruction smaller than a row of stores; what has to be
    // fast is marked #[inline]. Together 6 % of the wasm.
    "-Cllvm-args=--inline-threshold=45",
    "-Cllvm-args=--max-store-memcpy=1",
    "-Cllvm-args=--unroll-threshold=20",
    // Talc adds lengths to addresses, and that must not wrap around.
    "-Clink-arg=--max-memory=2147483648",
  ];
  process.env.CARGO_ENCODED_RUSTFLAGS = flags.join("\x1f");
  // The crate's level 3 unrolls more than a download should carry.
  process.env.CARGO_PROFILE_RELEASE_OPT_LEVEL = "2";
  run("wasm-pack", "--quiet", "build", "--target", "web", "--release", "--no-pack", "--out-dir", `target/npm/${feature}`, "--out-name", "bloom_wasm", ".", "--", "--no-default-features", "--features", feature, "--locked");
  delete process.env.CARGO_ENCODED_RUSTFLAGS;
  delete process.env.CARGO_PROFILE_RELEASE_OPT_LEVEL;
}

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length;

export async function build() {
  setup();
  for (const folder of [dist, work]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(dist);
  for (const feature of ["npm", "full"]) compile(feature);
  run("tsc", "-p", ".");

  const { build } = await import("esbuild");
  /** The files of some entry points, by name, and one with what they share, with the glue and the wasm of a cargo feature. */
  const bundle = (feature, entries, options) =>
    build({
      entryPoints: Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, join(work, "js", entry)])),
      outdir: dist,
      bundle: true,
      splitting: true,
      chunkNames: `core-${feature}`,
      format: "esm",
      target: "es2022",
      minifyWhitespace: true,
      minifySyntax: true,
      external: ["node:*"],
      loader: { ".wasm": "base64" },
      define: { FULL: String(feature === "full") },
      logLevel: "error",
      plugins: [
        {
          name: "feature",
          setup({ onResolve }) {
            onResolve({ filter: /bloom_wasm\.js$/ }, () => ({ path: join(work, feature, "bloom_wasm.js") }));
            onResolve({ filter: /bloom\.wasm$/ }, () => ({ path: join(work, feature, "bloom_wasm_bg.wasm") }));
            onResolve({ filter: /full\.wasm/ }, ({ path }) => ({ path, external: true }));
            // The glue's own imports are those of js/.
            onResolve({ filter: /^\.\// }, ({ path }) => ({ path: join(work, "js", basename(path)) }));
          },
        },
      ],
      ...options,
    });
  await bundle("npm", { inline: "inline.js", slim: "slim.js" });
  await bundle("full", { full: "inline.js", "full-slim": "slim.js", node: "node.js", workerd: "workerd.js", edge: "edge.js" });
  copyFileSync(join(work, "npm/bloom_wasm_bg.wasm"), join(dist, "bloom.wasm"));
  copyFileSync(join(work, "full/bloom_wasm_bg.wasm"), join(dist, "full.wasm"));

  // Every panic has a place in a source file. Where there is none, nothing can panic.
  for (const name of ["bloom.wasm", "full.wasm"]) {
    if (readFileSync(join(dist, name), "latin1").includes(".rs")) throw new Error(`${name} has code that panics`);
  }

  const wasm = readFileSync(join(dist, "bloom.wasm"));
  const { outputFiles } = await bundle("npm", { inline: "inline.js" }, { splitting: false, minify: true, write: false });
  const javascript = outputFiles[0].text.replace(wasm.toString("base64"), "");
  const sizes = { wasm: gzipped(wasm), javascript: gzipped(javascript) };
  for (const [part, size] of Object.entries(sizes)) {
    console.log(`build: ${part} ${size} bytes gzipped, of ${BUDGET[part]} allowed`);
  }
  console.log(`build: full.wasm ${gzipped(readFileSync(join(dist, "full.wasm")))} bytes gzipped`);
  for (const [part, size] of Object.entries(sizes)) {
    if (size > BUDGET[part]) throw new Error(`the ${part} is ${size - BUDGET[part]} bytes over its budget`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
