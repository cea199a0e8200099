import { unlinkSync, utimesSync } from "node:fs";

/** The longest possible path, in bytes: 32,767 UTF-16 units, on Windows. */
const LONGEST = 3 * 32_767;

/**
 * The present temporary file, shared by both threads. A signal removes it, or waits until it has its final name. The
 * lock of cli/src/files/lock.rs is another such file; holding the temporary file holds both.
 */
export class Temporary {
  /** Whether it is held (0 or 1), and the length of the path (0 for none). */
  #state;
  #path;

  /** @param {SharedArrayBuffer} shared */
  constructor(shared = new SharedArrayBuffer(8 + LONGEST)) {
    this.shared = shared;
    this.#state = new Int32Array(shared, 0, 2);
    this.#path = new Uint8Array(shared, 8);
  }

  /** Waits until nobody else holds it. */
  hold() {
    while (Atomics.exchange(this.#state, 0, 1) === 1) Atomics.wait(this.#state, 0, 1);
  }

  letGo() {
    Atomics.store(this.#state, 0, 0);
    Atomics.notify(this.#state, 0);
  }

  /** Remembers its path, or that there is none. */
  set(/** @type {Uint8Array | undefined} */ path) {
    this.#path.set(path ?? []);
    this.#state[1] = path?.length ?? 0;
  }

  get path() {
    return Buffer.from(this.#path.subarray(0, this.#state[1]));
  }

  remove() {
    if (this.#state[1] > 0) attempt(() => unlinkSync(this.path));
  }

  /** Sets its times to now. */
  renew() {
    if (this.#state[1] > 0) attempt(() => utimesSync(this.path, new Date(), new Date()));
  }
}

function attempt(/** @type {() => void} */ run) {
  try {
    run();
  } catch {
    // It is gone already.
  }
}
