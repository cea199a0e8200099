/** Keeps the newest generation of a feed or a sharded filter in place, and in the cache. */

import { failed, limited, unlessAborted } from "../boundary/stream.js";
import { SharedTask } from "../boundary/task.js";
import { FilterError } from "../error.js";
import type { Kept } from "./cache.js";
import type { Head, Manifest } from "./manifest.js";
import type { Origin } from "./origin.js";

/** When a job that another request of a Worker began counts as abandoned, in milliseconds. */
const ABANDONED = 60_000;

/** How long the cache may take to tell what it has, in milliseconds, if there is a packaged generation. */
const AT_START = 1_000;

const FOREIGN =
  "another request of this Worker began the update, which may have ended with it; pass each update to ctx.waitUntil";

/** @internal The common part of feeds and sharded filters: one job at a time, and cache writes that hold nothing up. */
export abstract class Client<P extends Head> {
  /** The generation in place. It is set before anybody else gets the client. */
  manifest!: Manifest<P>;
  /** What the cache has for this URL, as it was last read. */
  #floor: Manifest<P> | undefined;
  /** Whether the cache has ever told what it has. Otherwise another feed than the one in place may be the URL's. */
  #isBound = false;
  /** Why the last read of the cache failed, or its generation couldn't be put in place. */
  #unread: FilterError | undefined;
  /** Whether the packaged generation was looked at. */
  #isUnpacked = false;
  /** That generation, if it came into place and no manifest of the host has been accepted since. */
  #unconfirmed: Manifest<P> | undefined;
  /** The packaged generation, once it has been read. */
  #packaged: Manifest<P> | undefined;
  /** Why the packaged generation can't be used. */
  #packagedError: FilterError | undefined;
  /** Why the cache isn't known to have the generation in place. */
  #cacheError: FilterError | undefined;
  /** How long the host may still take for the update under way, in milliseconds. */
  #patience = Infinity;
  /** The job that others may join. */
  #job: SharedTask<boolean> | undefined;
  /** The signal of the only job that may change anything. */
  #signal: AbortSignal | undefined;
  #isClosed = false;
  /** The last write of a generation or a base into the cache. */
  #written: SharedTask<void> | undefined;

  constructor(protected readonly origin: Origin<P>) {}

  /** What it is, for messages. */
  protected abstract readonly noun: string;

  /**
   * Makes what a generation needs besides its manifest: of what the cache has, and of what can be fetched there. Calls
   * {@link requireJob} before it changes anything.
   */
  protected abstract build(
    manifest: Manifest<P>,
    kept: Kept<P> | undefined,
    signal: AbortSignal,
    from: Origin<P> | undefined,
  ): Promise<void>;

  /** Stores the generation in place in the cache. Returns false if the cache has a newer one. */
  protected abstract keep(): Promise<boolean>;

  /** Called when a generation has come into place. */
  protected placed(): void {}

  /** Called with each new {@link cacheError}. */
  protected failed(_error: FilterError): void {}

  /** Called once, when it is closed. */
  protected abstract free(): void;

  /** The generation that questions are answered from. */
  get present(): Head {
    return this.manifest;
  }

  get cacheError(): FilterError | undefined {
    return this.#cacheError;
  }

  get packagedError(): FilterError | undefined {
    return this.#packagedError;
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

  /** Throws the reason of a signal that has aborted, and `freed` once this is closed. */
  requireOpen(signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#isClosed) throw this.closed();
  }

  /**
   * Opens with what the cache or the package has, and updates in the background; otherwise with the newest generation.
   * Closes the client if there is none.
   */
  async open(signal: AbortSignal | undefined): Promise<void> {
    let unopened: FilterError | undefined;
    try {
      const hasRestored = await this.#join(async (stopped) => {
        await this.#read(stopped, this.origin.packaged && AT_START);
        unopened = this.#unread;
        const isEmpty = () => (this.manifest as Manifest<P> | undefined) === undefined;
        if (isEmpty()) await this.#unpack(stopped);
        // With nothing packaged after all, the cache gets its time.
        if (isEmpty() && this.origin.packaged && this.#unread) {
          this.origin.store.askAgain();
          await this.#read(stopped);
          unopened = this.#unread;
        }
        if (this.#unread) this.#tellUnread(this.#unread);
        // A cache that was only slow.
        else this.#tell(undefined);
        return this.manifest !== undefined;
      }, signal);
      if (hasRestored) this.begin();
      else await this.update(signal);
    } catch (error) {
      // The cache answered in the end, with a newer generation than the host's.
      if (this.manifest !== undefined && !signal?.aborted && error instanceof FilterError) return;
      this.close();
      const told = unopened && isUnreached(error) ? offline(unopened, error) : error;
      const unpacked = this.#packagedError;
      if (!unpacked || !(told instanceof FilterError)) throw told;
      const { message } = unpacked;
      throw new FilterError(told.code, `${told.message}, and what is packaged can't be used: ${message}`, {
        cause: told.cause,
      });
    }
  }

