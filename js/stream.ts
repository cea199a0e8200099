/** Reading a stream of bytes to its end, with cancellation. */

import { FilterError } from "./error.js";
import { attempt, invalidParameter, isA, plainBytes } from "./input.js";

/** Throws `invalid_parameter` unless it is a signal, of whichever realm, or none. */
export function requireSignal(signal: AbortSignal | undefined): void {
  const methods = ["throwIfAborted", "addEventListener"] as const;
  if (signal === undefined || methods.every((method) => typeof signal?.[method] === "function")) return;
  throw invalidParameter("signal must be an AbortSignal");
}

/** A stream of Node's own as one of the web's. */
export function toWeb(stream: AsyncIterable<Uint8Array> & { destroy?(): void }): ReadableStream<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      return done ? controller.close() : controller.enqueue(value);
    },
    cancel() {
      // An iterator's return would wait for a chunk that may never come.
      stream.destroy?.();
    },
  });
}

/** The promise, or the signal's reason if that comes first. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => (stop = () => reject(signal?.reason)));
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Hands each chunk to `take`. An abort, or an error in `take`, cancels the stream and is thrown on. */
export async function readAll(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const reader = attempt("the stream must be one that nobody else reads", () => stream.getReader());
  // A read that hangs ends when the stream is cancelled.
  const stop = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", stop);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read().catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw networkError("the transfer broke off", cause);
      });
      signal?.throwIfAborted();
      if (done) return;
      take(plainBytes(value, "each chunk of the stream must be a"));
    }
  } catch (error) {
    void reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    reader.releaseLock();
  }
}

/** That something could not be read, and what the cause says of that. */
export function networkError(what: string, cause: unknown): FilterError {
  return new FilterError("network", isA(cause, Error) ? `${what}: ${cause.message}` : what, { cause });
}
