/** The entry point for Node, which downloads nothing and so gets everything: reads the wasm file beside it. */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "./start.js";

// Imported, it would take 1 ms more, for Node then looks at everything in it.
const { readFileSync } = process.getBuiltinModule("node:fs");

start(() => readFileSync(join(dirname(fileURLToPath(import.meta.url)), "full.wasm")), 32);

export * from "./index.js";