  /** Puts the newest generation in place, and keeps it. Returns whether it is newer than the one that was there. */
  async update(signal?: AbortSignal): Promise<boolean> {
    try {
      return await this.renewed(signal);
    } finally {
      // After a failure, too: what the cache lacked is tried again.
      await unlessAborted(ended(this.#written), signal);
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
    if (publicKey !== undefined) return (await origin.storeOf(publicKey)).forget();
    const { store } = origin;
    this.close();
    await ended(this.#job);
    await this.settled();
    store.askAgain();
    await store.forget(manifest);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#job?.stop(this.closed());
    this.free();
  }

  /** Queues a write to the cache, after all others. */
  protected write(run: () => Promise<void>): void {
    const last = this.#written;
    this.#written = new SharedTask(async () => {
      await ended(last);
      // A closed client writes nothing.
      if (!this.#isClosed) await run();
    });
  }

  /** Settles once nothing is being written. */
  protected async settled(): Promise<unknown> {
    return ended(this.#written);
  }

  /** Puts the newest generation in place. FEED-FORMAT.md has the steps. */
  protected async renew(signal: AbortSignal): Promise<boolean> {
    const before = this.manifest as Manifest<P> | undefined;
    // Whether the packaged generation in place is confirmed by this update.
    let isConfirmed = false;
    // What step 1 has read; null if it was cut short.
    let kept: Kept<P> | undefined | null = null;
    try {
      // Opening has waited for the cache already.
      if (before) this.origin.store.askAgain();
      // Step 1, before the host, which may not answer.
      kept = await this.#read(signal);
      await this.#unpack(signal);
      // Steps 2 to 4.
      this.#patience = this.origin.timeout;
      const found = await this.inTime(this.origin, signal, (held) => this.origin.found(held));
      this.requireJob(signal);
      if (this.#unread) kept = await this.#read(signal);
      // Steps 5 to 8.
      const place = this.manifest as Manifest<P> | undefined;
      const mayBind = this.#isBound || this.#floor === undefined || this.#floor.feedId === place?.feedId;
      const manifest = this.origin.trusted(found, { present: mayBind ? place : undefined, kept: this.#floor });
      isConfirmed = this.#unconfirmed !== undefined;
      this.#unconfirmed = undefined;
      // Steps 9 to 12.
      if (manifest.signed !== place?.signed) await this.#place(manifest, kept, signal, this.origin);
      signal.throwIfAborted();
      return this.manifest !== before;
    } finally {
      // Step 13. Without a generation, as when opening has failed, there is nothing to keep.
      if (this.manifest && kept !== null) {
        const isKept = !this.#unread && kept?.manifest.signed === this.manifest.signed && !isConfirmed;
        if (!isKept && this.manifest !== this.#unconfirmed) this.write(() => this.#keep());
        else if (!this.#unread) this.#tell(undefined);
      }
    }
  }

  /** Runs a request. Throws `network` if the host takes too long; the time that the cache takes doesn't count. */
  protected async inTime<T>(from: Origin<P>, signal: AbortSignal, run: (held: AbortSignal) => Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await limited(from.late, this.#patience, [signal], run);
    } finally {
      this.#patience = Math.max(1, this.#patience - (performance.now() - begun));
    }
  }

  /** Step 1: reads the head, and puts its generation in place unless that is older. */
  async #read(signal: AbortSignal, patience?: number): Promise<Kept<P> | undefined> {
    const { origin } = this;
    let kept: Kept<P> | undefined;
    this.#unread = undefined;
    try {
      // Twice if need be: another client may have replaced head and base in between.
      for (let reads = 0; reads < 2; reads++) {
        kept = await unlessAborted(origin.store.head(patience), signal);
        this.#floor = kept?.manifest;
        this.#unread = kept && this.#isAhead(kept.manifest) ? await this.#restored(kept, signal) : undefined;
        if (!this.#unread) break;
      }
      if (!this.#unread) this.#isBound = true;
      else this.#tellUnread(this.#unread);
    } catch (error) {
      this.requireJob(signal);
      if (!(error instanceof FilterError)) throw error;
      this.#unread = error;
      this.#tell(error);
    }
    return kept;
  }

  #tellUnread(error: FilterError): void {
    // With nothing in place, there is nothing to roll back.
    if ((this.manifest as Manifest<P> | undefined) === undefined || this.#floor === undefined) return;
    if (!this.#isAhead(this.#floor)) return;
    const what = `the cache has generation ${this.#floor.generation}, which can't be put in place`;
    this.#tell(failed("cache", what, error));
  }

  /** Puts the packaged generation in place if it is newer. It counts as one that was accepted before. */
  async #unpack(signal: AbortSignal): Promise<void> {
    const { packaged } = this.origin;
    if (!packaged || this.#isUnpacked) return;
    // Once, even if this is stopped: a package that hangs mustn't hold up each update.
    this.#isUnpacked = true;
    this.#patience = packaged.timeout;
    try {
      const found = await this.inTime(packaged, signal, (held) => packaged.found(held));
      const place = this.manifest as Manifest<P> | undefined;
      const error = contradiction(found, place) ?? contradiction(found, this.#floor);
      if (error) throw error;
      this.#packaged = found;
      if (place === undefined || found.generation > place.generation) {
        packaged.requireSecret(found);
        await this.#place(found, undefined, signal, packaged);
        this.#unconfirmed = found;
      }
    } catch (error) {
      if (signal.aborted) this.#packagedError = new FilterError("network", "reading what is packaged was stopped");
      this.requireJob(signal);
      if (!(error instanceof FilterError)) throw error;
      this.#packagedError = error;
    }
  }

  /** Whether the cache's generation is to replace the one in place. */
  #isAhead(kept: Manifest<P>): boolean {
    const place = this.manifest as Manifest<P> | undefined;
    if (place?.feedId !== kept.feedId) return place === undefined || !this.#isBound;
    const isOther = !this.#isBound && place.generation === kept.generation && place.signed !== kept.signed;
    return isOther || kept.generation > place.generation;
  }

  /** Puts the cache's generation in place. Returns why it can't. */
  async #restored(kept: Kept<P>, signal: AbortSignal): Promise<FilterError | undefined> {
    try {
      this.origin.requireSecret(kept.manifest);
      await this.#place(kept.manifest, kept, signal, undefined);
      return undefined;
    } catch (error) {
      this.requireJob(signal);
      if (!(error instanceof FilterError)) throw error;
      return error;
    }
  }

  async #place(
    manifest: Manifest<P>,
    kept: Kept<P> | undefined,
    signal: AbortSignal,
    from: Origin<P> | undefined,
  ): Promise<void> {
    await this.build(manifest, kept, signal, from);
    this.manifest = manifest;
    // A cache that answers late may tell of another feed.
    if (this.#packaged) this.#packagedError ??= contradiction(this.#packaged, manifest);
    this.placed();
  }

  /** Stores the generation in place in the cache. If that fails, the cache still has the old one. */
  async #keep(): Promise<void> {
    const { manifest } = this;
    const told = await this.keep().then(
      // The next update puts a newer one in place.
      (isKept) => (isKept ? undefined : this.#cacheError),
      (error: FilterError) => error,
    );
    // The generation may have been replaced meanwhile.
    if (manifest === this.manifest) this.#tell(told);
  }

  #tell(error: FilterError | undefined): void {
    const isNew = error?.message !== this.#cacheError?.message;
    this.#cacheError = error;
    if (error && isNew) this.failed(error);
  }

  /** Waits for the job under way, or for a new one. A job is stopped when nobody waits for it any more. */
  async #join(run: (signal: AbortSignal) => Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
    this.requireOpen(signal);
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

/** Why a packaged generation can't be of the same feed as another, if so. */
function contradiction<P extends Head>(packaged: Manifest<P>, other: Manifest<P> | undefined): FilterError | undefined {
  if (other === undefined) return undefined;
  const { feedId, generation, signed } = packaged;
  if (other.feedId !== feedId)
    return new FilterError("wrong_feed", `the feed ${feedId} is packaged, and this is ${other.feedId}`);
  if (other.generation !== generation || other.signed === signed) return undefined;
  return new FilterError("rollback", `there is another payload of generation ${generation}`);
}

/** @internal Settles once a task has ended. One of another request of a Worker can't be awaited. */
export async function ended(task: SharedTask<unknown> | undefined): Promise<void> {
  if (!task?.foreign) await task?.ended;
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
