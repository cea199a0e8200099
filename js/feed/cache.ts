/** What a client of a feed or a sharded filter keeps for its next start. */

import { attempt, invalidParameter, plainBytes } from "../boundary/input.js";
import { failed, quietly } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { sha256 as newSha256 } from "../plain/sha256.js";
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
 * The bytes are verified whenever they are read, so the store needn't be trusted. `fileCache` is one, and docs/feeds.md
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

/** @internal What a cache keeps of the feed or sharded filter at a URL, for clients that trust these keys. */
export class FeedStore<P extends Head> {
  #cache: FeedCache | null;
  #url: string;
  #keys: TrustedKeys;
  #kind: Kind<P>;
  /** The hashes of the files that were there when they were looked for last. */
  #files = new Set<string>();
  /** Whether a read has timed out. The cache isn't asked again until it answers, or until {@link askAgain}. */
  #isSilent = false;
  /** Whether the cache has ever shown a manifest that was kept. */
  #hasShown = false;
  /** Called when the cache next answers or is given up on, except for pages and shards. */
  #steps = new Set<() => void>();

  constructor(cache: FeedCache | null, url: string, keys: TrustedKeys, kind: Kind<P>) {
    this.#cache = cache;
    this.#url = url.replace(/#.*/s, "");
    this.#keys = keys;
    this.#kind = kind;
  }

  /** Whether there is a cache. */
  get keeps(): boolean {
    return this.#cache !== null;
  }

  /** Whether the cache has ever shown a manifest that was kept. One that the page may not use never does. */
  get hasShown(): boolean {
    return this.#hasShown;
  }

  /** Allows asking a cache again that has timed out: its answer may never come. */
  askAgain(): void {
    this.#isSilent = false;
  }

  /** Forgets which files were there: the cache has lost its manifest. */
  lost(): void {
    this.#files.clear();
  }

  /** Waits for work with the cache. Throws `cache` if the cache doesn't answer for too long; the work goes on. */
  async patiently<T>(done: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => (isOver = true);
    done.then(over, over);
    // A slow cache isn't silent.
    while (!isOver) {
      let step!: () => void;
      const stepped = new Promise<void>((resolve) => this.#steps.add((step = resolve)));
      // A promise that all waited for would hold on to each of them.
      await patiently(Promise.race([done, stepped])).finally(() => this.#steps.delete(step));
    }
    return done;
  }

  /** Notes that a call of the cache has ended. */
  #stepped(): void {
    for (const step of this.#steps) step();
  }

  async #put(name: string, bytes: Uint8Array): Promise<void> {
    await this.#cache?.put(name, bytes);
    this.#stepped();
  }

  /** Removes what has these names, a few at a time. */
  async #delete(names: string[]): Promise<void> {
    for (let i = 0; i < names.length; i += AT_ONCE) {
      const remove = async (name: string) => {
        await this.#cache?.delete(name);
        this.#stepped();
      };
      await Promise.all(names.slice(i, i + AT_ONCE).map(remove));
    }
  }

  /**
   * A name that depends on the feed and the trusted keys or, if unsigned, the URL: an unsigned feed may claim any id.
   */
  #name(kind: "feed" | "manifest" | "next" | "file" | PageOrShard["kind"], ...of: string[]): string {
    const { names } = this.#keys;
    const hash = newSha256();
    hash.update(new TextEncoder().encode([kind, ...of, ...(names.length > 0 ? names : [this.#url])].join("\n")));
    return `${kind}-${hash.finish()}`;
  }

  /** The name under which the id of the URL's feed is stored. */
  get #pointer(): string {
    return this.#name("feed", this.#url);
  }

  /** Unverified bytes. A cache that fails throws `cache`, unlike one that has nothing. */
  async #get(name: string, most: number, isStep = true): Promise<Uint8Array | undefined> {
    const cache = this.#cache;
    if (cache === null) return undefined;
    if (this.#isSilent) throw late();
    let hasAnswered = false;
    const answered = () => {
      hasAnswered = true;
      this.#isSilent = false;
    };
    try {
      const answer = (async () => cache.get(name))();
      answer.then(answered, answered);
      const bytes = (await patiently(answer)) ?? undefined;
      if (bytes === undefined) return undefined;
      const plain = plainBytes(bytes, "what it returns must be a");
      return plain.length <= most ? plain : undefined;
    } catch (cause) {
      if (!hasAnswered) this.#isSilent = true;
      throw failed("cache", "the cache could not be read", cause);
    } finally {
      if (isStep) this.#stepped();
    }
  }

  /** The id in the pointer, if it is one. */
  async #feedId(): Promise<string | undefined> {
    const bytes = await this.#get(this.#pointer, 32);
    const text = new TextDecoder().decode(bytes?.slice());
    return /^[0-9a-f]{32}$/.test(text) ? text : undefined;
  }

  /** The manifest of a feed that is kept, or the next one, whose files have begun to arrive. */
  async #manifest(kind: "manifest" | "next", feedId: string): Promise<Manifest<P> | undefined> {
    const bytes = await this.#get(this.#name(kind, feedId), LONGEST);
    if (bytes === undefined) return undefined;
    const manifest = await readManifest(bytes.slice(), this.#keys, this.#kind).catch((error: unknown) => {
      // A manifest that no longer verifies counts as missing.
      if (error instanceof FilterError) return undefined;
      throw error;
    });
    if (manifest?.feedId !== feedId) return undefined;
    if (kind === "manifest") this.#hasShown = true;
    return manifest;
  }

