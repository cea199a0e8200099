/// <reference lib="esnext.disposable" preserve="true" />
/** Filters that are too large to download. */

import {
  invalidParameter,
  iterable,
  type Key,
  noKey,
  ownKey,
  requireLimit,
  requirePassword,
  requireProfile,
} from "../boundary/input.js";
import { type Every, known, type Names } from "../boundary/known.js";
import { requireSignal, unlessAborted } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { isKey } from "../plain/engine.js";
import { PROFILES } from "../plain/info.js";
import { passwordKey } from "../plain/password.js";
import { urlExpressions } from "../plain/url.js";
import { clientOf, type GenerationInfo, Generations, generationInfo } from "./generations.js";
import { type Manifest, type ShardsPayload, shardsKind } from "./manifest.js";
import { type OpeningOptions, Origin, opening } from "./origin.js";
import { Shards } from "./shards.js";

/** The options of {@link openSharded}. */
export interface ShardedOptions extends OpeningOptions {
  /** About how many bytes of pages and shards stay in memory. 32 MiB by default. */
  maxMemory?: number;
}

const openingSharded = { ...opening, maxMemory: 1 } satisfies Every<ShardedOptions>;

/** The options of a question. */
export interface AskOptions {
  /** Stops waiting, and the transfer too if nobody else waits for it. The promise then rejects with its reason. */
  signal?: AbortSignal;
}

/** The options of many questions at once. */
export interface ManyOptions extends AskOptions {
  /** How many requests may be under way at once for this call: 1 or more. 8 by default. */
  concurrency?: number;
}

/** A description of a sharded filter: a plain object that can go into JSON. */
export interface ShardedInfo extends GenerationInfo {
  /** Whether the digests depend on a secret. */
  keyed: boolean;
  /** The number of shards. */
  shards: number;
  /** The length of all shards in bytes. */
  byteLength: number;
  /** The names of the tags that members may have, and how many have each; null for a filter without tags. */
  tags: { name: string; count: number }[] | null;
}

/**
 * Opens a sharded filter: one that is too large to download, of which each answer needs a small part. The URL is that
 * of its manifest, usually `shards.json`; pages and shards lie beside it. In Node, Deno and Bun, it may be a `file:`
 * URL.
 *
 * If the cache has a manifest, this resolves with it at once, even without a network, and updates in the background;
 * `stale` tells whether it has expired. Otherwise this fetches the manifest.
 *
 * A request tells the host the first bits of a key's digest. That is fine for passwords, since thousands share each
 * shard. For what people browse, use a feed: few popular sites share a shard.
 *
 * Throws a {@link FilterError}: `http`, `network`, `truncated`, `too_large`, `not_a_feed`, `unsupported_version`,
 * `signature`, `wrong_feed`, `rollback`, `expired`, `secret_required`, `wrong_secret`. An abort rejects with the signal's reason.
 */
export async function openSharded(url: string | URL, options: ShardedOptions): Promise<ShardedFilter> {
  known(options, "openSharded", openingSharded);
  const { signal, maxMemory = 2 ** 25 } = Object(options) as ShardedOptions;
  requireLimit({ maxMemory });
  const shards = new Shards(await Origin.of(shardsKind, url, options), maxMemory);
  await shards.open(signal);
  return Reflect.construct(ShardedFilter, [shards]) as ShardedFilter;
}

