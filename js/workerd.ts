/** The entry point for Cloudflare Workers, where only a file that was uploaded may be compiled; it gets everything. */

import { start } from "./start.js";
import module from "./full.wasm";

start(() => module);

export * from "./index.js";
