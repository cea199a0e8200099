/** Fetching a blob as it arrives. This knows nothing of WebAssembly. */

import { builtin } from "../boundary/builtin.js";
import { asBytes, attempt, invalidParameter, requireLimit, requireType, typeName } from "../boundary/input.js";
import {
  failed,
  limited,
  named,
  quietly,
  readAll,
  requireSignal,
  requireTimeout,
  toWeb,
  unlessAborted,
} from "../boundary/stream.js";
import { FilterError } from "../error.js";
import type { LoadOptions } from "./reading.js";

/** What `load` can load a blob from. */
export type Source = string | URL | Request | Response | Promise<Response> | Blob | ArrayBuffer | Uint8Array;

/** @internal Takes the bytes of a filter as they arrive. */
export interface Receiver<F> {
  /** Appends bytes, and makes room for `room` of them in all. */
  push(bytes: Uint8Array, room: number): void;
  /** The length of the whole blob according to its header; 0 until enough of that has arrived. */
  expectedLength(): number;
  /** A copy of all bytes. */
  toBytes(): Uint8Array;
  /** The filter, if the whole blob has arrived. */
  decode(): F;
}

/**
 * @internal Hands the bytes of a source to a receiver, and returns the filter that it decodes. Reads each option once: a
 * getter may give another value the next time, and a copy has no inherited ones.
 */
export async function receive<F>(source: Source, options: LoadOptions, incoming: Receiver<F>): Promise<F> {
  const { signal, timeout = Infinity, onProgress, maxBytes = Infinity, integrity, fetch } = options;
  requireType("function", { onProgress, fetch });
  requireType("string", { integrity });
  requireLimit({ maxBytes });
  requireTimeout(timeout);
  requireSignal(signal);
  // That of a Request.
  const own: AbortSignal | undefined = attempt(WANTED, () => Object(source).signal) ?? undefined;
  requireSignal(own);
  return limited(`loading took longer than ${timeout} ms`, timeout, own ? [signal, own] : [signal], (held) =>
    received(source, { signal: held, onProgress, maxBytes, integrity, fetch }, incoming),
  );
}

async function received<F>(
  source: Source,
  { signal, onProgress, maxBytes, integrity, fetch }: Omit<LoadOptions, "secret" | "timeout"> & { maxBytes: number },
  incoming: Receiver<F>,
): Promise<F> {
  const { stream, total, hint, name } = await open(source, { signal, fetch });
  const most = Math.min(maxBytes, 0x7fff_ffff);
  const requireRoom = (length: number) => {
    if (length > most) throw new FilterError("too_large", `the blob has ${length} bytes, more than ${most}`);
  };
  try {
    let loaded = 0;
    let expected = 0; // the blob's length according to its header, once that has arrived
    let next = 0; // read the header again once this many bytes have arrived
    let room = 0;
    const requireEnd = () => {
      if (expected > 0 && loaded > expected)
        throw new FilterError("trailing_bytes", "there are bytes after the blob's end");
    };
    if (!hint && total !== undefined) requireRoom(total);
    await readAll(stream, signal, (chunk) => {
      loaded += chunk.length;
      requireRoom(loaded);
      requireEnd();
      if (loaded > room) {
        // Room for the whole blob, but not for a huge one if only the header says so. At the end, doubling would waste
        // memory.
        const isWhole = expected > 0 && (expected === total || expected <= Math.max(1 << 24, 2 * room));
        room = isWhole ? expected : Math.max(loaded, 2 * room);
      }
      incoming.push(chunk, room);
      if (expected === 0 && loaded >= next) {
        // A header may have thousands of levels. Reading it again for each chunk would take minutes.
        next = 2 * loaded;
        expected = incoming.expectedLength();
        requireRoom(expected);
        requireEnd();
      }
      onProgress?.({ loaded, total: loaded <= total! ? total : undefined });
    });
    if (integrity !== undefined) {
      await requireIntegrity(incoming.toBytes(), integrity);
      signal?.throwIfAborted();
    }
    return incoming.decode();
  } catch (error) {
    void quietly(() => stream.cancel?.(error));
    throw named(error, name, signal);
  }
}

