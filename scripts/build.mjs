/** Builds the npm package into dist/ and prints what a page has to download. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { root, run, setup } from "./setup.mjs";

/** The most that each may weigh, gzipped. */
const BUDGET = { wasm: 20_000, javascript: 6_000 };

export async function build() {
  setup();
  const dist = join(root, "dist");
  rmSync(dist, { recursive: true, force: true });

  // The paths of this machine don't belong into a file that others download.
  const home = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  // The crate's level 3 unrolls more than a download should carry.
  process.env.CARGO_PROFILE_RELEASE_OPT_LEVEL = "2";
  process.env.CARGO_ENCODED_RUSTFLAGS = [`--remap-path-prefix=${home}=`, `--remap-path-prefix=${root}=`].join("\x1f");
  run("wasm-pack", "--quiet", "build", "--target", "web", "--release", "--no-pack", "--out-dir", "dist", "--out-name", "bloom_wasm", ".", "--", "--no-default-features", "--features", "npm", "--locked");
  delete process.env.CARGO_ENCODED_RUSTFLAGS;
  delete process.env.CARGO_PROFILE_RELEASE_OPT_LEVEL;
  rmSync(join(dist, ".gitignore")); // wasm-pack's own, which would keep everything out of the package

  run("tsc", "-p", ".");
  const wasm = readFileSync(join(dist, "bloom_wasm_bg.wasm"));
  writeFileSync(join(dist, "wasm-base64.js"), `export default "${wasm.toString("base64")}";\n`);
  const { build } = await import("esbuild");
  const minify = { minifyWhitespace: true, minifySyntax: true, format: "esm", target: "es2022", logLevel: "error" };
  const entryPoints = readdirSync(dist).filter((name) => name.endsWith(".js")).map((name) => join(dist, name));
  await build({ ...minify, entryPoints, outdir: dist, allowOverwrite: true });

  const { outputFiles } = await build({
    ...minify,
    minify: true,
    entryPoints: [join(dist, "inline.js")],
    external: ["./wasm-base64.js"],
    bundle: true,
    write: false,
  });
  const sizes = { wasm: gzipSync(wasm, { level: 9 }).length, javascript: gzipSync(outputFiles[0].contents, { level: 9 }).length };
  for (const [part, size] of Object.entries(sizes)) {
    console.log(`build: ${part} ${size} bytes gzipped, of ${BUDGET[part]} allowed`);
  }
  for (const [part, size] of Object.entries(sizes)) {
    if (size > BUDGET[part]) throw new Error(`the ${part} is ${size - BUDGET[part]} bytes over its budget`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
