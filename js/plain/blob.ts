/** Reading a blob. FORMAT.md sections 2, 4, 5, 7 and 8: layout, header, metadata, table of layers, and checks. */

import { room } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { type Bloom, bloom, type Scalable, scalable } from "./bloom.js";
import { type Cuckoo, cuckoo } from "./cuckoo.js";
import { checksum, digest } from "./digest.js";
import { type Hashing, hash, keyOf } from "./hashing.js";
import { type Layer, partOf } from "./layers.js";
import { type Part, rule } from "./part.js";
import { type Ribbon, ribbon } from "./ribbon.js";
import { fromUtf8 } from "./scratch.js";
import { BASE_SALT, namesOf, readTags, type Tags } from "./tags.js";
import type { U64 } from "./words.js";

/** A filter with what its blob says about it. */
export interface Blob extends Hashing {
  /** 1 to 5, as in the header; 7 is a delta. */
  readonly kind: number;
  /** 0 = raw, 1 = URLs, 2 = passwords. */
  readonly profile: number;
  /** The check value of the secret. */
  readonly check: U64 | undefined;
  /** The id of the blob that a delta is for. */
  readonly parent: U64 | undefined;
  readonly name: string | null;
  /** In milliseconds since 1970. */
  readonly createdAt: number | null;
  /** The filter under all layers. */
  readonly base: Part;
  /** The slots of its keys, a bit each; all bits unless digests have slots. */
  readonly map: number;
  readonly layers: readonly Layer[];
  /** The tags of the base, if the filter has tags. */
  readonly tags: Tags | undefined;
  /** The names of all tags, and how many members have each. */
  readonly tagNames: readonly string[];
  readonly tagCounts: readonly number[];
  /** The number of members, with flag 16. */
  readonly members: number;
  /** The checksum, and the length. */
  readonly id: U64;
  /** The bytes before the checksum: up to the metadata, the metadata, the table of layers, the payloads. */
  readonly bytes: readonly Uint8Array[];
}

/** What is known of a blob before its payload is there. */
interface Head {
  blob: Omit<Blob, "id" | "bytes">;
  /** What the payload is made of, in order. */
  parts: Part[];
  /** Where the metadata, the table of layers, the payload and the checksum begin. */
  marks: number[];
}

/** The bytes that must follow a blob in memory, because parts read beyond their end. */
export const SPARE = 80;

/** The base of a delta: nothing. */
const NOTHING: Part = { size: 0, fill() {}, has: () => false };

/**
 * Reads everything before the payload from the first `length` bytes. `secret` is null for a delta, which must be
 * compared with its filter later. `names` are the tags' names if they are elsewhere: in the manifest of shards.
 */
function readHead(
  view: DataView,
  length: number,
  secret: Uint8Array | null | undefined,
  names: readonly string[] = [],
): Head {
  let at = 0;
  /** Where the next bytes begin. */
  const take = (bytes: number) => {
    at += bytes;
    requireLength(at, length);
    return at - bytes;
  };
  const u8 = () => view.getUint8(take(1));
  const u16 = () => view.getUint16(take(2), true);
  const i32 = () => view.getInt32(take(4), true);
  const u32 = () => i32() >>> 0;
  const u64 = (): U64 => [i32(), i32()];
  const number = () => u32() + 2 ** 32 * u32();
  const f64 = () => view.getFloat64(take(8), true);
  const rate = () => {
    const fpr = f64();
    rule(fpr >= 2 ** -32 && fpr < 1);
    return fpr;
  };
  const parts: Part[] = [];
  const part = <P extends Part>(read: P) => {
    parts.push(read);
    return read;
  };
  /** A ribbon filter: its attempt, and the rows of its stages. */
  const stages = (fpr: number, keys: number) => {
    const attempt = u8();
    const count = u8();
    rule(count < 5 && (count === 0) === (keys === 0));
    const rows = Array.from({ length: count }, u32);
    rule(rows.every((size) => size && size % 8 === 0));
    return part(ribbon(fpr, keys, attempt, rows));
  };
  const level = (fpr: number) => {
    const keys = u32();
    rule(keys);
    return stages(fpr, keys);
  };
  const bytes = (length: number) => new Uint8Array(view.buffer, take(length), length);
  const fields = { u8, u16, rate, bytes, text: (length: number) => text(bytes(length)), level };
  const slots = (keys: number) => {
    if (!(flags & 64)) return -1;
    const map = u32();
    rule(map < 2 ** 30 && (map === 0) === (keys === 0));
    return map;
  };

  for (const byte of [0xb5, 0x42, 0x4c, 0x4d])
    if (u8() !== byte)
      throw new FilterError(
        "not_a_filter",
        "this is not a bloom-wasm blob; is it an error page, a feed's manifest, gzipped, a text-mode copy, or a filter of other software?",
      );
  const version = u8();
  if (version !== 1)
    throw new FilterError("unsupported_version", `the blob has format version ${version}; update bloom-wasm`);
  const kind = u8();
  if (kind < 1 || kind === 6 || kind > 7)
    throw new FilterError(
      "unsupported_kind",
      `the blob is of kind ${kind}; ${kind === 6 ? "bloom-wasm reads it, with load and decode" : "update bloom-wasm"}`,
    );
  const profile = u8();
  const flags = u16();
  rule(
    profile < 3 &&
      flags < 256 &&
      (flags < 128 || kind === 5 || kind === 7) &&
      (profile === 2 || !(flags & 12)) &&
      (!(flags & 64) || (profile === 1 && (kind === 5 || kind === 7))),
  );
  const seed = u64();
  const check = flags & 32 ? u64() : undefined;
  const key = secret === null ? undefined : keyOf(secret, seed, check);

  let base = NOTHING;
  let map = -1;
  let parent: U64 | undefined;
  let tags: Tags | undefined;
  if (kind < 3) {
    const places = u32();
    const hashes = u8();
    const width = kind < 2 ? 1 : u8();
    rule(places && hashes && hashes < 65 && (kind < 2 || width === 4 || width === 8));
    base = part(bloom(places, hashes, width));
  } else if (kind === 3) base = part(scalable(u32(), u8(), f64(), f64(), number()));
  else if (kind === 4) base = part(cuckoo(u32(), u8()));
  else if (kind === 5) {
    const keys = u32();
    base = stages(rate(), keys);
    map = slots(keys);
    if (flags & 128) tags = readTags(fields, BASE_SALT);
  } else {
    parent = u64();
    map = 0;
  }

  const marks = [at];
  let name: string | null = null;
  if (flags & 1) name = fields.text(u8());
  const createdAt = flags & 2 ? number() : null;
  const tagCounts = flags & 128 ? Array.from({ length: u8() }, u32) : [];

  marks.push(at);
  const layers: Layer[] = [];
  let members = 0;
  if (flags & 16) {
    const count = u8();
    members = u32();
    while (layers.length < count) {
      const type = u8();
      const salt = u32();
      const fpr = rate();
      const map = slots(1);
      const depth = u8();
      rule((type === 1 || type === 2) && depth && depth <= type);
      const levels = Array.from({ length: depth }, (_, i) => level(i ? 0.5 : fpr));
      const tags = flags & 128 && type === 1 ? readTags(fields, salt) : undefined;
      layers.push({ isInclude: type === 1, salt, map, levels, tags });
    }
  }
  const tagNames = tags ? namesOf(names, [tags, ...layers.map(({ tags }) => tags)], tagCounts.length) : [];
  marks.push(at, at + parts.reduce((sum, { size }) => sum + size, 0));
  return {
    blob: {
      ...{ kind, profile, flags, seed, check, key, parent, name, createdAt, base, map, layers, members },
      ...{ tags, tagNames, tagCounts },
    },
    parts,
    marks,
  };
}

