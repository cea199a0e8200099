/** How a feed is followed. FEED-FORMAT.md says what a client must do, and in which order. */

import { copied } from "../boundary/input.js";
import { unlessAborted } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { type Filter, hold, isFreed } from "../filter/filter.js";
import type { Blob } from "../plain/blob.js";
import { apply } from "../plain/delta.js";
import { PlainEngine, toBytes } from "../plain/engine.js";
import { describe, estimatedFpr } from "../plain/info.js";
import { Incoming } from "../plain/load.js";
import { Client } from "./client.js";
import { type FeedFile, type FeedPayload, type Head, lengthOf, type Manifest } from "./manifest.js";
import { checked, collector, isDamage, type Origin, type Read, verified } from "./origin.js";

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
  /** The deltas that are in place or begun, until the cache has them and the manifest that names them. */
  #deltas = new Map<string, Uint8Array>();
  /** Whether the cache has lost deltas. Then they stay in memory, so that none is fetched twice. */
  #hasLost = false;
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

  protected async build(manifest: Manifest<FeedPayload>, signal: AbortSignal, isRestored: boolean): Promise<void> {
    const total = lengthOf(manifest);
    const { maxBytes } = this.#source;
    if (total > maxBytes) throw new FilterError("too_large", `the feed has ${total} bytes, more than ${maxBytes}`);
    try {
      this.place = await (isRestored ? this.#restored(manifest, signal) : this.#renewed(manifest, signal));
    } finally {
      // Those of older generations are of no use any more.
      const names = new Set([this.place, this.#begun].flatMap((its) => its?.files.map(({ sha256 }) => sha256) ?? []));
      for (const name of this.#deltas.keys()) if (!names.has(name)) this.#deltas.delete(name);
    }
  }

  /** The generation, made from the cache. */
  async #restored(manifest: Manifest<FeedPayload>, signal: AbortSignal): Promise<Place> {
    const place = await this.#build(manifest, signal, (file, parent) => this.#kept(manifest, file, parent, signal));
    this.#trim(manifest);
    return place;
  }

  /** Forgets the bytes of those deltas that the cache has. */
  #trim({ files }: FeedPayload): void {
    if (this.#hasLost) return;
    for (const { sha256 } of files) if (this.#source.origin.store.holds(sha256)) this.#deltas.delete(sha256);
  }

  /** The generation, made from the cache and, for files that it lacks, from the host. */
  #renewed(manifest: Manifest<FeedPayload>, signal: AbortSignal): Promise<Place> {
    const { onProgress } = this.#source;
    const total = lengthOf({ files: manifest.files.slice(this.#present(manifest).length) });
    let before = 0;
    return this.#build(manifest, signal, async (file, parent) => {
      const onLoaded = (loaded: number) => onProgress?.({ loaded: before + loaded, total });
      const kept = await this.#kept(manifest, file, parent, signal, onLoaded).catch((error: unknown) => {
        // Reported when this generation is stored.
        if (error instanceof FilterError && error.code === "cache") return undefined;
        throw error;
      });
      const blob = kept ?? (await this.#fetched(file, parent, signal, onLoaded));
      before += file.bytes;
      return blob;
    });
  }

  /** The filters of a generation's first files, as far as they are there. */
  #present({ files }: FeedPayload): Blob[] {
    const [placed, begun] = [this.place, this.#begun].map((its) => its?.blobs.slice(0, common(files, its.files)) ?? []);
    return begun!.length > placed!.length ? begun! : placed!;
  }

  /** Builds a generation from the first files that are there, and what `make` makes of the others. */
  async #build(
    manifest: Manifest<FeedPayload>,
    signal: AbortSignal,
    make: (file: FeedFile, parent: Blob | undefined) => Promise<Blob | undefined>,
  ): Promise<Place> {
    const { files } = manifest;
    const blobs = this.#present(manifest);
    this.#begun = { files, blobs };
    for (const file of files.slice(blobs.length)) {
      const blob = await make(file, blobs.at(-1));
      if (blob === undefined) throw new FilterError("cache", "the cache lacks a file");
      blobs.push(blob);
      const { store } = this.#source.origin;
      if (!store.holds(file.sha256)) this.write(() => store.keepFile(manifest, file, () => this.#bytesOf(file)));
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
    this.#begun = { files: [], blobs: [] };
    return place;
  }

  /** The filter made from a cached file; undefined if the file is missing or damaged. Throws what the store throws. */
  async #kept(
    manifest: Manifest<FeedPayload>,
    file: FeedFile,
    parent: Blob | undefined,
    signal: AbortSignal,
    onLoaded?: (loaded: number) => void,
  ): Promise<Blob | undefined> {
    const { store } = this.#source.origin;
    const bytes = await unlessAborted(store.file(manifest, file), signal);
    if (bytes?.length !== file.bytes) return undefined;
    try {
      const blob = await this.#verified(file, parent, signal, async (take) => {
        take(bytes);
        onLoaded?.(bytes.length);
      });
      store.has(file.sha256);
      return blob;
    } catch (error) {
      if (isDamage(error)) return undefined;
      throw error;
    }
  }

  /** The filter made from a fetched file. */
  #fetched(
    file: FeedFile,
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
    return this.fromHost(signal, (held) => this.#source.origin.file(file, held, make));
  }

  /** The filter made from a file, once its bytes are verified. */
  async #verified(file: FeedFile, parent: Blob | undefined, signal: AbortSignal, read: Read): Promise<Blob> {
    const { kind, bytes, sha256 } = file;
    if (kind === "delta") {
      const { whole, take } = collector(bytes);
      await verified(file, read, take);
      this.requireJob(signal);
      const blob = apply(parent!, whole);
      if (this.#source.origin.store.keeps) this.#deltas.set(sha256, whole);
      return blob;
    }
    const base = new Incoming(bytes, this.#source.origin.secret);
    await verified(file, read, (chunk) => base.push(chunk, bytes));
    return base.decode();
  }

  /** The bytes of a file that is in place or begun. For a base these are its blob again, which has only one form. */
  #bytesOf({ kind, sha256 }: FeedFile): Uint8Array | undefined {
    if (kind === "delta") return copyOf(this.#deltas, sha256);
    const blob = [this.place, this.#begun].find((its) => its?.files[0]?.sha256 === sha256)?.blobs[0];
    return blob && toBytes(blob);
  }

  /** Only deltas: a base's bytes are made from its filter, but those of deltas were dropped once the cache had them. */
  protected override async refill(signal: AbortSignal): Promise<void> {
    const { manifest, files } = this.place;
    const { store } = this.origin;
    for (const file of files) {
      if (file.kind !== "delta" || this.#deltas.has(file.sha256) || store.holds(file.sha256)) continue;
      // What can't be read is as good as lost.
      const kept = await unlessAborted(
        store.file(manifest, file).catch(() => undefined),
        signal,
      );
      const read = async (read: Read) => {
        const { whole, take } = collector(file.bytes);
        await verified(file, read, take);
        return whole;
      };
      // Another tab may have put it.
      const bytes =
        (kept && (await checked(kept, file))) ??
        (await this.fromHost(signal, (held) => this.origin.file(file, held, read)));
      this.requireJob(signal);
      this.#hasLost = true;
      this.#deltas.set(file.sha256, bytes);
    }
  }

  protected async keep(): Promise<Manifest<FeedPayload> | undefined> {
    const { manifest, files, blobs } = this.place;
    const deltas = new Map(this.#deltas);
    const bytesOf = (sha256: string) => (sha256 === files[0]!.sha256 ? toBytes(blobs[0]!) : copyOf(deltas, sha256));
    const newer = await this.#source.origin.store.keep(manifest, bytesOf);
    this.#trim(manifest);
    return newer;
  }
}

/** A copy of a delta, if it is there: a cache may change what it is given. */
function copyOf(deltas: Map<string, Uint8Array>, sha256: string): Uint8Array | undefined {
  const delta = deltas.get(sha256);
  return delta && copied(delta);
}

/** How many files at the beginning are the same. */
function common(files: FeedFile[], present: FeedFile[]): number {
  const differs = files.findIndex(({ sha256, bytes }, i) => {
    const its = present[i];
    return its?.sha256 !== sha256 || its.bytes !== bytes;
  });
  return differs < 0 ? files.length : differs;
}
