/** What a client of a feed or a sharded filter keeps for its next start. */

import { attempt, concat, invalidParameter, plainBytes } from "../boundary/input.js";
import { failed, quietly } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { sha256Of } from "../plain/sha256.js";
import {
  type Head,
  type Kind,
  LONGEST,
  type Manifest,
  readManifest,
  type SignedFile,
  type TrustedKeys,
} from "./manifest.js";

/**
 * Where a client stores a feed: any store of bytes by name. The names are made of `a` to `z`, digits, dots and hyphens.
 * The bytes are verified whenever they are read, so the store needn't be trusted. `fileCache` is one, and docs/edge.md
 * has more.
 */
export interface FeedCache {
  /** Returns the bytes stored under a name; undefined or null if there are none. */
  get(name: string): Promise<Uint8Array | null | undefined>;
  /** Stores bytes under a name, replacing any others. If it fails, it must throw and leave the others in place. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes the bytes stored under a name, if there are any. */
  delete(name: string): Promise<void>;
}

/** @internal Cache Storage, if there is one. For a page that may not use it, a cache that is always empty. */
export function cacheStorage(): FeedCache | null {
  let storage: CacheStorage | undefined;
  try {
    storage = globalThis.caches;
  } catch (error) {
    if (!isForbidden(error)) throw new FilterError("cache", "Cache Storage could not be used", { cause: error });
  }
  if (typeof storage?.open !== "function") return null;
  // Each time anew: once somebody has deleted the cache, an opened one keeps nothing for the next start.
  const opened = () =>
    storage.open("bloom-wasm").catch((error: unknown) => {
      if (isForbidden(error)) return undefined;
      throw error;
    });
  const at = (name: string) => `https://bloom-wasm.invalid/${name}`;
  // Cloudflare's keeps nothing without a maximum age.
  const headers = { "cache-control": "max-age=31536000" };
  return {
    async get(name) {
      const response = await (await opened())?.match(at(name));
      return response && new Uint8Array(await response.arrayBuffer());
    },
    async put(name, bytes) {
      await (await opened())?.put(at(name), new Response(bytes as Uint8Array<ArrayBuffer>, { headers }));
    },
    async delete(name) {
      await (await opened())?.delete(at(name));
    },
  };
}

/** Whether an error says that the browser doesn't let this page have a cache at all. */
function isForbidden(error: unknown): boolean {
  return Object(error).name === "SecurityError";
}

/** @internal Throws `invalid_parameter` unless the option is a cache. */
export function requireCache(cache: FeedCache | null): void {
  const methods = ["get", "put", "delete"] as const;
  const wanted = "cache must have get, put and delete, as fileCache(folder) has; null = none";
  const isCache = () => cache === null || methods.every((method) => typeof cache?.[method] === "function");
  if (!attempt(wanted, isCache)) throw invalidParameter(wanted);
}

/** @internal A page or a shard of a sharded filter: its number, and what was signed of it. */
export interface PageOrShard extends SignedFile {
  kind: "page" | "shard";
  index: number;
}

/** @internal A head, as it was read from a cache. */
export interface Kept<P extends Head> {
  manifest: Manifest<P>;
  /** The slot that has its base: 0 or 1. */
  slot: number;
  /** All of it, unverified. */
  bytes: Uint8Array;
  /** Its deltas by their hashes, unverified. */
  deltas: Map<string, Uint8Array>;
}

/** @internal What a cache keeps of the feed or sharded filter at a URL, for clients that trust these keys. */
export class FeedStore<P extends Head> {
  #cache: FeedCache | null;
  #whose: string[];
  #keys: TrustedKeys;
  #kind: Kind<P>;
  /** The calls that were given up on, and haven't ended yet. Nothing more is asked or written until they have. */
  #late = { read: new Set<unknown>(), write: new Set<unknown>() };

  constructor(cache: FeedCache | null, url: string, keys: TrustedKeys, kind: Kind<P>) {
    this.#cache = cache;
    this.#whose = [url.replace(/#.*/s, ""), ...keys.names];
    this.#keys = keys;
    this.#kind = kind;
  }

  /** Whether there is a cache. */
  get keeps(): boolean {
    return this.#cache !== null;
  }

  /** Allows reading again although a read was given up on: its answer may never come. */
  askAgain(): void {
    this.#late.read.clear();
  }

