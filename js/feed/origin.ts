/**
 * Where a feed or a sharded filter comes from: the newest manifest, and files that are named by their hash.
 * FEED-FORMAT.md says what a client must do, and in which order.
 */

import { concat, copied, invalidParameter, requireLimit, requireType, room, secretIn } from "../boundary/input.js";
import { failed, named, quietly, readAll, requireSignal, requireTimeout, unlessAborted } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import type { LoadOptions } from "../filter/reading.js";
import { type OpenOptions, open, shown } from "../filter/receive.js";
import { sha256 as newSha256, sha256Of } from "../plain/sha256.js";
import { cacheStorage, type FeedCache, FeedStore, requireCache } from "./cache.js";
import {
  type Head,
  hashingOf,
  importKeys,
  type Kind,
  LONGEST,
  type Manifest,
  readManifest,
  type SignedFile,
  type TrustedKeys,
} from "./manifest.js";
import { isOver, type Known, trust } from "./trust.js";

/** The options of both `openFeed` and `openSharded`. */
export interface OpeningOptions extends Pick<LoadOptions, "fetch" | "secret"> {
  /**
   * The public key that must have signed the manifest, in base64url without padding, as `bloom-wasm feed keygen` prints
   * it; or several, one of which is enough. Null says that the manifest is unsigned.
   */
  publicKey: string | string[] | null;
  /**
   * Where to keep what was fetched, for the next start: all of a feed; of a sharded filter the manifest, and the pages
   * and shards that were asked for. By default Cache Storage, where there is one; null = nowhere.
   */
  cache?: FeedCache | null;
  /** Stops opening. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * How long the host may take, in milliseconds, above 0: for each update, including the first one when nothing is
   * cached, and for each page or shard of a sharded filter. After that it rejects with `network`. No limit by default.
   */
  timeout?: number;
}

/** @internal The names of those options. */
export const opening = { publicKey: 1, secret: 1, cache: 1, signal: 1, timeout: 1, fetch: 1 } as const;

/** How long what comes with the app may take, in milliseconds. */
const AT_HAND = 10_000;

/** Hands the bytes of a file to `take`, in order. */
export type Read = (take: (chunk: Uint8Array) => void) => Promise<void>;

/** @internal Where a feed or a sharded filter comes from. */
export class Origin<P extends Head> {
  readonly store: FeedStore<P>;
  /** How long the host may take, in milliseconds. */
  readonly timeout: number;
  #url: string;
  #keys: TrustedKeys;
  #kind: Kind<P>;
  #cache: FeedCache | null;
  #fetch: typeof globalThis.fetch | undefined;
  #maxAge: number;

  /** Throws `invalid_parameter` for wrong options, and `signature` where signatures can't be checked. */
  static async of<P extends Head>(
    kind: Kind<P>,
    url: string | URL,
    options: OpeningOptions & { maxAge?: number; packaged?: string | URL },
  ): Promise<Origin<P>> {
    if (typeof options !== "object" || options === null)
      throw invalidParameter("options must have publicKey, or null for a feed that isn't signed");
    const { publicKey, cache = cacheStorage(), signal, timeout = Infinity, fetch, maxAge = Infinity } = options;
    const { packaged } = options;
    requireType("function", { fetch });
    requireLimit({ maxAge });
    requireTimeout(timeout);
    requireSignal(signal);
    const secret = secretIn(options);
    requireCache(cache);
    const address = absolute(url, "url");
    const copy = packaged === undefined ? undefined : absolute(packaged, "packaged");
    signal?.throwIfAborted();
    const keys = await unlessAborted(importKeys(publicKey), signal);
    const limits = { timeout: Math.min(timeout, AT_HAND), maxAge };
    const own = copy === undefined ? undefined : new Origin(kind, copy, keys, null, secret, fetch, limits);
    return new Origin(kind, address, keys, cache, secret, fetch, { timeout, maxAge }, own);
  }

  private constructor(
    kind: Kind<P>,
    url: string,
    keys: TrustedKeys,
    cache: FeedCache | null,
    readonly secret: Uint8Array | undefined,
    fetch: typeof globalThis.fetch | undefined,
    { timeout, maxAge }: { timeout: number; maxAge: number },
    /** The copy of the folder that comes with the app. */
    readonly packaged?: Origin<P>,
  ) {
    this.store = new FeedStore(cache, url, keys, kind);
    this.#url = url;
    this.#keys = keys;
    this.#kind = kind;
    this.#cache = cache;
    this.#fetch = fetch;
    this.timeout = timeout;
    this.#maxAge = maxAge;
  }

  /** The message for a host that takes longer. */
  get late(): string {
    return `${shown(this.#url)}: the host took longer than ${this.timeout} ms`;
  }

