/** The packed tarball, installed into its own folder for each file of tests. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { root } from "../../scripts/setup.mjs";
import { golden } from "../runtimes/golden.mjs";
import { requireBuilt } from "./built.mjs";
import { install } from "./install.mjs";

/** The folder into which the package is installed, as a user does. It is removed when this process ends. */
export const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

// `npm test` has built and installed it once for all files.
const { BLOOM_WASM_INSTALLED: done } = process.env;
if (done) cpSync(done, folder, { recursive: true });
else {
  const isSource = (name) => /\.(js|rs|ts)$/.test(name);
  requireBuilt(join(root, "dist/core.js"), ["js", "src"], isSource, "node scripts/build.mjs --no-tool");
  install(folder);
}

export const tarball = join(folder, "bloom-wasm.tgz");

/** An entry of the installed package, imported as from a user's file. */
export async function installed(entry = "bloom-wasm") {
  const user = join(folder, `user-${entry.replaceAll("/", "-")}.mjs`);
  writeFileSync(user, `export * from "${entry}";\n`);
  return import(pathToFileURL(user).href);
}

/** The file that a page gets for an entry, in the package's folder. */
export function fileForPages(home, entry) {
  const { exports } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return exports[entry].browser ?? exports[entry].default;
}

/** What a script prints that runs in its own process, in the folder; `options` are Node's. */
export function printed(source, ...options) {
  const args = [...options, "--input-type=module", "-e", source];
  return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
}

/** A folder of that name beside the installed package, with the app of runtimes/ and the golden files in it. */
export function app(name) {
  const app = join(folder, name);
  const filter = (path) => !path.endsWith(".test.mjs");
  cpSync(fileURLToPath(new URL("../runtimes", import.meta.url)), app, { recursive: true, filter });
  writeFileSync(join(app, "golden.mjs"), `export const golden = ${JSON.stringify(golden)};\n`);
  return app;
}

/**
 * Code for a script in its own process: `memory` becomes WebAssembly's, which the package doesn't export, once it has
 * started. `started(api)` starts it, and returns the exports.
 */
export const CATCH_MEMORY = `
  const started = (api) => (api.optimal(1, 0.5), api);
  const { Instance } = WebAssembly;
  let memory;
  WebAssembly.Instance = class extends Instance {
    constructor(...args) {
      super(...args);
      memory = this.exports.memory;
    }
  };
`;
