/** How a sharded filter answers: a key needs the manifest, one page and one shard. FEED-FORMAT.md has the format. */

import type { FilterInfo } from "../boundary/info.js";
import { copied, type Key } from "../boundary/input.js";
import { limited, named, unlessAborted } from "../boundary/stream.js";
import { SharedTask } from "../boundary/task.js";
import { FilterError } from "../error.js";
import { readFilter } from "../plain/blob.js";
import { digest } from "../plain/digest.js";
import { PlainEngine } from "../plain/engine.js";
import { hash } from "../plain/hashing.js";
import { put, scratch } from "../plain/scratch.js";
import { siteOf } from "../plain/slots.js";
import type { PageOrShard } from "./cache.js";
import { Client, ended } from "./client.js";
import { entriesOf, hashingOf, type Manifest, type ShardsPayload } from "./manifest.js";
import { checked, type Origin, whole } from "./origin.js";

/** The bytes of a shard's entry in a page. */
const ENTRY = 40;

/** The most bytes of a shard. */
const MOST = 2 ** 24;

/** About how many bytes of memory a part takes besides its own, and how many more with tags. */
const [OVERHEAD, OF_TAGS] = [5000, 3000];

/** What a page says of a shard: its file, and how many keys it has. */
interface PageEntry {
  sha256: string;
  bytes: number;
  count: number;
}

/** A page or a shard in memory. */
interface LoadedPart {
  page?: Uint8Array;
  shard?: PlainEngine;
  /** The part of its description that is checked. */
  shape?: ReturnType<typeof shapeOf>;
  /** How much memory it takes, once that is counted. */
  counted?: number;
}

/** @internal A sharded filter at its origin, with the parts of it that are in memory. */
export class Shards extends Client<ShardsPayload> {
  protected readonly noun = "sharded filter";
  #maxMemory: number;
  /** The parts in memory, the most recently used last. */
  #parts = new Map<string, SharedTask<LoadedPart>>();
  /** How much memory those take. */
  #memory = 0;
  /** The parts that are being written into the cache. */
  #writes = new Set<SharedTask<void>>();
  /** The names of tags of the generation that was asked last. */
  #names: { names: readonly string[]; version: number } = { names: [], version: 0 };
  /** Why the last part couldn't be read from the cache, and why it couldn't be stored there. */
  #unread: FilterError | undefined;
  #unkept: FilterError | undefined;

  constructor(origin: Origin<ShardsPayload>, maxMemory: number) {
    super(origin);
    this.#maxMemory = maxMemory;
  }

  override get cacheError(): FilterError | undefined {
    return super.cacheError ?? this.#unread ?? this.#unkept;
  }

  /** A generation needs nothing but its manifest. */
  protected async build(_manifest: unknown, _kept: unknown, signal: AbortSignal): Promise<void> {
    this.requireJob(signal);
  }

  protected keep(): Promise<boolean> {
    return this.origin.store.keep(this.manifest, [], () => new Uint8Array(0));
  }

  protected override async renew(signal: AbortSignal): Promise<boolean> {
    const isNewer = await super.renew(signal);
    // The cache has answered this update, or the generation's own error says that it hasn't.
    this.#unread = undefined;
    return isNewer;
  }

  protected override placed(): void {
    this.#unread = this.#unkept = undefined;
  }

  /** Answers from the manifest in place, or from a newer one if the host has deleted files of this one meanwhile. */
  async answer<T>(signal: AbortSignal | undefined, ask: (manifest: Manifest<ShardsPayload>) => Promise<T>): Promise<T> {
    this.requireOpen(signal);
    for (;;) {
      const { manifest } = this;
      try {
        return await ask(manifest);
      } catch (error) {
        // Not every host answers with an error for a missing file, and browsers hide some errors.
        const mayBeGone = ["http", "network", "integrity"];
        if (!(error instanceof FilterError) || !mayBeGone.includes(error.code)) throw error;
        if (this.manifest === manifest) await this.renewedFromNow(signal);
        this.requireOpen(signal);
        if (this.manifest === manifest) throw error;
      }
    }
  }

  /** The names of all tags, by their numbers, which shards share; and a number that changes with them. */
  #namesOf({ tags = [] }: ShardsPayload): { names: readonly string[]; version: number } {
    const names = tags.map(({ name }) => name);
    const { version } = this.#names;
    if (names.join() !== this.#names.names.join()) this.#names = { names, version: version + 1 };
    return this.#names;
  }

  /** Returns a function that gives the shard of a key. */
  sharding(manifest: ShardsPayload): (key: Key) => number {
    const { profile, shards } = manifest;
    const hashing = hashingOf(manifest, this.origin.secret);
    return (key) => {
      const length = put(key);
      const [start, end] = profile === "url" ? siteOf(scratch, length) : [0, length];
      hash(hashing, scratch, start, end);
      // The first bits. A shift by 32 would be one by 0.
      return shards > 1 ? digest[1]! >>> (32 - Math.log2(shards)) : 0;
    };
  }

