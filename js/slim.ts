/**
 * The entry point "bloom-wasm/slim", which leaves the wasm a file of its own: for who wants to serve, cache or compile
 * it apart. Call {@link init} or {@link initSync} before anything else.
 */

import { FilterError } from "./error.js";
import { open, type Source } from "./load.js";
import { use, wasm } from "./memory.js";
import { start } from "./start.js";

if (!wasm) {
  const get = () => {
    throw new FilterError("wasm_load", "call init() or initSync() of bloom-wasm/slim first");
  };
  use(new Proxy({} as typeof wasm, { get }));
}

/**
 * Compiles and starts the WebAssembly: the file beside this one, or `bloom-wasm/bloom.wasm` from wherever it is served.
 * Once it has started, here or by another entry point, this does nothing.
 */
export async function init(source: Source | WebAssembly.Module = new URL(FULL ? "./full.wasm" : "./bloom.wasm", import.meta.url)): Promise<void> {
  if (source instanceof WebAssembly.Module) return initSync(source);
  const { stream } = await open(source, {});
  const bytes = await new Response(stream).arrayBuffer();
  const module = await WebAssembly.compile(bytes).catch((cause: Error) => {
    throw new FilterError("wasm_load", `the WebAssembly could not be compiled: ${cause.message}`, { cause });
  });
  initSync(module);
}

/** As {@link init}, for a compiled module or its bytes. */
export function initSync(module: BufferSource | WebAssembly.Module): void {
  start(() => module);
}

export * from "./index.js";
