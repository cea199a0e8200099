/** Feeds in plain JavaScript. */

import type { Engine } from "../feed/engine.js";
import { Feed as AnyFeed, type WatchOptions as AnyWatchOptions, type FeedOptions, openWith } from "../feed/feed.js";
import type { Blob } from "./blob.js";
import { apply } from "./delta.js";
import { type Filter, hold, isFreed, toBytes } from "./filter.js";
import { keyOf } from "./hashing.js";
import { describe, estimatedFpr } from "./info.js";
import { Incoming } from "./load.js";
import { requireOptions } from "./options.js";
import { sha256 } from "./sha256.js";
import type { U64 } from "./words.js";

/** A filter that stays up to date. {@link openFeed} opens one. */
export type Feed = AnyFeed<Filter>;
export const Feed: { readonly prototype: Feed } = AnyFeed;

/** The options of {@link Feed.watch}. */
export type WatchOptions = AnyWatchOptions<Filter>;

/** The low half and the high half of a number of 64 bits. */
function halves(number: bigint): U64 {
  return [number, number >> 32n].map((half) => Number(BigInt.asIntN(32, half)));
}

/** A function, so that a bundler drops it where nobody opens a feed. */
const engine = (): Engine<Blob, Filter> => ({
  known: requireOptions,
  sha256,
  requireSecret(seed, check, secret) {
    keyOf(secret, halves(seed), check === undefined ? undefined : halves(check));
  },
  arriving: (bytes, secret) => new Incoming(bytes, secret),
  apply,
  info: describe,
  estimatedFpr,
  toBytes,
  // A blob never changes, and the collector frees it.
  copy: (blob) => blob,
  release() {},
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
 * An update takes the memory of the new filter beside the old one; the two share what their files have in common. Each
 * delta takes the length of the whole once more while it is applied, and each new file its length while it is put into
 * the cache. After an update that failed, what it had made of whole files stays for the next one.
 */
export async function openFeed(url: string | URL, options: FeedOptions): Promise<Feed> {
  return openWith(engine(), url, options);
}
