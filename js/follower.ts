/** How a feed is followed. docs/feeds.md says what a client must do, and in which order. */

import { Incoming, type Filter as RawFilter, Sha256 } from "./bloom_wasm.js";
import { call, release } from "./call.js";
import { FilterError } from "./error.js";
import type { Shelf } from "./feedcache.js";
import { type Filter, hold, isFreed } from "./filter.js";
import { concat, isA } from "./input.js";
import { type OpenOptions, open } from "./load.js";
import { type FeedFile, type Keys, LONGEST, lengthOf, type Manifest, readManifest } from "./manifest.js";
import { readAll, unlessAborted } from "./stream.js";

/** @internal Who watches a feed. */
export interface Watcher {
  updated(): void;
  failed(error: unknown): void;
  stop(): void;
}

/** @internal Which feed to follow, and how. */
export interface Source {
  url: string;
  keys: Keys;
  shelf: Shelf;
  fetch: typeof globalThis.fetch | undefined;
  onProgress: ((progress: { loaded: number; total: number }) => void) | undefined;
  maxAge: number;
  maxBytes: number;
}

/** A generation that is whole. */
interface Place {
  manifest: Manifest;
  /** The filter after each file. The next generation goes on from one of them. */
  raws: RawFilter[];
  filter: Filter;
  estimatedFpr: number;
}

/** Something that is done for all who wait for it. */
interface Job {
  result: Promise<boolean>;
  waiting: number;
  stop: AbortController;
}

