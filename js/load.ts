/** Fetching a blob and decoding it as it arrives. */

import { Incoming } from "./bloom_wasm.js";
import { call, release } from "./call.js";
import { FilterError } from "./error.js";
import { hold, type Filter } from "./filter.js";
import { asBytes, invalidParameter, plainBytes, requireType, typeName } from "./input.js";
import { readAll, unlessAborted } from "./stream.js";

/** Where a blob comes from. */
export type Source = string | URL | Request | Response | Promise<Response> | Blob | ArrayBuffer | Uint8Array;

/** What {@link load} takes. */
export interface LoadOptions {
  /** Stops the loading; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each chunk. `total` is undefined when the length is unknown, as for a compressed transfer. */
  onProgress?: (progress: { loaded: number; total: number | undefined }) => void;
  /** The most bytes to accept; a longer blob throws `too_large`. Default: no limit but the memory's. */
  maxBytes?: number;
  /** The blob's hash as in a script tag, such as `sha256-...`; other bytes throw `integrity`. */
  integrity?: string;
  /** What to call in place of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/**
 * Loads a blob and decodes it. A URL is fetched; a `file:` URL is read in Node, Deno and Bun.
 *
 * Throws a {@link FilterError}: `http` for an error status, `network` for a failed transfer, `truncated` for a short
 * one, and the codes of `decode`; `trailing_bytes` at once, before the checksum is looked at. An abort rejects with the
 * signal's reason.
 *
 * Memory grows by the blob and at most 256 KiB if its length is known or at most 16 MiB; by up to twice the blob more
 * otherwise.
 */
export async function load(source: Source, options: LoadOptions = {}): Promise<Filter> {
  if (typeof options !== "object" || options === null) throw invalidParameter("options must be an object");
  const { signal, onProgress, maxBytes = Infinity, integrity, fetch } = options;
  requireType("function", { onProgress, fetch });
  requireType("string", { integrity });
  requireType("number", { maxBytes });
  if (signal !== undefined && typeof signal?.throwIfAborted !== "function") throw invalidParameter("signal must be an AbortSignal");
  if (!(maxBytes >= 0)) throw invalidParameter("maxBytes must be a number from 0 on");
  signal?.throwIfAborted();
  const opening = open(source, { signal, fetch });
  const { stream, total } = await unlessAborted(opening, signal).catch((error: unknown) => {
    // What comes after all has nobody to read it.
    opening.then(({ stream }) => stream.cancel()).catch(() => {});
    throw error;
  });
  const most = Math.min(maxBytes, 0x7fff_ffff);
  const requireRoom = (length: number) => {
    if (length > most) throw new FilterError("too_large", `the blob has ${length} bytes, more than ${most}`);
  };
  const incoming = call(() => new Incoming(0));
  try {
    let loaded = 0;
    let expected = 0; // the blob's length by its own header, once that is there
    let next = 0; // how much is to be there when its header is looked at again
    let room = 0;
    const requireEnd = () => {
      if (expected === 0 || loaded <= expected) return;
      throw new FilterError("trailing_bytes", "there are bytes after the blob's end; was something appended?");
    };
    requireRoom(total ?? 0);
    await readAll(stream, signal, (chunk) => {
      loaded += chunk.byteLength;
      requireRoom(loaded);
      requireEnd();
      // Never more than the whole: twice the room would be a waste at the end.
      if (loaded > room) room = expected === 0 || expected > 2 * room ? Math.max(loaded, 2 * room) : expected;
      const bytes = plainBytes(chunk);
      call(() => incoming.push(bytes, room));
      if (expected === 0 && loaded >= next) {
        // With thousands of layers' levels in it, reading a header for each chunk anew would take minutes.
        next = 2 * loaded;
        expected = call(() => incoming.expectedLength());
        requireRoom(expected);
        requireEnd();
        // Room for the whole at once, but not for much on the word of the header alone.
        if (expected > 0 && (expected === total || expected <= 1 << 24)) room = Math.max(expected, loaded);
      }
      onProgress?.({ loaded, total: total !== undefined && loaded <= total ? total : undefined });
    });
    if (integrity !== undefined) {
      await requireIntegrity(call(() => incoming.toBytes()), integrity);
      signal?.throwIfAborted();
    }
    return hold(call(() => incoming.decode()));
  } catch (error) {
    void stream.cancel(error).catch(() => {});
    throw error;
  } finally {
    release(incoming);
  }
}

interface Opened {
  stream: ReadableStream<Uint8Array>;
  /** The length that the transport promises, where it says so. */
  total: number | undefined;
}

/** @internal Opens what `load` takes. */
export async function open(source: Source, options: LoadOptions): Promise<Opened> {
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) {
    source = new Blob([asBytes(source) as Uint8Array<ArrayBuffer>]);
  }
  if (source instanceof Blob) return { stream: source.stream(), total: source.size };
  if (typeof source === "string" || source instanceof URL) {
    const url = String(source);
    return url.startsWith("file:") ? openFile(url) : openResponse(request(url, options), url);
  }
  if (source instanceof Request) return openResponse(request(source, options), source.url);
  if (source instanceof Response || source instanceof Promise) return openResponse(source, "the response");
  throw invalidParameter(`can't load a filter from ${typeName(source)}`);
}

