/** Keeps the newest generation of a feed or a sharded filter in place, and in the cache. */

import { isA } from "../boundary/input.js";
import { failed, limited, unlessAborted } from "../boundary/stream.js";
import { SharedTask } from "../boundary/task.js";
import { FilterError } from "../error.js";
import type { Head, Manifest } from "./manifest.js";
import type { Origin } from "./origin.js";

/** How long the host may take for what the cache alone has lost, in milliseconds. */
const REFILL = 30_000;

/** When a job that another request of a Worker began counts as one that never ends, in milliseconds. */
const ABANDONED = 60_000;

const FOREIGN =
  "another request of this Worker began the update, and it may have ended with that; pass each update to ctx.waitUntil";

/** What a cache has: the generation of the feed that it knows at a URL, and the highest one of the feed that was asked for. */
interface Floor<P extends Head> {
  first: Manifest<P> | undefined;
  kept: Manifest<P> | undefined;
}

/** @internal What feeds and sharded filters have in common: one job at a time, and writing that holds up nothing. */
export abstract class Client<P extends Head> {
  /** The generation in place. There is one as soon as anybody else has the client. */
  manifest!: Manifest<P>;
  protected readonly origin: Origin<P>;
  /** Why the cache lacks that generation. */
  #lack: FilterError | undefined;
  /** Why nobody knows which generation the cache has, or why a newer one there isn't in place: the floor is open. */
  #openFloor: FilterError | undefined;
  /** What the cache had when it could be read last. */
  #known: Floor<P> | undefined;
  /** How long the host may still take for the update under way, in milliseconds. */
  #patience = Infinity;
  /** What others may join. */
  #job: SharedTask<boolean> | undefined;
  /** The signal of the job that may change anything. */
  #signal: AbortSignal | undefined;
  #isClosed = false;
  /** Settles once no generation is being written into the cache. */
  #written: Promise<void> = Promise.resolve();
  /** Whether the cache owes an answer to what was written. Nothing more is written until then. */
  #isSilent = false;

  constructor(origin: Origin<P>) {
    this.origin = origin;
  }

  /** What it is, for messages. */
  protected abstract readonly noun: string;

  /**
   * Makes what a generation needs besides its manifest. From the cache alone, if it is to be restored. Calls
   * {@link requireJob} before it changes anything.
   */
  protected abstract build(manifest: Manifest<P>, signal: AbortSignal, isRestored: boolean): Promise<void>;

  /** Has the cache keep the generation in place, unless it has a newer one, which this returns. */
  protected abstract keep(): Promise<Manifest<P> | undefined>;

  /** Fetches again what the cache needs of the generation in place, and has lost. */
  protected async refill(_signal: AbortSignal): Promise<void> {}

  /** Called when a generation has come into place. */
  protected placed(): void {}

  /** Called when the cache can't keep something. */
  protected failed(_error: FilterError): void {}

  /** Called once, when it is closed. */
  protected abstract free(): void;

  /** The generation that answers just now. */
  get present(): Head {
    return this.manifest;
  }

  get cacheError(): FilterError | undefined {
    return this.#openFloor ?? this.#lack;
  }

  /** Whether nobody knows if the cache has something newer. */
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

  /** Begins with what the cache has, and updates behind; or with the newest generation. If there is none, closes it. */
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
      // The cache answered in the end, and has a newer generation than the host.
      if (this.manifest !== undefined && !signal?.aborted && isA(error, FilterError)) return;
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

  /** As {@link update}, but waits for no writing. */
  protected renewed(signal: AbortSignal | undefined): Promise<boolean> {
    return this.#join((stopped) => this.renew(stopped), signal);
  }

  /** As {@link renewed}, but asks the host from now on: an update that is under way may have asked it before. */
  protected async renewedFromNow(signal: AbortSignal | undefined): Promise<void> {
    const { manifest } = this;
    const ignored = (error: unknown) => {
      signal?.throwIfAborted();
      if (!isA(error, FilterError)) throw error;
    };
    if (this.isUpdating) await this.renewed(signal).catch(ignored);
    if (this.manifest === manifest) await this.renewed(signal).catch(ignored);
  }

  /** Begins an update. Nobody waits for it yet, so whoever joins it and gives up stops it. */
  begin(): void {
    this.#begin((stopped) => this.renew(stopped));
  }

