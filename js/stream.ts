/** Reading streams to their end, with cancellation: of bytes for `load`, and of keys for builders. */

import { FilterError } from "./error.js";
import type { Sink } from "./lists.js";
import { iterable, typeName, type Key } from "./memory.js";
import type { StreamOptions } from "./options.js";

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
        throw new FilterError("invalid_parameter", `the stream must be one of bytes, not of ${typeName(value)}`);
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

/** What each `fromStream` reads: bytes are text with one key a line. */
export type KeyStream = AsyncIterable<Key> | ReadableStream<Uint8Array>;

/** Hands all keys of a source to a sink. */
export async function pushSource(sink: Sink, source: KeyStream, options?: StreamOptions): Promise<void> {
  // A stream of Node's own is one of bytes too, and would pass for an iterable of keys.
  const stream = "pipe" in Object(source) ? toWeb(source as AsyncIterable<Uint8Array>) : source;
  await (stream instanceof ReadableStream ? pushStream(sink, stream, options) : pushAsync(sink, stream, options));
}

function toWeb(stream: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      return done ? controller.close() : controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}

async function pushAsync(sink: Sink, source: AsyncIterable<Key>, options: StreamOptions = {}): Promise<void> {
  const { signal, onProgress } = options;
  const keys = Symbol.asyncIterator in Object(source) ? source : iterable(source as unknown as Iterable<Key>);
  let loaded = 0;
  signal?.throwIfAborted();
  for await (const key of keys) {
    signal?.throwIfAborted();
    sink.push(key);
    if (++loaded % 1000 === 0) onProgress?.({ loaded });
  }
  onProgress?.({ loaded });
}

const LF = 10;
const BOM = [0xef, 0xbb, 0xbf];

async function pushStream(
  sink: Sink,
  source: ReadableStream<Uint8Array>,
  { signal, onProgress }: StreamOptions = {},
): Promise<void> {
  let line: Uint8Array[] = []; // the pieces of a line whose end has not come yet
  let loaded = 0;
  let first = true;
  const pushLines = (text: Uint8Array) => {
    sink.pushLines(first && BOM.every((byte, i) => text[i] === byte) ? text.subarray(3) : text);
    first = false;
  };
  await readAll(source, signal, (chunk) => {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end > 0) {
      pushLines(concat([...line, chunk.subarray(0, end)]));
      line = [];
    }
    line.push(chunk.slice(end));
    onProgress?.({ loaded: (loaded += chunk.byteLength) });
  });
  pushLines(concat(line));
}

function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.byteLength, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.byteLength;
  }
  return whole;
}
