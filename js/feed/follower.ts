/** How a feed is followed. docs/feeds.md says what a client must do, and in which order. */

import { Incoming, type Filter as RawFilter } from "../bloom_wasm.js";
import { call, release } from "../boundary/call.js";
import { Job } from "../boundary/job.js";
import { unlessAborted } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { type Filter, hold, isFreed } from "../filter/filter.js";
import { patiently } from "./cache.js";
import { type FeedFile, type FeedPayload, lengthOf, type Manifest } from "./manifest.js";
import { collector, isDamage, type Origin, type Read, verified } from "./origin.js";

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

/** The first files of a generation. */
interface Beginning {
  files: FeedFile[];
  /** The filter after each file. The next generation goes on from one of them. */
  raws: RawFilter[];
}

/** A generation that is whole. */
interface Place extends Beginning {
  manifest: Manifest<FeedPayload>;
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
  #isFreed = false;
  /** What there is of a generation that isn't whole: if an update fails, the next one goes on from there. */
  #begun: Beginning = { files: [], raws: [] };
  /** Settles once nothing is being written into the cache. */
  #written: Promise<void> = Promise.resolve();
  /** Whether the cache owes an answer to what was written. Nothing more is written until then. */
  #isSilent = false;
  /** The deltas that are in place or begun, until the cache has them and the manifest that names them. */
  #deltas = new Map<string, Uint8Array>();
  /** The updates in a row that have failed: how many, and of the last one the error and when it began. */
  #failed: { count: number; error?: unknown; at: number } = { count: 0, at: 0 };

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

