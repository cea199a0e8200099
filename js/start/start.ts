/** Starts WebAssembly, for the entry points. */

import { type InitOutput, initSync } from "../bloom_wasm.js";
import { FilterError } from "../error.js";
import { setShort } from "../wasm/scratch.js";

/**
 * A function that compiles and starts a module synchronously: extension service workers have no top-level await. `short`
 * is the longest string that a loop copies faster than `encodeInto`.
 */
export function starting(module: () => BufferSource | WebAssembly.Module, short = 150): () => InitOutput {
  return () => {
    try {
      setShort(short);
      return initSync({ module: module() });
    } catch (cause) {
      const hint =
        "a Content-Security-Policy needs 'wasm-unsafe-eval', worker bundlers the condition workerd or edge-light; bloom-wasm/reader needs no WebAssembly";
      throw new FilterError("wasm_load", `bloom-wasm could not start its WebAssembly (${cause}); ${hint}`, { cause });
    }
  };
}
