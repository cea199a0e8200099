/** Layers over a filter. FORMAT.md section 7. */

import { holds } from "./level.js";
import type { Ribbon } from "./ribbon.js";
import type { Tags } from "./tags.js";

/** A layer of a stack. */
export interface Layer {
  /** Whether the keys that it holds are maybe present, rather than absent. */
  readonly isInclude: boolean;
  readonly salt: number;
  /** The slots of its keys, a bit each; all bits unless digests have slots. */
  readonly map: number;
  readonly levels: readonly Ribbon[];
  /** Those of an include, if the filter has tags. */
  readonly tags: Tags | undefined;
}

/** The newest layer that decides about a key, or undefined if the base must be asked. */
export function hit(layers: readonly Layer[], digest: Int32Array): Layer | undefined {
  for (let i = layers.length - 1; i >= 0; i--) {
    const layer = layers[i]!;
    const { map, salt, levels } = layer;
    if (
      (map >>> (digest[1]! >>> 27)) & 1 &&
      holds(levels[0]!, salt, digest) &&
      !(levels[1] && holds(levels[1], salt + 1, digest))
    )
      return layer;
  }
  return undefined;
}