  /** Removes what the cache has for other keys, or closes it and removes all that the cache has for its own. */
  async forget(publicKey?: string | string[] | null): Promise<void> {
    const { origin, manifest } = this;
    const other = publicKey === undefined ? undefined : await origin.storeOf(publicKey);
    if (other) return other.patiently(other.forget(manifest.feedId));
    const { store } = origin;
    this.close();
    // Nobody can wait for that of another request.
    if (!this.#job?.foreign) await this.#job?.ended;
    const late = await store.patiently(this.settled()).then(
      () => undefined,
      (error: FilterError) => error,
    );
    store.askAgain();
    await store.patiently(store.forget(manifest.feedId, manifest));
    // What is being written may still come.
    if (late) throw late;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#job?.stop(this.closed());
    this.free();
  }

  /** Writes into the cache what it then is time for, after all else. */
  protected write(run: () => Promise<void>): void {
    if (this.#isSilent) return;
    this.#written = this.#written.then(async () => {
      // One that was closed writes nothing.
      if (!this.#isClosed) await run();
    });
  }

  /** Settles once nothing is being written. */
  protected async settled(): Promise<unknown> {
    return this.#written;
  }

  /** Waits for what is being written. That can't be stopped: if it takes too long, all else goes on without the cache. */
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
      // Whoever opens a feed has waited for the cache already.
      if (before) this.origin.store.askAgain();
      // At once, since the host may not answer.
      if (this.#openFloor) await this.#restore(signal);
      const found = await this.fromHost(signal, (held) => this.origin.found(held));
      this.requireJob(signal);
      const floor = await this.#floor(found.feedId, signal);
      const isKept = before && floor?.kept && isAtLeast(floor.kept, before);
      if (this.origin.store.hasShown && floor !== undefined && before?.feedId === found.feedId) {
        if (!isKept) this.origin.store.lost();
        isLost = !isKept || floor.first === undefined;
      }
      if (this.#openFloor && (!this.manifest || this.manifest.feedId === found.feedId))
        await this.#takeBack(floor, signal);
      const { first, kept } = floor ?? this.#known ?? {};
      const place = this.manifest as Manifest<P> | undefined;
      // One that came into place while nobody knew what the URL is bound to binds nobody.
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
      if (this.manifest !== before || this.cacheError || isLost) this.write(() => this.#keep());
    }
  }

  /** What the host gives, unless it takes too long: then throws `network`. The time that a cache takes doesn't count. */
  protected async fromHost<T>(signal: AbortSignal, run: (held: AbortSignal) => Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await limited(this.origin.late, this.#patience, signal, run);
    } finally {
      this.#patience = Math.max(1, this.#patience - (performance.now() - begun));
    }
  }

  /** What the cache has of the feed at the URL, and of another. If that can't be read, the floor is open. */
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

  /** Puts the generation in place that the cache has, unless it has none that is newer. Returns why it can't. */
  async #restore(signal: AbortSignal): Promise<FilterError | undefined> {
    return this.#takeBack(await this.#floor((this.manifest as Manifest<P> | undefined)?.feedId, signal), signal);
  }

  /** The same, of what the cache has answered. That closes the floor, unless something newer can't be put in place. */
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
      if (!isA(error, FilterError)) throw error;
      const what = `the cache has generation ${kept?.generation}, which can't be put in place`;
      // With nothing in place, nothing is below it.
      if (present) this.#open(failed("cache", what, error), signal);
      else this.#openFloor = undefined;
      return error;
    }
  }

  /** Leaves the floor open until the cache has answered. */
  #open(error: unknown, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!isA(error, FilterError)) throw error;
    const isNew = this.#openFloor === undefined;
    this.#openFloor = error;
    if (isNew) this.failed(error);
  }

  async #place(manifest: Manifest<P>, signal: AbortSignal, isRestored: boolean): Promise<void> {
    await this.build(manifest, signal, isRestored);
    this.manifest = manifest;
    this.placed();
  }

  /** Keeping the generation tells what could not be fetched. */
  async #refill(signal: AbortSignal): Promise<void> {
    // The generation is in place, and others wait for this update.
    this.#patience = Math.min(this.#patience, REFILL);
    try {
      await unlessAborted(this.origin.store.look(this.manifest), signal);
      await this.refill(signal);
    } catch (error) {
      if (!signal.aborted && !isA(error, FilterError)) throw error;
    }
  }

  /** Lets the cache keep the generation in place. If it can't, it still has the old one. */
  async #keep(): Promise<void> {
    const { manifest } = this;
    try {
      const newer = await this.keep();
      // One that took its time may be an old one by now, and one that was closed writes nothing.
      if (manifest !== this.manifest || this.#isClosed) return;
      this.#lack = undefined;
      // Else the next update takes that back.
      if (newer === undefined) this.#openFloor = undefined;
    } catch (error) {
      this.#lacks(error as FilterError);
    }
  }

  #lacks(error: FilterError): void {
    this.#lack = error;
    this.failed(error);
  }

  /** Waits for what is being done, or has it done. It is stopped when nobody waits for it any more. */
  async #join(run: (signal: AbortSignal) => Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    this.requireOpen();
    return this.#begin(run).wait(signal, (answer) => answer);
  }

  /** What is being done, or begins now. */
  #begin(run: (signal: AbortSignal) => Promise<boolean>): SharedTask<boolean> {
    const last = this.#job;
    const cause = last?.foreign;
    if (last && !last.isOver) {
      if (cause === undefined) return last;
      const age = Date.now() - last.began;
      // A clock that was set back holds nothing up.
      if (age >= 0 && age < ABANDONED) throw new FilterError("network", FOREIGN, { cause });
    }
    this.#job = new SharedTask(async (stopped) => {
      // It may be over but not have ended.
      if (cause === undefined) await last?.ended;
      stopped.throwIfAborted();
      this.#signal = stopped;
      return run(stopped);
    });
    return this.#job;
  }

  /** Throws for a job that was stopped, or that was abandoned and goes on after all. */
  protected requireJob(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (signal !== this.#signal) throw new FilterError("network", FOREIGN);
  }

  protected closed(): FilterError {
    return new FilterError("freed", `this ${this.noun} was closed`);
  }
}

/** Whether nothing goes back if what is in place stays there, rather than what the cache has. */
function isAtLeast<P extends Head>(present: Manifest<P>, kept: Manifest<P>): boolean {
  return present.feedId === kept.feedId && (present.generation > kept.generation || present.signed === kept.signed);
}

/** Whether an error says that the host gave no answer that is of any use. */
function isUnreached(error: unknown): error is FilterError {
  return isA(error, FilterError) && ["network", "http", "truncated"].includes(error.code);
}

/** Why there is nothing to begin with, where what the cache has can't be opened, and the host doesn't answer. */
function offline(unopened: FilterError, unreached: FilterError): FilterError {
  // A cache that lacks something would be no error if the host answered.
  const { code } = unopened.code === "cache" ? unreached : unopened;
  const cause = code === unopened.code ? unopened : unreached;
  return new FilterError(code, `${unopened.message}, and ${unreached.message}`, { cause });
}
