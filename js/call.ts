/** Calls into WebAssembly, and whether there can be any. */

import { FilterError } from "./error.js";

/** Whether a call can begin: WebAssembly has started, and every call that began has ended. */
let ready = false;

/** Thrown by a call that can't begin. */
let reason = new FilterError("wasm_load", "WebAssembly has not started; call init() or initSync() first");

/**
 * Thrown when a call was cut short, and by every call after it. Made in advance, because nothing can be made, and no
 * function called, once the stack has run out.
 */
export const stopped = new FilterError(
  "wasm_load",
  "WebAssembly was stopped in the middle of a call, as a rule for want of stack; load the page or program again",
);

/** Whether WebAssembly has started. */
export function isStarted(): boolean {
  return reason === stopped;
}

/** Lets calls begin. */
export function setStarted(): void {
  if (isStarted()) return;
  reason = stopped;
  ready = true;
}

/** Begins a call. If it never ends, no other begins: where the stack has run out, no handler need run. */
export function enter(): void {
  if (!ready) throw reason;
  ready = false;
}

/** Ends a call. */
export function leave(): void {
  ready = true;
}

/** Frees what WebAssembly holds, as long as there can be calls. */
export function release(held: { free(): void } | undefined): void {
  if (held !== undefined && ready) call(() => held.free());
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
