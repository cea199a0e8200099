/** Everything: formatting, lints, the crate's tests, the package's build and the tests of its tarball. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { print } from "../pkg-tests/runtimes/table.mjs";
import { build } from "./build.mjs";
import { instructions } from "./instructions.mjs";
import { python, root, run, setup } from "./setup.mjs";

const started = Date.now();
setup();
run("biome", "check", "--error-on-warnings");
run("cargo", "fmt", "--check");
run("cargo", "fmt", "--check", "--manifest-path", "bench/Cargo.toml");
run("cargo", "clippy", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings");
const npm = ["--no-default-features", "--features", "builder", "--target", "wasm32-unknown-unknown", "--lib"];
run("cargo", "clippy", ...npm, "--locked", "--quiet", "--", "-D", "warnings");
run("cargo", "test", "--locked", "--quiet");
if (!python("tests/reader.py"))
  console.log("test: skipped tests/reader.py: there is no Python 3 with the package xxhash");
instructions();
process.env.RUSTDOCFLAGS = "-D warnings";
run("cargo", "doc", "--no-deps", "--lib", "--locked", "--quiet");
run("cargo", "build", "--release", "--locked", "--quiet");
await build();
run("tsc", "-p", "www");
const tests = readdirSync(join(root, "pkg-tests")).filter((name) => name.endsWith(".test.mjs"));
const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
process.env.BLOOM_WASM_TABLE = join(folder, "table");
writeFileSync(process.env.BLOOM_WASM_TABLE, "");
try {
  run(process.execPath, "--test", ...tests.map((name) => join("pkg-tests", name)));
} finally {
  print(process.env.BLOOM_WASM_TABLE);
  rmSync(folder, { recursive: true });
}
console.log(`test: all passed in ${Math.round((Date.now() - started) / 1000)} s`);
