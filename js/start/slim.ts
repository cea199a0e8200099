/** Keeps the wasm in a separate file, which can be served, cached or compiled by itself. {@link init} starts it. */

import { concat } from "../boundary/input.js";
import { handled, readAll } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { open, type Source } from "../filter/receive.js";
import { isStarted, startNow } from "../wasm/instance.js";
import { starting } from "./start.js";

/**
 * Compiles and starts the WebAssembly: by default the file beside this one. If you serve `bloom-wasm/bloom.wasm`
 * elsewhere, pass its URL. Once it has started, this does nothing.
 */
export async function init(
  source: Source | WebAssembly.Module = new URL("./bloom.wasm", import.meta.url),
): Promise<void> {
  handled(source);
  if (isStarted()) return;
  if (source instanceof WebAssembly.Module) return initSync(source);
  const { stream } = await open(source, {});
  const chunks: Uint8Array[] = [];
  await readAll(stream, undefined, (chunk) => void chunks.push(chunk));
  const module = await WebAssembly.compile(concat(chunks)).catch((cause: Error) => {
    throw new FilterError("wasm_load", `the WebAssembly could not be compiled: ${cause.message}`, { cause });
  });
  initSync(module);
}

/** Like {@link init}, for a compiled module or its bytes. */
export function initSync(module: BufferSource | WebAssembly.Module): void {
  if (isStarted()) return;
  const given = () => {
    const compiled = module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module);
    // Only one module can be started, so make sure that it is the right one.
    if (WebAssembly.Module.exports(compiled).some(({ name }) => name === "digestlist_build")) return compiled;
    throw new Error("this is not bloom.wasm");
  };
  startNow(starting(given));
}
