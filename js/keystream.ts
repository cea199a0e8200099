/** Streams of keys, for builders: of bytes, which are lines of text, or of keys one by one. */

import { concat, iterable, type Key } from "./input.js";
import type { List } from "./lists.js";
import type { StreamOptions } from "./options.js";
import { readAll } from "./stream.js";

/** What each `fromStream` reads: bytes are text with one key a line. */
export type KeyStream = AsyncIterable<Key> | ReadableStream<Uint8Array>;

/** @internal Puts all keys of a source on a list. */
export async function pushSource(list: List, source: KeyStream, options?: StreamOptions): Promise<void> {
  // A stream of Node's own is one of bytes too, and would pass for an iterable of keys.
  const stream = "pipe" in Object(source) ? toWeb(source as AsyncIterable<Uint8Array>) : source;
  await (stream instanceof ReadableStream ? pushStream(list, stream, options) : pushAsync(list, stream, options));
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

async function pushAsync(list: List, source: AsyncIterable<Key>, options: StreamOptions = {}): Promise<void> {
  const { signal, onProgress } = options;
  const keys = Symbol.asyncIterator in Object(source) ? source : iterable(source as unknown as Iterable<Key>);
  let loaded = 0;
  signal?.throwIfAborted();
  for await (const key of keys) {
    signal?.throwIfAborted();
    list.push(key);
    if (++loaded % 1000 === 0) onProgress?.({ loaded });
  }
  onProgress?.({ loaded });
}

const LF = 10;
const BOM = [0xef, 0xbb, 0xbf];

async function pushStream(
  list: List,
  source: ReadableStream<Uint8Array>,
  { signal, onProgress }: StreamOptions = {},
): Promise<void> {
  let line: Uint8Array[] = []; // the pieces of a line whose end has not come yet
  let loaded = 0;
  let first = true;
  const pushLines = (text: Uint8Array) => {
    list.pushLines(first && BOM.every((byte, i) => text[i] === byte) ? text.subarray(3) : text);
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
