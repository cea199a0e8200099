/** Calls into WebAssembly, and whether they are possible. */

import { FilterError } from "../error.js";

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
  "WebAssembly was stopped in the middle of a call, usually because the stack ran out; reload the page or program",
);

/** Whether WebAssembly has started. */
export function isStarted(): boolean {
  return reason === stopped;
}

/** Makes calls possible from now on. */
export function setStarted(): void {
  if (isStarted()) return;
  reason = stopped;
  ready = true;
}

/** Begins a call. If it never ends, no other can begin: once the stack has run out, a handler may not run. */
export function enter(): void {
  if (!ready) throw reason;
  ready = false;
}

/** Ends a call. */
export function leave(): void {
  ready = true;
}

/** Frees what WebAssembly holds, if a call can begin. */
export function release(held: { free(): void } | undefined): void {
  if (held !== undefined && ready) call(() => held.free());
}

/**
 * Runs a function that calls into WebAssembly and does nothing else. An error that Rust returned is a
 * {@link FilterError}. Anything else was thrown midway through the call. What it left behind can't be trusted, so no
 * call is made after it.
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
