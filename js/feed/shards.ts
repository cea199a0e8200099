/** How a sharded filter is asked: a key needs the manifest, one page and one shard. docs/feeds.md has the format. */

import { Filter as RawFilter, shardOf } from "../bloom_wasm.js";
import { call, release } from "../boundary/call.js";
import type { FilterInfo } from "../boundary/info.js";
import { isA, type Key } from "../boundary/input.js";
import { Job } from "../boundary/job.js";
import { put } from "../boundary/scratch.js";
import { unlessAborted } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { type Part, patiently } from "./cache.js";
import { checkOf, entriesOf, type Manifest, type ShardsPayload } from "./manifest.js";
import { collector, type Origin, verified } from "./origin.js";

/** The bytes of a shard's entry in a page. */
const ENTRY = 40;
/** The most bytes of a shard. */
const LONGEST_SHARD = 2 ** 24;

/** About how much memory a part takes besides its bytes. */
const OVERHEAD = 2048;

/** A page or a shard in memory. */
interface Held {
  page?: DataView;
  raw?: RawFilter;
  info?: FilterInfo;
  /** How much memory it takes, once that is counted. */
  counted?: number;
}

/** @internal A sharded filter at its origin, with the parts of it that are in memory. */
export class Shards {
  /** There is one as soon as anybody else has the shards. */
  manifest!: Manifest<ShardsPayload>;
  #origin: Origin<ShardsPayload>;
  #maxMemory: number;
  /** Those that were used last at the end. */
  #parts = new Map<string, Job<Held>>();
  /** How much memory those take. */
  #memory = 0;
  #job: Job<boolean> | undefined;
  /** Settles once no manifest is being written into the cache. */
  #written: Promise<void> = Promise.resolve();
  /** Whether the cache owes an answer to that. Nothing more is written until then. */
  #isSilent = false;
  /** Settles once no part is being written into it. */
  #partsWritten: Promise<unknown> = Promise.resolve();
  /** Why the cache lacks the manifest, or the last part. */
  #errors: { manifest?: FilterError; part?: FilterError } = {};
  #closed = false;

  constructor(origin: Origin<ShardsPayload>, maxMemory: number) {
    this.#origin = origin;
    this.#maxMemory = maxMemory;
  }

  get cacheError(): FilterError | undefined {
    return this.#errors.manifest ?? this.#errors.part;
  }

  /** Whether the generation in place has expired. */
  get isStale(): boolean {
    return this.#origin.isOver(this.manifest);
  }

  /** Puts the generation in place that the cache has. Returns whether there is one. */
  async restore(signal: AbortSignal | undefined): Promise<boolean> {
    const manifest = await unlessAborted(this.#origin.shelf.first(), signal);
    if (manifest === undefined) return false;
    try {
      this.#origin.requireSecret(manifest);
      this.manifest = manifest;
      return true;
    } catch {
      // The secret has changed. An update fetches what belongs to the new one, or says that it is wrong.
      return false;
    }
  }

  /** Puts the newest generation in place, and keeps it. Returns whether it is newer than the one that was there. */
  async update(signal?: AbortSignal): Promise<boolean> {
    const isNewer = await this.#renewed(signal);
    if (!this.#isSilent) await unlessAborted(this.#wait("manifest", this.#written), signal).catch(() => {});
    return isNewer;
  }

  /** Waits for what is being written. If that takes too long, nothing more is written until it is. */
  async #wait(what: "manifest" | "part", writing: Promise<void>): Promise<void> {
    try {
      await patiently(writing);
    } catch (error) {
      this.#isSilent = true;
      writing.then(() => (this.#isSilent = false));
      this.#errors[what] = error as FilterError;
    }
  }

  #renewed(signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    this.#requireOpen();
    return this.renew().wait(signal, (answer) => answer);
  }

  /** Begins an update, unless one is under way. Nobody waits for it yet, so whoever joins it and gives up stops it. */
  renew(): Job<boolean> {
    if (this.#job === undefined || this.#job.isOver) this.#job = new Job((stopped) => this.#renew(stopped));
    return this.#job;
  }

  async #renew(signal: AbortSignal): Promise<boolean> {
    const manifest = await this.#origin.newest(this.manifest, signal);
    const isNewer = manifest.generation !== this.manifest?.generation;
    if (isNewer) this.manifest = manifest;
    // One after the other: an older one that is slow must not take the place of a newer one.
    if ((isNewer || this.#errors.manifest) && !this.#isSilent) {
      this.#written = this.#written.then(() => this.#keep(this.manifest));
    }
    return isNewer;
  }

  #keep(manifest: Manifest<ShardsPayload>): Promise<void> {
    return this.#told(
      "manifest",
      this.#origin.shelf.keep(manifest, () => new Uint8Array(0)),
    );
  }

  /** Remembers whether the cache could keep something. */
  async #told(what: "manifest" | "part", keeping: Promise<void>): Promise<void> {
    delete this.#errors[what];
    await keeping.catch((error: FilterError) => {
      this.#errors[what] = error;
    });
  }

  /** Answers from the manifest in place, or from a newer one if the host has deleted files of this one meanwhile. */
  async answer<T>(signal: AbortSignal | undefined, ask: (manifest: Manifest<ShardsPayload>) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    this.#requireOpen();
    const { manifest } = this;
    try {
      return await ask(manifest);
    } catch (error) {
      // Not every host answers with an error, and a browser hides some.
      const mayBeGone = ["http", "network", "integrity"];
      if (!isA(error, FilterError) || !mayBeGone.includes(error.code)) throw error;
      if (this.manifest === manifest) await this.#renewed(signal).catch(() => {});
      signal?.throwIfAborted();
      this.#requireOpen();
      if (this.manifest === manifest) throw error;
      return ask(this.manifest);
    }
  }

