/** How a feed is followed. FEED-FORMAT.md says what a client must do, and in which order. */

import { isA } from "../boundary/input.js";
import { unlessAborted } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import type { AskableFilter } from "../filter/askable.js";
import type { Engine } from "./engine.js";
import { Keeper } from "./keeper.js";
import { type FeedFile, type FeedPayload, type Head, lengthOf, type Manifest } from "./manifest.js";
import { checked, collector, isDamage, type Origin, type Read, verified } from "./origin.js";

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
interface Beginning<B> {
  files: FeedFile[];
  /** The filter after each file. The next generation goes on from one of them. */
  raws: B[];
}

/** A generation that is whole. */
interface Place<B, F> extends Beginning<B> {
  manifest: Manifest<FeedPayload>;
  filter: F;
  estimatedFpr: number;
}

/** @internal Follows a feed: has a generation in place, and puts newer ones there. */
export class Follower<B, F extends AskableFilter> extends Keeper<FeedPayload> {
  protected readonly noun = "feed";
  /** There is one as soon as anybody else has the follower. */
  place!: Place<B, F>;
  readonly watchers = new Set<Watcher>();
  readonly #engine: Engine<B, F>;
  #source: Source;
  #isFreed = false;
  /** What there is of a generation that isn't whole: if an update fails, the next one goes on from there. */
  #begun: Beginning<B> = { files: [], raws: [] };
  /** The deltas that are in place or begun, until the cache has them and the manifest that names them. */
  #deltas = new Map<string, Uint8Array>();
  /** Whether the cache has lost deltas. Then they stay in memory, so that none is fetched twice. */
  #hasLost = false;
  /** The updates in a row that have failed: how many, and of the last one the error and when it began. */
  #failed: { count: number; error?: unknown; at: number } = { count: 0, at: 0 };

  constructor(engine: Engine<B, F>, source: Source) {
    super(source.origin);
    this.#engine = engine;
    this.#source = source;
  }

  override get present(): Head {
    return this.place.manifest;
  }

  /** As {@link update}, for who asks that often. After failures it rejects with the last error until it is time. */
  async updateEvery(every: number, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    const { count, error, at } = this.#failed;
    const since = Date.now() - at;
    // An alarm may come a little early. A clock may have been set back.
    const isEarly = count > 0 && since >= 0 && since < 0.9 * this.pause(every);
    if (isEarly && !this.isUpdating && !this.isClosed) throw error;
    return this.update(signal);
  }

