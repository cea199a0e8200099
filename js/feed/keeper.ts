/** Keeps the newest generation of a feed or a sharded filter in place, and in the cache. */

import type { Names } from "../boundary/known.js";
import { unlessAborted } from "../boundary/stream.js";
import { SharedTask } from "../boundary/task.js";
import { FilterError } from "../error.js";
import { patiently } from "./cache.js";
import type { Head, Manifest } from "./manifest.js";
import type { Origin } from "./origin.js";

/** When a job that another request of a Worker began counts as one that never ends, in milliseconds. */
const ABANDONED = 60_000;

const FOREIGN =
  "another request of this Worker began the update, and it may have ended with that; pass each update to ctx.waitUntil";

/** @internal What feeds and sharded filters have in common: one job at a time, and writing that holds up nothing. */
export abstract class Keeper<P extends Head> {
  /** The generation in place. There is one as soon as anybody else has the keeper. */
  manifest!: Manifest<P>;
  protected readonly origin: Origin<P>;
  /** Why the cache lacks that generation. */
  #lack: FilterError | undefined;
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

  /** Has the cache keep the generation in place. */
  protected abstract keep(): Promise<void>;

  /** Called when the cache can't keep something. */
  protected failed(_error: FilterError): void {}

  /** Called once, when it is closed. */
  protected abstract free(ended: Promise<unknown>): void;

  /** The generation that answers just now. */
  get present(): Head {
    return this.manifest;
  }

  get cacheError(): FilterError | undefined {
    return this.#lack;
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

  /** Throws `invalid_parameter` for an option that a function hasn't got. */
  known(options: unknown, its: { [name: string]: Names }): void {
    this.origin.checks.known(options, its);
  }

  requireOpen(): void {
    if (this.#isClosed) throw this.closed();
  }

  /** Puts the generation in place that the cache has. Returns whether there is one. */
  restore(signal: AbortSignal | undefined): Promise<boolean> {
    return this.#join((stopped) => this.#restore(stopped), signal);
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

  /** Begins an update. Nobody waits for it yet, so whoever joins it and gives up stops it. */
  begin(): void {
    this.#begin((stopped) => this.renew(stopped));
  }

  /** Removes what the cache has for other keys, or closes it and removes all that the cache has for its own. */
  async forget(publicKey?: string | string[] | null): Promise<void> {
    const { origin, manifest } = this;
    const other = publicKey === undefined ? undefined : await origin.storeOf(publicKey);
    if (other) return other.forget(manifest.feedId);
    this.close();
    await this.#job?.ended;
    await patiently(this.settled());
    await patiently(origin.store.forget(manifest.feedId, manifest));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#job?.stop(this.closed());
    this.free(this.#job?.ended ?? Promise.resolve());
  }

  /** Writes into the cache what it then is time for, after all else. */
  protected write(run: () => Promise<void>): void {
    if (!this.#isSilent) this.#written = this.#written.then(run);
  }

  /** Settles once nothing is being written. */
  protected async settled(): Promise<unknown> {
    return this.#written;
  }

  /** Waits for what is being written. That can't be stopped: if it takes too long, all else goes on without the cache. */
  protected async wait(writing: Promise<void>): Promise<void> {
    if (this.#isSilent) return;
    try {
      await patiently(writing);
    } catch (error) {
      this.#isSilent = true;
      writing.then(() => (this.#isSilent = false));
      this.#lacks(error as FilterError);
    }
  }

  /** Puts the newest generation in place. */
  protected async renew(signal: AbortSignal): Promise<boolean> {
    const present = this.manifest as Manifest<P> | undefined;
    let isPlaced = false;
    try {
      const manifest = await this.origin.newest(present, signal);
      if (manifest.generation === present?.generation) return false;
      await this.#place(manifest, signal, false);
      isPlaced = true;
      return true;
    } finally {
      if (isPlaced || this.#lack) this.write(() => this.#keep());
    }
  }

  async #restore(signal: AbortSignal): Promise<boolean> {
    const { origin } = this;
    const manifest = await unlessAborted(origin.store.first(), signal);
    if (manifest === undefined) return false;
    try {
      origin.requireSecret(manifest);
      await this.#place(manifest, signal, true);
      return true;
    } catch {
      // An update will say why, or fetch what is missing.
      signal.throwIfAborted();
      return false;
    }
  }

  async #place(manifest: Manifest<P>, signal: AbortSignal, isRestored: boolean): Promise<void> {
    await this.build(manifest, signal, isRestored);
    this.manifest = manifest;
  }

  /** Lets the cache keep the generation in place. If it can't, it still has the old one. */
  async #keep(): Promise<void> {
    const { manifest } = this;
    try {
      await this.keep();
      // One that took its time may be an old one by now.
      if (manifest === this.manifest) this.#lack = undefined;
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
      if (Date.now() - last.began < ABANDONED) throw new FilterError("network", FOREIGN, { cause });
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