  /** Whether a generation has expired. */
  isOver(head: Head): boolean {
    return isOver(head, { now: Date.now(), maxAge: this.#maxAge });
  }

  /** Step 8. Throws `secret_required` or `wrong_secret` unless the secret is that of a generation. */
  requireSecret(head: Head): void {
    hashingOf(head, this.secret);
  }

  /** What the cache keeps for other keys. Throws `invalid_parameter` for the present ones. */
  async storeOf(publicKey: string | string[] | null): Promise<FeedStore<P>> {
    const keys = await importKeys(publicKey);
    if (keys.names.join() === this.#keys.names.join())
      throw invalidParameter("publicKey is what this was opened with; without it, forget() closes and removes all");
    return new FeedStore(this.#cache, this.#url, keys, this.#kind);
  }

  /** Steps 5 to 8: the manifest to continue with, which is the one found, or the present one if there is nothing new. */
  trusted(found: Manifest<P>, known: Pick<Known<Manifest<P>>, "present" | "kept">): Manifest<P> {
    const manifest = trust(found, { ...known, now: Date.now(), maxAge: this.#maxAge });
    this.requireSecret(manifest);
    return manifest;
  }

  /** Steps 2 to 4: the manifest that the host has. */
  async found(signal: AbortSignal): Promise<Manifest<P>> {
    const chunks: Uint8Array[] = [];
    const tooLong = () => new FilterError("too_large", `${shown(this.#url)} is too long for a manifest`);
    const take = (chunk: Uint8Array) => void chunks.push(chunk.slice());
    try {
      await download(this.#url, { signal, fetch: this.#fetch, cache: "no-cache" }, LONGEST, tooLong, take);
      return await unlessAborted(readManifest(concat(chunks), this.#keys, this.#kind), signal);
    } catch (error) {
      throw this.#hinted(named(error, shown(this.#url), signal));
    }
  }

  /** Adds to an error where the manifest is if the URL is that of a folder. */
  #hinted(error: unknown): unknown {
    const isFile = /\/[^/?#]*\.[^/?#]*([?#].*)?$/.test(this.#url);
    if (isFile || !(error instanceof FilterError) || !["http", "network", "not_a_feed"].includes(error.code))
      return error;
    const { href } = new URL(this.#kind.file, this.#url.replace(/\/?([?#].*)?$/, "/"));
    const { code, message, cause } = error;
    return new FilterError(code, `${message}; if that is a folder, its manifest is ${shown(href)}`, { cause });
  }

  /** The URL of a file, for messages. */
  at({ sha256 }: SignedFile): string {
    return shown(new URL(sha256, this.#url).href);
  }

  /** Step 10. Returns what `make` makes of a file. A damaged file is fetched once more, bypassing the HTTP cache. */
  async file<T>(file: SignedFile, signal: AbortSignal, make: (read: Read) => Promise<T>): Promise<T> {
    const url = new URL(file.sha256, this.#url).href;
    const { bytes } = file;
    const tooLong = () => new FilterError("integrity", `${this.at(file)} is longer than ${bytes} bytes`);
    const fetched = (cache?: RequestCache) =>
      make((take) => download(url, { signal, fetch: this.#fetch, cache }, bytes, tooLong, take));
    try {
      return await fetched().catch((error: unknown) => {
        if (!isDamage(error)) throw error;
        return fetched("reload");
      });
    } catch (error) {
      throw named(error, this.at(file), signal);
    }
  }
}

/** @internal Hands the bytes of a file on to `take`. Throws `integrity` unless they are those that were signed. */
export async function verified(
  { sha256, bytes }: SignedFile,
  read: Read,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const hash = newSha256();
  let loaded = 0;
  await read((chunk) => {
    hash.update(chunk);
    take(chunk);
    loaded += chunk.length;
  });
  if (loaded !== bytes || hash.finish() !== sha256)
    throw new FilterError("integrity", "the file isn't the one that was signed");
}

/** @internal A copy of cached bytes, if they are those that were signed. The cache may change its own later. */
export function checked(bytes: Uint8Array, file: SignedFile): Uint8Array | undefined {
  const own = copied(bytes);
  return own.length === file.bytes && sha256Of(own) === file.sha256 ? own : undefined;
}

/** @internal All bytes of a file. Throws as {@link verified}. */
export async function whole(file: SignedFile, read: Read): Promise<Uint8Array> {
  const bytes = room(file.bytes);
  let loaded = 0;
  await verified(file, read, (chunk) => {
    bytes.set(chunk, loaded);
    loaded += chunk.length;
  });
  return bytes;
}

/** @internal Whether an error says that a file isn't the one that was signed. */
export function isDamage(error: unknown): boolean {
  return error instanceof FilterError && error.code === "integrity";
}

/** The absolute URL of the option with this name. */
function absolute(url: unknown, name: string): string {
  // Outside the try: if there is no such class, the URL isn't to blame.
  const Parser = URL;
  try {
    const { href = url } = Object(url) as { href?: unknown };
    if (typeof href === "string") {
      const address = new Parser(href, globalThis.document?.baseURI ?? globalThis.location?.href);
      if (new Parser("file", address).href) return address.href;
    }
  } catch {
    // It is relative, and there is no page; or no file can lie beside it, as with data:; or it is somebody's Proxy.
  }
  throw invalidParameter(`${name} must be the whole URL of a manifest; for a file, pass a file: URL`);
}

/** Hands each chunk to `take`. Throws `truncated` if there are fewer bytes than the transport promised. */
async function download(
  url: string,
  options: OpenOptions,
  most: number,
  tooLong: () => FilterError,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const {
    stream,
    total = 0,
    hint,
  } = await open(url, options).catch((error: unknown) => {
    // A `fetch` may give up by a signal of its own.
    if (Object(error).name !== "AbortError" || options.signal?.aborted) throw error;
    throw failed("network", `${shown(url)} could not be fetched`, error);
  });
  try {
    if (!hint && total > most) throw tooLong();
    let loaded = 0;
    await readAll(stream, options.signal, (chunk) => {
      loaded += chunk.length;
      if (loaded > most) throw tooLong();
      take(chunk);
    });
    if (!hint && loaded < total)
      throw new FilterError("truncated", `${shown(url)} ended after ${loaded} of ${total} bytes`);
  } catch (error) {
    void quietly(() => stream.cancel?.(error));
    throw error;
  }
}
