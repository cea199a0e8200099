/** Reading streams to their end, with cancellation: of bytes for `load`, and of keys for builders. */

import { FilterError } from "./error.js";
import { iterable, typeName, type Digests, type Key } from "./memory.js";
import type { StreamOptions } from "./options.js";

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

/** Takes all keys of a source. */
export async function pushSource(digests: Digests, source: KeyStream, options?: StreamOptions): Promise<void> {
  // A stream of Node's own is one of bytes too, and would pass for an iterable of keys.
  const stream = "pipe" in Object(source) ? toWeb(source as AsyncIterable<Uint8Array>) : source;
  await (stream instanceof ReadableStream ? pushStream(digests, stream, options) : pushAsync(digests, stream, options));
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

async function pushAsync(digests: Digests, source: AsyncIterable<Key>, options: StreamOptions = {}): Promise<void> {
  const { signal, onProgress } = options;
  const keys = Symbol.asyncIterator in Object(source) ? source : iterable(source as unknown as Iterable<Key>);
  let loaded = 0;
  signal?.throwIfAborted();
  for await (const key of keys) {
    signal?.throwIfAborted();
    digests.push(key);
    if (++loaded % 1000 === 0) onProgress?.({ loaded });
  }
  onProgress?.({ loaded });
}

const LF = 10;

async function pushStream(
  digests: Digests,
  source: ReadableStream<Uint8Array>,
  { signal, onProgress }: StreamOptions = {},
): Promise<void> {
  let line: Uint8Array[] = []; // the pieces of a line whose end has not come yet
  let loaded = 0;
  await readAll(source, signal, (chunk) => {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end > 0) {
      digests.pushLines(concat([...line, chunk.subarray(0, end)]));
      line = [];
    }
    line.push(chunk.slice(end));
    onProgress?.({ loaded: (loaded += chunk.byteLength) });
  });
  digests.pushLines(concat(line));
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
