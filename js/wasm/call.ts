/** Calls into WebAssembly, and whether they are possible. */

import { FilterError } from "../error.js";

/** In V8 and others: makes a stack trace begin with the caller of a function. */
const { captureStackTrace } = Error as { captureStackTrace?: (error: Error, callee: unknown) => void };

/** Whether a call can begin: WebAssembly has started, and every call that began has ended. */
let ready = false;

/** Thrown by a call that can't begin. */
let reason = new FilterError("wasm_load", "WebAssembly has not started; call init() or initSync() first");

/**
 * Thrown when a call was cut short, and by every call after it. Made in advance, because nothing can be made, and no
 * function called, once the stack has run out.
 */
const stopped = new FilterError(
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
function enter(): void {
  if (!ready) throw reason;
  ready = false;
}

/** Ends a call. */
function leave(): void {
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
  return ask(run, undefined, 0);
}

/**
 * The same, for questions about a key in the scratch. Their functions close over nothing, which saves 10 to 40 ns of
 * 200.
 */
export function ask<Raw, T>(question: (raw: Raw, length: number) => T, raw: Raw, length: number): T {
  enter();
  try {
    const answer = question(raw, length);
    leave();
    return answer;
  } catch (error) {
    if (!(error instanceof FilterError)) {
      stopped.cause = error;
      throw stopped;
    }
    leave();
    // A stack trace shows ten calls, and those inside WebAssembly would crowd out the user's own.
    captureStackTrace?.(error, ask);
    throw error;
  }
}
