import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, shell } from "../../scripts/setup.mjs";

/**
 * Packs the package into a folder's bloom-wasm.tgz, and installs that there, as a user does. A release packs before the
 * tests, and names its tarball in BLOOM_WASM_TARBALL.
 */
export function install(folder) {
  mkdirSync(folder, { recursive: true });
  const npm = (...args) => execFileSync("npm", args, { cwd: folder, shell, encoding: "utf8" });
  const { BLOOM_WASM_TARBALL: packed } = process.env;
  if (packed) copyFileSync(packed, join(folder, "bloom-wasm.tgz"));
  else {
    const [{ filename }] = JSON.parse(npm("pack", root, "--json", "--ignore-scripts"));
    renameSync(join(folder, filename), join(folder, "bloom-wasm.tgz"));
  }
  writeFileSync(join(folder, "package.json"), '{ "name": "consumer", "version": "1.0.0" }');
  npm("install", "--offline", "--no-audit", "--no-fund", "./bloom-wasm.tgz");
}
