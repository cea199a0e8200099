/** The packed tarball, installed into an empty folder: what every test in this folder runs against. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { golden } from "./runtimes/golden.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Packs and installs; returns the folder and the tarball. */
function install() {
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  const npm = (...args) => execFileSync("npm", args, { cwd: folder, encoding: "utf8" });
  const [{ filename }] = JSON.parse(npm("pack", root, "--json", "--ignore-scripts"));
  writeFileSync(join(folder, "package.json"), '{ "name": "consumer", "version": "1.0.0" }');
  npm("install", "--offline", "--no-audit", "--no-fund", `./${filename}`);
  return { folder, tarball: join(folder, filename) };
}

const made = process.env.BLOOM_WASM_INSTALLED ? JSON.parse(process.env.BLOOM_WASM_INSTALLED) : install();

// Each test file runs in its own process. The first one makes the folder for all.
process.env.BLOOM_WASM_INSTALLED = JSON.stringify(made);

export const { folder, tarball } = made;

/** An entry of the installed package, imported from where a user's own file would import it. */
export async function installed(entry = "bloom-wasm") {
  const user = join(folder, `user-${entry.replaceAll("/", "-")}.mjs`);
  writeFileSync(user, `export * from "${entry}";\n`);
  return import(pathToFileURL(user).href);
}

/** What a page gets from an entry of the installed package, by the manifest. */
export function forPages(entry = "./reader") {
  const home = join(folder, "node_modules/bloom-wasm");
  const { exports } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return import(pathToFileURL(join(home, exports[entry].browser)).href);
}

/** A folder of that name beside the installed package, with the app of runtimes/ and the golden files inside of it. */
export function app(name) {
  const app = join(folder, name);
  cpSync(fileURLToPath(new URL("runtimes", import.meta.url)), app, { recursive: true });
  writeFileSync(join(app, "golden.mjs"), `export const golden = ${JSON.stringify(golden)};\n`);
  return app;
}

/** For a script of its own process: `memory` becomes WebAssembly's, which the package keeps to itself. */
export const CATCH_MEMORY = `
  const { Instance } = WebAssembly;
  let memory;
  WebAssembly.Instance = class extends Instance {
    constructor(...args) {
      super(...args);
      memory = this.exports.memory;
    }
  };
`;
