/** From a blob to the first answer: against the peers, against a plain copy, and in fresh processes. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RibbonFilter, urlExpressions } from "../dist/bloom.node.js";
import { filterOf, peers, RIVAL } from "./peers.mjs";
import { loop, race } from "./race.mjs";
import { names } from "./readers.mjs";
import { claim, table } from "./table.mjs";

const fresh = fileURLToPath(new URL("fresh.mjs", import.meta.url));
const run = async (...args) => JSON.parse((await promisify(execFile)(process.execPath, [fresh, ...args])).stdout);

/** Each peer reads what it wrote, `repeats` times, and is asked for one key each time. */
function contestant(peer, saved, key, repeats) {
  const ask = loop(peer.has);
  const run = () =>
    Array.from({ length: repeats }, () => {
      const filter = peer.open(saved);
      if (ask(filter, [key]) !== 1) throw new Error(`${peer.name} lost a key`);
      return filter;
    });
  const check = (filters) => {
    for (const filter of filters) filter.free?.();
  };
  return { name: peer.name, keys: repeats, run, check };
}

async function reading(bench) {
  const fpr = 0.001;
  const [key] = bench.members();
  const contestants = peers
    .filter(({ open }) => open)
    .map((peer) => contestant(peer, peer.save(bench.built(peer, fpr).filter), key, 1));
  const times = await race(contestants, bench.rounds);
  const title = `from what was written to the first answer, ${bench.count} keys, fpr ${fpr}`;
  return table(title, times, { rival: RIVAL, milliseconds: true });
}

/**
 * A real list, as short as those of many pages and extensions. Returns what each of readers.mjs reads, by its name, a
 * key that all have, and a title.
 */
export function short(bench) {
  const fpr = 0.0001; // the share of a key in a check of a URL at 0.001
  const keys = bench.hosts().map((host) => urlExpressions(host)[0]);
  const saved = Object.fromEntries(
    names.map((name) => {
      const peer = peers.find((peer) => peer.name === name);
      return [name, peer.save(filterOf(peer, keys, fpr))];
    }),
  );
  const size = Math.round(saved.RibbonFilter.length / 1000);
  return { saved, key: keys[0], what: `${keys.length} phishing hosts, fpr ${fpr}, ${size} kB of ribbon` };
}

/** The short list: read again and again, and once in a fresh process. */
async function readingShort(bench) {
  const { saved, key, what } = short(bench);
  const contestants = names.map((name) =>
    contestant(
      peers.find((peer) => peer.name === name),
      saved[name],
      key,
      200,
    ),
  );
  const again = await race(contestants, bench.rounds);
  const fromImport = names.map((name, i) => {
    const file = join(bench.folder(), `short-${i}`);
    writeFileSync(file, saved[name]);
    return { name, time: async () => (await run("first", file, key, name)) * 1e6 };
  });
  const once = await race(fromImport, bench.rounds);
  return {
    tables: [
      table(`from what was written to the first answer, ${what}`, again, { rival: RIVAL, milliseconds: true }),
      table(`from import to the first answer in a fresh process of Node, ${what}`, once, { milliseconds: true }),
    ],
    claims: [sooner("Node", once)],
  };
}

/** The claim that plain JavaScript has an answer in half the time of WebAssembly. */
export const sooner = (where, times) =>
  claim(
    `${where}: from import to the first answer, bloom-wasm/reader against bloom-wasm`,
    { atMost: 0.5 },
    times,
    (time) => time["reader RibbonFilter"] / time.RibbonFilter,
  );

export async function load(bench) {
  const { rounds, count } = bench;
  const own = peers.find(({ name }) => name === "RibbonFilter");
  const small = join(bench.folder(), "small.bloom");
  writeFileSync(small, bench.built(own, 0.001).filter.toBytes());
  const large = join(bench.folder(), "large.bloom");
  // 12 MB at a million.
  const numbers = async function* () {
    for (let i = 0; i < 9.55 * count; i++) yield String(i);
  };
  const filter = await RibbonFilter.fromStream(numbers(), { fpr: 0.001 });
  const bytes = filter.toBytes();
  filter.free();
  writeFileSync(large, bytes);

  const size = `${(bytes.length / 1e6).toFixed(1)} MB`;
  const [decode, copy] = [`decode, ${size}`, `growing a memory and copying, ${size}`];
  const times = await race(
    [
      { name: decode, time: () => run("decode", large, "0") },
      { name: copy, time: () => run("copy", large, "0") },
    ],
    rounds,
  );

  const again = await run("again", large, "0");
  const later = { [decode]: again.decode, [copy]: again.copy };

  const starts = [];
  for (let round = 0; round < rounds; round++) {
    starts.push({
      ...(await run("start", small, bench.members()[0])),
      "importing another, small module": await run("small", small, "0"),
    });
  }
  const start = Object.fromEntries(
    Object.keys(starts[0]).map((part) => [part, starts.map((times) => times[part] * 1e6)]),
  );

  const grown = {
    "Content-Length known": [await run("streamOfLength", large, "0")],
    "not known": [await run("stream", large, "0")],
  };
  const title = `from import to the first answer in a fresh process of Node, ribbon of ${count} keys`;
  const shortList = await readingShort(bench);
  const tables = [
    await reading(bench),
    ...shortList.tables,
    table("the first decode of a process", times, { milliseconds: true }),
    table("a later decode", later, { milliseconds: true }),
    table(title, start, { milliseconds: true }),
  ];
  const claims = [
    ...shortList.claims,
    claim(
      `a process's first decode against growing and copying, ${size}`,
      { atMost: 1.25 },
      times,
      (time) => time[decode] / time[copy],
    ),
    claim(
      `a later decode against growing and copying, ${size}`,
      { atMost: 1.25 },
      later,
      (time) => time[decode] / time[copy],
    ),
    claim(
      "Node: from imported to the first answer",
      { atMost: 2, unit: "ms" },
      start,
      ({ decoding, answering }) => (decoding + answering) / 1e6,
    ),
    ...Object.keys(grown).map((how) =>
      claim(
        `streaming ${size}, ${how}: memory grew beyond the blob by`,
        { atMost: 256, unit: "KiB" },
        grown,
        (bytes) => bytes[how] / 1024,
      ),
    ),
  ];
  return { tables, claims };
}