  /** The shard of a key. */
  of(key: Key, manifest: ShardsPayload): number {
    const { profile, seed, shards } = manifest;
    const length = put(key);
    return call(() => shardOf(length, profile === "url", BigInt(seed), shards, checkOf(manifest), this.#origin.secret));
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
    const { count, ...file } = await this.#use(manifest, page, signal, ({ page }) => entryIn(page!, shard % entries));
    const part: Part = { kind: "shard", index: shard, ...file };
    return this.#use(manifest, part, signal, ({ raw, info }) => {
      requireShard(info!, manifest, count);
      return use(raw!);
    });
  }

  /** Hands a part to `use`. It is made of verified bytes unless it is in memory. */
  async #use<T>(
    manifest: Manifest<ShardsPayload>,
    part: Part,
    signal: AbortSignal | undefined,
    use: (held: Held) => T,
  ): Promise<T> {
    signal?.throwIfAborted();
    this.#requireOpen();
    // All that its bytes are checked against.
    const name = [part.kind, part.bytes, part.sha256].join();
    const known = this.#parts.get(name);
    const has = known !== undefined && (known.value !== undefined || !known.isOver);
    const job = has ? known : new Job((stopped) => this.#made(manifest, part, stopped));
    this.#parts.delete(name);
    this.#parts.set(name, job);
    try {
      return await job.wait(signal, (held) => {
        if (held.counted === undefined) this.#memory += held.counted = part.bytes + OVERHEAD;
        return use(held);
      });
    } finally {
      if (job.value === undefined && job.isOver && this.#parts.get(name) === job) this.#parts.delete(name);
      this.#trim();
    }
  }

  async #made(manifest: Manifest<ShardsPayload>, part: Part, signal: AbortSignal): Promise<Held> {
    const { shelf } = this.#origin;
    const found = await unlessAborted(shelf.part(manifest, part), signal);
    const kept = found && (await checked(found, part));
    const bytes = kept ?? (await this.#fetched(part, signal));
    signal.throwIfAborted();
    const held = part.kind === "page" ? { page: new DataView(bytes.buffer) } : decoded(bytes, this.#origin.secret);
    // Nobody waits for it: a cache may be slow, or hang.
    if (!kept && !this.#isSilent) {
      const keeping = this.#told("part", shelf.keepPart(manifest, part, bytes.slice()));
      this.#partsWritten = Promise.all([this.#partsWritten, keeping]);
      this.#wait("part", keeping);
    }
    return held;
  }

  #fetched(part: Part, signal: AbortSignal): Promise<Uint8Array> {
    return this.#origin.file(part, signal, async (read) => {
      const { whole, take } = collector(part.bytes);
      await verified(part, read, take);
      return whole;
    });
  }

  /** Forgets what was used longest ago until the rest fits into memory. */
  #trim(): void {
    for (const [name, { value, waiting }] of this.#parts) {
      if (this.#memory <= this.#maxMemory && !this.#closed) return;
      if (value === undefined || waiting > 0) continue;
      this.#parts.delete(name);
      this.#memory -= value.counted ?? 0;
      release(value.raw);
    }
  }

  #requireOpen(): void {
    if (this.#closed) throw closed();
  }

  /** Removes what the cache has for other keys, or closes the sharded filter and removes all that it has for its own. */
  async forget(publicKey?: string | string[] | null): Promise<void> {
    const { feedId } = this.manifest;
    const other = publicKey === undefined ? undefined : await this.#origin.shelfOf(publicKey);
    if (other) return other.forget(feedId);
    this.close();
    await Promise.all([this.#job?.ended, ...Array.from(this.#parts.values(), ({ ended }) => ended)]);
    await patiently(Promise.all([this.#written, this.#partsWritten]));
    await patiently(this.#origin.shelf.forget(feedId, this.manifest));
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

/** A copy of bytes of the cache, if they are a part. The cache may change its own meanwhile. */
async function checked(bytes: Uint8Array, part: Part): Promise<Uint8Array | undefined> {
  const { whole, take } = collector(bytes.length);
  take(bytes);
  const read = async (take: (chunk: Uint8Array) => void) => take(whole);
  const isPart = await verified(part, read, () => {}).then(
    () => true,
    () => false,
  );
  return isPart ? whole : undefined;
}

function decoded(bytes: Uint8Array, secret: Uint8Array | undefined): Held {
  const raw = call(() => RawFilter.decode(bytes, secret));
  return { raw, info: call(() => raw.info()) };
}

/** Throws unless a filter is the shard that the manifest and its page say. */
function requireShard(info: FilterInfo, manifest: ShardsPayload, count: number): void {
  const names = ["profile", "seed", "lowercase", "sha1"] as const;
  const isShard = info.kind === "ribbon" && info.count === count && info.keyed === (manifest.check !== undefined);
  if (isShard && names.every((name) => info[name] === manifest[name])) return;
  throw new FilterError("not_a_feed", "a shard isn't what the manifest and its page say");
}

function closed(): FilterError {
  return new FilterError("freed", "this sharded filter was closed");
}
