/** Builds a filter and measures its rate, off the main thread. To cancel, the page terminates this worker. */
import {
  BloomFilter,
  type BuildOptions,
  CountingBloomFilter,
  CuckooFilter,
  type Filter,
  type FilterInfo,
  init,
  RibbonFilter,
  ScalableBloomFilter,
} from "bloom-wasm/slim";
import { linesOf, unpack } from "../lists.ts";
import { type Look, lookOf } from "../look.ts";
import { lookalike, sampler } from "./lookalike.ts";

const kinds = {
  ribbon: RibbonFilter,
  bloom: BloomFilter,
  cuckoo: CuckooFilter,
  counting: CountingBloomFilter,
  scalable: ScalableBloomFilter,
};

/** What the page asks for. */
export interface Order {
  list: Blob;
  kind: keyof typeof kinds;
  profile: "raw" | "url" | "password";
  fpr: number;
  name: string;
  lowercase: boolean;
  allow: Blob | null;
  allowWins: boolean;
}

/** What was built. */
export interface Result {
  blob: Uint8Array<ArrayBuffer>;
  info: FilterInfo;
  /** Different keys, estimated where the kind doesn't know it. */
  count: number;
  listBytes: number;
  milliseconds: number;
  /** Lines that gave no key, by reason: how many, and the first few. */
  skipped: Record<string, { count: number; examples: string[] }>;
  conflicts: { count: number; examples: string[]; removed: boolean };
  /** How many different made-up keys were asked, none of them on the list, and how many of them matched. */
  measured: { asked: number; matched: number };
  /** What a sample of the lines looks like. */
  look: Look;
}

export type Message =
  | { step: "reading" | "building" | "measuring"; done?: number }
  | { result: Result }
  | { error: { code?: string; message: string } };

/** How many keys are made up at most, and for how many milliseconds. */
const PROBES = 1_000_000;
const PATIENCE = 2_000;
/** How many examples of a kind the page shows. */
const EXAMPLES = 3;

const tell = (message: Message, transfer: Transferable[] = []) => postMessage(message, { transfer });
const decoder = new TextDecoder();
const text = (key: string | Uint8Array) => (typeof key === "string" ? key : decoder.decode(key));

async function collect(list: Blob): Promise<string[]> {
  const all: string[] = [];
  for await (const lines of linesOf(list, "the allowlist")) for (const line of lines) all.push(line);
  return all;
}

async function build({ list, kind, allow, allowWins, ...order }: Order): Promise<Result> {
  await init().catch((cause) => {
    throw cause.code === "network" ? new Error("the builder could not be loaded. Are you online?") : cause;
  });
  const begun = performance.now();
  const skipped: Result["skipped"] = {};
  const conflicts: Result["conflicts"] = { count: 0, examples: [], removed: allowWins };
  const { profile, lowercase } = order;
  const options: BuildOptions = {
    profile,
    fpr: order.fpr,
    ...(order.name && { name: order.name }),
    ...(lowercase && { lowercase }),
    ...(allow && { allow: await collect(allow), allowWins }),
    onSkip({ key, reason }) {
      skipped[reason] ??= { count: 0, examples: [] };
      if (skipped[reason].count++ < EXAMPLES) skipped[reason].examples.push(text(key));
    },
    onConflict({ key }) {
      if (conflicts.count++ < EXAMPLES) conflicts.examples.push(text(key));
    },
  };
  const sample = sampler();
  let listBytes = 0;
  const unpacked = await unpack(list, "the list", (done) => tell({ step: "reading", done }));
  const sampled = unpacked.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        listBytes += chunk.length;
        sample.take(chunk);
        controller.enqueue(chunk);
      },
      flush: () => tell({ step: "building" }),
    }),
  );
  const filter: Filter = await kinds[kind].fromStream(sampled, options);
  const info = filter.info();
  const count = info.count ?? Math.round(filter.estimatedCount);
  if (count === 0) throw new Error("no line of the list is a key");
  const milliseconds = performance.now() - begun;

  // A second filter with another seed. A key that it denies is definitely not on the list, so if the first one matches
  // it, that is a false positive.
  const measuring = (done: number) => tell({ step: "measuring", done });
  const again = await unpack(list, "the list", (done) => measuring(done / 2));
  const witness = await BloomFilter.fromStream(again, { profile, lowercase, fpr: 0.01, seed: 1n });
  const measured = measure(filter, witness, profile, sample.lines(), (done) => measuring((1 + done) / 2));
  const blob = filter.toBytes();
  const look = lookOf(sample.lines(), profile);
  return { blob, info, count, listBytes, milliseconds, skipped, conflicts, measured, look };
}

/** Asks both filters for made-up keys that look like those on the list, each once: or chance would play a larger part. */
function measure(
  filter: Filter,
  witness: Filter,
  profile: Order["profile"],
  lines: string[],
  progress: (done: number) => void,
): Result["measured"] {
  const has = {
    raw: (filter: Filter, key: string) => filter.has(key),
    url: (filter: Filter, key: string) => filter.hasUrl(key),
    password: (filter: Filter, key: string) => filter.hasPassword(key),
  }[profile];
  const measured = { asked: 0, matched: 0 };
  const seen = BloomFilter.withCapacity(PROBES, 0.01, { seed: 2n });
  const begun = performance.now();
  for (let probe = 0; probe < PROBES; probe++) {
    const key = lookalike(lines[probe % lines.length]!, profile === "url");
    if (seen.add(key) && !has(witness, key)) {
      measured.asked++;
      if (has(filter, key)) measured.matched++;
    }
    if (probe % 10_000 === 0) {
      progress(probe / PROBES);
      if (performance.now() - begun > PATIENCE) break;
    }
  }
  seen.free();
  return measured;
}

addEventListener("message", async ({ data }: MessageEvent<Order>) => {
  try {
    const result = await build(data);
    tell({ result }, [result.blob.buffer]);
  } catch (error) {
    // What a stream throws is the cause of a FilterError.
    const {
      code,
      cause,
      message = String(error),
    } = Object(error) as { code?: string; cause?: Error; message?: string };
    tell({ error: code === "network" && cause ? { message: cause.message } : { ...(code && { code }), message } });
  }
});
