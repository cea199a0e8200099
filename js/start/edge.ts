/** Starts on Vercel's edge, where too only a file that was deployed may be compiled. */

import module from "wasm:module?module";
import { start } from "../start.js";

// On one's own machine Next.js compiles it outside of the sandbox in which this runs: it is no `WebAssembly.Module` here.
start(() => Object.setPrototypeOf(module, WebAssembly.Module.prototype));
