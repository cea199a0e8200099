/** Leaves the wasm a file of its own, to be served, cached or compiled apart, and started by {@link init}. */

import { isStarted } from "../call.js";
import { FilterError } from "../error.js";
import { concat, isA } from "../input.js";
import { open, type Source } from "../load.js";
import { start } from "../start.js";
import { readAll } from "../stream.js";

/**
 * Compiles and starts the WebAssembly: the file beside this one, or the package's own (`bloom-wasm/bloom.wasm` or
 * `bloom-wasm/reader.wasm`) from wherever it is served. Once it has started, this does nothing.
 */
export async function init(
  source: Source | WebAssembly.Module = new URL(`./${WASM_FILE}`, import.meta.url),
): Promise<void> {
  if (isStarted()) return;
  if (isA(source, WebAssembly.Module)) return initSync(source);
  const { stream } = await open(source, {});
  const chunks: Uint8Array[] = [];
  await readAll(stream, undefined, (chunk) => void chunks.push(chunk));
  const module = await WebAssembly.compile(concat(chunks)).catch((cause: Error) => {
    throw new FilterError("wasm_load", `the WebAssembly could not be compiled: ${cause.message}`, { cause });
  });
  initSync(module);
}

/** As {@link init}, for a compiled module or its bytes. */
export function initSync(module: BufferSource | WebAssembly.Module): void {
  start(() => {
    const compiled = module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module);
    // Once a wrong one has started, there would be no other.
    if (WebAssembly.Module.exports(compiled).some(({ name }) => name === WASM_EXPORT)) return compiled;
    throw new Error(`this is not ${WASM_FILE}`);
  });
}
