/** How a sharded filter is asked: a key needs the manifest, one page and one shard. docs/feeds.md has the format. */

import { Filter as RawFilter, shardOf } from "./bloom_wasm.js";
import { call, release } from "./call.js";
import { FilterError } from "./error.js";
import type { Part } from "./feedcache.js";
import { isA, type Key } from "./input.js";
import { Job } from "./job.js";
import { entriesOf, type Manifest, type ShardsPayload } from "./manifest.js";
import { collector, type Origin, verified } from "./origin.js";
import { put } from "./scratch.js";
import { unlessAborted } from "./stream.js";

/** The bytes of a shard's entry in a page. */
const ENTRY = 40;
/** The most bytes of a shard. */
const LONGEST_SHARD = 2 ** 24;

/** A page or a shard in memory. */
interface Held {
  bytes: number;
  page?: DataView;
  raw?: RawFilter;
}

/** @internal A sharded filter at its origin, with the parts of it that are in memory. */
export class Shards {
  /** There is one as soon as anybody else has the shards. */
  manifest!: Manifest<ShardsPayload>;
  cacheError: FilterError | undefined;
  #origin: Origin<ShardsPayload>;
  #maxMemory: number;
  /** By their hashes, those that were used last at the end. */
  #parts = new Map<string, Job<Held>>();
  #job: Job<boolean> | undefined;
  #closed = false;

  constructor(origin: Origin<ShardsPayload>, maxMemory: number) {
    this.#origin = origin;
    this.#maxMemory = maxMemory;
  }

  /** Whether the generation in place has expired. */
  get isStale(): boolean {
    return this.#origin.isOver(this.manifest);
  }

  /** Puts the generation in place that the cache has. Returns whether there is one. */
  async restore(signal: AbortSignal | undefined): Promise<boolean> {
    const manifest = await unlessAborted(this.#origin.shelf.first(), signal);
    if (manifest) this.manifest = manifest;
    return manifest !== undefined;
  }

  /** Puts the newest generation in place. Returns whether it is newer than the one that was there. */
  async update(signal?: AbortSignal): Promise<boolean> {
    signal?.throwIfAborted();
    this.#requireOpen();
    if (this.#job === undefined || this.#job.isOver) this.#job = new Job((stopped) => this.#update(stopped));
    return this.#job.wait(signal, (answer) => answer);
  }

  async #update(signal: AbortSignal): Promise<boolean> {
    const { shelf } = this.#origin;
    const manifest = await this.#origin.newest(this.manifest, signal);
    if (manifest.generation === this.manifest?.generation) return false;
    this.manifest = manifest;
    const keeping = this.#kept(shelf.keep(manifest, () => new Uint8Array(0)));
    await unlessAborted(keeping, signal).catch(() => {});
    return true;
  }

  /** Remembers whether the cache could keep something. */
  async #kept(keeping: Promise<void>): Promise<void> {
    try {
      await keeping;
      this.cacheError = undefined;
    } catch (error) {
      this.cacheError = error as FilterError;
    }
  }

  /** Answers from the manifest in place, or from a newer one if the host has deleted files of this one meanwhile. */
  async answer<T>(signal: AbortSignal | undefined, ask: (manifest: Manifest<ShardsPayload>) => Promise<T>): Promise<T> {
    const { manifest } = this;
    try {
      return await ask(manifest);
    } catch (error) {
      if (!isA(error, FilterError) || error.code !== "http") throw error;
      if (this.manifest === manifest) await this.update(signal).catch(() => {});
      if (this.manifest === manifest) throw error;
      return ask(this.manifest);
    }
  }

  /** The shard of a key. */
  of(key: Key, { profile, seed, shards }: ShardsPayload): number {
    const length = put(key);
    return call(() => shardOf(length, profile === "url", BigInt(seed), shards));
  }

