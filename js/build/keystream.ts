/** Streams of keys for builders: bytes, which are lines of text, or single keys. */

import { asText, concat, invalidParameter, iterable, type Key, requireType } from "../boundary/input.js";
import { quietly, readAll, requireSignal, toWeb } from "../boundary/stream.js";
import type { List } from "./lists.js";
import type { StreamOptions } from "./options.js";

/** What `fromStream` reads. Bytes are text with one key per line. */
export type KeyStream = AsyncIterable<Key> | ReadableStream<Uint8Array>;

/** @internal Puts all keys of a source on a list. */
export async function pushSource(list: List, source: KeyStream, options: StreamOptions = {}): Promise<void> {
  const { signal, onProgress } = options;
  requireSignal(signal);
  requireType("function", { onProgress });
  const read = { signal, onProgress };
  // Recognised by its methods, because polyfills and other realms have other classes. A stream may be iterable too.
  const { getReader, pipe, readableEnded } = Object(source);
  if (readableEnded || isUsed(source))
    throw invalidParameter("the stream was read already, or has another reader; its keys would be lost");
  if (typeof getReader === "function") return pushStream(list, source as ReadableStream<Uint8Array>, read);
  // Node's own streams are streams of bytes too.
  if (typeof pipe === "function") return pushStream(list, toWeb(source as AsyncIterable<Uint8Array>), read);
  return pushAsync(list, source as AsyncIterable<Key>, read);
}

/** Whether a web stream was read from, or has a reader. Only a Response tells: it refuses such a stream as its body. */
function isUsed(source: unknown): boolean {
  try {
    // One of another class, such as a polyfill's, would be read.
    return source instanceof ReadableStream && !new Response(source);
  } catch {
    return true;
  }
}

async function pushAsync(list: List, source: AsyncIterable<Key>, { signal, onProgress }: StreamOptions): Promise<void> {
  const isAsync = typeof source?.[Symbol.asyncIterator] === "function";
  const iterator: AsyncIterator<Key> | Iterator<Key> = isAsync
    ? source[Symbol.asyncIterator]()
    : iterable(source as unknown as Iterable<Key>)[Symbol.iterator]();
  let loaded = 0;
  // One listener for all keys. `stop` rejects the promise that waits for the next key.
  let stop = (_: unknown) => {};
  const abort = () => stop(signal!.reason);
  signal?.addEventListener("abort", abort);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await new Promise<IteratorResult<Key>>((resolve, reject) => {
        stop = reject;
        Promise.resolve(iterator.next()).then(resolve, reject);
      });
      signal?.throwIfAborted();
      if (done) break;
      list.push(value);
      if (++loaded % 1000 === 0) onProgress?.({ loaded });
    }
  } catch (error) {
    // Don't wait for `return`: it may settle only after a key that never comes.
    void quietly(() => iterator.return?.());
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  onProgress?.({ loaded });
}

const LF = 10;
/**
 * A little more than the longest line that gives a key (`MAX_LINE` in src/keys/list.rs), so that Rust sees it is too
 * long.
 */
const TOO_LONG = 2 ** 20 + 8;

async function pushStream(
  list: List,
  source: ReadableStream<Uint8Array>,
  { signal, onProgress }: StreamOptions,
): Promise<void> {
  let line: Uint8Array[] = []; // the pieces of a line whose end has not arrived yet, or enough of them
  let held = 0; // their length
  let loaded = 0;
  let first = true;
  const pushLines = (text: Uint8Array) => {
    list.pushLines(first ? asText(text) : text);
    first = false;
  };
  await readAll(source, signal, (chunk) => {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end > 0) {
      pushLines(concat([...line, chunk.subarray(0, end)]));
      line = [];
      held = 0;
    }
    // A copy, because the caller may reuse the array.
    const rest = chunk.slice(end, end + TOO_LONG - held);
    held += rest.length;
    if (rest.length > 0) line.push(rest);
    onProgress?.({ loaded: (loaded += chunk.byteLength) });
  });
  pushLines(concat(line));
}