/**
 * A filter that is too large to download. {@link openSharded} opens one. "Maybe present" may be wrong, at a known rate;
 * "definitely absent" never is.
 *
 * A question for which nothing is in memory takes two requests: for a page, and for a shard. Both are verified before
 * anything is answered. Callers who need the same file share one request. A failure rejects with a {@link FilterError}
 * (`http`, `network`, `truncated`, `integrity`, `not_a_feed`, `too_large`, and the codes of `decode`), and the next
 * call tries again.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Symbol.dispose is only there where the runtime knows it
export class ShardedFilter extends Generations {
  private constructor(shards: Shards) {
    if (!(shards instanceof Shards)) throw invalidParameter("open sharded filters with openSharded");
    super(shards);
  }

  /**
   * Looks up a key: true = maybe present, false = definitely absent. The keys of a URL filter look like
   * `evil.example/`; a whole URL or a bare host is never one and rejects with `invalid_key`: use {@link hasUrl}. So
   * does a string that can't be a key of a password filter: use {@link hasPassword}.
   */
  async has(key: Key, options?: AskOptions): Promise<boolean> {
    const keys = [ownKey(key)];
    return asked(this, options, async (question) => {
      requireKeys(question.manifest, keys);
      return (await first(question, keys)) !== undefined;
    });
  }

  /**
   * Looks up many keys at once, as {@link has} does. Resolves with one byte per key, in their order: 1 = maybe present,
   * 0 = definitely absent. Each shard that they need is fetched once. If one can't be fetched, the whole call rejects.
   */
  async hasMany(keys: Iterable<Key>, options?: ManyOptions): Promise<Uint8Array<ArrayBuffer>> {
    const all = Array.from(iterable(keys), ownKey);
    return many(this, options, (manifest) => {
      requireKeys(manifest, all);
      return all;
    });
  }

  /** Whether a URL, a host, or a host with a path is maybe on the list. See {@link matchUrl}. */
  async hasUrl(url: string | URL, options?: AskOptions): Promise<boolean> {
    return (await this.matchUrl(url, options)) !== null;
  }

  /**
   * Looks up all keys of a URL, as Safe Browsing does. Resolves with the first one that is maybe present, such as
   * `evil.example/`, or null if there is none or the URL has no host to check. All keys of a site are in one shard; a URL
   * that browsers may read in two ways can need two. Rejects with `wrong_profile` unless the filter was built with the
   * profile `url`.
   */
  async matchUrl(url: string | URL, options?: AskOptions): Promise<string | null> {
    const keys = urlExpressions(url);
    return asked(this, options, async (question) => {
      requireProfile(question.manifest.profile, "url");
      return (await first(question, keys)) ?? null;
    });
  }

  /**
   * The tags of a key, such as the lists that it is on, in the order of `info().tags`. They are exact for every key
   * that the filter was built from. A key that is definitely absent has none; any other that is maybe present gets some
   * set of tags that occurs. A key that was added without a tag has none either: check {@link has}, too. Rejects with
   * `wrong_kind` for a filter without tags, and with `invalid_key` where {@link has} does.
   */
  async tags(key: Key, options?: AskOptions): Promise<string[]> {
    const keys = [ownKey(key)];
    return asked(this, options, (question) => {
      requireKeys(question.manifest, keys);
      return tagsOf(question, keys);
    });
  }

  /**
   * The tags of all keys of a URL that are maybe present, each once. {@link matchUrl} stops at the first key; this
   * looks up all of them, because each may have other tags. Each may also be a false positive, whose tags are then
   * added. Rejects with `wrong_profile` unless the filter was built with the profile `url`, and with `wrong_kind` if it
   * has no tags.
   */
  async urlTags(url: string | URL, options?: AskOptions): Promise<string[]> {
    const keys = urlExpressions(url);
    return asked(this, options, (question) => {
      requireProfile(question.manifest.profile, "url");
      return tagsOf(question, keys);
    });
  }

  /**
   * Whether a password is maybe on the list. Pass the whole password as it was typed. It is normalised, and lower-cased
   * and hashed if the filter was built that way. Rejects with `wrong_profile` unless the filter was built with the
   * profile `password`.
   */
  async hasPassword(password: string, options?: AskOptions): Promise<boolean> {
    requirePassword(password);
    return asked(this, options, async (question) => {
      const keys = passwordKeys(question.manifest, [password]);
      return (await first(question, keys)) !== undefined;
    });
  }

  /**
   * Looks up many passwords at once, such as all of a password manager's: as {@link hasPassword}, and with the requests
   * of {@link hasMany}.
   */
  async hasPasswords(passwords: Iterable<string>, options?: ManyOptions): Promise<Uint8Array<ArrayBuffer>> {
    const all = Array.from(iterable(passwords), requirePassword);
    return many(this, options, (manifest) => passwordKeys(manifest, all));
  }

  /** A description of the sharded filter: a plain object that can go into JSON. */
  info(): ShardedInfo {
    const { manifest } = clientOf<Shards>(this);
    const { shards, bytes: byteLength, check, tags } = manifest;
    return {
      ...generationInfo(manifest),
      keyed: check !== undefined,
      shards,
      byteLength,
      tags: tags?.map((tag) => ({ ...tag })) ?? null,
    };
  }

  /**
   * Fetches the manifest, and nothing else. Resolves with true once a newer generation is in place, and with false if
   * there is none. What hasn't changed stays in memory.
   *
   * If it fails, the generation in place stays, and the promise rejects with the codes of {@link openSharded}, or with
   * `freed` if it was closed. If an update is under way, this joins it.
   */
  async update(options?: AskOptions): Promise<boolean> {
    return clientOf<Shards>(this).update(signalOf(options));
  }

  /** The name of the class. It keeps frameworks from wrapping sharded filters in proxies. */
  get [Symbol.toStringTag](): string {
    return "ShardedFilter";
  }
}

/** `using filter = ...` closes it at the end of the block, where the runtime knows `Symbol.dispose`. */
export interface ShardedFilter extends Disposable {}

/** What is asked, and where. */
interface Question {
  shards: Shards;
  manifest: Manifest<ShardsPayload>;
  signal: AbortSignal | undefined;
}

