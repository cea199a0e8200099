/** What a client of a feed or a sharded filter keeps for its next start. */

import { Sha256 } from "./bloom_wasm.js";
import { call, release } from "./call.js";
import { FilterError } from "./error.js";
import { invalidParameter, isBytes, plainBytes } from "./input.js";
import { type Head, type Keys, type Kind, LONGEST, type Manifest, readManifest, type SignedFile } from "./manifest.js";

/**
 * Where a client keeps a feed: any store of bytes by name. The names are made of `a` to `z`, digits, dots and hyphens.
 * The bytes are verified anew whenever they are read, so nobody has to trust the store. docs/feeds.md has some.
 */
export interface FeedCache {
  /** The bytes of that name. Undefined, or anything else but a `Uint8Array`, if there are none. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Keeps bytes under a name, in place of others. If that fails, it throws, and the others stay. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes the bytes of that name, if there are any. */
  delete(name: string): Promise<void>;
}

/** @internal Cache Storage, where there is one that can be opened. */
export async function cacheStorage(): Promise<FeedCache | null> {
  try {
    const cache = await globalThis.caches.open("bloom-wasm");
    const at = (name: string) => `https://bloom-wasm.invalid/${name}`;
    // Cloudflare's keeps nothing without a maximum age.
    const headers = { "cache-control": "max-age=31536000" };
    return {
      async get(name) {
        const response = await cache.match(at(name));
        return response && new Uint8Array(await response.arrayBuffer());
      },
      put: (name, bytes) => cache.put(at(name), new Response(bytes as Uint8Array<ArrayBuffer>, { headers })),
      async delete(name) {
        await cache.delete(at(name));
      },
    };
  } catch {
    // There is none, or this page may not use it.
    return null;
  }
}

/** @internal Throws `invalid_parameter` unless the option is a cache. */
export function requireCache(cache: FeedCache | null): void {
  const methods = ["get", "put", "delete"] as const;
  if (cache === null || methods.every((method) => typeof cache?.[method] === "function")) return;
  throw invalidParameter("cache must have the methods get, put and delete; null says that there is none");
}

/** @internal A page or a shard of a sharded filter: its number, and what was signed of it. */
export interface Part extends SignedFile {
  kind: "page" | "shard";
  index: number;
}

/** @internal What a cache keeps of the feed or sharded filter at a URL, for those who trust these keys. */
export class Shelf<P extends Head> {
  #cache: FeedCache | null;
  #keys: Keys;
  #kind: Kind<P>;
  /** The name of the feed's id. */
  #pointer: string;
  /** The hashes of the files that are known to be there. */
  #files = new Set<string>();

  constructor(cache: FeedCache | null, url: string, keys: Keys, kind: Kind<P>) {
    this.#cache = cache;
    this.#keys = keys;
    this.#kind = kind;
    this.#pointer = this.#name("feed", url.replace(/#.*/s, ""));
  }

  /** A name that no other feed has, and nobody who trusts other keys. */
  #name(kind: "feed" | "manifest" | "file" | Part["kind"], ...of: string[]): string {
    const hash = call(() => new Sha256());
    try {
      const text = new TextEncoder().encode([kind, ...of, ...this.#keys.names].join("\n"));
      call(() => hash.update(text));
      return `${kind}-${call(() => hash.finish())}`;
    } finally {
      release(hash);
    }
  }

  /** Bytes that may be anything. A cache that fails has none. */
  async #get(name: string, most: number): Promise<Uint8Array | undefined> {
    try {
      const bytes: unknown = await this.#cache?.get(name);
      if (isBytes(bytes)) {
        const plain = plainBytes(bytes);
        if (plain.length <= most) return plain;
      }
    } catch {}
    return undefined;
  }

