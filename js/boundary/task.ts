/** Work that several callers wait for. */

import { quietly, unlessAborted } from "./stream.js";

/** @internal A task that runs once for all who wait for it, and is stopped when nobody does any more. */
export class SharedTask<T> {
  /** When it began, in milliseconds since 1970. */
  readonly began = Date.now();
  /** How many are waiting. */
  waiting = 0;
  /** The result, once it is there. */
  value: T | undefined;
  /** Settles when the task has ended. It never rejects. */
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
      // Not synchronously, since a caller's `fetch` or cache may call back here.
      await undefined;
      this.#stop.signal.throwIfAborted();
      return (this.value = await run(this.#stop.signal));
    } finally {
      // Before anybody gets the result.
      this.#isOver = true;
    }
  }

  /** Whether it has ended or is being stopped: a new caller must begin another. */
  get isOver(): boolean {
    return this.#isOver || this.#isStopped;
  }

  /**
   * The error that a Worker throws when the task belongs to another request. Only that request can wait for it: once
   * the request is over, the task never ends.
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
