/** Starts WebAssembly, for the entry points. */

import { initSync } from "../bloom_wasm.js";
import { FilterError } from "../error.js";
import { isStarted, setStarted } from "../wasm/call.js";
import { useMemory } from "../wasm/scratch.js";

/**
 * Compiles and starts the module synchronously, unless one has been started: extension service workers have no
 * top-level await. `short` is the longest string that a loop copies faster than `encodeInto`.
 */
export function start(module: () => BufferSource | WebAssembly.Module, short = 150): void {
  if (isStarted()) return;
  try {
    useMemory(initSync({ module: module() }).memory, short);
    setStarted();
  } catch (cause) {
    const hint =
      "a Content-Security-Policy needs 'wasm-unsafe-eval', worker bundlers the condition workerd or edge-light; bloom-wasm/reader needs no WebAssembly";
    throw new FilterError("wasm_load", `bloom-wasm could not start its WebAssembly (${cause}); ${hint}`, { cause });
  }
}