interface Opened {
  stream: ReadableStream<Uint8Array>;
  /** The length that the transport promises, if it does. */
  total?: number | undefined;
  /** Whether that may instead be the length before decompression. */
  hint?: boolean;
  /** Where the bytes come from, for messages. */
  name?: string;
}

/** @internal How to open a source. */
export interface OpenOptions extends Pick<LoadOptions, "signal" | "fetch"> {
  /** The cache mode of the request, if it matters. */
  cache?: RequestCache | undefined;
}

/** @internal Opens a source, unless the signal aborts first. */
export async function open(source: Source, options: OpenOptions): Promise<Opened> {
  const { signal } = options;
  signal?.throwIfAborted();
  const opening = openAny(source, options);
  return unlessAborted(opening, signal).catch((error: unknown) => {
    // If it opens after all, nobody will read it.
    void quietly(async () => (await opening).stream.cancel());
    signal?.throwIfAborted();
    throw error;
  });
}

/** Opens a source. It is recognised by its properties, because polyfills and other realms have other classes. */
async function openAny(source: Source, options: OpenOptions): Promise<Opened> {
  const names = ["stream", "size", "href", "then", "ok", "url"];
  const [stream, size, href = source, then, ok, url] = attempt(WANTED, () => names.map((name) => Object(source)[name]));
  if (typeof stream === "function") return { stream: (source as Blob).stream(), total: size };
  if (typeof href === "string" && /^[\0- ]*file:/i.test(href)) return openFile(href);
  if (typeof href === "string") {
    requireAbsolute(href, options);
    return openResponse(request(href, options), href);
  }
  if (typeof then === "function" || typeof ok === "boolean") return openResponse(source as Response);
  if (typeof url === "string") return openResponse(request(source as Request, options), url);
  // From a copy: a Blob doesn't accept bytes that are shared or may shrink.
  return openAny(new Blob([asBytes(source as Uint8Array, WANTED).slice() as Uint8Array<ArrayBuffer>]), options);
}

