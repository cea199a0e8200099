/** Reading a blob. FORMAT.md sections 2, 4, 5, 7 and 8: layout, header, metadata, table of layers, and checks. */

import { FilterError } from "../error.js";
import { type Bloom, bloom, type Scalable, scalable } from "./bloom.js";
import { type Cuckoo, cuckoo } from "./cuckoo.js";
import { type Hashing, hash, keyOf } from "./hashing.js";
import { ask, type Layer } from "./layers.js";
import type { Part } from "./part.js";
import { type Ribbon, ribbon } from "./ribbon.js";
import { digest, xxh64 } from "./xxh64.js";

/** A filter with what its blob says about it. */
export interface Blob extends Hashing {
  /** 1 to 5, as in the header; 7 is a delta. */
  readonly kind: number;
  /** 0 = raw, 1 = URLs, 2 = passwords. */
  readonly profile: number;
  readonly flags: number;
  /** The check value of the secret, the low half first. */
  readonly check: ArrayLike<number> | undefined;
  /** The parameters of the kind: the numbers of section 6 in their order, without rows and maps. */
  readonly numbers: readonly number[];
  readonly name: string | null;
  /** In milliseconds since 1970. */
  readonly createdAt: number | null;
  /** The filter under all layers. */
  readonly base: Part;
  /** The slots of its keys, a bit each. */
  readonly map: number;
  readonly layers: readonly Layer[];
  /** The number of members, if there are layers. */
  readonly members: number;
  /** The checksum, the low half first. */
  readonly id: ArrayLike<number>;
  /** The bytes before the checksum: up to the metadata, the metadata, the table of layers, the payloads. */
  readonly bytes: readonly Uint8Array[];
}

/** What is known of a blob before its payload is there. */
interface Head {
  blob: Omit<Blob, "id" | "bytes">;
  /** Where the metadata, the table of layers, the payload and the checksum begin. */
  marks: readonly [number, number, number, number];
}

/** So many bytes must follow a blob in memory: parts read further than they need to. */
export const SPARE = 80;

/** What layers a delta lies over: nothing. */
const NOTHING: Part = { size: 0, fill: () => true, has: () => false };

/** Throws `invalid_parameter` unless a rule of the format holds. */
function rule(holds: unknown): asserts holds {
  if (!holds) throw new FilterError("invalid_parameter", "a field of the blob is out of its range; who has made it?");
}

/**
 * Reads all before the payload, of which `length` bytes are there. `secret` is null for a delta that is meant for a
 * filter at hand, which must be compared later.
 */
