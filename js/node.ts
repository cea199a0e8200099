/** The entry point for Node: reads the wasm file beside it. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "./start.js";

start(() => readFileSync(join(dirname(fileURLToPath(import.meta.url)), "bloom_wasm_bg.wasm")));

export * from "./index.js";