  /** The manifest of the feed that was first seen at the URL. Throws `cache` if that can't be read. */
  async first(): Promise<Manifest<P> | undefined> {
    const feedId = await this.#feedId();
    return feedId === undefined ? undefined : this.manifest(feedId);
  }

  /** The manifest with the highest generation of a feed. Throws `cache` if that can't be read. */
  manifest(feedId: string): Promise<Manifest<P> | undefined> {
    return this.#manifest("manifest", feedId);
  }

  /** A file of a feed, unverified. Throws `cache` if it can't be read. */
  file({ feedId }: Head, { sha256, bytes }: SignedFile): Promise<Uint8Array | undefined> {
    return this.#get(this.#name("file", feedId, sha256), bytes);
  }

  /**
   * Checks again that the files of a generation are there. A cache may lose one and keep another, and what can't be
   * read is put again.
   */
  async look(manifest: Manifest<P>): Promise<void> {
    for (const file of this.#kind.files(manifest)) {
      if (!this.#files.has(file.sha256)) continue;
      const bytes = await this.file(manifest, file).catch(() => undefined);
      if (bytes?.length !== file.bytes) this.#files.delete(file.sha256);
      // A cache that took too long isn't waited for again. It may answer for something else.
      if (this.#isSilent) break;
    }
    this.askAgain();
  }

  /** A page or a shard, unverified. Throws `cache` if it can't be read. */
  part({ feedId }: Head, { kind, index, bytes }: PageOrShard): Promise<Uint8Array | undefined> {
    return this.#get(this.#name(kind, feedId, String(index)), bytes, false);
  }

  /** Stores a page or a shard, replacing that of another generation. Throws `cache` if that fails. */
  async keepPart({ feedId }: Head, { kind, index }: PageOrShard, bytes: Uint8Array): Promise<void> {
    try {
      await this.#cache?.put(this.#name(kind, feedId, String(index)), bytes);
    } catch (cause) {
      throw new FilterError("cache", `the cache could not keep a ${kind}; is it full?`, { cause });
    }
  }

  /** Notes that the file of this hash is there. */
  has(sha256: string): void {
    this.#files.add(sha256);
  }

  /** Whether the file of this hash was there when it was looked for last. */
  holds(sha256: string): boolean {
    return this.#files.has(sha256);
  }

  #hashes(manifest: Manifest<P> | undefined): string[] {
    return manifest ? this.#kind.files(manifest).map(({ sha256 }) => sha256) : [];
  }

  /** Removes those of the files that none of the manifests names. */
  async #remove(feedId: string, files: Iterable<string>, manifests: (Manifest<P> | undefined)[]): Promise<void> {
    const named = new Set(manifests.flatMap((manifest) => this.#hashes(manifest)));
    const gone = [...new Set(files)].filter((sha256) => !named.has(sha256));
    await this.#delete(gone.map((sha256) => this.#name("file", feedId, sha256)));
    // Only now: what couldn't be removed is tried again.
    for (const sha256 of gone) this.#files.delete(sha256);
  }

  /** Stores the manifest whose files come next, so that they can be found even if this is never completed. */
  async #begin(manifest: Manifest<P>): Promise<void> {
    const { feedId, source, signed } = manifest;
    const next = await this.#manifest("next", feedId);
    if (next?.signed === signed) return;
    const kept = await this.#manifest("manifest", feedId);
    // What neither of them names may be gone: removed by another tab, or by the browser.
    const named = new Set([...this.#hashes(next), ...this.#hashes(kept)]);
    for (const sha256 of this.#files) if (!named.has(sha256)) this.#files.delete(sha256);
    await this.#remove(feedId, this.#hashes(next), [manifest, kept]);
    await this.#point(feedId);
    // A copy, since a cache may change or transfer what it is given.
    await this.#put(this.#name("next", feedId), source.slice());
  }

  /** Binds the URL to a feed. That holds once its manifest is kept. */
  async #point(feedId: string): Promise<void> {
    const present = await this.#feedId();
    if (present === feedId) return;
    if (present !== undefined && (await this.#manifest("manifest", present))) {
      throw new FilterError("wrong_feed", `another tab has found the feed ${present}`);
    }
    await this.#put(this.#pointer, new TextEncoder().encode(feedId));
  }

  /** Stores a file of a generation that isn't complete yet. If that fails, {@link keep} will report it. */
  async keepFile(manifest: Manifest<P>, file: SignedFile, bytes: () => Uint8Array | undefined): Promise<void> {
    if (this.#cache === null || this.#files.has(file.sha256)) return;
    await quietly(async () => {
      // Now, since its filter may be freed soon.
      const own = bytes();
      if (own === undefined) return;
      await this.#begin(manifest);
      await this.#putFile(manifest, file, own);
    });
  }

  async #putFile({ feedId }: Head, { sha256 }: SignedFile, bytes: Uint8Array): Promise<void> {
    await this.#put(this.#name("file", feedId, sha256), bytes);
    this.#files.add(sha256);
  }

  /**
   * Stores a new generation, and then removes the files of the old one. If that fails, it removes what it has put, so
   * that the old one stays complete, and throws `cache`. A newer generation in the cache stays and is returned: another
   * tab stored it, or this one did earlier and couldn't read it when it opened.
   */
  async keep(
    manifest: Manifest<P>,
    bytesOf: (sha256: string) => Uint8Array | undefined,
  ): Promise<Manifest<P> | undefined> {
    if (this.#cache === null) return undefined;
    const { feedId, source, generation, signed } = manifest;
    const name = this.#name("manifest", feedId);
    try {
      const old = await this.#manifest("manifest", feedId);
      const files = await this.#putFiles(manifest, old, bytesOf).then(
        () => undefined,
        (cause: unknown) => ({ cause }),
      );
      let put: Manifest<P> | undefined;
      let replaced: Manifest<P> | undefined;
      let newer: Manifest<P> | undefined;
      await alone(name, async () => {
        // Another tab may be ahead by now.
        const kept = await this.#manifest("manifest", feedId);
        if (kept && kept.generation > generation) {
          newer = kept;
          return;
        }
        replaced = kept;
        try {
          if (files) throw files.cause;
          // In that case no file was put. A store may return stale data.
          if (old && old.generation > generation) throw new FilterError("cache", "the cache had a newer generation");
          if (kept?.generation === generation && kept.signed !== signed) {
            throw new FilterError("rollback", "another tab has another payload of this generation");
          }
          await this.#point(feedId);
          // Last, since nothing needs to be undone after it.
          await this.#put(name, source.slice());
          put = manifest;
        } catch (cause) {
          await quietly(() => this.#tidy(manifest, [old]));
          throw cause;
        }
      });
      // Another tab may have kept one in between.
      await quietly(() => this.#tidy(manifest, [old, replaced], put));
      return newer;
    } catch (cause) {
      throw failed("cache", "the cache could not keep the newest generation", cause);
    }
  }

  /** Puts the files that aren't there. */
  async #putFiles(
    manifest: Manifest<P>,
    old: Manifest<P> | undefined,
    bytesOf: (sha256: string) => Uint8Array | undefined,
  ): Promise<void> {
    if (old && old.generation > manifest.generation) return;
    const { feedId } = manifest;
    // Another tab may have removed what neither of these names.
    const named = new Set([...this.#hashes(old), ...this.#hashes(await this.#manifest("next", feedId))]);
    const missing: [SignedFile, Uint8Array][] = [];
    for (const file of this.#kind.files(manifest)) {
      const { sha256 } = file;
      if (this.#files.has(sha256) && named.has(sha256)) continue;
      // Another tab may have put what this one no longer has.
      const bytes = bytesOf(sha256) ?? (await this.file(manifest, file));
      // Before anything is put: if one is missing, the others are of no use.
      if (bytes?.length !== file.bytes) throw new FilterError("cache", `the file ${sha256} is gone`);
      missing.push([file, bytes]);
    }
    for (const [file, bytes] of missing) {
      await this.#begin(manifest);
      await this.#putFile(manifest, file, bytes);
    }
  }

  /** Removes what the stored manifest doesn't name, unless another tab has begun a newer one. */
  async #tidy(mine: Manifest<P>, olds: (Manifest<P> | undefined)[], put?: Manifest<P>): Promise<void> {
    const { feedId } = mine;
    const read = await this.#manifest("manifest", feedId);
    // A store may return stale data.
    const kept = put && !(read && read.generation > put.generation) ? put : read;
    const next = await this.#manifest("next", feedId);
    const isAhead = next && next.generation > Math.max(mine.generation, kept?.generation ?? 0);
    const files = [...olds, mine, next].flatMap((manifest) => this.#hashes(manifest));
    await this.#remove(feedId, [...this.#files, ...files], [kept, isAhead ? next : undefined]);
    for (const old of olds) await this.#removeParts(feedId, old, kept);
    if (isAhead) return;
    if (next) await this.#delete([this.#name("next", feedId)]);
    if (!kept && (await this.#feedId()) === feedId) await this.#delete([this.#pointer]);
  }

  /** Removes the parts of one manifest beyond those of another, or of none. */
  async #removeParts(feedId: string, of: Manifest<P> | undefined, beyond?: Manifest<P>): Promise<void> {
    const left = new Map(beyond && this.#kind.parts(beyond));
    const names = [];
    for (const [part, count] of of ? this.#kind.parts(of) : [])
      for (let i = left.get(part) ?? 0; i < count; i++) names.push(this.#name(part, feedId, String(i)));
    await this.#delete(names);
  }

  /**
   * Removes everything of the feed, and of the feed bound to the URL under these keys. `present` is the generation that
   * the client has in place, if it trusts these keys: its manifest may not be stored. Throws `cache` if that fails.
   */
  async forget(feedId: string, present?: Manifest<P>): Promise<void> {
    try {
      for (const id of new Set([feedId, await this.#feedId()]))
        if (id !== undefined) await this.#forget(id, present?.feedId === id ? present : undefined);
      await this.#delete([this.#pointer]);
    } catch (cause) {
      throw new FilterError("cache", "the cache could not remove it all", { cause });
    }
  }

  async #forget(feedId: string, present: Manifest<P> | undefined): Promise<void> {
    await this.#remove(feedId, this.#hashes(present), []);
    await this.#removeParts(feedId, present);
    for (const kind of ["next", "manifest"] as const) {
      const manifest = await this.#manifest(kind, feedId);
      await this.#remove(feedId, [...this.#files, ...this.#hashes(manifest)], []);
      await this.#removeParts(feedId, manifest, present);
      await this.#delete([this.#name(kind, feedId)]);
    }
  }
}

/** The longest wait for a lock, and for a cache that doesn't answer, in milliseconds. */
const [LOCK, ANSWER] = [5_000, 10_000];

/** How many names are deleted at once. */
const AT_ONCE = 16;

function late(): FilterError {
  return new FilterError("cache", "the cache doesn't answer");
}

/** @internal Waits for a cache's answer. Throws `cache` if it takes too long; what the cache is doing goes on. */
export function patiently<T>(answer: Promise<T>): Promise<T> {
  return within(ANSWER, answer, late);
}

/** The promise's result. Throws another error if it takes longer than that many milliseconds. */
async function within<T>(milliseconds: number, promise: Promise<T>, late: () => unknown): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer!);
  }
}

/** Runs while no other page of this origin runs something under the same name, if locks are available. */
async function alone(name: string, run: () => Promise<void>): Promise<void> {
  const locks = lockManager();
  if (!locks) return run();
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  let begun!: () => void;
  const turn = new Promise<void>((resolve) => (begun = resolve));
  const begin = () => {
    // It was given up on.
    if (stop.signal.aborted) return undefined;
    begun();
    return (running = run());
  };
  try {
    const ended = (async () => locks.request(`bloom-wasm ${name}`, { signal: stop.signal }, begin))();
    await within(LOCK, Promise.race([turn, ended]), () => new Error("another page holds the lock"));
    await ended;
  } catch (error) {
    stop.abort();
    // A page with an opaque origin has locks but may not use them.
    if (running || Object(error).name !== "SecurityError") throw error;
    await run();
  }
}

function lockManager(): LockManager | undefined {
  try {
    return globalThis.navigator?.locks;
  } catch {
    return undefined;
  }
}
