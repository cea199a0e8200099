/** Keeps the newest generation of a feed or a sharded filter in place, and in the cache. */

import { failed, limited, unlessAborted } from "../boundary/stream.js";
import { SharedTask } from "../boundary/task.js";
import { FilterError } from "../error.js";
import type { Head, Manifest } from "./manifest.js";
import type { Origin } from "./origin.js";

/** How long the host may take to send what only the cache has lost, in milliseconds. */
const REFILL = 30_000;

/** When a job that another request of a Worker began counts as abandoned, in milliseconds. */
const ABANDONED = 60_000;

const FOREIGN =
  "another request of this Worker began the update, which may have ended with it; pass each update to ctx.waitUntil";

/**
 * What a cache has: the generation of the feed bound to the URL, and the highest generation of the feed in question.
 */
interface Floor<P extends Head> {
  first: Manifest<P> | undefined;
  kept: Manifest<P> | undefined;
}

/** @internal The common part of feeds and sharded filters: one job at a time, and cache writes that hold nothing up. */
export abstract class Client<P extends Head> {
  /** The generation in place. It is set before anybody else gets the client. */
  manifest!: Manifest<P>;
  protected readonly origin: Origin<P>;
  /** Why the cache lacks that generation. */
  #lack: FilterError | undefined;
  /** Why the generation in the cache is unknown, or why a newer one there isn't in place. The floor is "open" then. */
  #openFloor: FilterError | undefined;
  /** What the cache had when it was last readable. */
  #known: Floor<P> | undefined;
  /** How long the host may still take for the update under way, in milliseconds. */
  #patience = Infinity;
  /** The job that others may join. */
  #job: SharedTask<boolean> | undefined;
  /** The signal of the only job that may change anything. */
  #signal: AbortSignal | undefined;
  #isClosed = false;
  /** Settles once no generation is being written into the cache. */
  #written: Promise<void> = Promise.resolve();
  /** How many of them still are. */
  #writing = 0;
  /** Whether a write has timed out. Nothing more is written until the cache answers it. */
  #isSilent = false;

  constructor(origin: Origin<P>) {
    this.origin = origin;
  }

  /** What it is, for messages. */
  protected abstract readonly noun: string;

  /**
   * Makes what a generation needs besides its manifest, from the cache only if `isRestored`. Calls {@link requireJob}
   * before it changes anything.
   */
  protected abstract build(manifest: Manifest<P>, signal: AbortSignal, isRestored: boolean): Promise<void>;

  /** Stores the generation in place in the cache, unless the cache has a newer one, which this then returns. */
  protected abstract keep(): Promise<Manifest<P> | undefined>;

  /** Fetches again what the cache has lost of the generation in place. */
  protected async refill(_signal: AbortSignal): Promise<void> {}

  /** Called when a generation has come into place. */
  protected placed(): void {}

  /** Called when the cache can't keep something. */
  protected failed(_error: FilterError): void {}

  /** Called once, when it is closed. */
  protected abstract free(): void;

  /** The generation that questions are answered from. */
  get present(): Head {
    return this.manifest;
  }

  get cacheError(): FilterError | undefined {
    return this.#openFloor ?? this.#lack;
  }

  /** Whether the cache may have something newer, which couldn't be read or put in place. */
  protected get isFloorOpen(): boolean {
    return this.#openFloor !== undefined;
  }

  /** Whether the generation in place has expired. */
  get isStale(): boolean {
    return this.origin.isOver(this.manifest);
  }

