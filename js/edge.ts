/** The entry point for Vercel's edge, where too only a file that was deployed may be compiled; it gets everything. */

import { start } from "./start.js";
import module from "./full.wasm?module";

// On one's own machine Next.js compiles it outside of the sandbox in which this runs: it is no `WebAssembly.Module` here.
start(() => Object.setPrototypeOf(module, WebAssembly.Module.prototype));

export * from "./index.js";