  /** As {@link update}, for who asks that often. After failures it rejects with the last error until it is time. */
  async updateEvery(every: number, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    const { count, error, at } = this.#failed;
    const since = Date.now() - at;
    // An alarm may come a little early. A clock may have been set back.
    const isEarly = count > 0 && since >= 0 && since < 0.9 * this.pause(every);
    if (isEarly && !this.isUpdating && !this.#closed) throw error;
    return this.update(signal);
  }

  /** How long to wait for the next update, of one who asks that often. */
  pause(every: number): number {
    return every * 2 ** Math.min(this.#failed.count, 3);
  }

  /** Removes what the cache has for other keys, or closes the feed and removes all that it has for its own. */
  async forget(publicKey?: string | string[] | null): Promise<void> {
    const { origin } = this.#source;
    const { feedId } = this.place.manifest;
    const other = publicKey === undefined ? undefined : await origin.shelfOf(publicKey);
    if (other) return other.forget(feedId);
    this.close();
    await this.#job?.ended;
    await patiently(this.#written);
    await patiently(origin.shelf.forget(feedId, this.place.manifest));
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
    const free = () => {
      this.#isFreed = true;
      new Set([...(this.place?.raws ?? []), ...this.#begun.raws]).forEach(release);
    };
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
        // An older one, whose files are of no use any more.
        const names = new Set([this.place, this.#begun].flatMap((its) => its?.files.map(({ sha256 }) => sha256) ?? []));
        for (const name of this.#deltas.keys()) if (!names.has(name)) this.#deltas.delete(name);
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
      this.#deltas.clear();
      return true;
    } catch {
      // An update will say why, or fetch what is missing.
      signal.throwIfAborted();
      return false;
    }
  }

  async #update(signal: AbortSignal): Promise<boolean> {
    const at = Date.now();
    let isNewer = false;
    try {
      isNewer = await this.#renewed(signal);
      this.#failed = { count: 0, at };
      return isNewer;
    } catch (error) {
      // Nobody's host has failed where everybody has given up.
      if (!signal.aborted) this.#failed = { count: this.#failed.count + 1, error, at };
      throw error;
    } finally {
      if (isNewer || this.cacheError) this.#write(() => this.#keep());
      await unlessAborted(this.#flushed(), signal).catch(() => {});
    }
  }

  /** Writes into the cache what it then is time for, after all else. */
  #write(run: () => Promise<void>): void {
    if (!this.#isSilent) this.#written = this.#written.then(run);
  }

  /** Waits until all is written. That can't be stopped: if it takes too long, updates go on without the cache. */
  async #flushed(): Promise<void> {
    if (this.#isSilent) return;
    try {
      await patiently(this.#written);
    } catch (error) {
      this.#isSilent = true;
      this.#written.then(() => (this.#isSilent = false));
      this.#lacks(error as FilterError);
    }
  }

  async #renewed(signal: AbortSignal): Promise<boolean> {
    const { origin, maxBytes } = this.#source;
    const present = this.place?.manifest;
    const manifest = await origin.newest(present, signal);
    const total = lengthOf(manifest);
    if (total > maxBytes) throw new FilterError("too_large", `the feed has ${total} bytes, more than ${maxBytes}`);
    if (manifest.generation === present?.generation) return false;
    await this.#replace(manifest, signal);
    for (const { updated } of this.watchers) updated();
    return true;
  }

  /** Puts a new generation in place of the old one. */
  async #replace(manifest: Manifest<FeedPayload>, signal: AbortSignal): Promise<void> {
    const old = this.place?.raws ?? [];
    const { onProgress } = this.#source;
    const total = lengthOf({ files: manifest.files.slice(this.#present(manifest).length) });
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

  /** The filters of the first files of a generation, as many as there are. */
  #present({ files }: FeedPayload): RawFilter[] {
    const [placed, begun] = [this.place, this.#begun].map((its) => its?.raws.slice(0, common(files, its.files)) ?? []);
    return begun!.length > placed!.length ? begun! : placed!;
  }

  /** Builds a generation from the first files that are there, and the others. */
  async #build(
    manifest: Manifest<FeedPayload>,
    signal: AbortSignal,
    make: (file: FeedFile, parent: RawFilter | undefined) => Promise<RawFilter | undefined>,
  ): Promise<Place> {
    const { files } = manifest;
    const raws = this.#present(manifest);
    const useful = new Set([...raws, ...(this.place?.raws ?? [])]);
    for (const raw of this.#begun.raws) if (!useful.has(raw)) release(raw);
    this.#begun = { files, raws };
    for (const file of files.slice(raws.length)) {
      const raw = await make(file, raws.at(-1));
      if (raw === undefined) throw new FilterError("cache", "the cache lacks a file");
      raws.push(raw);
      const { shelf } = this.#source.origin;
      if (!shelf.holds(file.sha256)) this.#write(() => shelf.keepFile(manifest, file, () => this.#bytesOf(file)));
    }
    signal.throwIfAborted();
    const raw = raws.at(-1)!;
    const info = call(() => raw.info());
    for (const name of ["profile", "lowercase", "sha1", "seed"] as const) {
      if (info[name] === manifest[name]) continue;
      throw new FilterError("not_a_feed", `the files have another ${name} than the manifest says`);
    }
    const unchanged = raw === this.place?.raws.at(-1);
    const filter = unchanged && !isFreed(this.place.filter) ? this.place.filter : hold(call(() => raw.clone()));
    const place = { manifest, files, raws, filter, estimatedFpr: call(() => raw.estimatedFpr) };
    this.#begun = { files: [], raws: [] };
    return place;
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
      if (this.#source.origin.shelf.keeps) this.#deltas.set(sha256, whole);
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

  /** The bytes of a file that is in place or begun. The blob of a filter has one form only. */
  #bytesOf({ kind, sha256 }: FeedFile): Uint8Array | undefined {
    if (kind === "delta") return this.#deltas.get(sha256)?.slice();
    const raw = [this.place, this.#begun].find((its) => its?.files[0]?.sha256 === sha256)?.raws[0];
    return this.#isFreed || raw === undefined ? undefined : call(() => raw.toBytes());
  }

  /** Lets the cache keep the generation in place. If it can't, it still has the old one. */
  async #keep(): Promise<void> {
    // Its filters are freed.
    if (this.#isFreed) return;
    const { manifest, files, raws } = this.place;
    const { shelf } = this.#source.origin;
    const deltas = new Map(this.#deltas);
    let base: RawFilter | undefined;
    try {
      // The next update may release its own.
      base = call(() => raws[0]!.clone());
      const bytesOf = (sha256: string) =>
        sha256 === files[0]!.sha256 ? call(() => base!.toBytes()) : deltas.get(sha256)?.slice();
      await shelf.keep(manifest, bytesOf);
      for (const { sha256 } of files) if (shelf.holds(sha256)) this.#deltas.delete(sha256);
      // One that took its time may be an old one by now.
      if (manifest === this.place.manifest) this.cacheError = undefined;
    } catch (error) {
      this.#lacks(error as FilterError);
    } finally {
      release(base);
    }
  }

  /** The cache doesn't hold the generation in place. */
  #lacks(error: FilterError): void {
    this.cacheError = error;
    for (const { failed } of this.watchers) failed(error);
  }
}

/** How many files at the beginning are the same. */
function common(files: FeedFile[], present: FeedFile[]): number {
  const differs = files.findIndex(({ sha256, bytes }, i) => {
    const its = present[i];
    return its?.sha256 !== sha256 || its.bytes !== bytes;
  });
  return differs < 0 ? files.length : differs;
}

function closed(): FilterError {
  return new FilterError("freed", "this feed was closed");
}
