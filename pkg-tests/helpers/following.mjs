/** What the tests of feeds and of sharded filters share. */
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { after, mock } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { installed } from "./installed.mjs";
import { serve } from "./publisher.mjs";

const { FilterError } = await installed();

const sites = [];
after(() => sites.forEach((site) => site.close()));

/** A publisher on a server, and how to open what it publishes: with `openFeed` or `openSharded`. */
export async function served(publisher, opening) {
  const site = await serve(publisher);
  sites.push(site);
  const open = (options) => opening(site.url, { publicKey: publisher.key.publicKey, cache: null, ...options });
  return { publisher, site, open };
}

/** Asserts that a promise rejects with a FilterError of this code. */
export async function fails(code, promise, what) {
  const error = await promise.then(
    (value) => assert.fail(`${what ?? code}: it resolved with ${value}`),
    (error) => error,
  );
  assert.ok(error instanceof FilterError, `${what ?? code}: ${error?.stack}`);
  assert.equal(error.code, code, `${what ?? ""} ${error.message}`);
  assert.ok(error.message.length > 0 && !/[{}]/.test(error.message), error.message);
  return error;
}

// A test may take away `crypto.subtle`.
const { subtle } = webcrypto;

/**
 * Lets everything continue that doesn't wait for a timer or the network. Other threads make signatures and hashes, so
 * this now and then waits for a hash, which is made after those requested earlier.
 */
export async function turns() {
  for (let i = 0; i < 30; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (i % 6 === 5) await subtle.digest("SHA-256", new Uint8Array(1));
  }
}

/**
 * Lets ten seconds of a mocked clock pass, until a promise has settled. Returns how often: other threads may be late, so
 * that is at most a few times more than the promise needs.
 */
export async function tens(promise, tick) {
  let isSettled = false;
  const settled = () => (isSettled = true);
  promise.then(settled, settled);
  for (let times = 0; ; times++) {
    await turns();
    if (isSettled) return times;
    tick(10_000);
  }
}

/** Calls that never settle, of a test that holds the clock. */
export function hanging(context) {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  let hung = 0;
  return {
    hang: () => new Promise(() => hung++),
    /** Lets ten seconds pass whenever a further call hangs, until a promise has settled. */
    async patiently(promise) {
      let isSettled = false;
      const settled = () => (isSettled = true);
      promise.then(settled, settled);
      while (!isSettled) {
        await turns();
        if (hung > 0) mock.timers.tick(10_000);
        hung = 0;
      }
      return promise;
    },
  };
}

/** Collects garbage now. */
export function collectGarbage() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

/** A `fetch` without a network. */
export const noNetwork = () => Promise.reject(new TypeError("offline"));

/** A Worker's requests: an AbortController of one throws in another, as in workerd. `at` is the current request. */
export function workerRequests(context) {
  const requests = { at: 1 };
  const { AbortController, fetch } = globalThis;
  context.after(() => Object.assign(globalThis, { AbortController, fetch }));
  // Node's own fetch makes such controllers too, and would lose its connections if they threw.
  globalThis.fetch = (...args) => {
    const mine = globalThis.AbortController;
    globalThis.AbortController = AbortController;
    try {
      return fetch(...args);
    } finally {
      globalThis.AbortController = mine;
    }
  };
  globalThis.AbortController = class extends AbortController {
    #of = requests.at;
    #own() {
      if (requests.at !== this.#of) throw new Error("Cannot perform I/O on behalf of a different request.");
    }
    constructor() {
      super();
      const { get } = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted");
      const aborted = () => (this.#own(), get.call(this.signal));
      Object.defineProperty(this.signal, "aborted", { get: aborted });
      Object.defineProperty(this.signal, "throwIfAborted", {
        value: () => {
          if (aborted()) throw this.signal.reason;
        },
      });
    }
    abort(reason) {
      this.#own();
      super.abort(reason);
    }
  };
  return requests;
}
