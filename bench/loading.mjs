/** From a blob to the first answer: against the peers, against a plain copy, and in fresh processes. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RibbonFilter } from "../dist/bloom.node.js";
import { peers, RIVAL } from "./peers.mjs";
import { loop, race } from "./race.mjs";
import { claim, table } from "./table.mjs";

const fresh = fileURLToPath(new URL("fresh.mjs", import.meta.url));
const run = async (...args) => JSON.parse((await promisify(execFile)(process.execPath, [fresh, ...args])).stdout);

/** Each peer reads what it wrote, and is asked for one key. */
async function reading(bench) {
  const fpr = 0.001;
  const [key] = bench.members();
  const contestants = peers
    .filter(({ open }) => open)
    .map((peer) => {
      const saved = peer.save(bench.built(peer, fpr).filter);
      const ask = loop(peer.has);
      const run = () => {
        const filter = peer.open(saved);
        if (ask(filter, [key]) !== 1) throw new Error(`${peer.name} lost a key`);
        return filter;
      };
      return { name: peer.name, keys: 1, run, check: (filter) => filter.free?.() };
    });
  const times = await race(contestants, bench.rounds);
  const title = `from what was written to the first answer, ${bench.count} keys, fpr ${fpr}`;
  return table(title, times, { rival: RIVAL, milliseconds: true });
}

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
  const tables = [
    await reading(bench),
    table("the first decode of a process", times, { milliseconds: true }),
    table("a later decode", later, { milliseconds: true }),
    table(title, start, { milliseconds: true }),
  ];
  const claims = [
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
