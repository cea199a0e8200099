/** Reading blobs into WebAssembly: one that is there, or one that arrives. */

import { Incoming, Filter as RawFilter } from "../bloom_wasm.js";
import { type AnyKey, asBytes, invalidParameter, secretIn } from "../boundary/input.js";
import { known, type Names } from "../boundary/known.js";
import type { Filter } from "../filter/filter.js";
import { decoding, type LoadOptions, loading } from "../filter/reading.js";
import { receive, type Source } from "../filter/receive.js";
import { call, release } from "./call.js";
import { hold } from "./engine.js";

/** Allowed here only as undefined: the functions with a format come first. */
const own = { format: 1 } as const;

/** The secret in the options for one of our own blobs. */
function ownSecret(options: unknown, name: string, its: Names): Uint8Array | undefined {
  known(options, name, its, own);
  // The functions `decode` and `load` have dealt with a format already, but those of the classes haven't.
  if (Object(options).format !== undefined) throw invalidParameter("format goes with filters of other software");
  return secretIn(options);
}

/** Reads one of our own blobs. The bytes are copied. */
export function decodeRaw(bytes: Uint8Array | ArrayBuffer, options: unknown): RawFilter {
  // As a callback of `map`, `decode` gets an index instead.
  const secret = typeof options === "number" ? undefined : ownSecret(options, "decode", decoding);
  const blob = asBytes(bytes);
  return call(() => RawFilter.decode(blob, secret));
}

/** Makes an object of a raw filter. */
type Hold = (raw: RawFilter) => Filter<AnyKey>;

/** Loads one of our own blobs. */
export async function loadOwn(source: Source, options: LoadOptions, held?: Hold): Promise<Filter<AnyKey>> {
  const secret = ownSecret(options, "load", loading);
  return loadInto(
    source,
    options,
    call(() => new Incoming(0, secret)),
    held,
  );
}

/** Takes the bytes of a filter in WebAssembly. */
export type RawReceiver = Pick<Incoming, "push" | "expectedLength" | "toBytes" | "decode" | "free">;

/** Loads a filter into a receiver, and frees that. */
export async function loadInto(
  source: Source,
  options: LoadOptions,
  raw: RawReceiver,
  held: Hold = hold,
): Promise<Filter<AnyKey>> {
  try {
    return await receive(source, options, {
      push: (bytes, room) => call(() => raw.push(bytes, room)),
      expectedLength: () => call(() => raw.expectedLength()),
      toBytes: () => call(() => raw.toBytes()),
      decode: () => held(call(() => raw.decode())),
    });
  } finally {
    release(raw);
  }
}