/** Throws `truncated` if a blob has fewer bytes than it needs. */
function requireLength(needed: number, have: number): void {
  if (needed > have)
    throw new FilterError(
      "truncated",
      `the blob is cut short: it needs ${needed} bytes and has ${have}; fetch it again`,
    );
}

function text(bytes: Uint8Array): string {
  const text = fromUtf8(bytes);
  rule(text !== undefined);
  return text!;
}

/** The length of the blob that begins with these bytes, or 0 if more are needed to tell. */
export function expectedLength(view: DataView, length: number, secret: Uint8Array | undefined): number {
  try {
    return readHead(view, length, secret).marks[3]! + 4;
  } catch (error) {
    if (Object(error).code === "truncated") return 0;
    throw error;
  }
}

/**
 * Reads a blob of any kind: the first `length` bytes. {@link SPARE} more follow, and none of them may change later.
 * Throws `wrong_kind` for a filter if `secret` is null, and otherwise for a delta. `names` are those of a shard's tags.
 */
export function readBlob(
  bytes: Uint8Array,
  length: number,
  secret: Uint8Array | null | undefined,
  names?: readonly string[],
): Blob {
  const view = new DataView(bytes.buffer);
  const { blob, parts, marks } = readHead(view, length, secret, names);
  const end = marks[3]!;
  requireLength(end + 4, length);
  if (view.getInt32(end, true) !== checksum(view, end))
    throw new FilterError("checksum_mismatch", "the blob is damaged; fetch it again");
  if (length > end + 4) throw new FilterError("trailing_bytes", "there are bytes after the blob's end");
  let at = marks[2]!;
  for (const part of parts) {
    part.fill(view, at);
    at += part.size;
  }
  if ((secret === null) !== (blob.kind === 7))
    throw new FilterError(
      "wrong_kind",
      `the blob is a ${secret === null ? "filter, not a delta" : "delta, not a filter; open its feed"}`,
    );
  const id = [view.getInt32(end, true), length | 0];
  return { ...blob, id, bytes: marks.map((mark, i) => bytes.subarray(i > 0 ? marks[i - 1]! : 0, mark)) };
}

/** Like {@link readBlob}, from a copy of the bytes. */
export function readFilter(bytes: Uint8Array, secret: Uint8Array | null | undefined, names?: readonly string[]): Blob {
  const { length } = bytes;
  const own = room(length + SPARE);
  own.set(bytes);
  return readBlob(own, length, secret, names);
}

/** Whether the key in the bytes from `at` to `end` is maybe present. `slot` is given if it is known. */
export function hasKey(blob: Blob, view: DataView, at: number, end: number, slot?: number): boolean {
  hash(blob, view, at, end, slot);
  return partOf(blob, digest) !== undefined;
}

/** The numbers of the tags of such a key; undefined if it is absent. */
export function tagsOf(blob: Blob, view: DataView, at: number, end: number): ArrayLike<number> | undefined {
  hash(blob, view, at, end);
  return partOf(blob, digest)?.tags?.of(digest);
}

export type { Bloom, Cuckoo, Ribbon, Scalable };
