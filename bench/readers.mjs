/**
 * The readers of a filter, in Node and in a page: a module, and how it opens bytes. peers.mjs imports all at once; here
 * each is imported when it is needed, because importing is part of the measurement. The names are those of the peers.
 */
const inNode = globalThis.process !== undefined;

const READERS = {
  RibbonFilter: [inNode ? "../dist/bloom.node.js" : "../dist/bloom.inline.js", ({ decode }) => decode],
  "reader RibbonFilter": ["../dist/reader.js", ({ decode }) => decode],
  bloomfilter: [
    "./node_modules/bloomfilter/bloomfilter.js",
    ({ BloomFilter }) =>
      (bytes) =>
        BloomFilter.fromJSON(JSON.parse(new TextDecoder().decode(bytes))),
  ],
  "plain JavaScript": [
    "./plain.mjs",
    ({ PlainBloom }) =>
      (bytes) =>
        PlainBloom.fromBytes(bytes),
  ],
};

export const names = Object.keys(READERS);

/** Imports a reader. Returns its function that opens bytes. */
export async function opener(name) {
  const [module, open] = READERS[name];
  return open(await import(module));
}

/** From nothing to an answer, in milliseconds. The bytes are in memory, and in a page the scripts, too. */
export async function first(name, bytes, key) {
  const begun = performance.now();
  const filter = (await opener(name))(bytes);
  const found = name === "bloomfilter" ? filter.test(key) : filter.has(key);
  const time = performance.now() - begun;
  if (!found) throw new Error(`${name} lost a key`);
  return time;
}
