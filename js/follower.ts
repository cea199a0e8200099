/** How a feed is followed. docs/feeds.md says what a client must do, and in which order. */

import { Incoming, type Filter as RawFilter } from "./bloom_wasm.js";
import { call, release } from "./call.js";
import { FilterError } from "./error.js";
import { type Filter, hold, isFreed } from "./filter.js";
import { Job } from "./job.js";
import { type FeedFile, type FeedPayload, lengthOf, type Manifest } from "./manifest.js";
import { collector, isDamage, type Origin, type Read, verified } from "./origin.js";
import { unlessAborted } from "./stream.js";

/** @internal Who watches a feed. */
export interface Watcher {
  updated(): void;
  failed(error: unknown): void;
  stop(): void;
}

/** @internal Which feed to follow, and how. */
export interface Source {
  origin: Origin<FeedPayload>;
  onProgress: ((progress: { loaded: number; total: number }) => void) | undefined;
  maxBytes: number;
}

/** A generation that is whole. */
interface Place {
  manifest: Manifest<FeedPayload>;
  /** The filter after each file. The next generation goes on from one of them. */
  raws: RawFilter[];
  filter: Filter;
  estimatedFpr: number;
}

/** @internal Follows a feed: has a generation in place, and puts newer ones there. */
export class Follower {
  /** There is one as soon as anybody else has the follower. */
  place!: Place;
  cacheError: FilterError | undefined;
  readonly watchers = new Set<Watcher>();
  #source: Source;
  /** The update that others may join. */
  #job: Job<boolean> | undefined;
  #closed = false;
  /** Settles once nothing is being written into the cache. */
  #written: Promise<void> = Promise.resolve();
  /** The deltas in place that the cache lacks. */
  #deltas = new Map<string, Uint8Array>();

  constructor(source: Source) {
    this.#source = source;
  }

