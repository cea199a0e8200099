/** The entry point for Node, which downloads nothing and so gets everything: reads the wasm file beside it. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "./start.js";

start(() => readFileSync(join(dirname(fileURLToPath(import.meta.url)), "full.wasm")), 32);

export * from "./index.js";