  /** How long to wait for the next update, of one who asks that often. */
  pause(every: number): number {
    return every * 2 ** Math.min(this.#failed.count, 3);
  }

  protected free(ended: Promise<unknown>): void {
    for (const watcher of this.watchers) watcher.stop();
    // An update under way still uses them.
    ended.then(() => {
      this.#isFreed = true;
      new Set([...(this.place?.raws ?? []), ...this.#begun.raws]).forEach((raw) => this.#engine.release(raw));
    });
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
      // Nobody's host has failed where everybody has given up.
      if (!signal.aborted) this.#failed = { count: this.#failed.count + 1, error, at };
      throw error;
    }
  }

  protected async build(manifest: Manifest<FeedPayload>, signal: AbortSignal, isRestored: boolean): Promise<void> {
    const total = lengthOf(manifest);
    const { maxBytes } = this.#source;
    if (total > maxBytes) throw new FilterError("too_large", `the feed has ${total} bytes, more than ${maxBytes}`);
    const old = this.place?.raws ?? [];
    try {
      this.place = await (isRestored ? this.#restored(manifest, signal) : this.#renewed(manifest, signal));
      for (const raw of old) if (!this.place.raws.includes(raw)) this.#engine.release(raw);
    } finally {
      // An older one, whose files are of no use any more.
      const names = new Set([this.place, this.#begun].flatMap((its) => its?.files.map(({ sha256 }) => sha256) ?? []));
      for (const name of this.#deltas.keys()) if (!names.has(name)) this.#deltas.delete(name);
    }
  }

  /** The generation that the cache has. */
  async #restored(manifest: Manifest<FeedPayload>, signal: AbortSignal): Promise<Place<B, F>> {
    const place = await this.#build(manifest, signal, (file, parent) => this.#kept(manifest, file, parent, signal));
    this.#trim(manifest);
    return place;
  }

  /** Forgets the bytes of those deltas that the cache has. */
  #trim({ files }: FeedPayload): void {
    if (this.#hasLost) return;
    for (const { sha256 } of files) if (this.#source.origin.store.holds(sha256)) this.#deltas.delete(sha256);
  }

  /** A generation of files that the cache has, or else the host. */
  #renewed(manifest: Manifest<FeedPayload>, signal: AbortSignal): Promise<Place<B, F>> {
    const { onProgress } = this.#source;
    const total = lengthOf({ files: manifest.files.slice(this.#present(manifest).length) });
    let before = 0;
    return this.#build(manifest, signal, async (file, parent) => {
      const onLoaded = (loaded: number) => onProgress?.({ loaded: before + loaded, total });
      const kept = await this.#kept(manifest, file, parent, signal, onLoaded).catch((error: unknown) => {
        // Keeping this generation will tell.
        if (isA(error, FilterError) && error.code === "cache") return undefined;
        throw error;
      });
      const raw = kept ?? (await this.#fetched(file, parent, signal, onLoaded));
      before += file.bytes;
      return raw;
    });
  }

  /** The filters of the first files of a generation, as many as there are. */
  #present({ files }: FeedPayload): B[] {
    const [placed, begun] = [this.place, this.#begun].map((its) => its?.raws.slice(0, common(files, its.files)) ?? []);
    return begun!.length > placed!.length ? begun! : placed!;
  }

  /** Builds a generation from the first files that are there, and the others. */
  async #build(
    manifest: Manifest<FeedPayload>,
    signal: AbortSignal,
    make: (file: FeedFile, parent: B | undefined) => Promise<B | undefined>,
  ): Promise<Place<B, F>> {
    const { files } = manifest;
    const raws = this.#present(manifest);
    const useful = new Set([...raws, ...(this.place?.raws ?? [])]);
    for (const raw of this.#begun.raws) if (!useful.has(raw)) this.#engine.release(raw);
    this.#begun = { files, raws };
    for (const file of files.slice(raws.length)) {
      const raw = await make(file, raws.at(-1));
      if (raw === undefined) throw new FilterError("cache", "the cache lacks a file");
      raws.push(raw);
      const { store } = this.#source.origin;
      if (!store.holds(file.sha256)) this.write(() => store.keepFile(manifest, file, () => this.#bytesOf(file)));
    }
    this.requireJob(signal);
    const raw = raws.at(-1)!;
    const info = this.#engine.info(raw);
    for (const name of ["profile", "lowercase", "sha1", "seed"] as const) {
      if (info[name] === manifest[name]) continue;
      throw new FilterError("not_a_feed", `the files have another ${name} than the manifest`);
    }
    const unchanged = raw === this.place?.raws.at(-1);
    const isThere = unchanged && !this.#engine.isFreed(this.place.filter);
    const filter = isThere ? this.place.filter : this.#engine.hold(this.#engine.copy(raw));
    const place = { manifest, files, raws, filter, estimatedFpr: this.#engine.estimatedFpr(raw) };
    this.#begun = { files: [], raws: [] };
    return place;
  }

  /** The filter that a file of the cache makes. Undefined if there is none or it is damaged. Throws what the store does. */
  async #kept(
    manifest: Manifest<FeedPayload>,
    file: FeedFile,
    parent: B | undefined,
    signal: AbortSignal,
    onLoaded?: (loaded: number) => void,
  ): Promise<B | undefined> {
    const { store } = this.#source.origin;
    const bytes = await unlessAborted(store.file(manifest, file), signal);
    if (bytes?.length !== file.bytes) return undefined;
    try {
      const raw = await this.#verified(file, parent, signal, async (take) => {
        take(bytes);
        onLoaded?.(bytes.length);
      });
      store.has(file.sha256);
      return raw;
    } catch (error) {
      if (isDamage(error)) return undefined;
      throw error;
    }
  }

  /** The filter that a fetched file makes. */
  #fetched(file: FeedFile, parent: B | undefined, signal: AbortSignal, onLoaded: (loaded: number) => void): Promise<B> {
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

  /** The filter that a file makes. Nothing is made of other bytes. */
  async #verified(file: FeedFile, parent: B | undefined, signal: AbortSignal, read: Read): Promise<B> {
    const { kind, bytes, sha256 } = file;
    if (kind === "delta") {
      const { whole, take } = collector(bytes);
      await verified(this.#engine, file, read, take);
      this.requireJob(signal); // else the parent may be freed
      const raw = this.#engine.apply(parent!, whole);
      if (this.#source.origin.store.keeps) this.#deltas.set(sha256, whole);
      return raw;
    }
    const base = this.#engine.arriving(bytes, this.#source.origin.secret);
    try {
      await verified(this.#engine, file, read, (chunk) => base.push(chunk, bytes));
      return base.decode();
    } finally {
      this.#engine.release(base);
    }
  }

  /** The bytes of a file that is in place or begun. The blob of a filter has one form only. */
  #bytesOf({ kind, sha256 }: FeedFile): Uint8Array | undefined {
    if (kind === "delta") return this.#deltas.get(sha256)?.slice();
    const raw = [this.place, this.#begun].find((its) => its?.files[0]?.sha256 === sha256)?.raws[0];
    return this.#isFreed || raw === undefined ? undefined : this.#engine.toBytes(raw);
  }

  /** The bytes of a base are made of its filter, and those of deltas were dropped once the cache had them. */
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
        await verified(this.#engine, file, read, take);
        return whole;
      };
      // Another tab may have put it.
      const bytes =
        (kept && (await checked(this.#engine, kept, file))) ??
        (await this.fromHost(signal, (held) => this.origin.file(file, held, read)));
      this.requireJob(signal);
      this.#hasLost = true;
      this.#deltas.set(file.sha256, bytes);
    }
  }

  protected async keep(): Promise<Manifest<FeedPayload> | undefined> {
    // Its filters are freed.
    if (this.#isFreed) return undefined;
    const { manifest, files, raws } = this.place;
    const { store } = this.#source.origin;
    const deltas = new Map(this.#deltas);
    // The next update may release its own.
    const base = this.#engine.copy(raws[0]!);
    try {
      const bytesOf = (sha256: string) =>
        sha256 === files[0]!.sha256 ? this.#engine.toBytes(base) : deltas.get(sha256)?.slice();
      const newer = await store.keep(manifest, bytesOf);
      this.#trim(manifest);
      return newer;
    } finally {
      this.#engine.release(base);
    }
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