function readHead(view: DataView, length: number, secret: Uint8Array | null | undefined): Head {
  let at = 0;
  /** Where the next bytes begin. */
  const take = (bytes: number) => {
    at += bytes;
    if (at > length) throw truncated(at, length);
    return at - bytes;
  };
  const u8 = () => view.getUint8(take(1));
  const u32 = () => view.getUint32(take(4), true);
  const f64 = () => view.getFloat64(take(8), true);
  /** Two halves of 32 bits, the low one first. */
  const u64 = () => {
    take(8);
    return [view.getInt32(at - 8, true), view.getInt32(at - 4, true)] as const;
  };
  const toNumber = ([low, high]: readonly [number, number]) => (high >>> 0) * 2 ** 32 + (low >>> 0);
  const rate = () => {
    const fpr = f64();
    rule(fpr >= 2 ** -32 && fpr < 1);
    return fpr;
  };
  /** Attempt, stages and their rows. */
  const stages = (fpr: number, keys: number) => {
    const attempt = u8();
    const count = u8();
    rule(count < 5 && (count === 0) === (keys === 0));
    const rows: number[] = [];
    while (rows.length < count) rows.push(u32());
    rule(!rows.some((its) => its === 0 || its % 8));
    return ribbon(fpr, attempt, rows);
  };
  const slots = (isEmpty: boolean) => {
    if (!isSlotted) return -1;
    const map = u32();
    rule(map < 2 ** 30 && (map === 0) === isEmpty);
    return map;
  };

  for (const byte of [0xb5, 0x42, 0x4c, 0x4d]) {
    if (at < length && view.getUint8(at) !== byte)
      throw new FilterError("not_a_filter", "this is not a bloom-wasm blob; is it another file, or a text-mode copy?");
    if (++at > length) throw truncated(4, length);
  }
  const version = u8();
  if (version !== 1)
    throw new FilterError("unsupported_version", `the blob has format version ${version}; update bloom-wasm`);
  const kind = u8();
  const isDelta = kind === 7;
  if (kind === 6)
    throw new FilterError("unsupported_kind", "the blob holds a filter of other software; bloom-wasm/reader reads it");
  if (kind < 1 || kind > 7)
    throw new FilterError("unsupported_kind", `the blob holds a filter of unknown kind ${kind}; update bloom-wasm`);
  const profile = u8();
  rule(profile < 3);
  const flags = u8() | (u8() << 8);
  const isSlotted = (flags & 64) !== 0;
  rule(flags < 128 && (profile === 2 || !(flags & 12)) && (!isSlotted || (profile === 1 && (kind === 5 || isDelta))));
  const [seedLow, seedHigh] = u64();
  const check = flags & 32 ? u64() : undefined;
  const key = secret === null ? undefined : keyOf(secret, seedHigh, seedLow, check);

  const numbers: number[] = [];
  const number = (value: number) => {
    numbers.push(value);
    return value;
  };
  /** Of Bloom and counting filters. */
  const shape = () => {
    const bits = number(u32());
    const hashes = number(u8());
    rule(bits && hashes && hashes < 65);
    return [bits, hashes] as const;
  };
  let base: Part = NOTHING;
  let map = -1;
  if (isDelta) {
    rule(flags & 16);
    numbers.push(...u64());
    map = 0;
  } else if (kind === 1) base = bloom(...shape(), 1);
  else if (kind === 2) {
    const its = shape();
    const width = number(u8());
    rule(width === 4 || width === 8);
    base = bloom(...its, width);
  } else if (kind === 3) {
    const its = scalable(number(u32()), number(u8()), number(f64()), number(f64()), number(toNumber(u64())));
    rule(its);
    base = its;
  } else if (kind === 4) {
    const buckets = number(u32());
    const width = number(u8());
    rule(buckets && buckets % 2 === 0 && width && width < 33 && (buckets * width) / 2 < 2 ** 31);
    base = cuckoo(buckets, width);
  } else {
    const keys = number(u32());
    base = stages(number(rate()), keys);
    map = slots(keys === 0);
  }

  const metadata = at;
  let name: string | null = null;
  if (flags & 1) {
    const bytes = u8();
    name = text(new Uint8Array(view.buffer, take(bytes), bytes));
  }
  const createdAt = flags & 2 ? toNumber(u64()) : null;

  const table = at;
  const layers: Layer[] = [];
  let members = 0;
  if (flags & 16) {
    const count = u8();
    members = u32();
    rule(count || (isDelta && members === 0));
    while (layers.length < count) {
      const type = u8();
      rule(type === 1 || type === 2);
      const salt = u32();
      const fpr = rate();
      const map = slots(false);
      const depth = u8();
      rule(depth && depth <= type);
      const levels: Ribbon[] = [];
      let keys = 0;
      while (levels.length < depth) {
        const its = u32();
        rule(its);
        keys ||= its;
        levels.push(stages(levels.length ? 0.5 : fpr, its));
      }
      layers.push({ isInclude: type === 1, salt, map, keys, levels });
    }
  }
  const end = partsOf(base, layers).reduce((sum, { size }) => sum + size, at);
  return {
    blob: {
      kind,
      profile,
      flags,
      seedHigh,
      seedLow,
      check,
      key,
      isSlotted,
      numbers,
      name,
      createdAt,
      base,
      map,
      layers,
      members,
    },
    marks: [metadata, table, at, end],
  };
}

