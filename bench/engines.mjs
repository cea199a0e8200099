/**
 * Plain JavaScript next to WebAssembly: `bloom-wasm/reader` and `bloom-wasm` are asked the same questions of the same
 * blobs. This runs in Node and in pages.
 */
import { members, nonmembers, strings } from "./keys.mjs";
import { loop, race } from "./race.mjs";
import { claim, table } from "./table.mjs";

const inNode = globalThis.process !== undefined;

const ENGINES = {
  WebAssembly: inNode ? "../dist/bloom.node.js" : "../dist/bloom.inline.js",
  JavaScript: "../dist/reader.js",
};

export const SECRET = new Uint8Array(16).fill(7);

/** How keys of other lengths are made from those of 59 characters. */
const SHAPES = { 25: (key) => key.slice(12, 37), 59: (key) => key, 295: (key) => key.repeat(5) };

/** Members and non-members of a length, each string in its own memory. */
export function keysOf(count, length) {
  const own = (key) => new TextDecoder().decode(new TextEncoder().encode(SHAPES[length](key)));
  return [members, nonmembers].map((lines) => strings(lines(count)).map(own));
}

/**
 * The questions: the blob, the length of the keys, and the most that JavaScript may take, as a multiple of what
 * WebAssembly takes.
 */
const QUESTIONS = {
  "has, 59 characters, ribbon": ["ribbon 59", 59, "filter.has(key)", 1.35],
  "has, 59 characters, Bloom": ["Bloom 59", 59, "filter.has(key)", 1.35],
  "has, 25 characters, ribbon": ["ribbon 25", 25, "filter.has(key)", 1.2],
  "has, 59 characters, keyed": ["keyed 59", 59, "filter.has(key)", 2],
  "has, 295 characters, keyed": ["keyed 295", 295, "filter.has(key)", 3],
  "hasUrl, a list of hosts": ["hosts", 59, "filter.hasUrl(key)", 1.05],
  "hasUrl, a list with paths": ["urls", 59, "filter.hasUrl(key)", 1.8],
};

/**
 * Asks them, of `count` keys each. `bytesOf` gives the blob of a name. Returns each question, its limit, and its times.
 */
export async function askBoth({ count, rounds, bytesOf }) {
  const decoders = {};
  for (const [engine, module] of Object.entries(ENGINES)) decoders[engine] = (await import(module)).decode;
  /** A contestant for each engine: what `run` does with its filter. */
  const contestants = async (blob, options, run) => {
    const bytes = await bytesOf(blob);
    return Object.entries(decoders).map(([name, decode]) => ({ name, keys: count, ...run(decode(bytes, options)) }));
  };
  const results = [];
  /** A race after the engines have compiled the code: until then the clock also counts the compiler's work. */
  const warm = (all) => {
    for (let i = 0; i < 10; i++) for (const { run } of all) run();
    return race(all, rounds);
  };
  for (const [what, [blob, length, question, atMost]] of Object.entries(QUESTIONS)) {
    const options = blob.startsWith("keyed") ? { secret: SECRET } : {};
    const [known, unknown] = keysOf(count, length);
    // The hosts of all of these are non-members to the list of hosts.
    const groups = blob === "hosts" ? { "non-members": unknown } : { members: known, "non-members": unknown };
    for (const [who, keys] of Object.entries(groups)) {
      const all = await contestants(blob, options, (filter) => {
        const ask = loop(question);
        return { run: () => ask(filter, keys) };
      });
      const parse = loop("new URL(key).href.length > 0");
      if (blob === "hosts") all.push({ name: "new URL", keys: count, run: () => parse(null, keys) });
      results.push({ what: `${what}, ${who}`, atMost, times: await warm(all) });
    }
  }
  const text = nonmembers(count);
  const check = (answers) => answers.reduce((sum, answer) => sum + answer, 0);
  const all = await contestants("ribbon 59", {}, (filter) => ({ run: () => filter.hasLines(text), check }));
  results.push({ what: "hasLines, 59 bytes a line, non-members", atMost: 2.3, times: await warm(all) });
  return results;
}

/**
 * A table and the claims of what {@link askBoth} returned. `ofParsing` is the most that JavaScript may take, as a
 * multiple of what parsing a URL takes.
 */
export function verdict(where, results, ofParsing) {
  const times = {};
  const claims = [];
  for (const { what, atMost, times: its } of results) {
    for (const [name, list] of Object.entries(its)) times[`${what}: ${name}`] = list;
    const longer = (time) => time.JavaScript / time.WebAssembly;
    claims.push(claim(`${where}: ${what}, JavaScript's time over WebAssembly's`, { atMost }, its, longer));
    if (!its["new URL"]) continue;
    const parsing = (time) => time.JavaScript / time["new URL"];
    claims.push(claim(`${where}: ${what}, JavaScript's time over new URL's`, { atMost: ofParsing }, its, parsing));
  }
  return { tables: [table(`JavaScript and WebAssembly, ${where}, fpr 0.001`, times)], claims };
}
