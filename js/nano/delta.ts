/** The blob that a delta makes of another. FORMAT.md section 6.7. */

import { concat, invalidParameter } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { type Blob, readBlob, room, SPARE } from "./blob.js";
import { hex } from "./words.js";
import { digest, xxh64 } from "./xxh64.js";

/** The child of a parent, with which it shares the bytes that both have. */
export function apply(parent: Blob, delta: Uint8Array): Blob {
  const own = room(delta.length + SPARE);
  own.set(delta);
  const its = readBlob(own, delta.length, null);
  if (its.kind !== 7) throw new FilterError("wrong_kind", "the blob is a filter, and no delta");
  const [low, high] = parent.id as [number, number];
  const [wantedLow, wantedHigh] = its.numbers as [number, number];
  if (low !== wantedLow || high !== wantedHigh) {
    const ids = `${hex(wantedHigh, wantedLow)}, and this one is ${hex(high, low)}`;
    throw new FilterError("wrong_base", `the delta is for the blob with the id ${ids}`);
  }
  // Profile, what the flags say of keys, seed and check value.
  const identity = ({ profile, flags, seedLow, seedHigh, check }: Blob) =>
    String([profile, flags & ~(1 | 2 | 16), seedLow, seedHigh, ...Array.from(check ?? [])]);
  if (identity(parent) !== identity(its))
    throw new FilterError("incompatible", "the delta differs from the filter in profile, seed, secret or slots");
  const layers = [...parent.layers, ...its.layers];
  if (layers.length > 255) throw invalidParameter("a filter has at most 255 layers; build a new base");
  const [head, , table, ...payload] = parent.bytes as [Uint8Array, Uint8Array, Uint8Array, ...Uint8Array[]];
  const [, metadata, newTable, ...newPayload] = its.bytes as [Uint8Array, Uint8Array, Uint8Array, ...Uint8Array[]];
  const members = its.layers.length > 0 ? its.members : parent.members;
  const flags = (parent.flags & ~3) | (its.flags & 3) | (layers.length > 0 ? 16 : 0);
  const newHead = head.slice();
  newHead[7] = flags;
  const count = new DataView(new ArrayBuffer(5));
  count.setUint8(0, layers.length);
  count.setUint32(1, members, true);
  const tables = layers.length > 0 ? [new Uint8Array(count.buffer), table.slice(5), newTable.slice(5)] : [];
  const bytes = [newHead, metadata.slice(), concat(tables), ...payload, ...newPayload];
  const whole = concat(bytes);
  xxh64(new DataView(whole.buffer), 0, whole.length, 0, 0);
  return {
    ...parent,
    flags,
    name: its.name,
    createdAt: its.createdAt,
    layers,
    members,
    id: digest.slice(),
    bytes,
  };
}
