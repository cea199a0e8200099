/** The blob that a delta makes of another. FORMAT.md section 6.7. */

import { concat, invalidParameter } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { type Blob, readFilter } from "./blob.js";
import { checksum } from "./digest.js";
import { namesOf } from "./tags.js";
import { hex } from "./words.js";

/** What the two must have in common: the profile, what the flags say of keys, seed and check value. */
function identity({ profile, flags, seed, check }: Blob): string {
  return String([profile, flags & ~19, ...seed, ...(check ?? [])]);
}

/** The child of a parent, with which it shares the bytes that both have. */
export function apply(parent: Blob, delta: Uint8Array): Blob {
  const update = readFilter(delta, null);
  const [wanted, found] = [update.parent!, parent.id].map(hex);
  if (wanted !== found)
    throw new FilterError("wrong_base", `the delta is for the blob with the id ${wanted}, and this one is ${found}`);
  if (identity(parent) !== identity(update))
    throw new FilterError("incompatible", "the delta differs from the filter in profile, seed, secret, slots or tags");
  const layers = [...parent.layers, ...update.layers];
  if (layers.length > 255) throw invalidParameter("a filter has at most 255 layers; build a new base");
  const { name, createdAt, tagCounts } = update;
  const tagNames = parent.tags
    ? namesOf([], [parent.tags, ...layers.map(({ tags }) => tags)], tagCounts.length)
    : parent.tagNames;
  const members = update.flags & 16 ? update.members : parent.members;
  const flags = (parent.flags & ~3) | (update.flags & 19);
  const [head, , table, ...payload] = parent.bytes as [Uint8Array, Uint8Array, Uint8Array, ...Uint8Array[]];
  const [, metadata, more, ...newPayload] = update.bytes as [Uint8Array, Uint8Array, Uint8Array, ...Uint8Array[]];
  const newHead = head.slice();
  newHead[7] = flags;
  // The numbers of layers and of members, and the layers.
  const count = Uint8Array.of(layers.length, members, members >>> 8, members >>> 16, members >>> 24);
  const newTable = flags & 16 ? concat([count, table.subarray(5), more.subarray(5)]) : table;
  const bytes = [newHead, metadata.slice(), newTable, ...payload, ...newPayload];
  const whole = concat(bytes);
  const id = [checksum(new DataView(whole.buffer), whole.length), (whole.length + 4) | 0];
  return { ...parent, flags, name, createdAt, tagNames, tagCounts, layers, members, id, bytes };
}
