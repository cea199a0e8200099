/// <reference lib="esnext.disposable" preserve="true" />
/** Filters that stay up to date. */

import { invalidParameter, requireLimit, requireType } from "../boundary/input.js";
import { type Every, known } from "../boundary/known.js";
import { requireSignal } from "../boundary/stream.js";
import type { FilterError } from "../error.js";
import type { Filter } from "../filter/filter.js";
import { Follower, type Watcher } from "./follower.js";
import { clientOf, type GenerationInfo, Generations, generationInfo } from "./generations.js";
import { feedKind, lengthOf } from "./manifest.js";
import { type OpeningOptions, Origin, opening } from "./origin.js";

/** The options of {@link openFeed}. */
export interface FeedOptions extends OpeningOptions {
  /** Called after each chunk of an update's files, with the bytes loaded so far and in total. */
  onProgress?: (progress: { loaded: number; total: number }) => void;
  /** The greatest age of a generation, in milliseconds. An older one counts as expired, whatever its own expiry. */
  maxAge?: number;
  /** The most bytes that all files together may have. By default only memory is the limit. */
  maxBytes?: number;
  /**
   * The URL of the manifest in a copy of the feed's folder that comes with your app: a file of an extension or a page,
   * or a `file:` URL. If the cache has nothing, it answers at once, so that a first start needs no network; otherwise
   * the first update takes it if it is newer. It is verified like everything else, but may have expired. What it has
   * isn't fetched again. If it can't be used, or not within ten seconds (or `timeout`), {@link Feed.packagedError} says
   * why, and the feed does without it.
   */
  packaged?: string | URL;
}

/** The options of {@link Feed.watch}. */
export interface WatchOptions {
  /** Milliseconds between two updates, at least 1000. Each wait is up to a tenth longer or shorter. */
  every: number;
  /** Called whenever a newer generation is in place. */
  onUpdate?: (feed: Feed) => void;
  /** Called with the error of an update that failed, and with each new `cacheError`. */
  onError?: (error: unknown) => void;
}

/** The options of {@link Feed.update}. */
export interface UpdateOptions {
  /** Stops waiting, and the transfer too if nobody else waits for it. The promise then rejects with its reason. */
  signal?: AbortSignal;
  /**
   * How often your own timer or alarm calls this, in milliseconds, at least 1000. After a failure, calls reject with
   * the last error, without asking the host, until twice that time has passed; after more failures in a row, four and
   * then eight times, as {@link Feed.watch} waits. The feed remembers this while it is open. Without `every`, the host
   * is always asked.
   */
  every?: number;
}

const openingFeed = { ...opening, onProgress: 1, maxAge: 1, maxBytes: 1, packaged: 1 } satisfies Every<FeedOptions>;

const updating = { signal: 1, every: 1 } satisfies Every<UpdateOptions>;

const watching = { every: 1, onUpdate: 1, onError: 1 } satisfies Every<WatchOptions>;

/** A description of a feed: a plain object that can go into JSON. */
export interface FeedInfo extends GenerationInfo {
  /** The estimated false-positive rate per key of the filter in place, 0 to 1. */
  estimatedFpr: number;
  /** The number of files: the base and the deltas. */
  files: number;
  /** The length of all files in bytes. */
  byteLength: number;
}

/**
 * Opens a feed: a filter that stays up to date. The URL is that of its manifest, usually `feed.json`; the files lie
 * beside it. In Node, Deno and Bun, it may be a `file:` URL.
 *
 * If the cache has a generation, or else your app's package, this resolves with it at once, even without a network, and
 * updates in the background; `stale` tells whether it has expired. Otherwise this fetches the feed.
 *
 * Throws a {@link FilterError}: `not_a_feed`, `signature`, `wrong_feed`, `rollback`, `expired`, `integrity`,
 * `too_large`, `wrong_base`, and the codes of `load`. An abort rejects with the signal's reason.
 *
 * An update needs memory for the new filter besides the old one; the two share what their files have in common.
 * Applying a delta takes the length of the whole filter once more, for that time, and so does each look whether the cache
 * has the base. What a failed update has made of complete files stays in memory for the next one.
 */
export async function openFeed(url: string | URL, options: FeedOptions): Promise<Feed> {
  known(options, "openFeed", openingFeed);
  const { signal, onProgress, maxBytes = Infinity } = Object(options) as FeedOptions;
  requireType("function", { onProgress });
  requireLimit({ maxBytes });
  const follower = new Follower({ origin: await Origin.of(feedKind, url, options), onProgress, maxBytes });
  await follower.open(signal);
  return Reflect.construct(Feed, [follower]) as Feed;
}

