/** Calls into WebAssembly, and whether there can be any. */

import { FilterError } from "./error.js";

/** Why there can be no call, as long as that is so. */
let unusable: FilterError | undefined = new FilterError("wasm_load", "WebAssembly has not started; call init() or initSync() first");

/** Made beforehand: where the stack has run out, nothing can be made. */
const stopped = new FilterError(
  "wasm_load",
  "WebAssembly was stopped in the middle of a call, as a rule for want of stack; load the page or program again",
);

/** Whether WebAssembly has started. */
export function isStarted(): boolean {
  return unusable === undefined || unusable === stopped;
}

/** From now on there can be calls. */
export function setStarted(): void {
  if (!isStarted()) unusable = undefined;
}

/** Throws if there can be no call. */
export function requireUsable(): void {
  if (unusable !== undefined) throw unusable;
}

/**
 * What to throw for what a call has thrown. An error that Rust returned is a {@link FilterError}. Anything else has ended a
 * call in its middle: what that has left behind can't be trusted, so it was the last one.
 */
export function failed(error: unknown): FilterError {
  if (error instanceof FilterError) return error;
  unusable = stopped;
  stopped.cause = error;
  return stopped;
}

/** Frees what WebAssembly holds, as long as there can be calls. */
export function release(held: { free(): void } | undefined): void {
  if (held !== undefined && unusable === undefined) call(() => held.free());
}

/** Runs what calls into WebAssembly, and nothing else. */
export function call<T>(run: () => T): T {
  requireUsable();
  try {
    return run();
  } catch (error) {
    throw failed(error);
  }
}