/** What the payload is made of, in order. */
function partsOf(base: Part, layers: readonly Layer[]): Part[] {
  return [base, ...layers.flatMap(({ levels }) => levels)];
}

function truncated(needed: number, have: number): FilterError {
  return new FilterError(
    "truncated",
    `the blob is cut short: it needs ${needed} bytes and has ${have}; fetch it again`,
  );
}

/** Not by TextDecoder, which React Native's engine lacks. */
function text(bytes: Uint8Array): string {
  try {
    return decodeURIComponent(Array.from(bytes, (byte) => `%${(256 + byte).toString(16).slice(1)}`).join(""));
  } catch (cause) {
    // What isn't UTF-8. An exhausted stack says so itself.
    rule(!(cause instanceof URIError));
    throw cause;
  }
}

/** The length of the blob that begins with so many bytes, or 0 if more of it must be there first. */
export function expectedLength(view: DataView, length: number, secret: Uint8Array | undefined): number {
  try {
    return readHead(view, length, secret).marks[3] + 8;
  } catch (error) {
    if (error instanceof FilterError && error.code === "truncated") return 0;
    throw error;
  }
}

/**
 * Reads a blob of any kind, which is the first `length` bytes. {@link SPARE} more follow, and nobody changes them later.
 */
export function readBlob(bytes: Uint8Array, length: number, secret: Uint8Array | null | undefined): Blob {
  const view = new DataView(bytes.buffer);
  const { blob, marks } = readHead(view, length, secret);
  const [metadata, table, start, end] = marks;
  if (length < end + 8) throw truncated(end + 8, length);
  xxh64(view, 0, end, 0, 0);
  const id = digest.slice();
  if (view.getInt32(end, true) !== id[0] || view.getInt32(end + 4, true) !== id[1])
    throw new FilterError("checksum_mismatch", "the blob is damaged: its checksum is another; fetch it again");
  if (length > end + 8)
    throw new FilterError("trailing_bytes", "there are bytes after the blob's end; was something appended?");
  let at = start;
  for (const part of partsOf(blob.base, blob.layers)) {
    rule(part.fill(view, at));
    at += part.size;
  }
  const cut = (from: number, to: number) => bytes.subarray(from, to);
  return { ...blob, id, bytes: [cut(0, metadata), cut(metadata, table), cut(table, start), cut(start, end)] };
}

/** Reads the blob of a filter, which is copied. */
export function readFilter(bytes: Uint8Array, secret: Uint8Array | undefined): Blob {
  const { length } = bytes;
  const own = room(length + SPARE);
  own.set(bytes);
  return requireFilter(readBlob(own, length, secret));
}

/** Throws `wrong_kind` for a delta. */
export function requireFilter(blob: Blob): Blob {
  if (blob.kind === 7) throw new FilterError("wrong_kind", "the blob is a delta, which is no filter by itself");
  return blob;
}

/** An array of so many bytes. Throws `too_large` if there is no room for it. */
export function room(bytes: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes);
  } catch (cause) {
    throw new FilterError("too_large", `there is no room for ${bytes} bytes`, { cause });
  }
}

/** Whether the key in the bytes from `at` to `end` is maybe present. Its slot may be known. */
export function hasKey(blob: Blob, view: DataView, at: number, end: number, slot?: number): boolean {
  hash(blob, view, at, end, slot);
  const high = digest[1]!;
  const low = digest[0]!;
  const { layers } = blob;
  return (
    (layers.length > 0 ? ask(layers, high, low) : undefined) ??
    (((blob.map >>> (high >>> 27)) & 1) === 1 && blob.base.has(high, low))
  );
}

export type { Bloom, Cuckoo, Ribbon, Scalable };
