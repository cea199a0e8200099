/** The main script on the command line: prints a filter, that filter freed, and the runtime's version and verdict. */
import "./main.mjs";

/** Files, which only the command line can read: as a stream, with a size, until an abort. */
async function files() {
  const { load } = await import("bloom-wasm/reader");
  const file = new URL("golden.bloom", import.meta.url);
  const totals = new Set();
  const filter = await load(file, { onProgress: ({ total }) => totals.add(total) });
  const stop = new AbortController();
  const codes = [];
  const refused = [
    [file, { maxBytes: 10 }],
    [import.meta.url, {}],
    [new URL(".", file), {}],
    [new URL("none", file), {}],
  ];
  for (const [source, options] of refused) codes.push(await load(source, options).catch(({ code }) => code));
  const aborted = await load(file, { signal: stop.signal, onProgress: () => stop.abort("enough") }).catch(
    (reason) => reason,
  );
  return [filter.has("key-1"), ...totals, ...codes, aborted].join();
}

const { BloomFilter } = await import("bloom-wasm");
const filter = BloomFilter.from(["a"]);
console.log(filter);
filter.free();
console.log(filter);
const version = globalThis.Deno?.version.deno ?? globalThis.Bun?.version ?? process.versions.node;
console.log(JSON.stringify({ version, verdict: await globalThis.verdict, files: await files() }));
