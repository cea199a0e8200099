/** What reads the files of a feed: WebAssembly, or plain JavaScript. The follower knows neither. */

import type { FilterInfo } from "../boundary/info.js";
import type { Names } from "../boundary/known.js";
import type { AskableFilter } from "../filter/askable.js";

/** @internal The SHA-256 of bytes that arrive piece by piece, which WebCrypto can't do. */
export interface Hash {
  update(bytes: Uint8Array): void;
  /** The hash in 64 lower-case hexadecimal digits. It is of no use afterwards, and {@link Checks.release} frees it. */
  finish(): string;
}

/** @internal What a client checks before it reads any file. */
export interface Checks {
  /** Throws `invalid_parameter` for an option that a function hasn't got. */
  known(options: unknown, its: { [name: string]: Names }): void;
  sha256(): Hash;
  /** Throws `secret_required` or `wrong_secret` unless the secret is that of a seed and check value, or there is neither. */
  requireSecret(seed: bigint, check: bigint | undefined, secret: Uint8Array | undefined): void;
  /** Frees what an engine has made, if there is anything to free. */
  release(held: unknown): void;
}

/** @internal A base that arrives piece by piece. */
export interface Arriving<B> {
  /** Appends bytes, and makes room for `room` of them in all. */
  push(bytes: Uint8Array, room: number): void;
  decode(): B;
}

/** @internal What makes filters `F` of files, by way of blobs `B`. */
export interface Engine<B, F extends AskableFilter> extends Checks {
  /** An empty base, with room for so many bytes. */
  arriving(bytes: number, secret: Uint8Array | undefined): Arriving<B>;
  /** What a delta makes of a blob, which stays as it is. */
  apply(parent: B, delta: Uint8Array): B;
  info(blob: B): FilterInfo;
  estimatedFpr(blob: B): number;
  toBytes(blob: B): Uint8Array;
  /** A copy, which is freed by itself. */
  copy(blob: B): B;
  /** A filter of a blob, which it keeps. */
  hold(blob: B): F;
  isFreed(filter: F): boolean;
}
