/** What must have been built: the package, and the native tool. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/setup.mjs";

const path = join(root, "target/release", process.platform === "win32" ? "bloom-wasm.exe" : "bloom-wasm");

/** Fails if a file isn't there, or a source in the folders is newer, so that no test passes because of an old build. */
export function requireBuilt(file, folders, isSource, command) {
  const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = changed(file);
  if (built === 0) throw new Error(`there is no ${file}: run ${command}`);
  for (const folder of folders) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (isSource(name) && changed(join(root, folder, name)) > built)
        throw new Error(`${join(folder, name)} is newer than ${file}: run ${command}`);
    }
  }
}

/** The path of the native tool. */
export function nativeTool() {
  // The boundary isn't part of it.
  const isSource = (name) => name.endsWith(".rs") && !name.startsWith("wasm");
  requireBuilt(path, ["src", "cli/src"], isSource, "cargo build --release --package bloom-wasm-cli");
  return path;
}
