/** The native tool. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/setup.mjs";

const path = join(root, "target/release", process.platform === "win32" ? "bloom-wasm.exe" : "bloom-wasm");

/** Its path. Throws if it isn't there, or a source is newer, so that no test asks an old one. */
export function nativeTool() {
  const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = changed(path);
  if (built === 0) throw new Error(`there is no ${path}: run cargo build --release`);
  for (const folder of ["src", "cli/src"].map((name) => join(root, name))) {
    for (const name of readdirSync(folder, { recursive: true })) {
      // The boundary isn't part of it.
      if (!name.endsWith(".rs") || name.startsWith("wasm") || changed(join(folder, name)) <= built) continue;
      throw new Error(`${join(folder, name)} is newer than the tool: run cargo build --release`);
    }
  }
  return path;
}
