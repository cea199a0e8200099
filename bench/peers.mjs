/**
 * The filters that are compared: how each is made, filled, asked, written and read. Slow ones go through only a `share`
 * of the keys in a round; their filters hold all keys like the others. Those called `reader` are made by `bloom-wasm`,
 * and asked in plain JavaScript.
 */
import { createRequire } from "node:module";
import { BloomFilter, decode, RibbonFilter } from "../dist/bloom.node.js";
import { decode as decodeInReader } from "../dist/reader.js";
import { PlainBloom } from "./plain.mjs";
import { loop } from "./race.mjs";

// Some of them are CommonJS. All are in bench/node_modules.
const require = createRequire(import.meta.url);
const { BloomFilter: Bloomfilter } = await import("bloomfilter");
const { BloomFilter: Ceramic } = require("@ceramicnetwork/wasm-bloom-filter");
const { BloomFilter: BloomFilters } = require("bloom-filters");
const Mnemonist = require("mnemonist/bloom-filter.js");

export const RIVAL = "bloomfilter";

export const peers = [
  {
    name: "BloomFilter",
    own: true,
    create: (count, fpr) => BloomFilter.withCapacity(count, fpr),
    add: "filter.add(key)",
    has: "filter.has(key)",
    save: (filter) => filter.toBytes(),
    open: decode,
  },
  {
    name: "RibbonFilter",
    own: true,
    from: (keys, fpr) => RibbonFilter.from(keys, { fpr }),
    has: "filter.has(key)",
    save: (filter) => filter.toBytes(),
    open: decode,
  },
  ...Object.entries({ BloomFilter, RibbonFilter }).map(([name, kind]) => ({
    name: `reader ${name}`,
    reader: true,
    from: (keys, fpr) => decodeInReader(kind.from(keys, { fpr }).toBytes()),
    has: "filter.has(key)",
    save: (filter) => filter.toBytes(),
    open: decodeInReader,
  })),
  {
    name: RIVAL,
    create: (count, fpr) => Bloomfilter.withTargetError(count, fpr),
    add: "filter.add(key)",
    has: "filter.test(key)",
    save: (filter) => JSON.stringify(filter),
    open: (saved) => Bloomfilter.fromJSON(saved),
  },
  {
    name: "plain JavaScript",
    create: (count, fpr) => new PlainBloom(count, fpr),
    add: "filter.add(key)",
    has: "filter.has(key)",
    save: (filter) => filter.toBytes(),
    open: (saved) => PlainBloom.fromBytes(saved),
  },
  {
    name: "@ceramicnetwork/wasm-bloom-filter",
    create: (count, fpr) => new Ceramic(fpr, count),
    add: "filter.add(key)",
    has: "filter.contains(key)",
    save: (filter) => filter.toString(),
    open: (saved) => Ceramic.fromString(saved),
  },
  {
    name: "mnemonist",
    share: 1 / 20,
    create: (capacity, errorRate) => new Mnemonist({ capacity, errorRate }),
    add: "filter.add(key)",
    has: "filter.test(key)",
    save: (filter) => filter.data,
  },
  {
    name: "bloom-filters",
    share: 1 / 20,
    create: (count, fpr) => BloomFilters.create(count, fpr),
    add: "filter.add(key)",
    has: "filter.has(key)",
    save: (filter) => JSON.stringify(filter.saveAsJSON()),
    open: (saved) => BloomFilters.fromJSON(JSON.parse(saved)),
  },
];

/** A peer's filter of these keys. */
export function filterOf(peer, keys, fpr) {
  if (peer.from) return peer.from(keys, fpr);
  const filter = peer.create(keys.length, fpr);
  loop(peer.add)(filter, keys);
  return filter;
}