  /** Hands a shard to `use`, which uses it at once. */
  async use<T>(
    manifest: Manifest<ShardsPayload>,
    shard: number,
    signal: AbortSignal | undefined,
    use: (raw: RawFilter) => T,
  ): Promise<T> {
    const entries = entriesOf(manifest);
    const index = Math.floor(shard / entries);
    const page: Part = { kind: "page", index, bytes: entries * ENTRY, sha256: manifest.pages[index]! };
    const { count, ...file } = await this.#use(
      manifest,
      page,
      signal,
      (bytes) => ({ bytes: bytes.length, page: new DataView(bytes.slice().buffer) }),
      (held) => entryIn(held.page!, shard % entries),
    );
    return this.#use(
      manifest,
      { kind: "shard", index: shard, ...file },
      signal,
      (bytes) => ({ bytes: bytes.length, raw: decoded(bytes, manifest, count) }),
      (held) => use(held.raw!),
    );
  }

  /** Hands a part to `use`. It is made of verified bytes unless it is in memory. */
  async #use<T>(
    manifest: Manifest<ShardsPayload>,
    part: Part,
    signal: AbortSignal | undefined,
    make: (bytes: Uint8Array) => Held,
    use: (held: Held) => T,
  ): Promise<T> {
    signal?.throwIfAborted();
    this.#requireOpen();
    const known = this.#parts.get(part.sha256);
    const has = known !== undefined && (known.value !== undefined || !known.isOver);
    const job = has ? known : new Job((stopped) => this.#made(manifest, part, stopped, make));
    this.#parts.delete(part.sha256);
    this.#parts.set(part.sha256, job);
    try {
      return await job.wait(signal, use);
    } finally {
      if (!has || this.#closed) this.#trim();
    }
  }

  async #made(
    manifest: Manifest<ShardsPayload>,
    part: Part,
    signal: AbortSignal,
    make: (bytes: Uint8Array) => Held,
  ): Promise<Held> {
    const { shelf } = this.#origin;
    const kept = await unlessAborted(shelf.part(manifest, part), signal);
    const isKept = kept !== undefined && (await isPart(kept, part));
    const bytes = isKept ? kept : await this.#fetched(part, signal);
    signal.throwIfAborted();
    const held = make(bytes);
    // Nobody waits for it: a cache may be slow, or hang.
    if (!isKept) void this.#kept(shelf.keepPart(manifest, part, bytes));
    return held;
  }

  #fetched(part: Part, signal: AbortSignal): Promise<Uint8Array> {
    return this.#origin.file(part, signal, async (read) => {
      const { whole, take } = collector(part.bytes);
      await verified(part, read, take);
      return whole;
    });
  }

  /** Forgets what failed, and what was used longest ago until the rest fits into memory. */
  #trim(): void {
    let memory = 0;
    for (const [name, job] of this.#parts) {
      if (job.value === undefined && job.isOver) this.#parts.delete(name);
      memory += job.value?.bytes ?? 0;
    }
    for (const [name, { value, waiting }] of this.#parts) {
      if (memory <= this.#maxMemory && !this.#closed) return;
      if (value === undefined || waiting > 0) continue;
      this.#parts.delete(name);
      release(value.raw);
      memory -= value.bytes;
    }
  }

  #requireOpen(): void {
    if (this.#closed) throw closed();
  }

  close(): void {
    this.#closed = true;
    for (const job of [this.#job, ...this.#parts.values()]) job?.stop(closed());
    this.#trim();
  }
}

/** What a page says of its shard of this number. */
function entryIn(page: DataView, number: number): { sha256: string; bytes: number; count: number } {
  const at = number * ENTRY;
  const hash = new Uint8Array(page.buffer, at, 32);
  const sha256 = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const bytes = page.getUint32(at + 32, true);
  if (bytes < 1 || bytes > LONGEST_SHARD) {
    throw new FilterError("not_a_feed", `a page gives a shard ${bytes} bytes; it must have 1 byte to 16 MiB`);
  }
  return { sha256, bytes, count: page.getUint32(at + 36, true) };
}

/** Whether bytes of the cache are a part. */
async function isPart(bytes: Uint8Array, part: Part): Promise<boolean> {
  const read = async (take: (chunk: Uint8Array) => void) => take(bytes);
  return verified(part, read, () => {}).then(
    () => true,
    () => false,
  );
}

/** A shard, if it is one of this filter. */
function decoded(bytes: Uint8Array, manifest: ShardsPayload, count: number): RawFilter {
  const raw = call(() => RawFilter.decode(bytes));
  const info = call(() => raw.info());
  const names = ["profile", "seed", "lowercase", "sha1"] as const;
  if (info.kind === "ribbon" && info.count === count && names.every((name) => info[name] === manifest[name]))
    return raw;
  release(raw);
  throw new FilterError("not_a_feed", "a shard isn't what the manifest and its page say");
}

function closed(): FilterError {
  return new FilterError("freed", "this sharded filter was closed");
}
