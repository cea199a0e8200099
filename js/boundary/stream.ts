/** Reads streams of bytes to their end, with cancellation. */

import { type ErrorCode, FilterError } from "../error.js";
import { attempt, invalidParameter, plainBytes } from "./input.js";

/** Throws `invalid_parameter` unless the argument is an AbortSignal, of any realm, or undefined. */
export function requireSignal(signal: AbortSignal | undefined): void {
  const methods = ["throwIfAborted", "addEventListener", "removeEventListener"] as const;
  if (signal !== undefined && !methods.every((method) => typeof signal?.[method] === "function"))
    throw invalidParameter("signal must be an AbortSignal");
}

/** Throws `invalid_parameter` unless a limit of time is a number above 0. */
export function requireTimeout(timeout: number): void {
  if (!(typeof timeout === "number" && timeout > 0)) throw invalidParameter("timeout must be milliseconds, above 0");
}

/**
 * Cleans up after an error. What the cleanup itself throws, at once or later, is dropped: the first error is the one to
 * report.
 */
export async function quietly(end: () => unknown): Promise<void> {
  try {
    await end();
  } catch {}
}

/** Marks a promise as handled: its rejection is reported to whoever awaits it, but another error may come first. */
export function handled(promise: unknown): void {
  if (promise instanceof Promise) void quietly(() => promise);
}

/** Makes a web stream of a Node stream. */
export function toWeb(stream: AsyncIterable<Uint8Array> & { destroy?(): void }): ReadableStream<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      return done ? controller.close() : controller.enqueue(value);
    },
    cancel() {
      // The iterator's `return` would wait for a chunk that may never come.
      stream.destroy?.();
    },
  });
}

/** The promise's result, unless the signal aborts first: then throws its reason. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => (stop = () => reject(signal?.reason)));
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/**
 * Runs with a signal that aborts with the first of these signals, and with `network` after that many milliseconds. The
 * timer is our own, because Node 20 may garbage-collect an `AbortSignal.timeout` within an `AbortSignal.any` too early.
 */
export async function limited<T, S extends AbortSignal | undefined>(
  late: string,
  milliseconds: number,
  signals: readonly [S, ...AbortSignal[]],
  run: (signal: S | AbortSignal) => Promise<T>,
): Promise<T> {
  if (milliseconds === Infinity && signals.length === 1) return run(signals[0]);
  const stop = new AbortController();
  const giveUp = () => stop.abort(new FilterError("network", late));
  const timer = milliseconds < Infinity && setTimeout(giveUp, Math.min(milliseconds, 2 ** 31 - 1));
  const end = () => {
    const aborted = signals.find((signal) => signal?.aborted);
    if (aborted) stop.abort(aborted.reason);
  };
  end();
  for (const signal of signals) signal?.addEventListener("abort", end);
  try {
    return await run(stop.signal);
  } finally {
    if (timer) clearTimeout(timer);
    for (const signal of signals) signal?.removeEventListener("abort", end);
  }
}

/** Hands each chunk to `take`. An abort, or an error in `take`, cancels the stream and is rethrown. */
export async function readAll(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const reader = attempt("this is no web stream, or has another reader", () => stream.getReader());
  // Cancelling the stream ends a read that hangs.
  const stop = () => void quietly(() => reader.cancel(signal?.reason));
  signal?.addEventListener("abort", stop);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read().catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw failed("network", "the transfer broke off", cause);
      });
      signal?.throwIfAborted();
      if (done) return;
      take(plainBytes(value, "a chunk must be a"));
    }
  } catch (error) {
    void quietly(() => reader.cancel(error));
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    void quietly(() => reader.releaseLock());
  }
}

/**
 * The error with the source of its bytes in the message, if known. An abort's reason, and errors not ours, stay as they
 * are.
 */
export function named(error: unknown, source: string | undefined, signal?: AbortSignal): unknown {
  if (!source || signal?.aborted || !(error instanceof FilterError) || error.message.includes(source)) return error;
  return new FilterError(error.code, `${source}: ${error.message}`, { cause: error.cause ?? error });
}

/**
 * An error that says what failed, with the message of the cause. Node's `fetch` gives the reason only in the cause of
 * its error.
 */
export function failed(code: ErrorCode, what: string, cause: unknown): FilterError {
  if (!(cause instanceof Error)) return new FilterError(code, what, { cause });
  const { code: errno } = Object(cause.cause);
  return new FilterError(code, `${what}: ${cause.message}${errno ? ` (${errno})` : ""}`, { cause });
}