async function asked<T>(
  filter: ShardedFilter,
  options: AskOptions | undefined,
  ask: (question: Question) => Promise<T>,
): Promise<T> {
  const shards = clientOf<Shards>(filter);
  const signal = signalOf(options);
  return shards.answer(signal, (manifest) => ask({ shards, manifest, signal }));
}

async function many(
  filter: ShardedFilter,
  options: ManyOptions | undefined,
  keysOf: (manifest: Manifest<ShardsPayload>) => Key[],
): Promise<Uint8Array<ArrayBuffer>> {
  const shards = clientOf<Shards>(filter);
  const signal = signalOf(options, "many questions", { signal: 1, concurrency: 1 } satisfies Every<ManyOptions>);
  const { concurrency = 8 } = Object(options) as ManyOptions;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw invalidParameter("concurrency must be a whole number of 1 or more");
  }
  return shards.answer(signal, (manifest) => each({ shards, manifest, signal }, keysOf(manifest), concurrency));
}

/** The tags of keys that are maybe present, each once. */
async function tagsOf({ shards, manifest, signal }: Question, keys: Key[]): Promise<string[]> {
  const { tags } = manifest;
  if (tags === undefined) throw new FilterError("wrong_kind", "this sharded filter has no tags");
  const found = new Set<string>();
  for (const [shard, numbers] of placed(shards, manifest, keys)) {
    await shards.use(manifest, shard, signal, (filter) => {
      for (const name of numbers.flatMap((i) => filter.tags(keys[i]!))) found.add(name);
    });
  }
  return tags.flatMap(({ name }) => (found.has(name) ? name : []));
}

/** The numbers of keys by their shards, in the order of the first of each. */
function placed(shards: Shards, manifest: ShardsPayload, keys: Key[]): Map<number, number[]> {
  const placed = new Map<number, number[]>();
  const shardOf = shards.sharding(manifest);
  keys.forEach((key, i) => {
    const shard = shardOf(key);
    placed.get(shard)?.push(i) ?? placed.set(shard, [i]);
  });
  return placed;
}

/** The first of the keys that is maybe present. */
async function first<K extends Key>({ shards, manifest, signal }: Question, keys: K[]): Promise<K | undefined> {
  let found = keys.length;
  for (const [shard, numbers] of placed(shards, manifest, keys)) {
    const earlier = numbers.filter((i) => i < found);
    if (earlier.length === 0) continue;
    await shards.use(manifest, shard, signal, (filter) => {
      found = earlier.find((i) => filter.has(keys[i]!)) ?? found;
    });
  }
  return keys[found];
}

async function each(
  { shards, manifest, signal }: Question,
  keys: Key[],
  concurrency: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const numbers = placed(shards, manifest, keys);
  const answers = new Uint8Array(keys.length);
  const groups = numbers.entries();
  // One for each, because Node warns when eleven listen to the same signal.
  const stops = Array.from({ length: Math.min(concurrency, numbers.size) }, () => new AbortController());
  const ask = async (stop: AbortController) => {
    // Each takes the next one from the same iterator.
    for (const [shard, group] of groups) {
      await shards.use(manifest, shard, stop.signal, (filter) => {
        for (const i of group) answers[i] = Number(filter.has(keys[i]!));
      });
    }
  };
  try {
    await unlessAborted(Promise.all(stops.map(ask)), signal);
  } finally {
    // Once one has failed, nobody waits for the others.
    for (const stop of stops) stop.abort();
  }
  return answers;
}

/** The signal of a question's options, which may have only these names. */
function signalOf(
  options: AskOptions | undefined,
  what = "a question",
  names: Names = { signal: 1 } satisfies Every<AskOptions>,
): AbortSignal | undefined {
  // A number is what `map(filter.has, filter)` gives.
  if (typeof options === "number") return undefined;
  known(options ?? undefined, what, names);
  const { signal } = Object(options) as AskOptions;
  requireSignal(signal);
  return signal;
}

/** Those flags of a blob that say how passwords are compared. */
function flagsOf({ lowercase, sha1 }: ShardsPayload): number {
  return (lowercase ? 4 : 0) | (sha1 ? 8 : 0);
}

/** The keys of passwords. Throws `wrong_profile` unless the filter has passwords. */
function passwordKeys(manifest: ShardsPayload, passwords: string[]): Key[] {
  requireProfile(manifest.profile, "password");
  return passwords.map((password) => passwordKey(password, flagsOf(manifest)));
}

/** Throws for keys that a filter of URLs or passwords can't hold, before anything is fetched. */
function requireKeys(manifest: ShardsPayload, keys: Key[]): void {
  const { profile } = manifest;
  for (const key of keys)
    if (!isKey(PROFILES.indexOf(profile), flagsOf(manifest), key, typeof key === "string")) throw noKey(profile, key);
}