async function request(input: string | Request, { signal, fetch = globalThis.fetch }: LoadOptions): Promise<Response> {
  try {
    return await fetch(input, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

async function openResponse(promise: Response | Promise<Response>, name: string): Promise<Opened> {
  const response = await Promise.resolve(promise).catch((cause: unknown) => {
    if (cause instanceof Error && cause.name !== "AbortError") {
      throw new FilterError("network", `${name} could not be fetched: ${cause.message}`, { cause });
    }
    throw cause;
  });
  // A polyfill's is no instance of the global class.
  if (typeof response?.ok !== "boolean") throw invalidParameter(`can't load a filter from a promise of ${typeName(response)}`);
  if (!response.ok) {
    throw new FilterError("http", `${response.url || name} answered with status ${response.status}`, { cause: response });
  }
  if (response.bodyUsed) throw invalidParameter("the response's body has been read already");
  // A compressed body is longer than its Content-Length. Across origins the encoding may be hidden, so that this
  // length is only ever a hint.
  const length = response.headers.has("content-encoding") ? null : response.headers.get("content-length");
  return {
    stream: response.body ?? new Blob([]).stream(),
    total: length !== null && /^\d+$/.test(length) ? Number(length) : undefined,
  };
}

async function openFile(url: string): Promise<Opened> {
  // Not an import: a bundler for browsers would stumble over it.
  const fs = globalThis.process?.getBuiltinModule?.("node:fs/promises");
  if (!fs) throw new FilterError("network", `${url}: this runtime can't read files`);
  const read = async () => fs.readFile(new URL(url));
  const bytes = await read().catch((cause: Error) => {
    throw new FilterError("network", `${url} could not be read: ${cause.message}`, { cause });
  });
  const blob = new Blob([bytes]);
  return { stream: blob.stream(), total: blob.size };
}

/** Compares with a hash as in a script tag: `sha256-`, `sha384-` or `sha512-` and base64; one of several must fit. */
async function requireIntegrity(bytes: Uint8Array, integrity: string): Promise<void> {
  if (!crypto.subtle) throw new FilterError("integrity", "only pages from https can check integrity");
  for (const [, bits, hash] of integrity.matchAll(/\bsha(256|384|512)-([\w+/]+=*)/g)) {
    const digest = new Uint8Array(await crypto.subtle.digest(`SHA-${bits}`, bytes as Uint8Array<ArrayBuffer>));
    if (btoa(String.fromCharCode(...digest)) === hash) return;
  }
  throw new FilterError("integrity", "the bytes don't have the hash that was demanded");
}
