/** Calls into WebAssembly, and whether there can be any. */

import { FilterError } from "./error.js";

/** Why there can be no call, as long as that is so. */
let unusable: FilterError | undefined = new FilterError(
  "wasm_load",
  "WebAssembly has not started; call init() or initSync() first",
);

/**
 * What a call throws that was stopped in its middle. Made beforehand: where the stack has run out, nothing can be made, and
 * no function called.
 */
export const stopped = new FilterError(
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

/** Whether a call has begun and not ended. Told beforehand, as no handler need run where the stack has run out. */
let inside = false;

/** Begins a call; throws if there can be none. */
export function enter(): void {
  if (inside) unusable = stopped;
  if (unusable !== undefined) throw unusable;
  inside = true;
}

/** Ends a call. */
export function leave(): void {
  inside = false;
}

/** Frees what WebAssembly holds, as long as there can be calls. */
export function release(held: { free(): void } | undefined): void {
  if (held !== undefined && unusable === undefined && !inside) call(() => held.free());
}

/**
 * Runs what calls into WebAssembly, and nothing else. An error that Rust returned is a {@link FilterError}. Anything else
 * has come in the middle of the call: what that has left behind can't be trusted, so it was the last one.
 */
export function call<T>(run: () => T): T {
  enter();
  try {
    const result = run();
    leave();
    return result;
  } catch (error) {
    if (!(error instanceof FilterError)) {
      stopped.cause = error;
      throw stopped;
    }
    leave();
    throw error;
  }
}
