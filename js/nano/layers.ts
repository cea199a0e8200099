/** Layers over a filter. FORMAT.md section 7. */

import type { Ribbon } from "./ribbon.js";
import { product } from "./words.js";

/** A layer of a stack. */
export interface Layer {
  /** Whether the keys that it holds are maybe present, rather than absent. */
  readonly isInclude: boolean;
  readonly salt: number;
  /** The slots of its keys, a bit each; all bits unless digests have slots. */
  readonly map: number;
  readonly levels: readonly Ribbon[];
}

/** Whether a level holds a key, which it is asked for under a digest of its own. */
function holds(level: Ribbon, salt: number, high: number, low: number): boolean {
  low ^= Math.imul(salt, 0x7f4a7c15);
  high ^= product(0, salt, 0x9e3779b9, 0x7f4a7c15);
  low ^= high;
  high = product(high, low, 0xf1357aea, 0x2e62a9c5);
  low = Math.imul(low, 0x2e62a9c5) ^ high;
  high = product(high, low, 0x9e3779b9, 0x7f4a7c15);
  return level.has(high, Math.imul(low, 0x7f4a7c15) ^ high);
}

/** What the layers say of a key: whether it is maybe present, or undefined if the base must be asked. */
export function ask(layers: readonly Layer[], high: number, low: number): boolean | undefined {
  for (let i = layers.length - 1; i >= 0; i--) {
    const { map, salt, levels, isInclude } = layers[i]!;
    if (
      (map >>> (high >>> 27)) & 1 &&
      holds(levels[0]!, salt, high, low) &&
      !(levels[1] && holds(levels[1], salt + 1, high, low))
    )
      return isInclude;
  }
  return undefined;
}
