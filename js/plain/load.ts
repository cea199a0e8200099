/** Reading a blob: one that is there, or one that arrives. */

import { asBytes, concat, invalidParameter, room, secretIn } from "../boundary/input.js";
import { known } from "../boundary/known.js";
import { handled } from "../boundary/stream.js";
import { type Filter, hold } from "../filter/filter.js";
import { type DecodeOptions, decoding, type LoadOptions, loading } from "../filter/reading.js";
import { type Receiver, receive, type Source } from "../filter/receive.js";
import { type Blob, expectedLength, readBlob, readFilter, SPARE } from "./blob.js";
import { PlainEngine } from "./engine.js";

/**
 * @internal A blob that arrives piece by piece, with room for `most` bytes at first. The bytes aren't copied again: the
 * filter keeps using them.
 */
export class Incoming implements Receiver<Blob> {
  readonly #secret: Uint8Array | undefined;
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(most: number, secret: Uint8Array | undefined) {
    this.#secret = secret;
    this.#bytes = room(most + SPARE);
  }

  push(bytes: Uint8Array, wanted: number): void {
    const length = this.#length + bytes.length;
    if (length + SPARE > this.#bytes.length) {
      const longer = room(Math.max(length, wanted) + SPARE);
      longer.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = longer;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  expectedLength(): number {
    return expectedLength(new DataView(this.#bytes.buffer), this.#length, this.#secret);
  }

  toBytes(): Uint8Array {
    return concat([this.#bytes.subarray(0, this.#length)]);
  }

  decode(): Blob {
    return readBlob(this.#bytes, this.#length, this.#secret);
  }
}

/** Throws if the options ask for the bytes of other software, where only our own blobs are read. */
function refuseFormat(options: unknown): void {
  if (Object(options).format !== undefined) throw invalidParameter('format is an option of "bloom-wasm" only');
}

/**
 * Loads a blob and decodes it. A URL is fetched. In Node, Deno and Bun, a `file:` URL is read as a stream.
 *
 * A filter can't be posted to a worker. Post the bytes of its `toBytes()`, whose buffer may be transferred, and `decode`
 * them there.
 *
 * Throws a {@link FilterError}: `http` for an error status, `network` for a failed transfer, `truncated` for a short
 * one, and the codes of `decode`. Bytes after the blob's end throw `trailing_bytes` at once, before the checksum is
 * checked. An abort rejects with the signal's reason.
 *
 * This takes the memory of the blob if its length is known, or at most 16 MiB. Otherwise it takes up to twice the blob's
 * length in addition.
 */
export async function load(source: Source, options: LoadOptions = {}): Promise<Filter> {
  handled(source);
  refuseFormat(options);
  known(options, "load", loading);
  const secret = secretIn(options);
  return hold(new PlainEngine(await receive(source, options, new Incoming(0, secret))));
}

/** Decodes a blob of any of our own kinds. The bytes are copied. */
export function decode(bytes: Uint8Array | ArrayBuffer, options: DecodeOptions | undefined): Filter;
// Last, because this is the overload that `map(decode)` uses.
export function decode(bytes: Uint8Array | ArrayBuffer): Filter;
export function decode(bytes: Uint8Array | ArrayBuffer, options?: unknown): Filter {
  // As a callback of `map`, this gets an index instead.
  if (typeof options !== "number") {
    refuseFormat(options);
    known(options, "decode", decoding);
  }
  const secret = secretIn(options);
  return hold(new PlainEngine(readFilter(asBytes(bytes), secret)));
}
