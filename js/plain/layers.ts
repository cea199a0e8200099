/** Layers over a filter. FORMAT.md section 7. */

import { holds } from "./level.js";
import type { Part } from "./part.js";
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

/** What a stack is asked for: its base, and the layers over it. */
interface Stack {
  readonly base: Part;
  readonly map: number;
  readonly layers: readonly Layer[];
}

/**
 * What answers that a key is maybe present: the topmost include that holds it, or the stack itself for its base.
 * Undefined if it is absent. Asks from the base up, so that non-members, who are most, ask no exclude.
 */
export function partOf<S extends Stack>(stack: S, digest: Int32Array): S | Layer | undefined {
  const slot = digest[1]! >>> 27;
  let part: S | Layer | undefined = (stack.map >>> slot) & 1 && stack.base.has(digest) ? stack : undefined;
  // `for (const ... of ...)` takes longer.
  for (let i = 0; i < stack.layers.length; i++) {
    const layer = stack.layers[i]!;
    const { isInclude, map, salt, levels, tags } = layer;
    if (
      // An include only changes what is absent so far, or the tags; an exclude, what is present.
      (isInclude === !part || tags) &&
      (map >>> slot) & 1 &&
      holds(levels[0]!, salt, digest) &&
      !(levels[1] && holds(levels[1], salt + 1, digest))
    )
      part = isInclude ? layer : undefined;
  }
  return part;
}
