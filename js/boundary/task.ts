/** Work that several callers wait for. */

import { quietly, unlessAborted } from "./stream.js";

/** @internal Something that is done once for all who wait for it, and stopped when nobody does any more. */
export class SharedTask<T> {
  /** When it began, in milliseconds since 1970. */
  readonly began = Date.now();
  /** How many are waiting. */
  waiting = 0;
  /** The result, once it is there. */
  value: T | undefined;
  /** Settles when nothing more is being done. It never rejects. */
  readonly ended: Promise<unknown>;
  #result: Promise<T>;
  #stop = new AbortController();
  #isOver = false;
  #isStopped = false;

  constructor(run: (signal: AbortSignal) => Promise<T>) {
    this.#result = this.#run(run);
    this.ended = this.#result.catch(() => {});
  }

  async #run(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      // Later, since somebody's `fetch` or cache may come back here.
      await undefined;
      this.#stop.signal.throwIfAborted();
      return (this.value = await run(this.#stop.signal));
    } finally {
      // Before anybody hears of it.
      this.#isOver = true;
    }
  }

  /** Whether it has ended, or is being stopped: who comes now must begin another. */
  get isOver(): boolean {
    return this.#isOver || this.#isStopped;
  }

  /**
   * What a Worker throws of a task that another request has begun. Nobody else can wait for that: if the request is over, it
   * never ends.
   */
  get foreign(): unknown {
    try {
      return void this.#stop.signal.aborted;
    } catch (error) {
      return error;
    }
  }

  /** Waits for the result, and counts as waiting until it has been used. */
  async wait<U>(signal: AbortSignal | undefined, use: (value: T) => U): Promise<U> {
    this.waiting++;
    try {
      return use(await unlessAborted(this.#result, signal));
    } finally {
      if (--this.waiting === 0) this.stop();
    }
  }

  /** Stops it, unless it has ended. */
  stop(reason?: unknown): void {
    if (this.#isOver) return;
    this.#isStopped = true;
    void quietly(() => this.#stop.abort(reason));
  }
}
