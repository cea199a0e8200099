/** Feeds in WebAssembly. */

import { Incoming, type Filter as RawFilter, requireSecret, Sha256 } from "../bloom_wasm.js";
import { call, release } from "../boundary/call.js";
import { known } from "../boundary/known.js";
import { type Filter, hold, isFreed } from "../filter/filter.js";
import type { Checks, Engine } from "./engine.js";
import { type Feed, type FeedOptions, openWith } from "./feed.js";

/** @internal */
export const checks: Checks = {
  known,
  sha256() {
    const hash = call(() => new Sha256());
    return {
      update: (bytes) => call(() => hash.update(bytes)),
      finish: () => call(() => hash.finish() as string),
      free: () => hash.free(),
    };
  },
  requireSecret: (seed, check, secret) => call(() => requireSecret(seed, check, secret)),
  release: release as Checks["release"],
};

/** A function, so that a bundler drops it where nobody opens a feed. */
const engine = (): Engine<RawFilter, Filter> => ({
  ...checks,
  arriving(bytes, secret) {
    const base = call(() => new Incoming(bytes, secret));
    return {
      push: (chunk, room) => call(() => base.push(chunk, room)),
      decode: () => call(() => base.decode()),
      free: () => base.free(),
    };
  },
  apply: (parent, delta) => call(() => parent.apply(delta)),
  info: (raw) => call(() => raw.info()),
  estimatedFpr: (raw) => call(() => raw.estimatedFpr),
  toBytes: (raw) => call(() => raw.toBytes()),
  copy: (raw) => call(() => raw.clone()),
  hold,
  isFreed,
});

/**
 * Opens a feed: a filter that stays up to date. The URL is that of its manifest, usually `feed.json`; the files lie
 * beside it. In Node, Deno and Bun, it may be a `file:` URL.
 *
 * If the cache has a generation, this resolves with it at once, even without a network, and updates behind; `stale`
 * tells whether it has expired. Otherwise this fetches the feed.
 *
 * Throws a {@link FilterError}: `not_a_feed`, `signature`, `wrong_feed`, `rollback`, `expired`, `integrity`,
 * `too_large`, and the codes of `load` and `apply`. An abort rejects with the signal's reason.
 *
 * An update takes the memory of the new filter beside the old one, and at most 512 KiB; the two share what their files
 * have in common. WebAssembly's memory contains this, and grows by at least a sixteenth. Each new file takes its length
 * once more while it is put into the cache. After an update that failed, what it had made of whole files stays for the
 * next one.
 */
export async function openFeed(url: string | URL, options: FeedOptions): Promise<Feed> {
  return openWith(engine(), url, options);
}