  /** Hands a shard to `use`, which must use it synchronously. */
  async use<T>(
    manifest: Manifest<ShardsPayload>,
    number: number,
    signal: AbortSignal | undefined,
    use: (shard: PlainEngine) => T,
  ): Promise<T> {
    const entries = entriesOf(manifest);
    const index = Math.floor(number / entries);
    const page: PageOrShard = { kind: "page", index, bytes: entries * ENTRY, sha256: manifest.pages[index]! };
    const { count, ...file } = await this.#use(manifest, page, signal, (loaded) =>
      entryIn(loaded.page!, number % entries, this.origin.at(page)),
    );
    const part: PageOrShard = { kind: "shard", index: number, ...file };
    return this.#use(manifest, part, signal, ({ shard, shape }) => {
      requireShard(shape!, manifest, count, this.origin.at(part));
      return use(shard!);
    });
  }

  /** Hands a part to `use`. It is made of verified bytes unless it is in memory. */
  async #use<T>(
    manifest: Manifest<ShardsPayload>,
    part: PageOrShard,
    signal: AbortSignal | undefined,
    use: (part: LoadedPart) => T,
  ): Promise<T> {
    this.requireOpen(signal);
    // All that its bytes are checked against, and read with.
    const names = part.kind === "shard" ? this.#namesOf(manifest).version : undefined;
    const name = [part.kind, part.bytes, part.sha256, names].join();
    const known = this.#parts.get(name);
    const has = known !== undefined && (known.value !== undefined || !(known.isOver || known.foreign));
    const job = has ? known : new SharedTask((stopped) => this.#made(manifest, part, stopped));
    this.#parts.delete(name);
    this.#parts.set(name, job);
    try {
      return await job.wait(signal, (held) => {
        if (held.counted === undefined && this.#parts.get(name) === job)
          this.#memory += held.counted = part.bytes + OVERHEAD + (manifest.tags ? OF_TAGS : 0);
        return use(held);
      });
    } finally {
      if (job.value === undefined && job.isOver && this.#parts.get(name) === job) this.#parts.delete(name);
      this.#trim();
    }
  }

  async #made(manifest: Manifest<ShardsPayload>, part: PageOrShard, signal: AbortSignal): Promise<LoadedPart> {
    const { origin } = this;
    const { late, store, timeout } = origin;
    let isRead = true;
    const found = await unlessAborted(store.part(part), signal).catch((error: unknown) => {
      signal.throwIfAborted();
      isRead = false;
      this.#unread = error as FilterError;
      return undefined;
    });
    const kept = found && checked(found, part);
    const fetched = (held: AbortSignal) => origin.file(part, held, (read) => whole(part, read));
    const bytes = kept ?? (await limited(late, timeout, [signal], fetched));
    signal.throwIfAborted();
    const held = part.kind === "page" ? { page: bytes } : this.#decoded(bytes, manifest, part);
    if (kept) this.#unread = this.#unkept = undefined;
    // What can't be read isn't overwritten.
    else if (isRead && store.keeps) this.#write(part, copied(bytes));
    return held;
  }

  /** Stores a part in the cache. Nobody waits for it: a cache may be slow, or hang. */
  #write(part: PageOrShard, bytes: Uint8Array): void {
    const write = new SharedTask(async () => {
      this.#unkept = await this.origin.store.keepPart(part, bytes).then(
        () => undefined,
        (error: FilterError) => error,
      );
      this.#writes.delete(write);
    });
    this.#writes.add(write);
  }

  #decoded(bytes: Uint8Array, manifest: Manifest<ShardsPayload>, part: PageOrShard): LoadedPart {
    try {
      const shard = new PlainEngine(readFilter(bytes, this.origin.secret, this.#namesOf(manifest).names));
      return { shard, shape: shapeOf(shard.info()) };
    } catch (error) {
      throw named(error, this.origin.at(part));
    }
  }

  /** Drops the least recently used parts until the rest fits into `maxMemory`. */
  #trim(): void {
    for (const [name, { value, waiting }] of this.#parts) {
      if (this.#memory <= this.#maxMemory && !this.isClosed) return;
      if (value === undefined || waiting > 0) continue;
      this.#parts.delete(name);
      this.#memory -= value.counted ?? 0;
    }
  }

  protected override async settled(): Promise<unknown> {
    await Promise.all(Array.from(this.#parts.values(), ended));
    return Promise.all([super.settled(), ...Array.from(this.#writes, ended)]);
  }

  protected free(): void {
    for (const job of this.#parts.values()) job.stop(this.closed());
    this.#trim();
  }
}

/** The entry of this number in a page. */
function entryIn(page: Uint8Array, number: number, url: string): PageEntry {
  const entry = page.subarray(ENTRY * number, ENTRY * (number + 1));
  const view = new DataView(entry.buffer, entry.byteOffset, ENTRY);
  const bytes = view.getUint32(32, true);
  if (bytes < 1 || bytes > MOST) throw new FilterError("not_a_feed", `${url}: a shard must have 1 byte to 16 MiB`);
  const sha256 = Array.from(entry.subarray(0, 32), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { sha256, bytes, count: view.getUint32(36, true) };
}

/**
 * What {@link requireShard} needs of a shard's description: there may be thousands of shards, with hundreds of tags
 * each.
 */
function shapeOf({ kind, count, keyed, profile, seed, lowercase, sha1, tags }: FilterInfo) {
  return { kind, count, keyed, profile, seed, lowercase, sha1, tags: tags?.length };
}

/** Throws unless a filter is the shard that the manifest and its page describe. */
function requireShard(shape: ReturnType<typeof shapeOf>, manifest: ShardsPayload, count: number, url: string): void {
  const names = ["profile", "seed", "lowercase", "sha1"] as const;
  const isShard = shape.kind === "ribbon" && shape.count === count && shape.keyed === (manifest.check !== undefined);
  // The names themselves are in the manifest.
  const isTagged = shape.tags === manifest.tags?.length;
  if (isShard && isTagged && names.every((name) => shape[name] === manifest[name])) return;
  throw new FilterError("not_a_feed", `${url} isn't the shard that the manifest and its page say`);
}
