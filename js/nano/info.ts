/** The description of a filter: what its numbers mean. FORMAT.md sections 3 and 6. */

import type { FilterInfo } from "../boundary/info.js";
import type { Blob, Bloom, Cuckoo, Ribbon, Scalable } from "./blob.js";
import type { Layer } from "./layers.js";
import { hex } from "./words.js";

const KINDS = ["bloom", "counting", "scalable", "cuckoo", "ribbon"] as const;
const PROFILES = ["raw", "url", "password"] as const;

/** The name of a filter's kind. */
export function kindOf({ kind }: Blob): FilterInfo["kind"] {
  return KINDS[kind - 1]!;
}

/** The name of a filter's profile. */
export function profileOf({ profile }: Blob): FilterInfo["profile"] {
  return PROFILES[profile]!;
}

/** The chance that a typical check asks for a key of a slot, 0 to 29: by the host's shape and by the path's. */
function weight(slot: number): number {
  return [1, 1, 0.5, 0.25, 0.25][Math.floor(slot / 6)]! * [1, 0.75, 0.375, 0.25, 0.75, 0.25][slot % 6]!;
}

/** A sum over those slots of a map. */
function sumOf(map: number, of: (slot: number) => number): number {
  let sum = 0;
  for (let slot = 0; slot < 30; slot++) if ((map >>> slot) & 1) sum += of(slot);
  return sum;
}

/** The slots of the keys that can be present, a bit each; all bits unless digests have slots. */
export function slotsOf({ map, layers }: Blob): number {
  return layers.reduce((all, layer) => (layer.isInclude ? all | layer.map : all), map);
}

/** The share of bits or counters that aren't 0. */
function fill({ bits, width, size, payload }: Bloom): number {
  const [view, at] = payload();
  let used = 0;
  for (let i = 0; i < size; i++) {
    let byte = view.getUint8(at + i);
    // Each counter becomes one bit.
    if (width > 1) byte = width === 8 ? Number(byte > 0) : Number((byte & 15) > 0) + 2 * Number(byte > 15);
    for (; byte; byte &= byte - 1) used++;
  }
  return used / bits;
}

/** How many fingerprints there are. */
function fingerprints({ buckets, slot }: Cuckoo): number {
  let count = 0;
  for (let i = 0; i < 4 * buckets; i++) if (slot(i)) count++;
  return count;
}

/** The chance that a key meets one of so many fingerprints. */
function cuckooFpr({ buckets, width }: Cuckoo, count: number): number {
  // 1 - (1 - 1 / places)^count, with the digits of small rates.
  return -Math.expm1(count * Math.log1p(-2 / (buckets * (2 ** width - 1))));
}

/** The rate of the base, from its present fill. */
function baseRate({ kind, base }: Blob): number {
  if (kind === 5) return (base as Ribbon).rate;
  if (kind === 4) return cuckooFpr(base as Cuckoo, fingerprints(base as Cuckoo));
  const slices = kind === 3 ? (base as Scalable).slices : [base as Bloom];
  return slices.reduce((any, slice) => any + (1 - any) * fill(slice) ** slice.hashes, 0);
}

/** The chance that a layer decides about an unknown key. */
function hitRate({ levels }: Layer): number {
  return levels[0]!.rate * (1 - (levels[1]?.rate ?? 0));
}

/** The rate of keys that have one slot, or of all keys if that is undefined. */
function rate(blob: Blob, base: number, slot?: number): number {
  const asks = (map: number) => slot === undefined || (map >>> slot) & 1;
  return blob.layers.reduce(
    (below, layer) => {
      const hit = asks(layer.map) ? hitRate(layer) : 0;
      return (layer.isInclude ? hit : 0) + (1 - hit) * below;
    },
    asks(blob.map) ? base : 0,
  );
}

/** The chance that an unknown key is maybe present. With slots it is that of keys that can be, as URLs ask for them. */
export function estimatedFpr(blob: Blob): number {
  const base = baseRate(blob);
  const slots = slotsOf(blob);
  if (!blob.isSlotted || slots === 0) return rate(blob, base);
  return sumOf(-1, (slot) => weight(slot) * rate(blob, base, slot)) / sumOf(slots, weight);
}

/** The number of different keys; null if the kind doesn't know it. */
function countOf({ kind, base, layers, members, numbers }: Blob): number | null {
  if (layers.length > 0) return members;
  if (kind < 3) return null;
  if (kind === 4) return fingerprints(base as Cuckoo);
  return numbers[kind === 3 ? 4 : 0]!;
}

/** About how many different keys there are. */
export function estimatedCount(blob: Blob): number {
  const { bits, hashes } = blob.base as Bloom;
  return countOf(blob) ?? Math.abs(Math.round((bits / hashes) * Math.log(1 - fill(blob.base as Bloom))));
}

/** The length of the blob in bytes. */
export function byteLength({ bytes }: Blob): number {
  return bytes.reduce((sum, { length }) => sum + length, 8);
}

/** What the kind says: capacity, fpr, bits and hashes. */
function shapeOf({ kind, base, numbers, map, layers }: Blob): [number | null, number, number, number | null] {
  if (kind === 3) {
    const { slices } = base as Scalable;
    return [null, numbers[2]!, slices.reduce((sum, { bits }) => sum + bits, 0), null];
  }
  if (kind === 4) {
    const its = base as Cuckoo;
    const capacity = Math.floor((its.buckets * 76) / 20);
    return [capacity, cuckooFpr(its, capacity), 8 * its.size, null];
  }
  if (kind === 5) {
    // Two groups of keys, if the first layer includes other slots than the base.
    let [count, fpr, size] = [numbers[0]!, (base as Ribbon).fpr, base.size];
    const layer = layers[0];
    if (layer?.isInclude && (map & layer.map) === 0) {
      const level = layer.levels[0]!;
      fpr = (fpr * count + level.fpr * layer.keys) / (count + layer.keys);
      count += layer.keys;
      size += level.size;
    }
    return [count, fpr, 8 * size, null];
  }
  const [bits, hashes] = numbers as [number, number];
  return [Math.floor((bits / hashes) * Math.LN2), 0.5 ** hashes, bits, hashes];
}

/** The description: a plain object that can go into JSON. */
export function describe(blob: Blob): FilterInfo {
  const { flags, seedHigh, seedLow, id, profile } = blob;
  const isUrl = profile === 1;
  const base = isUrl ? baseRate(blob) : 0;
  const [capacity, fpr, bits, hashes] = shapeOf(blob);
  const length = byteLength(blob);
  const perKey = (8 * length) / estimatedCount(blob);
  return {
    kind: kindOf(blob),
    profile: profileOf(blob),
    lowercase: (flags & 4) !== 0,
    sha1: (flags & 8) !== 0,
    count: countOf(blob),
    capacity,
    fpr,
    urlFpr: isUrl
      ? Math.min(
          1,
          sumOf(-1, (slot) => weight(slot) * rate(blob, base, slot)),
        )
      : null,
    maxUrlFpr: isUrl
      ? Math.min(
          1,
          sumOf(-1, (slot) => rate(blob, base, slot)),
        )
      : null,
    bits,
    hashes,
    bitsPerKey: perKey > 0 && perKey < Infinity ? perKey : null,
    byteLength: length,
    seed: String(BigInt(`0x${hex(seedHigh, seedLow)}`)),
    keyed: (flags & 32) !== 0,
    layers: blob.layers.length,
    foreign: null,
    name: blob.name,
    createdAt: blob.createdAt,
    id: hex(id[1]!, id[0]!),
  };
}