  /** The id in the pointer, if it is one. */
  async #feedId(): Promise<string | undefined> {
    const bytes = await this.#get(this.#pointer, 32);
    const text = new TextDecoder().decode(bytes?.slice());
    return /^[0-9a-f]{32}$/.test(text) ? text : undefined;
  }

  /** The manifest of the feed that was first seen at the URL. */
  async first(): Promise<Manifest<P> | undefined> {
    const feedId = await this.#feedId();
    return feedId === undefined ? undefined : this.manifest(feedId);
  }

  /** The manifest with the highest generation of a feed. */
  async manifest(feedId: string): Promise<Manifest<P> | undefined> {
    const bytes = await this.#get(this.#name("manifest", feedId), LONGEST);
    if (bytes === undefined) return undefined;
    const manifest = await readManifest(bytes.slice(), this.#keys, this.#kind).catch(() => undefined);
    return manifest?.feedId === feedId ? manifest : undefined;
  }

  /** What may be a file of a feed. */
  file({ feedId }: Head, { sha256, bytes }: SignedFile): Promise<Uint8Array | undefined> {
    return this.#get(this.#name("file", feedId, sha256), bytes);
  }

  /** What may be a page or a shard. */
  part({ feedId }: Head, { kind, index, bytes }: Part): Promise<Uint8Array | undefined> {
    return this.#get(this.#name(kind, feedId, String(index)), bytes);
  }

  /** Keeps a page or a shard in place of that of another generation. If that fails, throws `cache`. */
  async keepPart({ feedId }: Head, { kind, index }: Part, bytes: Uint8Array): Promise<void> {
    try {
      await this.#cache?.put(this.#name(kind, feedId, String(index)), bytes);
    } catch (cause) {
      throw new FilterError("cache", `the cache could not keep a ${kind}; is it full?`, { cause });
    }
  }

  /** Says that the file of this hash is there. */
  has(sha256: string): void {
    this.#files.add(sha256);
  }

  /** Whether the file of this hash must still be put. */
  lacks(sha256: string): boolean {
    return this.#cache !== null && !this.#files.has(sha256);
  }

  /**
   * Keeps a new generation in place of an old one, whose files it then removes. If that fails, it removes what it has
   * put, so that the old one stays whole, and throws `cache`. If another tab has kept a newer one, that stays.
   */
  async keep(manifest: Manifest<P>, bytesOf: (sha256: string) => Uint8Array): Promise<void> {
    const cache = this.#cache;
    if (cache === null) return;
    const { feedId, source } = manifest;
    const old = await this.manifest(feedId);
    if (old && old.generation > manifest.generation) return;
    const hashesOf = (its: P) => new Set(this.#kind.files(its).map(({ sha256 }) => sha256));
    const files = hashesOf(manifest);
    const oldFiles = old ? hashesOf(old) : new Set<string>();
    const nameOf = (sha256: string) => this.#name("file", feedId, sha256);
    const undo: (() => Promise<void>)[] = [];
    const put = async (name: string, bytes: Uint8Array, before?: Uint8Array) => {
      undo.push(() => (before ? cache.put(name, before) : cache.delete(name)));
      await cache.put(name, bytes);
    };
    try {
      for (const sha256 of files) {
        if (this.#files.has(sha256)) continue;
        // One of the old files that was damaged is mended in either case.
        if (oldFiles.has(sha256)) await cache.put(nameOf(sha256), bytesOf(sha256));
        else await put(nameOf(sha256), bytesOf(sha256));
      }
      await put(this.#name("manifest", feedId), source, old?.source);
      if ((await this.#feedId()) !== feedId) await put(this.#pointer, new TextEncoder().encode(feedId));
    } catch (cause) {
      for (const back of undo) await quietly(back);
      throw new FilterError("cache", "the cache could not keep the newest generation; is it full?", { cause });
    }
    for (const sha256 of [...this.#files, ...oldFiles]) {
      if (!files.has(sha256)) await quietly(() => cache.delete(nameOf(sha256)));
    }
    this.#files = files;
  }
}

/** Runs what may fail. */
async function quietly(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch {}
}
