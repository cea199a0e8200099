/** Lists in files: text with one key a line, plain or gzipped. */

/** The bytes of a list, unpacked. An error says what is wrong with it. `progress` is called with the share that has been read. */
export async function unpack(
  list: Blob,
  what: string,
  progress = (_done: number) => {},
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const unread = (): never => {
    throw new Error(`${what} could not be read. Was it changed or moved?`);
  };
  const head = new Uint8Array(await list.slice(0, 2).arrayBuffer().catch(unread));
  const gzipped = head[0] === 0x1f && head[1] === 0x8b;
  let loaded = 0;
  let told = 0;
  const counted = list.stream().pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        loaded += chunk.length;
        if (performance.now() - told > 50) {
          told = performance.now();
          progress(loaded / list.size);
        }
        controller.enqueue(chunk);
      },
    }),
  );
  const reader = (gzipped ? counted.pipeThrough(new DecompressionStream("gzip")) : counted).getReader();
  let first = true;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch((cause) => {
        if (!(gzipped && cause instanceof TypeError)) return unread();
        throw new Error(`${what} is gzipped, but damaged, incomplete or made of several parts`);
      });
      if (done) return controller.close();
      if (first) requireText(value, what);
      first = false;
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Throws unless a list that begins with these bytes may be text in UTF-8. */
function requireText(bytes: Uint8Array, what: string) {
  const mark = (bytes[0]! << 8) | bytes[1]!;
  if (mark === 0xfffe || mark === 0xfeff) throw new Error(`${what} is in UTF-16. Save it as UTF-8 first`);
  if (bytes.subarray(0, 4096).includes(0)) throw new Error(`${what} isn't a text file with one key per line`);
}

/** The lines of a list that aren't blank, in batches. */
export async function* linesOf(...list: Parameters<typeof unpack>): AsyncGenerator<string[]> {
  const reader = (await unpack(...list)).getReader();
  const decoder = new TextDecoder();
  let begun = ""; // a line whose end has not been read yet
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const text = decoder.decode(value, { stream: !done });
      const end = done ? text.length : text.lastIndexOf("\n") + 1;
      if (done || end > 0) {
        const lines = (begun + text.slice(0, end)).split("\n");
        yield lines.map((line) => line.replace(/\r$/, "")).filter((line) => line.trim());
        begun = "";
      }
      if (done) return;
      begun += text.slice(end);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
