/** Fetching a blob and decoding it as it arrives. */

import { Incoming } from "./bloom_wasm.js";
import { call, release } from "./call.js";
import { FilterError } from "./error.js";
import { type Filter, hold } from "./filter.js";
import { asBytes, attempt, invalidParameter, requireType, typeName } from "./input.js";
import { networkError, readAll, requireSignal, toWeb, unlessAborted } from "./stream.js";

/** Where a blob comes from. */
export type Source = string | URL | Request | Response | Promise<Response> | Blob | ArrayBuffer | Uint8Array;

/** What {@link load} takes. */
export interface LoadOptions {
  /** Stops the loading; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Called after each chunk. `total` is undefined when the length is unknown, as for a compressed transfer. */
  onProgress?: (progress: { loaded: number; total: number | undefined }) => void;
  /**
   * The most bytes of a blob to accept, without a transfer's compression; a longer one throws `too_large`, at once where
   * its length is known. Default: no limit but the memory's.
   */
  maxBytes?: number;
  /**
   * The blob's hash as in a script tag, such as `sha256-...`; other bytes throw `integrity`. Of several hashes those with
   * the most bits count, and one of them must fit.
   */
  integrity?: string;
  /** What to call in place of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/**
 * Loads a blob and decodes it. A URL is fetched; a `file:` URL is read in Node, Deno and Bun, as a stream.
 *
 * Throws a {@link FilterError}: `http` for an error status, `network` for a failed transfer, `truncated` for a short
 * one, and the codes of `decode`; `trailing_bytes` at once, before the checksum is looked at. An abort rejects with the
 * signal's reason.
 *
 * This takes the memory of the blob and at most 256 KiB if its length is known or at most 16 MiB; up to twice the blob
 * more otherwise. WebAssembly's memory, of which that is a part, grows by a sixteenth at least.
 */
export async function load(source: Source, options: LoadOptions = {}): Promise<Filter> {
  if (typeof options !== "object" || options === null) throw invalidParameter("options must be an object");
  const { signal, onProgress, maxBytes = Infinity, integrity, fetch } = options;
  requireType("function", { onProgress, fetch });
  requireType("string", { integrity });
  requireType("number", { maxBytes });
  requireSignal(signal);
  if (!(maxBytes >= 0)) throw invalidParameter("maxBytes must be a number from 0 on");
  signal?.throwIfAborted();
  const opening = open(source, { signal, fetch });
  const { stream, total, hint } = await unlessAborted(opening, signal).catch((error: unknown) => {
    // What comes after all has nobody to read it.
    opening.then(({ stream }) => stream.cancel()).catch(() => {});
    signal?.throwIfAborted();
    throw error;
  });
  const most = Math.min(maxBytes, 0x7fff_ffff);
  const requireRoom = (length: number) => {
    if (length > most) throw new FilterError("too_large", `the blob has ${length} bytes, more than ${most}`);
  };
  let incoming: Incoming | undefined;
  try {
    const blob = (incoming = call(() => new Incoming(0)));
    let loaded = 0;
    let expected = 0; // the blob's length by its own header, once that is there
    let next = 0; // how much is to be there when its header is looked at again
    let room = 0;
    const requireEnd = () => {
      if (expected === 0 || loaded <= expected) return;
      throw new FilterError("trailing_bytes", "there are bytes after the blob's end; was something appended?");
    };
    if (!hint) requireRoom(total ?? 0);
    await readAll(stream, signal, (chunk) => {
      loaded += chunk.length;
      requireRoom(loaded);
      requireEnd();
      // Never more than the whole: twice the room would be a waste at the end.
      if (loaded > room) room = expected === 0 || expected > 2 * room ? Math.max(loaded, 2 * room) : expected;
      call(() => blob.push(chunk, room));
      if (expected === 0 && loaded >= next) {
        // With thousands of layers' levels in it, reading a header for each chunk anew would take minutes.
        next = 2 * loaded;
        expected = call(() => blob.expectedLength());
        requireRoom(expected);
        requireEnd();
        // Room for the whole at once, but not for much on the word of the header alone.
        if (expected > 0 && (expected === total || expected <= 1 << 24)) room = Math.max(expected, loaded);
      }
      onProgress?.({ loaded, total: loaded <= total! ? total : undefined });
    });
    if (integrity !== undefined) {
      await requireIntegrity(
        call(() => blob.toBytes()),
        integrity,
      );
      signal?.throwIfAborted();
    }
    return hold(call(() => blob.decode()));
  } catch (error) {
    void stream.cancel?.(error).catch(() => {});
    throw error;
  } finally {
    release(incoming);
  }
}

interface Opened {
  stream: ReadableStream<Uint8Array>;
  /** The length that the transport promises, where it says so. */
  total?: number | undefined;
  /** Whether that may be the length of something else: of the bytes before they were decompressed. */
  hint?: boolean;
}

/** @internal Opens what `load` takes, told by what it does: polyfills and other realms have classes of their own. */
export async function open(source: Source, options: LoadOptions): Promise<Opened> {
  if (typeof source === "string") return openUrl(source, options);
  const names = ["stream", "size", "href", "then", "ok", "url"];
  const [stream, size, href, then, ok, url] = attempt("load takes a URL, a response or bytes", () =>
    names.map((name) => Object(source)[name]),
  );
  if (typeof stream === "function") return { stream: (source as Blob).stream(), total: size };
  if (typeof href === "string") return openUrl(href, options);
  if (typeof then === "function" || typeof ok === "boolean") return openResponse(source as Response, "the response");
  if (typeof url === "string") return openResponse(request(source as Request, options), url);
  // From a copy, for a Blob takes no bytes that are shared or may shrink.
  const blob = new Blob([asBytes(source as Uint8Array).slice() as Uint8Array<ArrayBuffer>]);
  return { stream: blob.stream(), total: blob.size };
}

function openUrl(url: string, options: LoadOptions): Promise<Opened> {
  return /^[\0- ]*file:/i.test(url) ? openFile(url) : openResponse(request(url, options), url);
}

async function request(input: string | Request, { signal, fetch = globalThis.fetch }: LoadOptions): Promise<Response> {
  return fetch(input, { signal });
}

async function openResponse(promise: Response | Promise<Response>, name: string): Promise<Opened> {
  const response = await Promise.resolve(promise).catch((cause: unknown) => {
    if (Object(cause).name === "AbortError") throw cause;
    throw networkError(`${name} could not be fetched`, cause);
  });
  const { ok, status, url, type, body, bodyUsed, headers } = Object(response) as Response;
  if (typeof ok !== "boolean") throw invalidParameter(`can't load a filter from a promise of ${typeName(response)}`);
  if (!ok) throw new FilterError("http", `${url || name} answered with status ${status}`, { cause: response });
  if (bodyUsed) throw invalidParameter("the response's body has been read already");
  // A compressed body has another length than its Content-Length. Across origins the encoding may be hidden.
  const length = headers?.has("content-encoding") ? null : headers?.get("content-length");
  const stream = body ?? new Blob([]).stream();
  return { stream, total: /^\d+$/.test(length ?? "") ? Number(length) : undefined, hint: type === "cors" };
}

async function openFile(url: string): Promise<Opened> {
  // Not an import: a bundler for browsers would stumble over it.
  const fs = globalThis.process?.getBuiltinModule?.("node:fs");
  if (!fs) throw new FilterError("network", `${url}: this runtime can't read files`);
  try {
    const path = new URL(url);
    const { size } = await fs.promises.stat(path);
    // Those of devices and of /proc have no size, and bytes all the same.
    return { stream: toWeb(fs.createReadStream(path)), total: size || undefined };
  } catch (cause) {
    throw networkError(`${url} could not be read`, cause);
  }
}

/**
 * Compares with hashes as in a script tag: `sha256-`, `sha384-` or `sha512-` and base64, and perhaps options after a
 * question mark. One of those with the most bits must fit. Other words are ignored, but they alone fit nothing.
 */
async function requireIntegrity(bytes: Uint8Array, integrity: string): Promise<void> {
  if (!crypto.subtle) throw new FilterError("integrity", "only pages from https can check integrity");
  const hashes = integrity.split(/\s+/).map((word) => /^sha(256|384|512)-([\w+/-]+)=*(\?|$)/.exec(word) ?? []);
  const most = Math.max(...hashes.map(([, bits = 0]) => Number(bits)));
  if (most > 0) {
    const digest = new Uint8Array(await crypto.subtle.digest(`SHA-${most}`, bytes as Uint8Array<ArrayBuffer>));
    const fitting = btoa(String.fromCharCode(...digest)).replace(/=+$/, "");
    for (const [, bits, hash] of hashes) {
      if (Number(bits) === most && hash!.replaceAll("-", "+").replaceAll("_", "/") === fitting) return;
    }
  }
  throw new FilterError("integrity", "the bytes have none of the demanded hashes");
}
