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
import { type Job, LEAST, names, order, steps } from "./job.ts";

/** What the worker says: what it does now, what it has found out about a contestant, and how it ended. */
export type Message =
  | {
      running: string;
      /** -1 while the contestants are made, and 0 to warm up. */
      round: number;
      /** The share of the work that is done. */
      done: number;
    }
  | {
      made: string;
      /** Bytes in memory; for a Set, at least the characters of its keys. */
      bytes: number;
      /** The share of non-members that it called "maybe present". */
      fpr: number;
    }
  | {
      timed: string;
      /** For one `has`: the median of the rounds so far. */
      nanoseconds: number;
    }
  | { finished: true }
  | { error: { code?: string; message: string } };

interface Contestant {
  name: string;
  bytes: number;
  /** How many of the keys it calls "maybe present". */
  ask: (keys: string[]) => number;
}

const FPR = 0.001;

/**
 * Makes one contestant after another, in their order. Each has a loop of its own, spelled out. The engine would compile
 * a loop that they share for all of them at once, and so make it slow for each.
 */
function* contestants(count: number): Generator<Contestant, undefined> {
  const keys = strings(members(count));
  const ribbon = RibbonFilter.from(keys, { fpr: FPR });
  yield {
    name: names.ribbon,
    bytes: ribbon.info().byteLength,
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (ribbon.has(key)) sum++;
      return sum;
    },
  };
  const read = decode(ribbon.toBytes());
  yield {
    name: names.read,
    bytes: read.info().byteLength,
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (read.has(key)) sum++;
      return sum;
    },
  };
  const bloom = BloomFilter.from(keys, { fpr: FPR });
  yield {
    name: names.bloom,
    bytes: bloom.info().byteLength,
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (bloom.has(key)) sum++;
      return sum;
    },
  };
  const cuckoo = CuckooFilter.from(keys, { fpr: FPR });
  yield {
    name: names.cuckoo,
    bytes: cuckoo.info().byteLength,
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (cuckoo.has(key)) sum++;
      return sum;
    },
  };
  const scalable = ScalableBloomFilter.from(keys, { fpr: FPR, initialCapacity: count });
  yield {
    name: names.scalable,
    bytes: scalable.info().byteLength,
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (scalable.has(key)) sum++;
      return sum;
    },
  };
  const counting = CountingBloomFilter.from(keys, { fpr: FPR });
  yield {
    name: names.counting,
    bytes: counting.info().byteLength,
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (counting.has(key)) sum++;
      return sum;
    },
  };
  const plain = new PlainBloom(count, FPR);
  for (const key of keys) plain.add(key);
  yield {
    name: names.plain,
    bytes: plain.words.byteLength,
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (plain.has(key)) sum++;
      return sum;
    },
  };
  const set = new Set<string>(keys);
  yield {
    name: names.set,
    bytes: keys.reduce((sum: number, key: string) => sum + key.length, 0),
    ask(keys) {
      let sum = 0;
      for (const key of keys) if (set.has(key)) sum++;
      return sum;
    },
  };
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;

const tell = (message: Message) => postMessage(message);

async function measure(job: Job) {
  await init();
  const { count, rounds } = job;
  const { make, turn, all } = steps(job);
  let done = 0;
  const begin = (running: string, round: number) => tell({ running, round, done: done / all });
  const others = strings(nonmembers(count));
  const made: Contestant[] = [];
  begin(order[0]!, -1);
  for (const contestant of contestants(count)) {
    made.push(contestant);
    tell({ made: contestant.name, bytes: contestant.bytes, fpr: contestant.ask(others) / count });
    done += make;
    if (made.length < order.length) begin(order[made.length]!, -1);
  }

  const text = queries(count);
  const times = made.map((): number[] => []);
  const repeats = Math.ceil(LEAST / count);
  const asked = Array.from({ length: count }, (_, i) => kindOfQuery(i));
  const least = repeats * asked.filter((kind) => kind === MEMBER).length;
  for (let round = 0; round <= rounds; round++) {
    for (let i = 0; i < made.length; i++) {
      // In another order each round, so that a noisy machine is noisy for all.
      const which = (i + round) % made.length;
      const { name, ask } = made[which]!;
      begin(name, round);
      // New strings each time. The engine remembers the hash of a string that a Set was asked for.
      const keys = Array.from({ length: repeats }, () => strings(text)).flat();
      const start = performance.now();
      const found = ask(keys);
      const time = ((performance.now() - start) * 1e6) / keys.length;
      if (found < least) throw new Error(`${name} has lost keys`);
      done += turn;
      if (round === 0) continue; // it warms up
      times[which]!.push(time);
      tell({ timed: name, nanoseconds: median(times[which]!) });
    }
  }
  tell({ finished: true });
}

addEventListener("message", async ({ data }: MessageEvent<Job>) => {
  try {
    await measure(data);
  } catch (error) {
    const { code, message = String(error) } = Object(error) as { code?: string; message?: string };
    tell({ error: { ...(code && { code }), message } });
  }
});
