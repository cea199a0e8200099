/** Reading blobs into WebAssembly: one that is there, or one that arrives. */

import { Incoming, Filter as RawFilter } from "../bloom_wasm.js";
import { type AnyKey, asBytes, invalidParameter, secretIn } from "../boundary/input.js";
import { known, type Names } from "../boundary/known.js";
import type { Filter } from "../filter/filter.js";
import { decoding, type LoadOptions, loading } from "../filter/reading.js";
import { receive, type Source } from "../filter/receive.js";
import { engineFor, type WasmEngine } from "./engine.js";
import { call, Held, restored } from "./instance.js";

/** Allowed here only as undefined: the functions with a format come first. */
const own = { format: 1 } as const;

/** The secret in the options for one of our own blobs. */
function ownSecret(options: unknown, name: string, names: Names): Uint8Array | undefined {
  known(options, name, names, own);
  // The functions `decode` and `load` have dealt with a format already, but those of the classes haven't.
  if (Object(options).format !== undefined) throw invalidParameter("format goes with filters of other software");
  return secretIn(options);
}

/** Reads one of our own blobs. The bytes are copied. */
export function decodeOwn(bytes: Uint8Array | ArrayBuffer, options: unknown): WasmEngine {
  // As a callback of `map`, `decode` gets an index instead.
  const secret = typeof options === "number" ? undefined : ownSecret(options, "decode", decoding);
  const blob = asBytes(bytes);
  return engineFor(() => RawFilter.decode(blob, secret));
}

/** Makes an object of an engine. */
type Hold = (engine: WasmEngine) => Filter<AnyKey>;

/** Loads one of our own blobs. */
export async function loadOwn(source: Source, options: LoadOptions, held: Hold): Promise<Filter<AnyKey>> {
  const secret = ownSecret(options, "load", loading);
  const make = () => call(() => new Incoming(0, secret));
  const incoming = new Held(make(), (saved) => restored(make(), (raw) => raw.push(saved, 0)));
  return loadInto(source, options, incoming, held);
}

/** Takes the bytes of a filter in WebAssembly. */
type Receiver = Pick<Incoming, "push" | "expectedLength" | "toBytes" | "decode">;

/** Loads a filter into a receiver, and frees that. */
export async function loadInto(
  source: Source,
  options: LoadOptions,
  incoming: { readonly raw: Receiver; call<T>(run: (raw: Receiver) => T): T; free(): void },
  held: Hold,
): Promise<Filter<AnyKey>> {
  try {
    return await receive(source, options, {
      push: (bytes, room) => incoming.call((raw) => raw.push(bytes, room)),
      expectedLength: () => incoming.call((raw) => raw.expectedLength()),
      toBytes: () => incoming.call((raw) => raw.toBytes()),
      decode: () => {
        const { raw } = incoming;
        return held(engineFor(() => raw.decode()));
      },
    });
  } finally {
    incoming.free();
  }
}
