/** Reading a stream of bytes to its end, with cancellation. */

import { FilterError } from "./error.js";
import { invalidParameter, typeName } from "./input.js";

/** The promise, or the signal's reason if that comes first. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Hands each chunk to `take`. An abort, or an error in `take`, cancels the stream and is thrown on. */
export async function readAll(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  if (stream.locked) throw invalidParameter("the stream is locked: somebody else reads it");
  const reader = stream.getReader();
  // A read that hangs ends when the stream is cancelled.
  const stop = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", stop);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read().catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw new FilterError("network", "the transfer broke off; try again", { cause });
      });
      signal?.throwIfAborted();
      if (done) return;
      if (!(value instanceof Uint8Array)) {
        throw invalidParameter(`the stream must be one of bytes, not of ${typeName(value)}`);
      }
      take(value);
    }
  } catch (error) {
    void reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    reader.releaseLock();
  }
}
