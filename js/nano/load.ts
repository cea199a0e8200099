/** Fetching a blob. */

import { secretIn } from "../boundary/input.js";
import { type LoadOptions, loading, refuseFrom } from "../filter/reading.js";
import { type Receiver, receive, type Source } from "../filter/receive.js";
import { type Blob, expectedLength, readBlob, room, SPARE } from "./blob.js";
import { type Filter, hold } from "./filter.js";
import { requireOptions } from "./options.js";

/**
 * @internal A blob that arrives piece by piece, with room for `most` bytes at first. What it holds isn't copied again:
 * the filter goes on using it.
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
    return this.#bytes.slice(0, this.#length);
  }

  decode(): Blob {
    return readBlob(this.#bytes, this.#length, this.#secret);
  }
}

/**
 * Loads a blob and decodes it. A URL is fetched. In Node, Deno and Bun, a `file:` URL is read as a stream.
 *
 * Throws a {@link FilterError}: `http` for an error status, `network` for a failed transfer, `truncated` for a short
 * one, and the codes of `decode`. Bytes after the blob's end throw `trailing_bytes` at once, before the checksum is
 * checked. An abort rejects with the signal's reason.
 *
 * This takes the memory of the blob if its length is known, or at most 16 MiB. Otherwise it takes up to twice the blob's
 * length in addition.
 */
export async function load(source: Source, options: LoadOptions = {}): Promise<Filter> {
  refuseFrom(options);
  requireOptions(options, { load: loading });
  const secret = secretIn(options);
  return hold(await receive(source, options, new Incoming(0, secret)));
}
