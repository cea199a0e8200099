/** Reading blobs into WebAssembly: one that is there, or one that arrives. */

import { Incoming, Filter as RawFilter } from "../bloom_wasm.js";
import { type AnyKey, asBytes, attempt, invalidParameter, secretIn } from "../boundary/input.js";
import { known } from "../boundary/known.js";
import type { Filter } from "../filter/filter.js";
import { decoding, type LoadOptions, loading } from "../filter/reading.js";
import { receive, type Source } from "../filter/receive.js";
import { call, release } from "./call.js";
import { hold } from "./engine.js";

/** Allowed here only as undefined: the functions with a format come first. */
const own = { format: 1 } as const;

/** Reads one of our own blobs. The bytes are copied. */
export function decodeRaw(bytes: Uint8Array | ArrayBuffer, options: unknown): RawFilter {
  // As a callback of `map`, `decode` gets an index instead.
  if (typeof options !== "number") known(options, "decode", decoding, own);
  // The function `decode` has dealt with a format already, but the classes' `decode` hasn't.
  if (attempt("options must be an object", () => Object(options).format) !== undefined)
    throw invalidParameter("format goes with filters of other software");
  const secret = secretIn(options);
  const blob = asBytes(bytes);
  return call(() => RawFilter.decode(blob, secret));
}

/** Loads one of our own blobs. */
export async function loadOwn(source: Source, options: LoadOptions): Promise<Filter<AnyKey>> {
  known(options, "load", loading, own);
  const secret = secretIn(options);
  return loadInto(
    source,
    options,
    call(() => new Incoming(0, secret)),
  );
}

/** Takes the bytes of a filter in WebAssembly. */
export type RawReceiver = Pick<Incoming, "push" | "expectedLength" | "toBytes" | "decode" | "free">;

/** Loads a filter into a receiver, and frees that. */
export async function loadInto(source: Source, options: LoadOptions, raw: RawReceiver): Promise<Filter<AnyKey>> {
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
