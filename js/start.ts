/** Starting WebAssembly, for the entry points. */

import { FilterError } from "./error.js";
import { use } from "./memory.js";
import { initSync } from "./bloom_wasm.js";

/** Compiles and starts the module, at import and synchronously: extension service workers know no top-level await. */
export function start(module: () => BufferSource | WebAssembly.Module, short?: number): void {
  try {
    use(initSync({ module: module() }), short);
  } catch (cause) {
    const hint = "a page's Content-Security-Policy needs 'wasm-unsafe-eval', a worker's bundler the condition workerd or edge-light";
    throw new FilterError("wasm_load", `bloom-wasm could not start its WebAssembly (${cause}); ${hint}`, { cause });
  }
}
