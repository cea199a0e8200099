/**
 * Races the package's filters, in WebAssembly and by the reader, a Set and a Bloom filter in plain JavaScript, with the
 * keys of bench/. The page terminates it.
 */
import { decode } from "bloom-wasm/reader";
import {
  BloomFilter,
  CountingBloomFilter,
  CuckooFilter,
  init,
  RibbonFilter,
  ScalableBloomFilter,
} from "bloom-wasm/slim";
import { kindOfQuery, MEMBER, members, nonmembers, queries, strings } from "../../bench/keys.mjs";
import { PlainBloom } from "../../bench/plain.mjs";
import { names } from "./names.ts";

export interface Job {
  count: number;
  rounds: number;
}

export interface Result {
  name: string;
  /** Nanoseconds for one `has`: the median of the rounds. */
  nanoseconds: number;
  /** Bytes in memory; for a Set, at least the characters of its keys. */
  bytes: number;
  /** The share of non-members that it called "maybe present". */
  fpr: number;
}

export type Message =
  | { round: number; done: number }
  | { results: Result[] }
  | { error: { code?: string; message: string } };

interface Contestant {
  name: string;
  bytes: number;
  /** How many of the keys it calls "maybe present". */
  ask: (keys: string[]) => number;
}

const FPR = 0.001;
/** The least number of keys that a turn asks for. */
const LEAST = 100_000;

/**
 * Each contestant has a loop of its own, spelled out. The engine would compile a loop that they share for all of them
 * at once, and so make it slow for each.
 */
function contestants(count: number): Contestant[] {
  const keys = strings(members(count));
  const ribbon = RibbonFilter.from(keys, { fpr: FPR });
  const read = decode(ribbon.toBytes());
  const bloom = BloomFilter.from(keys, { fpr: FPR });
  const cuckoo = CuckooFilter.from(keys, { fpr: FPR });
  const counting = CountingBloomFilter.from(keys, { fpr: FPR });
  const scalable = ScalableBloomFilter.from(keys, { fpr: FPR, initialCapacity: count });
  const plain = new PlainBloom(count, FPR);
  for (const key of keys) plain.add(key);
  const set = new Set<string>(keys);
  return [
    {
      name: names.ribbon,
      bytes: ribbon.info().byteLength,
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (ribbon.has(key)) sum++;
        return sum;
      },
    },
    {
      name: names.read,
      bytes: read.info().byteLength,
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (read.has(key)) sum++;
        return sum;
      },
    },
    {
      name: names.bloom,
      bytes: bloom.info().byteLength,
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (bloom.has(key)) sum++;
        return sum;
      },
    },
    {
      name: names.cuckoo,
      bytes: cuckoo.info().byteLength,
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (cuckoo.has(key)) sum++;
        return sum;
      },
    },
    {
      name: names.scalable,
      bytes: scalable.info().byteLength,
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (scalable.has(key)) sum++;
        return sum;
      },
    },
    {
      name: names.counting,
      bytes: counting.info().byteLength,
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (counting.has(key)) sum++;
        return sum;
      },
    },
    {
      name: names.plain,
      bytes: plain.words.byteLength,
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (plain.has(key)) sum++;
        return sum;
      },
    },
    {
      name: names.set,
      bytes: keys.reduce((sum: number, key: string) => sum + key.length, 0),
      ask(keys) {
        let sum = 0;
        for (const key of keys) if (set.has(key)) sum++;
        return sum;
      },
    },
  ];
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;

const tell = (message: Message) => postMessage(message);

async function measure({ count, rounds }: Job): Promise<Result[]> {
  await init();
  const all = contestants(count);
  const text = queries(count);
  const others = strings(nonmembers(count));
  const times = all.map((): number[] => []);
  const rates = all.map(({ ask }) => ask(others) / count);
  // Few keys are asked for several times over, because a browser's clock is coarse.
  const repeats = Math.ceil(LEAST / count);
  const asked = Array.from({ length: count }, (_, i) => kindOfQuery(i));
  const least = repeats * asked.filter((kind) => kind === MEMBER).length;
  // The first round warms up.
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < all.length; i++) {
      // In another order each round, so that a noisy machine is noisy for all.
      const which = (i + round + 1) % all.length;
      // New strings each time. The engine remembers the hash of a string that a Set was asked for.
      const keys = Array.from({ length: repeats }, () => strings(text)).flat();
      const start = performance.now();
      const found = all[which]!.ask(keys);
      const time = ((performance.now() - start) * 1e6) / keys.length;
      if (round >= 0) times[which]!.push(time);
      if (found < least) throw new Error(`${all[which]!.name} has lost keys`);
      tell({ round: round + 1, done: ((round + 1) * all.length + i + 1) / ((rounds + 1) * all.length) });
    }
  }
  return all.map(({ name, bytes }, i) => ({ name, bytes, nanoseconds: median(times[i]!), fpr: rates[i]! }));
}

addEventListener("message", async ({ data }: MessageEvent<Job>) => {
  try {
    tell({ results: await measure(data) });
  } catch (error) {
    const { code, message = String(error) } = Object(error) as { code?: string; message?: string };
    tell({ error: { ...(code && { code }), message } });
  }
});
