/** Starting WebAssembly, for the entry points. */

import { FilterError } from "./error.js";
import { use } from "./memory.js";
import { initSync } from "./bloom_wasm.js";

/** Compiles and starts the module, at import and synchronously: extension service workers know no top-level await. */
export function start(module: () => BufferSource | WebAssembly.Module, short?: number): void {
  try {
    use(initSync({ module: module() }), short);
  } catch (cause) {
    const hint = "does the page's Content-Security-Policy allow 'wasm-unsafe-eval'?";
    throw new FilterError("wasm_load", `bloom-wasm could not start its WebAssembly; ${hint}`, { cause });
  }
}