/** @internal Follows a feed: has a generation in place, and puts newer ones there. */
export class Follower {
  /** There is one as soon as anybody else has the follower. */
  place!: Place;
  cacheError: FilterError | undefined;
  readonly watchers = new Set<Watcher>();
  #source: Source;
  /** The update that others may join. */
  #job: Job | undefined;
  /** Settles once nothing is being done. */
  #idle: Promise<unknown> = Promise.resolve();
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
    return this.#job !== undefined;
  }

  isOver({ expires, createdAt }: Manifest): boolean {
    return Date.now() >= Math.min(expires, createdAt + this.#source.maxAge);
  }

  /** Puts the generation in place that the cache has. Returns whether there is one. */
  restore(signal: AbortSignal | undefined): Promise<boolean> {
    return this.#join((stopped) => this.#restore(stopped), signal);
  }

  /** Puts the newest generation in place. Returns whether it is newer than the one that was there. */
  update(signal?: AbortSignal): Promise<boolean> {
    return this.#join((stopped) => this.#update(stopped), signal);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const watcher of this.watchers) watcher.stop();
    this.#job?.stop.abort(closed());
    // An update under way still uses them.
    this.#idle.then(() => this.place?.raws.forEach(release));
  }

  /** Waits for what is being done, or has it done. It is stopped when nobody waits for it any more. */
  async #join(run: (signal: AbortSignal) => Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    this.requireOpen();
    const job = (this.#job ??= this.#begin(run));
    job.waiting++;
    try {
      return await unlessAborted(job.result, signal);
    } finally {
      if (--job.waiting === 0) {
        if (this.#job === job) this.#job = undefined;
        job.stop.abort();
      }
    }
  }

  #begin(run: (signal: AbortSignal) => Promise<boolean>): Job {
    const stop = new AbortController();
    const begin = async () => {
      try {
        stop.signal.throwIfAborted();
        return await run(stop.signal);
      } finally {
        this.#forgetDeltas();
        // Before anybody hears of it, so that the next one begins anew.
        if (this.#job === job) this.#job = undefined;
      }
    };
    const job: Job = { result: this.#idle.then(begin), waiting: 0, stop };
    this.#idle = job.result.catch(() => {});
    return job;
  }

  async #restore(signal: AbortSignal): Promise<boolean> {
    const { shelf, maxBytes } = this.#source;
    const manifest = await unlessAborted(shelf.first(), signal);
    if (manifest === undefined || lengthOf(manifest) > maxBytes) return false;
    try {
      this.place = await this.#build(manifest, signal, (file, parent) => this.#kept(manifest, file, parent, signal));
      return true;
    } catch {
      // An update will say why, or fetch what is missing.
      signal.throwIfAborted();
      return false;
    }
  }

  async #update(signal: AbortSignal): Promise<boolean> {
    const { shelf, maxBytes } = this.#source;
    const manifest = await this.#manifest(signal);
    const { feedId, generation } = manifest;
    const present = this.place?.manifest;
    const first = present ?? (await unlessAborted(shelf.first(), signal));
    if (first && first.feedId !== feedId) {
      throw new FilterError("wrong_feed", `the feed at this URL is ${feedId}, and used to be ${first.feedId}`);
    }
    // Another tab may have gone on.
    const kept = await unlessAborted(shelf.manifest(feedId), signal);
    for (const floor of [present, kept]) {
      if (floor && !(generation > floor.generation || manifest.signed === floor.signed)) {
        const found = `generation ${generation} after ${floor.generation}`;
        throw new FilterError("rollback", `the feed has gone back, or in two directions: ${found}`);
      }
    }
    if (this.isOver(manifest)) {
      throw new FilterError(
        "expired",
        "the newest generation has expired; is the publisher, or this clock, all right?",
      );
    }
    const total = lengthOf(manifest);
    if (total > maxBytes) throw new FilterError("too_large", `the feed has ${total} bytes, more than ${maxBytes}`);
    if (generation === present?.generation) return false;
    await this.#replace(manifest, signal);
    for (const { updated } of this.watchers) updated();
    // Writing can't be stopped. If it hangs, the next update goes on all the same, but for its own writing.
    this.#written = this.#written.then(() => this.#keep());
    await unlessAborted(this.#written, signal).catch(() => {});
    return true;
  }

  async #manifest(signal: AbortSignal): Promise<Manifest> {
    const { url, keys, fetch } = this.#source;
    const chunks: Uint8Array[] = [];
    const tooLong = () => new FilterError("too_large", `${url} is longer than any manifest; is it another file?`);
    const take = (chunk: Uint8Array) => void chunks.push(chunk.slice());
    await download(url, { signal, fetch, cache: "no-cache" }, LONGEST, tooLong, take);
    return unlessAborted(readManifest(concat(chunks), keys), signal);
  }

  /** Puts a new generation in place of the old one. */
  async #replace(manifest: Manifest, signal: AbortSignal): Promise<void> {
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
    manifest: Manifest,
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
    manifest: Manifest,
    file: FeedFile,
    parent: RawFilter | undefined,
    signal: AbortSignal,
    onLoaded?: (loaded: number) => void,
  ): Promise<RawFilter | undefined> {
    const { shelf } = this.#source;
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

  /** The filter that a fetched file makes. What an HTTP cache has damaged is fetched past it, once. */
  async #fetched(
    file: FeedFile,
    parent: RawFilter | undefined,
    signal: AbortSignal,
    onLoaded: (loaded: number) => void,
  ): Promise<RawFilter> {
    const { url, fetch } = this.#source;
    const tooLong = () => new FilterError("integrity", `the file ${file.sha256} is longer than ${file.bytes} bytes`);
    const fetched = (cache?: RequestCache) => {
      let loaded = 0;
      return this.#verified(file, parent, (take) =>
        download(new URL(file.sha256, url).href, { signal, fetch, cache }, file.bytes, tooLong, (chunk) => {
          take(chunk);
          loaded += chunk.length;
          onLoaded(loaded);
        }),
      );
    };
    return fetched().catch((error: unknown) => {
      if (!isDamage(error)) throw error;
      return fetched("reload");
    });
  }

  /** The filter that a file makes, of which `read` hands out the bytes. Nothing is made of other bytes. */
  async #verified(
    { kind, bytes, sha256 }: FeedFile,
    parent: RawFilter | undefined,
    read: (take: (chunk: Uint8Array) => void) => Promise<void>,
  ): Promise<RawFilter> {
    const hash = call(() => new Sha256());
    const base = kind === "base" ? call(() => new Incoming(bytes)) : undefined;
    try {
      const delta = base ? undefined : room(bytes);
      let loaded = 0;
      await read((chunk) => {
        call(() => hash.update(chunk));
        if (base) call(() => base.push(chunk, bytes));
        else delta!.set(chunk, loaded);
        loaded += chunk.length;
      });
      if (loaded !== bytes || call(() => hash.finish()) !== sha256) {
        throw new FilterError("integrity", `the file ${sha256} isn't the one that was signed`);
      }
      if (base) return call(() => base.decode());
      const raw = call(() => parent!.apply(delta!));
      if (this.#source.shelf.lacks(sha256)) this.#deltas.set(sha256, delta!);
      return raw;
    } finally {
      release(hash);
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
      await this.#source.shelf.keep(manifest, (sha256) => deltas.get(sha256) ?? call(() => base!.toBytes()));
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
      if (!names.has(name) || !this.#source.shelf.lacks(name)) this.#deltas.delete(name);
    }
  }
}

/** How many files at the beginning are those in place. */
function common({ files }: Manifest, present: Manifest | undefined): number {
  const differs = files.findIndex(({ sha256, bytes }, i) => {
    const its = present?.files[i];
    return its?.sha256 !== sha256 || its.bytes !== bytes;
  });
  return differs < 0 ? files.length : differs;
}

function room(bytes: number): Uint8Array {
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    throw new FilterError("too_large", `there is no room for a delta of ${bytes} bytes`, { cause });
  }
}

function isDamage(error: unknown): boolean {
  return isA(error, FilterError) && error.code === "integrity";
}

function closed(): FilterError {
  return new FilterError("freed", "this feed was closed");
}

/** Hands each chunk to `take`. Throws `truncated` if there are fewer bytes than the transport promised. */
async function download(
  url: string,
  options: OpenOptions,
  most: number,
  tooLong: () => FilterError,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const { stream, total = 0, hint } = await open(url, options);
  try {
    if (!hint && total > most) throw tooLong();
    let loaded = 0;
    await readAll(stream, options.signal, (chunk) => {
      loaded += chunk.length;
      if (loaded > most) throw tooLong();
      take(chunk);
    });
    if (!hint && loaded < total) throw new FilterError("truncated", `${url} ended after ${loaded} of ${total} bytes`);
  } catch (error) {
    void stream.cancel?.(error).catch(() => {});
    throw error;
  }
}
