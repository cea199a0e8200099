/** The description of a filter: what its numbers mean. FORMAT.md sections 3 and 6. */

import type { FilterInfo } from "../boundary/info.js";
import type { Blob, Bloom, Cuckoo, Ribbon, Scalable } from "./blob.js";
import type { Places } from "./part.js";
import { slotsOf } from "./slots.js";
import { hex } from "./words.js";

const KINDS = ["bloom", "counting", "scalable", "cuckoo", "ribbon"] as const;
/** The names of profiles, by their numbers. */
export const PROFILES = ["raw", "url", "password"] as const;

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

/** The sum over the slots of a map. */
function sumOf(map: number, of: (slot: number) => number): number {
  let sum = 0;
  for (let slot = 0; slot < 30; slot++) if ((map >>> slot) & 1) sum += of(slot);
  return sum;
}

/** How many places aren't 0. */
function used({ places, value }: Places): number {
  let count = 0;
  for (let place = 0; place < places; place++) if (value(place)) count++;
  return count;
}

/** The chance that a key matches one of `count` fingerprints. */
function cuckooFpr({ places, width }: Cuckoo, count: number): number {
  // 1 - (1 - 1 / (all fingerprints in two buckets))^count, accurate for small rates.
  // With the fewest of both, the chance of one is 1, and none of them is none.
  return count && -Math.expm1(count * Math.log1p(-8 / (places * (2 ** width - 1))));
}

/** The rate of the base, from its present fill. */
function baseRate({ kind, base }: Blob): number {
  if (kind === 5) return (base as Ribbon).rate;
  if (kind === 4) return cuckooFpr(base as Cuckoo, used(base as Cuckoo));
  const slices = kind === 3 ? (base as Scalable).slices : [base as Bloom];
  return slices.reduce((any, slice) => any + (1 - any) * (used(slice) / slice.places) ** slice.hashes, 0);
}

/** The rates of all keys that a check of a URL may ask for, by their slots: summed up, each by its weight. */
function sumOfRates({ layers, map }: Blob, base: number, weightOf: (slot: number) => number): number {
  const rate = (slot: number) =>
    layers.reduce(
      (below, { map, isInclude, levels }) => {
        // The chance that the layer decides.
        const hit = (map >>> slot) & 1 ? levels.reduceRight((next, { rate }) => rate * (1 - next), 0) : 0;
        return (isInclude ? hit : 0) + (1 - hit) * below;
      },
      (map >>> slot) & 1 ? base : 0,
    );
  return sumOf(-1, (slot) => weightOf(slot) * rate(slot));
}

/**
 * The chance that an unknown key is maybe present. With slots it is that of keys that can be present, weighted as URLs
 * are looked up.
 */
export function estimatedFpr(blob: Blob): number {
  return sumOfRates(blob, baseRate(blob), weight) / (sumOf(slotsOf(blob), weight) || 1);
}

/** The number of different keys; null if the kind doesn't know it. */
function countOf({ kind, base, flags, members }: Blob): number | null {
  if (flags & 16) return members;
  return kind < 3 ? null : kind === 4 ? used(base as Cuckoo) : (base as Ribbon).keys;
}

/** About how many different keys there are. */
export function estimatedCount(blob: Blob): number {
  const base = blob.base as Bloom;
  const { places, hashes } = base;
  return countOf(blob) ?? Math.abs(Math.round((places / hashes) * Math.log(1 - used(base) / places)));
}

/** What the kind says: capacity, fpr, bits and hashes. */
function shapeOf({ kind, base, map, layers }: Blob): [number | null, number, number, number | null] {
  if (kind < 3) {
    const { places, hashes } = base as Bloom;
    return [Math.floor((places / hashes) * Math.LN2), 0.5 ** hashes, places, hashes];
  }
  let { fpr, keys, size } = base as Ribbon;
  if (kind === 3) return [null, fpr, (base as Scalable).slices.reduce((sum, { places }) => sum + places, 0), null];
  if (kind === 4) {
    keys = Math.floor(((base as Cuckoo).places * 19) / 20);
    fpr = cuckooFpr(base as Cuckoo, keys);
  }
  const layer = layers[0];
  // Two groups of keys, if the first layer of a ribbon filter includes other slots than the base.
  if (kind === 5 && layer?.isInclude && (map & layer.map) === 0) {
    const level = layer.levels[0]!;
    fpr = (fpr * keys + level.fpr * level.keys) / (keys + level.keys);
    keys += level.keys;
    size += level.size;
  }
  return [keys, fpr, 8 * size, null];
}

/** The description: a plain object that can go into JSON. */
export function describe(blob: Blob): FilterInfo {
  const { flags, seed, id, name, createdAt, layers, profile } = blob;
  const [capacity, fpr, bits, hashes] = shapeOf(blob);
  const base = profile === 1 ? baseRate(blob) : 0;
  const perCheck = (weightOf: (slot: number) => number) =>
    profile === 1 ? Math.min(1, sumOfRates(blob, base, weightOf)) : null;
  const byteLength = blob.bytes.reduce((sum, { length }) => sum + length, 4);
  const bitsPerKey = (8 * byteLength) / estimatedCount(blob);
  return {
    kind: kindOf(blob),
    profile: profileOf(blob),
    lowercase: (flags & 4) !== 0,
    sha1: (flags & 8) !== 0,
    count: countOf(blob),
    capacity,
    fpr,
    urlFpr: perCheck(weight),
    maxUrlFpr: perCheck(() => 1),
    bits,
    hashes,
    bitsPerKey: bitsPerKey > 0 && bitsPerKey < Infinity ? bitsPerKey : null,
    byteLength,
    seed: String(BigInt(`0x${hex(seed)}`)),
    keyed: (flags & 32) !== 0,
    layers: layers.length,
    name,
    createdAt,
    id: hex(id),
    foreign: null,
    tags: blob.tags ? blob.tagNames.map((name, i) => ({ name, count: blob.tagCounts[i] ?? null })) : null,
  };
}