  get isUpdating(): boolean {
    return this.#job !== undefined && !this.#job.isOver;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  requireOpen(): void {
    if (this.#isClosed) throw this.closed();
  }

  /**
   * Opens with what the cache has, and updates in the background; otherwise with the newest generation. Closes the
   * client if there is neither.
   */
  async open(signal: AbortSignal | undefined): Promise<void> {
    let unopened: FilterError | undefined;
    try {
      const hasRestored = await this.#join(async (stopped) => {
        unopened = await this.#restore(stopped);
        return this.manifest !== undefined;
      }, signal);
      if (hasRestored) this.begin();
      else await this.update(signal);
    } catch (error) {
      // The cache answered in the end, with a newer generation than the host's.
      if (this.manifest !== undefined && !signal?.aborted && error instanceof FilterError) return;
      this.close();
      throw unopened && isUnreached(error) ? offline(unopened, error) : error;
    }
  }

  /** Puts the newest generation in place, and keeps it. Returns whether it is newer than the one that was there. */
  async update(signal?: AbortSignal): Promise<boolean> {
    try {
      return await this.renewed(signal);
    } finally {
      // After a failure, too: what the cache lacked is tried again.
      await unlessAborted(this.wait(this.#written), signal);
    }
  }

  /** As {@link update}, but doesn't wait for cache writes. */
  protected renewed(signal: AbortSignal | undefined): Promise<boolean> {
    return this.#join((stopped) => this.renew(stopped), signal);
  }

  /** As {@link renewed}, but sure to ask the host again: an update that is under way may have asked it earlier. */
  protected async renewedFromNow(signal: AbortSignal | undefined): Promise<void> {
    const { manifest } = this;
    const ignored = (error: unknown) => {
      signal?.throwIfAborted();
      if (!(error instanceof FilterError)) throw error;
    };
    if (this.isUpdating) await this.renewed(signal).catch(ignored);
    if (this.manifest === manifest) await this.renewed(signal).catch(ignored);
  }

  /** Begins an update. Nobody waits for it yet, so it stops if the first caller to join it gives up. */
  begin(): void {
    this.#begin((stopped) => this.renew(stopped));
  }

  /**
   * With other public keys, removes what the cache has for those. Otherwise closes the client and removes what the
   * cache has for its own keys.
   */
  async forget(publicKey?: string | string[] | null): Promise<void> {
    const { origin, manifest } = this;
    if (publicKey !== undefined) {
      const other = await origin.storeOf(publicKey);
      return other.patiently(other.forget(manifest.feedId));
    }
    const { store } = origin;
    this.close();
    // A job of another request can't be awaited.
    if (!this.#job?.foreign) await this.#job?.ended;
    const late = await store.patiently(this.settled()).then(
      () => undefined,
      (error: FilterError) => error,
    );
    store.askAgain();
    await store.patiently(store.forget(manifest.feedId, manifest));
    // What is still being written may appear later.
    if (late) throw late;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#job?.stop(this.closed());
    this.free();
  }

  /** Queues a write to the cache, after all others. */
  protected write(run: () => Promise<void>): void {
    if (this.#isSilent) return;
    this.#writing++;
    this.#written = this.#written.then(async () => {
      // A closed client writes nothing.
      if (!this.#isClosed) await run();
      this.#writing--;
    });
  }

  /** Settles once nothing is being written. */
  protected async settled(): Promise<unknown> {
    return this.#written;
  }

  /** Waits for a write, which can't be stopped: if it takes too long, everything goes on without the cache. */
  protected async wait(writing: Promise<void>): Promise<void> {
    if (this.#isSilent) return;
    try {
      await this.origin.store.patiently(writing);
    } catch (error) {
      this.#isSilent = true;
      writing.then(() => (this.#isSilent = false));
      this.#lacks(error as FilterError);
    }
  }

  /** Puts the newest generation in place. */
  protected async renew(signal: AbortSignal): Promise<boolean> {
    this.#patience = this.origin.timeout;
    const before = this.manifest as Manifest<P> | undefined;
    let isLost = false;
    try {
      // Opening has waited for the cache already.
      if (before) this.origin.store.askAgain();
      // First, since the host may not answer.
      if (this.#openFloor) await this.#restore(signal);
      const found = await this.fromHost(signal, (held) => this.origin.found(held));
      this.requireJob(signal);
      const floor = await this.#floor(found.feedId, signal);
      const isKept = before && floor?.kept && isAtLeast(floor.kept, before);
      // What is still being written isn't lost.
      const mayTell = this.origin.store.hasShown && floor !== undefined && this.#writing === 0;
      if (mayTell && before?.feedId === found.feedId) {
        if (!isKept) this.origin.store.lost();
        isLost = !isKept || floor.first === undefined;
      }
      if (this.#openFloor && (!this.manifest || this.manifest.feedId === found.feedId))
        await this.#takeBack(floor, signal);
      const { first, kept } = floor ?? this.#known ?? {};
      const place = this.manifest as Manifest<P> | undefined;
      // A generation put in place while the cache couldn't say which feed the URL is bound to doesn't bind the URL.
      const isBound = !(this.#openFloor && first && first.feedId !== place?.feedId);
      const manifest = this.origin.trusted(found, {
        present: isBound ? place : undefined,
        first,
        kept: kept?.feedId === found.feedId ? kept : undefined,
      });
      if (manifest.generation !== place?.generation || manifest.feedId !== place.feedId)
        await this.#place(manifest, signal, false);
      const mayLack = isLost || this.cacheError || this.manifest !== before;
      if (before && mayLack && this.origin.store.hasShown) await this.#refill(signal);
      if (this.manifest !== before) return true;
      signal.throwIfAborted();
      return false;
    } finally {
      // Without a generation, as when opening has failed, there is nothing to keep.
      if (this.manifest && (this.manifest !== before || this.cacheError || isLost)) this.write(() => this.#keep());
    }
  }

  /** Runs a request to the host. Throws `network` if it takes too long; the time that the cache takes doesn't count. */
  protected async fromHost<T>(signal: AbortSignal, run: (held: AbortSignal) => Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await limited(this.origin.late, this.#patience, [signal], run);
    } finally {
      this.#patience = Math.max(1, this.#patience - (performance.now() - begun));
    }
  }

  /**
   * What the cache has of the feed bound to the URL, and of feed `feedId`. If it can't be read, this opens the floor.
   */
  async #floor(feedId: string | undefined, signal: AbortSignal): Promise<Floor<P> | undefined> {
    const { store } = this.origin;
    try {
      const first = await unlessAborted(store.first(), signal);
      const isSame = feedId === undefined || feedId === first?.feedId;
      const kept = isSame ? first : await unlessAborted(store.manifest(feedId), signal);
      return (this.#known = { first, kept });
    } catch (error) {
      this.#open(error, signal);
      return undefined;
    }
  }

  /** Puts the cache's generation in place if it is newer. Returns why it can't. */
  async #restore(signal: AbortSignal): Promise<FilterError | undefined> {
    return this.#takeBack(await this.#floor((this.manifest as Manifest<P> | undefined)?.feedId, signal), signal);
  }

  /** The same, with the cache's answer. Closes the floor, unless something newer can't be put in place. */
  async #takeBack(floor: Floor<P> | undefined, signal: AbortSignal): Promise<FilterError | undefined> {
    if (floor === undefined) return this.#openFloor;
    const { origin } = this;
    const present = this.manifest as Manifest<P> | undefined;
    const kept = floor.first ?? floor.kept;
    try {
      if (kept && !(present && isAtLeast(present, kept))) {
        origin.requireSecret(kept);
        await this.#place(kept, signal, true);
      }
      this.#openFloor = undefined;
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof FilterError)) throw error;
      const what = `the cache has generation ${kept?.generation}, which can't be put in place`;
      // With nothing in place, there is nothing to roll back.
      if (present) this.#open(failed("cache", what, error), signal);
      else this.#openFloor = undefined;
      return error;
    }
  }

  /** Leaves the floor open until the cache has answered. */
  #open(error: unknown, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!(error instanceof FilterError)) throw error;
    const isNew = this.#openFloor === undefined;
    this.#openFloor = error;
    if (isNew) this.failed(error);
  }

  async #place(manifest: Manifest<P>, signal: AbortSignal, isRestored: boolean): Promise<void> {
    await this.build(manifest, signal, isRestored);
    this.manifest = manifest;
    this.placed();
  }

  /** Fetches what the cache has lost. Failures are reported when the generation is stored. */
  async #refill(signal: AbortSignal): Promise<void> {
    // The generation is in place already, and callers wait for this update.
    this.#patience = Math.min(this.#patience, REFILL);
    try {
      await unlessAborted(this.origin.store.look(this.manifest), signal);
      await this.refill(signal);
    } catch (error) {
      if (!signal.aborted && !(error instanceof FilterError)) throw error;
    }
  }

  /** Stores the generation in place in the cache. If that fails, the cache still has the old one. */
  async #keep(): Promise<void> {
    const { manifest } = this;
    try {
      const newer = await this.keep();
      // The generation may have been replaced meanwhile, or the client closed.
      if (manifest !== this.manifest || this.#isClosed) return;
      this.#lack = undefined;
      // Otherwise the next update puts that one in place.
      if (newer === undefined) this.#openFloor = undefined;
    } catch (error) {
      this.#lacks(error as FilterError);
    }
  }

  #lacks(error: FilterError): void {
    this.#lack = error;
    this.failed(error);
  }

  /** Waits for the job under way, or for a new one. A job is stopped when nobody waits for it any more. */
  async #join(run: (signal: AbortSignal) => Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    this.requireOpen();
    return this.#begin(run).wait(signal, (answer) => answer);
  }

  /** The job under way, or a new one. */
  #begin(run: (signal: AbortSignal) => Promise<boolean>): SharedTask<boolean> {
    const last = this.#job;
    const cause = last?.foreign;
    if (last && !last.isOver) {
      if (cause === undefined) return last;
      const age = Date.now() - last.began;
      // A clock that was set back must not hold anything up.
      if (age >= 0 && age < ABANDONED) throw new FilterError("network", FOREIGN, { cause });
    }
    this.#job = new SharedTask(async (stopped) => {
      // It may be stopped but not have ended.
      if (cause === undefined) await last?.ended;
      stopped.throwIfAborted();
      this.#signal = stopped;
      return run(stopped);
    });
    return this.#job;
  }

  /** Throws for a job that was stopped, or one that was given up as abandoned but goes on after all. */
  protected requireJob(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (signal !== this.#signal) throw new FilterError("network", FOREIGN);
  }

  protected closed(): FilterError {
    return new FilterError("freed", `this ${this.noun} was closed`);
  }
}

/** Whether the generation in place is the cache's, or a newer one of the same feed. */
function isAtLeast<P extends Head>(present: Manifest<P>, kept: Manifest<P>): boolean {
  return present.feedId === kept.feedId && (present.generation > kept.generation || present.signed === kept.signed);
}

/** Whether an error means that the host gave no usable answer. */
function isUnreached(error: unknown): error is FilterError {
  return error instanceof FilterError && ["network", "http", "truncated"].includes(error.code);
}

/** The error if the cached generation can't be opened and the host doesn't answer. */
function offline(unopened: FilterError, unreached: FilterError): FilterError {
  // A cache that lacks something would be no error if the host answered.
  const { code } = unopened.code === "cache" ? unreached : unopened;
  const cause = code === unopened.code ? unopened : unreached;
  return new FilterError(code, `${unopened.message}, and ${unreached.message}`, { cause });
}