  #name(kind: "head" | "base" | PageOrShard["kind"], ...of: number[]): string {
    const name = new TextEncoder().encode([kind, ...of, ...this.#whose].join("\n"));
    return `${kind}-${sha256Of(name)}`;
  }

  /** Calls the cache. Throws if it takes too long; what the cache is doing goes on. */
  async #call<T>(
    kind: "read" | "write",
    call: (cache: FeedCache) => Promise<T>,
    patience = ANSWER,
  ): Promise<T | undefined> {
    const cache = this.#cache;
    if (cache === null) return undefined;
    const late = this.#late[kind];
    const silent = new FilterError("cache", "the cache doesn't answer");
    if (late.size > 0) throw silent;
    const answer = (async () => call(cache))();
    let timer: ReturnType<typeof setTimeout>;
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        late.add(answer);
        quietly(() => answer).then(() => late.delete(answer));
        reject(silent);
      }, patience);
    });
    try {
      return await Promise.race([answer, over]);
    } finally {
      clearTimeout(timer!);
    }
  }

  /** Unverified bytes. A cache that fails throws `cache`, unlike one that has nothing. */
  async #get(name: string, patience?: number): Promise<Uint8Array | undefined> {
    try {
      const bytes = (await this.#call("read", (cache) => cache.get(name), patience)) ?? undefined;
      return bytes === undefined ? undefined : plainBytes(bytes, "what it returns must be a");
    } catch (cause) {
      throw failed("cache", "the cache could not be read", cause);
    }
  }

  async #put(name: string, bytes: Uint8Array): Promise<void> {
    await this.#call("write", (cache) => cache.put(name, bytes));
  }

  /** Removes what has these names, a few at a time. */
  async #delete(names: string[]): Promise<void> {
    for (let i = 0; i < names.length; i += AT_ONCE) {
      const remove = (name: string) => this.#call("write", (cache) => cache.delete(name));
      await Promise.all(names.slice(i, i + AT_ONCE).map(remove));
    }
  }

  /** The head, if there is one that verifies. Throws `cache` if it can't be read, or not within that many milliseconds. */
  async head(patience?: number): Promise<Kept<P> | undefined> {
    const bytes = await this.#get(this.#name("head"), patience);
    if (bytes === undefined || bytes.length < START) return undefined;
    let at = START + new DataView(bytes.buffer, bytes.byteOffset).getUint32(1, true);
    // Steps 3 and 4, on a copy: the cache may change its own.
    const source = bytes.slice(START, Math.min(at, START + LONGEST));
    const manifest = await readManifest(source, this.#keys, this.#kind).catch((error: unknown) => {
      if (error instanceof FilterError) return undefined;
      throw error;
    });
    if (manifest === undefined) return undefined;
    const deltas = new Map<string, Uint8Array>();
    for (const file of this.#kind.files(manifest).slice(1))
      deltas.set(file.sha256, bytes.subarray(at, (at += file.bytes)));
    return { manifest, slot: bytes[0]! & 1, bytes, deltas };
  }

  /**
   * What `use` makes of a base. It gets the unverified bytes in the head's slot, and those in the other if it returns
   * nothing. Throws `cache` if a slot can't be read and the other one is of no use.
   */
  async base<T>(
    { bytes }: SignedFile,
    kept: Kept<P> | undefined,
    use: (bytes: Uint8Array, slot: number) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const slot = slotOf(kept);
    let unread: unknown;
    for (const each of [slot, 1 - slot]) {
      const found = await this.#get(this.#name("base", each)).catch((error: unknown) => unlessRead((unread = error)));
      const made = found?.length === bytes ? await use(found, each) : undefined;
      if (made !== undefined) return made;
    }
    if (unread !== undefined) throw unread;
    return undefined;
  }

  /** A page or a shard, unverified. Throws `cache` if it can't be read. */
  part({ kind, index }: PageOrShard): Promise<Uint8Array | undefined> {
    return this.#get(this.#name(kind, index));
  }

  /** Stores a page or a shard, replacing that of another generation. Throws `cache` if that fails. */
  async keepPart({ kind, index }: PageOrShard, bytes: Uint8Array): Promise<void> {
    try {
      await this.#put(this.#name(kind, index), bytes);
    } catch (cause) {
      throw new FilterError("cache", `the cache could not keep a ${kind}; is it full?`, { cause });
    }
  }

  /** Stores the base of a generation that isn't complete yet. If that fails, {@link keep} will report it. */
  async begin(manifest: Manifest<P>, base: () => Uint8Array): Promise<void> {
    if (this.#cache === null) return;
    await quietly(() =>
      this.#alone(async () => {
        const kept = await this.head();
        if (isOlder(kept, manifest)) await this.#keepBase(kept, manifest, base);
      }),
    );
  }

  /** Puts the base of a generation where the head's isn't, unless it is there. Returns the slot that has it. */
  async #keepBase(kept: Kept<P> | undefined, manifest: Manifest<P>, base: () => Uint8Array): Promise<number> {
    const [file] = this.#kind.files(manifest);
    const slot = slotOf(kept);
    if (file === undefined) return slot;
    const isBase = async (bytes: Uint8Array, each: number) => (sha256Of(bytes) === file.sha256 ? each : undefined);
    // A slot that can't be read is put again.
    const there = await this.base(file, kept, isBase).catch(unlessRead);
    if (there !== undefined) return there;
    // If a slot didn't answer, the cache may answer for something else.
    this.askAgain();
    const mayStay = kept && this.#kind.files(kept.manifest)[0]!.sha256 !== file.sha256;
    const free = mayStay ? 1 - slot : slot;
    await this.#put(this.#name("base", free), base());
    return free;
  }

  /**
   * Step 13: stores the generation in place, with its deltas. Throws `cache` if that fails; the old one stays complete.
   * Returns false if the cache has a newer one, which another tab stored.
   */
  async keep(manifest: Manifest<P>, deltas: Uint8Array[], base: () => Uint8Array): Promise<boolean> {
    if (this.#cache === null) return true;
    try {
      return await this.#alone(async () => {
        for (let tries = 0; tries < 3; tries++) {
          const kept = await this.head();
          if (!isOlder(kept, manifest)) return false;
          const slot = await this.#keepBase(kept, manifest, base);
          // Without locks, another client may have put one meanwhile.
          const again = await this.head();
          if (again?.manifest.signed !== kept?.manifest.signed || again?.slot !== kept?.slot) continue;
          const start = new Uint8Array(START);
          start[0] = slot;
          new DataView(start.buffer).setUint32(1, manifest.source.length, true);
          const head = concat([start, manifest.source, ...deltas]);
          const isThere = again?.bytes.length === head.length && head.every((byte, i) => byte === again.bytes[i]);
          if (!isThere) await this.#put(this.#name("head"), head);
          const gone = this.#parts(kept?.manifest, manifest);
          if (kept && kept.slot !== slot) gone.push(this.#name("base", kept.slot));
          // What stays is replaced some day.
          await quietly(() => this.#delete(gone));
          return true;
        }
        throw new FilterError("cache", "the cache has another generation each time that it is read");
      });
    } catch (cause) {
      if (cause instanceof FilterError && cause.code === "cache") throw cause;
      throw failed("cache", "the cache could not keep the newest generation", cause);
    }
  }

  /** The names of the parts of one generation beyond those of another, or of none. */
  #parts(of: Manifest<P> | undefined, beyond?: Manifest<P>): string[] {
    const { parts } = this.#kind;
    if (of === undefined || parts === undefined) return [];
    const others = beyond && parts(beyond);
    return parts(of).flatMap(([part, count], kind) => {
      // Both have the same kinds of parts, in the same order.
      const first = others === undefined ? 0 : others[kind]![1];
      const names = [];
      for (let i = first; i < count; i++) names.push(this.#name(part, i));
      return names;
    });
  }

  /** Removes everything. `present` is the generation in place, whose head may not be stored. Throws `cache`. */
  async forget(present?: Manifest<P>): Promise<void> {
    try {
      let unread: unknown;
      const kept = await this.head().catch((error: unknown) => unlessRead((unread = error)));
      await this.#delete([0, 1].map((slot) => this.#name("base", slot)));
      await this.#delete([...this.#parts(present), ...this.#parts(kept?.manifest, present)]);
      // Only the head says how many parts there are.
      if (unread !== undefined && this.#kind.parts) throw unread;
      await this.#delete([this.#name("head")]);
    } catch (cause) {
      throw new FilterError("cache", "the cache could not remove it all", { cause });
    }
  }

  /**
   * Runs while no other page of this origin does so for the same head, if locks are available. The lock is held until
   * all writes have ended, also those that were given up on.
   */
  #alone<T>(run: () => Promise<T>): Promise<T> {
    const locks = lockManager();
    if (!locks) return run();
    const stop = new AbortController();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error("another page holds the lock"));
        stop.abort();
      }, LOCK);
      const begin = async () => {
        clearTimeout(timer);
        if (stop.signal.aborted) return;
        const running = run();
        resolve(running);
        await quietly(() => running);
        await Promise.allSettled(this.#late.write);
      };
      const request = async () => locks.request(`bloom-wasm ${this.#name("head")}`, { signal: stop.signal }, begin);
      request().catch((error: unknown) => {
        clearTimeout(timer);
        // A page with an opaque origin has locks but may not use them.
        if (Object(error).name === "SecurityError") resolve(run());
        else reject(error);
      });
    });
  }
}

