/** Work that several callers wait for. */

import { unlessAborted } from "./stream.js";

/** @internal Something that is done once for all who wait for it, and stopped when nobody does any more. */
export class SharedTask<T> {
  /** How many are waiting. */
  waiting = 0;
  /** The result, once it is there. */
  value: T | undefined;
  /** Settles when nothing more is being done. It never rejects. */
  readonly ended: Promise<unknown>;
  #result: Promise<T>;
  #stop = new AbortController();
  #isOver = false;

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
    return this.#isOver || this.#stop.signal.aborted;
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
    if (!this.#isOver) this.#stop.abort(reason);
  }
}
