/** How a feed is followed. FEED-FORMAT.md says what a client must do, and in which order. */

import { unlessAborted } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { type Filter, hold, isFreed } from "../filter/filter.js";
import type { Blob } from "../plain/blob.js";
import { apply } from "../plain/delta.js";
import { PlainEngine, toBytes } from "../plain/engine.js";
import { describe, estimatedFpr } from "../plain/info.js";
import { Incoming } from "../plain/load.js";
import { type Kept, unlessRead } from "./cache.js";
import { Client } from "./client.js";
import { type FeedFile, type FeedPayload, type Head, lengthOf, type Manifest } from "./manifest.js";
import { isDamage, type Origin, type Read, verified, whole } from "./origin.js";

/** @internal A watcher of a feed. */
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
  /** The filter after each file. The next generation continues from one of them. */
  blobs: Blob[];
}

/** A complete generation. */
interface Place extends Beginning {
  manifest: Manifest<FeedPayload>;
  filter: Filter;
  estimatedFpr: number;
}

/** @internal Follows a feed: has a generation in place, and replaces it by newer ones. */
export class Follower extends Client<FeedPayload> {
  protected readonly noun = "feed";
  /** It is set before anybody else gets the follower. */
  place!: Place;
  readonly watchers = new Set<Watcher>();
  #source: Source;
  /** What there is of an incomplete generation: if an update fails, the next one continues from there. */
  #begun: Beginning = { files: [], blobs: [] };
  /** The deltas that are in place or begun, for the cache. */
  #deltas = new Map<string, Uint8Array>();
  /** The failed updates in a row: how many, the last one's error, and when that one began. */
  #failed: { count: number; error?: unknown; at: number } = { count: 0, at: 0 };

  constructor(source: Source) {
    super(source.origin);
    this.#source = source;
  }

  override get present(): Head {
    return this.place.manifest;
  }

  /** The filter in place: another one if somebody has freed it, since the next caller doesn't know. */
  get filter(): Filter {
    const { place } = this;
    if (isFreed(place.filter)) place.filter = hold(new PlainEngine(place.blobs.at(-1)!));
    return place.filter;
  }

  /**
   * As {@link update}, for a caller with this interval. After failures it rejects with the last error until the next
   * update is due.
   */
  async updateEvery(every: number, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    const { count, error, at } = this.#failed;
    const since = Date.now() - at;
    // An alarm may come a little early. A clock may have been set back.
    const isEarly = count > 0 && since >= 0 && since < 0.9 * this.pause(every);
    if (isEarly && !this.isUpdating && !this.isClosed) throw error;
    return this.update(signal);
  }