/** @internal Undefined for a cache that can't be read, to replace what it has. Throws any other error. */
export function unlessRead(error: unknown): undefined {
  if (!(error instanceof FilterError && error.code === "cache")) throw error;
}

/** The length of what stands before the manifest in a head: the slot, and the manifest's length. */
const START = 5;

/** The longest wait for a lock, and for a cache that doesn't answer, in milliseconds. */
const [LOCK, ANSWER] = [5_000, 10_000];

/** How many names are deleted at once. */
const AT_ONCE = 16;

/** The slot that a head names. Without a head, a base goes into the first: FEED-FORMAT.md, "The store". */
function slotOf(kept: { slot: number } | undefined): number {
  return kept === undefined ? 0 : kept.slot;
}

/** Whether a generation may replace a head, which isn't newer. Throws if it's of another feed, or contradicts it. */
function isOlder<P extends Head>(kept: Kept<P> | undefined, { feedId, generation, signed }: Manifest<P>): boolean {
  if (kept === undefined) return true;
  const other = kept.manifest;
  if (other.feedId !== feedId) throw new FilterError("wrong_feed", `another tab has found the feed ${other.feedId}`);
  if (other.generation === generation && other.signed !== signed)
    throw new FilterError("rollback", "another tab has another payload of this generation");
  return other.generation <= generation;
}

function lockManager(): LockManager | undefined {
  try {
    return globalThis.navigator?.locks;
  } catch {
    return undefined;
  }
}
