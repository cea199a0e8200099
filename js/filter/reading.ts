/** The options for reading blobs. */

import type { Every } from "../boundary/known.js";

/** The options of {@link decode}. */
export interface DecodeOptions {
  /**
   * The secret of a keyed filter, 16 bytes. Without it a keyed blob throws `secret_required`; with another one, or for a
   * blob that isn't keyed, `wrong_secret`.
   */
  secret?: Uint8Array | undefined;
}

/** The options of {@link load}. */
export interface LoadOptions extends DecodeOptions {
  /** Stops loading. The promise then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** How long loading may take, in milliseconds, above 0. After that it rejects with `network`. No limit by default. */
  timeout?: number;
  /** Called after each chunk. `total` is undefined if the length is unknown, as in a compressed transfer. */
  onProgress?: (progress: { loaded: number; total: number | undefined }) => void;
  /**
   * The longest blob to accept, in bytes after decompression, 0 or more. A longer one throws `too_large`, at once if
   * its length is known. By default only memory is the limit.
   */
  maxBytes?: number;
  /**
   * The blob's hash as in a script tag, such as `sha256-...`. Other bytes throw `integrity`. If there are several
   * hashes, only those with the most bits count, and one of them must match.
   */
  integrity?: string;
  /** Called instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

export const decoding = { secret: 1 } satisfies Every<DecodeOptions>;

export const loading = {
  ...decoding,
  signal: 1,
  timeout: 1,
  onProgress: 1,
  maxBytes: 1,
  integrity: 1,
  fetch: 1,
} satisfies Every<LoadOptions>;
