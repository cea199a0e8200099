/** Fetching a blob and decoding it as it arrives. */

import { Incoming } from "../bloom_wasm.js";
import { call, release } from "../boundary/call.js";
import { secretIn } from "../boundary/input.js";
import { known } from "../boundary/known.js";
import { type Filter, hold } from "./filter.js";
import { type LoadOptions, loading, refuseFrom } from "./reading.js";
import { receive, type Source } from "./receive.js";

/**
 * Loads a blob and decodes it. A URL is fetched. In Node, Deno and Bun, a `file:` URL is read as a stream.
 *
 * Throws a {@link FilterError}: `http` for an error status, `network` for a failed transfer, `truncated` for a short
 * one, and the codes of `decode`. Bytes after the blob's end throw `trailing_bytes` at once, before the checksum is
 * checked. An abort rejects with the signal's reason.
 *
 * If the blob's length is known, or at most 16 MiB, this takes the memory of the blob and at most 256 KiB. Otherwise it
 * takes up to twice the blob's length in addition. WebAssembly's memory contains all this, and grows by at least a
 * sixteenth.
 */
export async function load(source: Source, options: LoadOptions = {}): Promise<Filter> {
  refuseFrom(options);
  known(options, { load: loading });
  const secret = secretIn(options);
  return loadInto(
    source,
    options,
    call(() => new Incoming(0, secret)),
  );
}

/** @internal What takes the bytes of a filter in WebAssembly. */
export type RawReceiver = Pick<Incoming, "push" | "expectedLength" | "toBytes" | "decode" | "free">;

/** @internal Loads a filter into a receiver, and frees that. */
export async function loadInto(source: Source, options: LoadOptions, raw: RawReceiver): Promise<Filter> {
  try {
    return await receive(source, options, {
      push: (bytes, room) => call(() => raw.push(bytes, room)),
      expectedLength: () => call(() => raw.expectedLength()),
      toBytes: () => call(() => raw.toBytes()),
      decode: () => hold(call(() => raw.decode())),
    });
  } finally {
    release(raw);
  }
}