  /** How long to wait until the next update, for a caller with this interval. */
  pause(every: number): number {
    return every * 2 ** Math.min(this.#failed.count, 3);
  }

  protected free(): void {
    for (const watcher of this.watchers) watcher.stop();
    this.#begun = { files: [], blobs: [] };
    this.#deltas.clear();
  }

  protected override placed(): void {
    for (const { updated } of this.watchers) updated();
  }

  protected override failed(error: FilterError): void {
    for (const { failed } of this.watchers) failed(error);
  }

  protected override async renew(signal: AbortSignal): Promise<boolean> {
    const at = Date.now();
    try {
      const isNewer = await super.renew(signal);
      this.#failed = { count: 0, at };
      return isNewer;
    } catch (error) {
      // If all callers gave up, the host hasn't failed.
      if (!signal.aborted) this.#failed = { count: this.#failed.count + 1, error, at };
      throw error;
    }
  }

  protected async build(
    manifest: Manifest<FeedPayload>,
    kept: Kept<FeedPayload> | undefined,
    signal: AbortSignal,
    from: Origin<FeedPayload> | undefined,
  ): Promise<void> {
    // Step 9.
    const total = lengthOf(manifest);
    const { maxBytes } = this.#source;
    if (total > maxBytes) throw new FilterError("too_large", `the feed has ${total} bytes, more than ${maxBytes}`);
    try {
      this.place = await this.#build(manifest, kept, signal, from);
    } finally {
      // Those of older generations are of no use any more.
      const names = new Set(
        [this.place, this.#begun].flatMap((beginning) => beginning?.files.map(({ sha256 }) => sha256) ?? []),
      );
      for (const name of this.#deltas.keys()) if (!names.has(name)) this.#deltas.delete(name);
    }
  }

  /** The filters of a generation's first files, as far as they are there. */
  #present({ files }: FeedPayload): Blob[] {
    const [placed, begun] = [this.place, this.#begun].map(
      (beginning) => beginning?.blobs.slice(0, common(files, beginning.files)) ?? [],
    );
    return begun!.length > placed!.length ? begun! : placed!;
  }

  /** Steps 10 and 11: the generation, made of what is there, what the cache has and what can be fetched. */
  async #build(
    manifest: Manifest<FeedPayload>,
    kept: Kept<FeedPayload> | undefined,
    signal: AbortSignal,
    from: Origin<FeedPayload> | undefined,
  ): Promise<Place> {
    const { files } = manifest;
    const blobs = this.#present(manifest);
    // What was fetched for a newer generation stays if the cache lacks files of its own.
    if (from) this.#begun = { files, blobs };
    const lacking = files.slice(blobs.length);
    const total = lengthOf({ files: lacking });
    let before = 0;
    for (const file of lacking) {
      const { onProgress } = this.#source;
      const onLoaded = (loaded: number) => from === this.origin && onProgress?.({ loaded: before + loaded, total });
      const parent = blobs.at(-1);
      const reading = this.#kept(file, kept, parent, signal);
      const own = await (from ? reading.catch(unlessRead) : reading);
      if (own) onLoaded(file.bytes);
      else if (!from) throw new FilterError("cache", "the cache lacks a file");
      const blob = own ?? (await this.#fetched(file, from!, parent, signal, onLoaded));
      blobs.push(blob);
      before += file.bytes;
      // A restart needn't fetch it again, even if a delta can't be fetched.
      if (!own && parent === undefined && from === this.origin)
        this.write(() => this.origin.store.begin(manifest, () => toBytes(blob)));
    }
    this.requireJob(signal);
    const blob = blobs.at(-1)!;
    const info = describe(blob);
    for (const name of ["profile", "lowercase", "sha1", "seed"] as const) {
      if (info[name] === manifest[name]) continue;
      throw new FilterError("not_a_feed", `the files have another ${name} than the manifest`);
    }
    const isUnchanged = blob === this.place?.blobs.at(-1);
    const filter = isUnchanged ? this.place.filter : hold(new PlainEngine(blob));
    const place = { manifest, files, blobs, filter, estimatedFpr: estimatedFpr(blob) };
    if (from) this.#begun = { files: [], blobs: [] };
    return place;
  }

  /** The filter made from a file that the cache has; undefined if it is missing or damaged. Throws `cache` if unread. */
  async #kept(
    file: FeedFile,
    kept: Kept<FeedPayload> | undefined,
    parent: Blob | undefined,
    signal: AbortSignal,
  ): Promise<Blob | undefined> {
    const made = (bytes: Uint8Array) =>
      this.#verified(file, parent, signal, async (take) => take(bytes)).catch((error: unknown) => {
        if (isDamage(error)) return undefined;
        throw error;
      });
    if (parent === undefined) return unlessAborted(this.origin.store.base(file, kept, made), signal);
    const delta = kept?.deltas.get(file.sha256);
    return delta?.length === file.bytes ? made(delta) : undefined;
  }

  /** The filter made from a fetched file. */
  #fetched(
    file: FeedFile,
    from: Origin<FeedPayload>,
    parent: Blob | undefined,
    signal: AbortSignal,
    onLoaded: (loaded: number) => void,
  ): Promise<Blob> {
    const make = (read: Read) => {
      let loaded = 0;
      return this.#verified(file, parent, signal, (take) =>
        read((chunk) => {
          take(chunk);
          loaded += chunk.length;
          onLoaded(loaded);
        }),
      );
    };
    return this.inTime(from, signal, (held) => from.file(file, held, make));
  }

  /** The filter made from a file, once its bytes are verified. */
  async #verified(file: FeedFile, parent: Blob | undefined, signal: AbortSignal, read: Read): Promise<Blob> {
    const { kind, bytes, sha256 } = file;
    if (kind === "delta") {
      const delta = await whole(file, read);
      this.requireJob(signal);
      const blob = apply(parent!, delta);
      if (this.origin.store.keeps) this.#deltas.set(sha256, delta);
      return blob;
    }
    const base = new Incoming(bytes, this.origin.secret);
    await verified(file, read, (chunk) => base.push(chunk, bytes));
    return base.decode();
  }

  protected keep(): Promise<boolean> {
    const { manifest, files, blobs } = this.place;
    // A copy of each, since a cache may change what it is given, is made of all together.
    const deltas = files.slice(1).map(({ sha256 }) => this.#deltas.get(sha256)!);
    return this.origin.store.keep(manifest, deltas, () => toBytes(blobs[0]!));
  }
}

/** How many files at the beginning are the same. */
function common(files: FeedFile[], present: FeedFile[]): number {
  const differs = files.findIndex(({ sha256, bytes }, i) => {
    const other = present[i];
    return other?.sha256 !== sha256 || other.bytes !== bytes;
  });
  return differs < 0 ? files.length : differs;
}