  requireOpen(): void {
    if (this.#closed) throw closed();
  }

  get isUpdating(): boolean {
    return this.#job !== undefined && !this.#job.isOver;
  }

  /** Whether the generation in place has expired. */
  get isStale(): boolean {
    return this.#source.origin.isOver(this.place.manifest);
  }

  /** Puts the generation in place that the cache has. Returns whether there is one. */
  restore(signal: AbortSignal | undefined): Promise<boolean> {
    return this.#join((stopped) => this.#restore(stopped), signal);
  }

  /** Puts the newest generation in place. Returns whether it is newer than the one that was there. */
  update(signal?: AbortSignal): Promise<boolean> {
    return this.#join((stopped) => this.#update(stopped), signal);
  }

  /** Begins an update. Nobody waits for it yet, so whoever joins it and gives up stops it. */
  renew(): void {
    this.#begin((stopped) => this.#update(stopped));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const watcher of this.watchers) watcher.stop();
    this.#job?.stop(closed());
    // An update under way still uses them.
    const free = () => this.place?.raws.forEach(release);
    if (this.#job) this.#job.ended.then(free);
    else free();
  }

  /** Waits for what is being done, or has it done. It is stopped when nobody waits for it any more. */
  async #join(run: (signal: AbortSignal) => Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    this.requireOpen();
    return this.#begin(run).wait(signal, (answer) => answer);
  }

  /** What is being done, or begins now. */
  #begin(run: (signal: AbortSignal) => Promise<boolean>): Job<boolean> {
    const last = this.#job;
    if (last && !last.isOver) return last;
    this.#job = new Job(async (stopped) => {
      // It may be over but not have ended.
      await last?.ended;
      try {
        stopped.throwIfAborted();
        return await run(stopped);
      } finally {
        this.#forgetDeltas();
      }
    });
    return this.#job;
  }

  async #restore(signal: AbortSignal): Promise<boolean> {
    const { origin, maxBytes } = this.#source;
    const manifest = await unlessAborted(origin.shelf.first(), signal);
    if (manifest === undefined || lengthOf(manifest) > maxBytes) return false;
    try {
      origin.requireSecret(manifest);
      this.place = await this.#build(manifest, signal, (file, parent) => this.#kept(manifest, file, parent, signal));
      return true;
    } catch {
      // An update will say why, or fetch what is missing.
      signal.throwIfAborted();
      return false;
    }
  }

  async #update(signal: AbortSignal): Promise<boolean> {
    const { origin, maxBytes } = this.#source;
    const present = this.place?.manifest;
    const manifest = await origin.newest(present, signal);
    const total = lengthOf(manifest);
    if (total > maxBytes) throw new FilterError("too_large", `the feed has ${total} bytes, more than ${maxBytes}`);
    if (manifest.generation === present?.generation) return false;
    await this.#replace(manifest, signal);
    for (const { updated } of this.watchers) updated();
    // Writing can't be stopped. If it hangs, the next update goes on all the same, but for its own writing.
    this.#written = this.#written.then(() => this.#keep());
    await unlessAborted(this.#written, signal).catch(() => {});
    return true;
  }

  /** Puts a new generation in place of the old one. */
  async #replace(manifest: Manifest<FeedPayload>, signal: AbortSignal): Promise<void> {
    const old = this.place?.raws ?? [];
    const { onProgress } = this.#source;
    const total = lengthOf({ files: manifest.files.slice(common(manifest, this.place?.manifest)) });
    let before = 0;
    this.place = await this.#build(manifest, signal, async (file, parent) => {
      const onLoaded = (loaded: number) => onProgress?.({ loaded: before + loaded, total });
      const raw =
        (await this.#kept(manifest, file, parent, signal, onLoaded)) ??
        (await this.#fetched(file, parent, signal, onLoaded));
      before += file.bytes;
      return raw;
    });
    for (const raw of old) if (!this.place.raws.includes(raw)) release(raw);
  }

  /** Builds a generation from the files in place that are still the first ones, and the others. */
  async #build(
    manifest: Manifest<FeedPayload>,
    signal: AbortSignal,
    make: (file: FeedFile, parent: RawFilter | undefined) => Promise<RawFilter | undefined>,
  ): Promise<Place> {
    const { files, profile, seed } = manifest;
    const start = common(manifest, this.place?.manifest);
    const raws = this.place?.raws.slice(0, start) ?? [];
    try {
      for (const file of files.slice(start)) {
        const raw = await make(file, raws.at(-1));
        if (raw === undefined) throw new FilterError("cache", "the cache lacks a file");
        raws.push(raw);
      }
      signal.throwIfAborted();
      const raw = raws.at(-1)!;
      const info = call(() => raw.info());
      if (info.profile !== profile || info.seed !== seed) {
        throw new FilterError("not_a_feed", "the files have another profile or seed than the manifest says");
      }
      const unchanged = raw === this.place?.raws.at(-1);
      const filter = unchanged && !isFreed(this.place.filter) ? this.place.filter : hold(call(() => raw.clone()));
      return { manifest, raws, filter, estimatedFpr: call(() => raw.estimatedFpr) };
    } catch (error) {
      raws.slice(start).forEach(release);
      throw error;
    }
  }

  /** The filter that a file of the cache makes. Undefined if there is none or it is damaged. */
  async #kept(
    manifest: Manifest<FeedPayload>,
    file: FeedFile,
    parent: RawFilter | undefined,
    signal: AbortSignal,
    onLoaded?: (loaded: number) => void,
  ): Promise<RawFilter | undefined> {
    const { shelf } = this.#source.origin;
    const bytes = await unlessAborted(shelf.file(manifest, file), signal);
    if (bytes?.length !== file.bytes) return undefined;
    try {
      const raw = await this.#verified(file, parent, async (take) => {
        take(bytes);
        onLoaded?.(bytes.length);
      });
      shelf.has(file.sha256);
      return raw;
    } catch (error) {
      if (isDamage(error)) return undefined;
      throw error;
    }
  }

  /** The filter that a fetched file makes. */
  #fetched(
    file: FeedFile,
    parent: RawFilter | undefined,
    signal: AbortSignal,
    onLoaded: (loaded: number) => void,
  ): Promise<RawFilter> {
    return this.#source.origin.file(file, signal, (read) => {
      let loaded = 0;
      return this.#verified(file, parent, (take) =>
        read((chunk) => {
          take(chunk);
          loaded += chunk.length;
          onLoaded(loaded);
        }),
      );
    });
  }

  /** The filter that a file makes. Nothing is made of other bytes. */
  async #verified(file: FeedFile, parent: RawFilter | undefined, read: Read): Promise<RawFilter> {
    const { kind, bytes, sha256 } = file;
    if (kind === "delta") {
      const { whole, take } = collector(bytes);
      await verified(file, read, take);
      const raw = call(() => parent!.apply(whole));
      if (this.#source.origin.shelf.lacks(sha256)) this.#deltas.set(sha256, whole);
      return raw;
    }
    const base = call(() => new Incoming(bytes, this.#source.origin.secret));
    try {
      await verified(file, read, (chunk) => call(() => base.push(chunk, bytes)));
      return call(() => base.decode());
    } finally {
      release(base);
    }
  }

  /** Lets the cache keep the generation in place. If it can't, it still has the old one. */
  async #keep(): Promise<void> {
    const { manifest, raws } = this.place;
    const deltas = new Map(this.#deltas);
    let base: RawFilter | undefined;
    try {
      // The next update may release its own.
      base = call(() => raws[0]!.clone());
      // The blob of a filter has one form only.
      await this.#source.origin.shelf.keep(manifest, (sha256) => deltas.get(sha256) ?? call(() => base!.toBytes()));
      this.cacheError = undefined;
    } catch (error) {
      this.cacheError = error as FilterError;
      for (const { failed } of this.watchers) failed(error);
    } finally {
      release(base);
    }
  }

  #forgetDeltas(): void {
    const names = new Set(this.place?.manifest.files.map(({ sha256 }) => sha256));
    for (const name of this.#deltas.keys()) {
      if (!names.has(name) || !this.#source.origin.shelf.lacks(name)) this.#deltas.delete(name);
    }
  }
}

/** How many files at the beginning are those in place. */
function common({ files }: FeedPayload, present: FeedPayload | undefined): number {
  const differs = files.findIndex(({ sha256, bytes }, i) => {
    const its = present?.files[i];
    return its?.sha256 !== sha256 || its.bytes !== bytes;
  });
  return differs < 0 ? files.length : differs;
}

function closed(): FilterError {
  return new FilterError("freed", "this feed was closed");
}
