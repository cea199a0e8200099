/** Starting WebAssembly, for the entry points. */

import { initSync } from "./bloom_wasm.js";
import { isStarted, setStarted } from "./call.js";
import { FilterError } from "./error.js";
import { useMemory } from "./scratch.js";

/**
 * Compiles and starts the module, if none has been started, synchronously: extension service workers know no top-level
 * await. `short` is the longest string that is copied faster by a loop than by `encodeInto`.
 */
export function start(module: () => BufferSource | WebAssembly.Module, short = 150): void {
  if (isStarted()) return;
  try {
    useMemory(initSync({ module: module() }).memory, short);
    setStarted();
  } catch (cause) {
    const hint =
      "a page's Content-Security-Policy needs 'wasm-unsafe-eval', a worker's bundler the condition workerd or edge-light";
    throw new FilterError("wasm_load", `bloom-wasm could not start its WebAssembly (${cause}); ${hint}`, { cause });
  }
}