/** A filter that stays up to date. {@link openFeed} opens one. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Symbol.dispose is only there where the runtime knows it
export class Feed extends Generations {
  private constructor(follower: Follower) {
    if (!(follower instanceof Follower)) throw invalidParameter("open feeds with openFeed");
    super(follower);
  }

  /**
   * The filter of the newest generation. It is always complete. An update doesn't change it but replaces it, so use
   * `feed.filter` each time. A filter that you keep stays as it is. If you free it, the next `feed.filter` is another.
   */
  get filter(): Filter {
    return clientOf<Follower>(this).filter;
  }

  /**
   * Why the generation that comes with the app can't be used: it is damaged, not signed by your key, of another feed, or
   * can't be read. Undefined if all is well.
   */
  get packagedError(): FilterError | undefined {
    return clientOf<Follower>(this).packagedError;
  }

  /** A description of the feed: a plain object that can go into JSON. */
  info(): FeedInfo {
    const { manifest, estimatedFpr } = clientOf<Follower>(this).place;
    return {
      ...generationInfo(manifest),
      estimatedFpr,
      files: manifest.files.length,
      byteLength: lengthOf(manifest),
    };
  }

  /**
   * Fetches what is new. Resolves with true once a newer generation is in place, and with false if there is none. A
   * manifest that is up to ten minutes older, as a lagging CDN node may send, counts as nothing new.
   *
   * If it fails, the generation in place stays, or that of a cache which answered late is put there. The promise
   * rejects with the codes of `openFeed`, or with `freed` if the feed was closed. Files that had arrived completely
   * aren't fetched again. If an update is under way, this joins it. The signal ends only this wait, and the transfer
   * too if nobody else waits for it.
   */
  async update(options?: UpdateOptions): Promise<boolean> {
    const follower = clientOf<Follower>(this);
    known(options ?? undefined, "update", updating);
    const { signal, every } = Object(options) as UpdateOptions;
    requireSignal(signal);
    if (every === undefined) return follower.update(signal);
    requireEvery(every);
    return follower.updateEvery(every, signal);
  }

  /**
   * Updates regularly, until the returned function is called or the feed is closed. After failures it waits longer, up
   * to eight times `every`. It doesn't keep an otherwise finished program running.
   *
   * An error thrown by your callbacks becomes an uncaught error of the runtime; watching continues.
   */
  watch(options: WatchOptions): () => void {
    const follower = clientOf<Follower>(this);
    known(options, "watch", watching);
    const { every, onUpdate, onError } = Object(options) as WatchOptions;
    requireType("function", { onUpdate, onError });
    requireEvery(every);
    follower.requireOpen();
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const watcher: Watcher = {
      updated: () => onUpdate && later(() => onUpdate(this)),
      failed: (error) => onError && later(() => onError(error)),
      stop() {
        clearTimeout(timer);
        follower.watchers.delete(watcher);
        stop.abort();
      },
    };
    /**
     * Calls a callback in a microtask, unless watching has ended by then, so that an error in it stops nothing here.
     */
    const later = (run: () => void) => queueMicrotask(() => stop.signal.aborted || run());
    const wait = () => {
      const milliseconds = follower.pause(every) * (0.9 + Math.random() / 5);
      timer = setTimeout(update, Math.min(milliseconds, 2 ** 31 - 1));
      // In Node and Bun it is an object. Deno has numbers.
      Object(timer).unref?.();
      if (typeof timer === "number") Object(globalThis).Deno?.unrefTimer(timer);
    };
    const update = async () => {
      try {
        await follower.update(stop.signal);
      } catch (error) {
        watcher.failed(error);
      }
      if (!stop.signal.aborted) wait();
    };
    follower.watchers.add(watcher);
    if (follower.isUpdating) update();
    else wait();
    return watcher.stop;
  }

  /** The name of the class. It keeps frameworks from wrapping feeds in proxies. */
  get [Symbol.toStringTag](): string {
    return "Feed";
  }
}

/** `using feed = ...` closes it at the end of the block, where the runtime knows `Symbol.dispose`. */
export interface Feed extends Disposable {}

function requireEvery(every: number): void {
  if (typeof every === "number" && every >= 1000 && every < Infinity) return;
  throw invalidParameter("every must be 1000 milliseconds or more");
}
