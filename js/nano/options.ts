/** Options that nobody knows are refused by name, as in the other entries, but without a guess at what was meant. */

import { invalidParameter } from "../boundary/input.js";
import { type Names, unknownOption } from "../boundary/known.js";

/** Throws `invalid_parameter` for an option that a function hasn't got. */
export function requireOptions(options: unknown, its: { [name: string]: Names }): void {
  for (const [of, names] of Object.entries(its)) {
    // `from` is only there to be refused.
    const has = Object.keys(names).filter((name) => name !== "from");
    const unknown = unknownOption(options, has);
    if (unknown !== undefined)
      throw invalidParameter(`${of} has no option ${unknown.slice(0, 40)}; it has ${has.join(", ")}`);
  }
}