/** A URL for messages: without the contents of a data: URL, and without a user or a query, which may be a token. */
export function shown(url: string): string {
  if (/^[\0- ]*data:/i.test(url)) return "the data: URL";
  return url
    .replace(/\?.*/s, "?...")
    .replace(/(:\/\/)[^/?#]*@/, "$1")
    .slice(0, 200);
}

/** Throws for a relative URL if there is no page to resolve it against, unless the program passes its own `fetch`. */
function requireAbsolute(url: string, { fetch }: OpenOptions): void {
  if (fetch || globalThis.location || /^[\0- ]*[a-z][\w+.-]*:/i.test(url)) return;
  const hint = 'for a file, pass a file: URL such as new URL("list.bloom", import.meta.url)';
  throw invalidParameter(`${shown(url)} is no URL; ${hint}`);
}

const WANTED = "load takes a URL, Request, Response, Blob or bytes";

async function request(input: string | Request, options: OpenOptions): Promise<Response> {
  const response = await fetched(input, options);
  // Nobody will read the body of an error.
  if (Object(response).ok === false) void quietly(() => response.body?.cancel());
  return response;
}

async function fetched(input: string | Request, options: OpenOptions): Promise<Response> {
  const { signal, fetch = globalThis.fetch, cache } = options;
  // Bundlers inline small files like this, and a page's policy may forbid fetching them. Other forms of data: URLs are
  // left to `fetch`.
  const [, inlined] = /^[\0- ]*data:[^,]{0,99};base64,([\w+/]+=*)$/i.exec(String(input)) ?? [];
  if (inlined) return new Response(Uint8Array.from(atob(inlined), (one) => one.charCodeAt(0)));
  const ask = async () => {
    try {
      if (cache) return await fetch(input, { signal, cache });
    } catch (error) {
      // Cloudflare's workerd throws for the option itself until a compatibility date of 2024-11-11, and for single modes
      // after it.
      if (!/\bcache\b/.test(Object(error).message)) throw error;
    }
    return fetch(input, { signal });
  };
  // A Request of another method may have changed something, and its body may be used up.
  const { method = "GET" } = Object(input);
  return ask().catch((error: unknown) => {
    if (method !== "GET" || signal?.aborted || !isReset(error)) throw error;
    return ask();
  });
}

/**
 * Whether an error of `fetch` says that the connection was reset. A server may close an idle one just when it is used
 * again: browsers then ask once more themselves, and Node doesn't.
 */
function isReset(error: unknown, depth = 0): boolean {
  const { code, cause } = Object(error);
  return code === "ECONNRESET" || code === "UND_ERR_SOCKET" || (depth < 9 && cause ? isReset(cause, depth + 1) : false);
}

/** Opens a response. `asked` is the URL that was requested, if known; after redirects, the response has another one. */
async function openResponse(promise: Response | Promise<Response>, asked?: string): Promise<Opened> {
  const name = asked === undefined ? "the response" : shown(asked);
  const response = await Promise.resolve(promise).catch((cause: unknown) => {
    if (Object(cause).name === "AbortError") throw cause;
    throw failed("network", `${name} could not be fetched${corsHint(asked, cause)}`, cause);
  });
  const { ok, status, url, type, body, bodyUsed, headers } = Object(response) as Response;
  if (typeof ok !== "boolean") throw invalidParameter(`${WANTED}, not a promise of ${typeName(response)}`);
  const source = url ? shown(url) : asked && name;
  // Not with the response as the cause: Node would print 60 lines of it.
  if (!ok) throw new FilterError("http", `${source || name} answered with status ${status}`);
  if (bodyUsed) throw invalidParameter("the response was read already");
  // The Content-Length of a compressed body isn't its real length. Across origins the encoding may be hidden.
  const length = headers?.has("content-encoding") ? undefined : headers?.get("content-length");
  if (body === undefined) throw new FilterError("network", `${name} is no stream: decode its arrayBuffer()`);
  const stream = body ?? new Blob([]).stream();
  return {
    stream,
    total: length && /^\d+$/.test(length) ? Number(length) : undefined,
    hint: type === "cors",
    name: source,
  };
}

/** A browser doesn't say why it fetched nothing: the host may be down, or not let pages of other origins read its files. */
function corsHint(asked: string | undefined, cause: unknown): string {
  const { location } = globalThis;
  if (asked === undefined || !location || !(cause instanceof TypeError)) return "";
  const isOther = /^https?:/i.test(asked) && !asked.startsWith(`${location.origin}/`);
  return isOther ? " (does its host send Access-Control-Allow-Origin?)" : "";
}

async function openFile(url: string): Promise<Opened> {
  const fs = builtin("node:fs");
  if (!fs) throw new FilterError("network", `${url}: this runtime has no files`);
  try {
    const path = new URL(url);
    const { size } = await fs.promises.stat(path);
    // Devices and files in /proc have a size of 0, but may still have bytes.
    return { stream: toWeb(fs.createReadStream(path)), total: size || undefined, name: url };
  } catch (cause) {
    throw failed("network", `${url} could not be read`, cause);
  }
}

/**
 * Compares the bytes with hashes as in a script tag: `sha256-`, `sha384-` or `sha512-`, base64, and maybe options after
 * a question mark. One of the hashes with the most bits must match. Other words are ignored; if there is nothing else,
 * this throws.
 */
async function requireIntegrity(bytes: Uint8Array, integrity: string): Promise<void> {
  if (!globalThis.crypto?.subtle) throw new FilterError("integrity", "no crypto.subtle: integrity needs https");
  const hashes = [...integrity.matchAll(/(?:^|\s)sha(256|384|512)-([\w+/-]+)=*(?=[\s?]|$)/g)];
  const [most] = hashes
    .map(([, bits]) => bits!)
    .sort()
    .reverse();
  if (most) {
    const digest = new Uint8Array(await crypto.subtle.digest(`SHA-${most}`, bytes as Uint8Array<ArrayBuffer>));
    const fitting = btoa(String.fromCharCode(...digest)).replace(/=+$/, "");
    const fits = ([, bits, hash]: RegExpMatchArray) =>
      bits === most && hash!.replaceAll("-", "+").replaceAll("_", "/") === fitting;
    if (hashes.some(fits)) return;
  }
  throw new FilterError("integrity", "the bytes have another hash");
}
