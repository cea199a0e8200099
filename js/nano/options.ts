/** Options that nobody knows are refused by name, as in the other entries, but without a guess at what was meant. */

import { invalidParameter } from "../boundary/input.js";
import { unknownOption } from "../boundary/known.js";
import { refuseFrom } from "../filter/reading.js";

/** Throws `invalid_parameter` for an option that a function hasn't got. */
export function requireOptions(of: string, options: unknown, names: object): void {
  refuseFrom(options);
  // `from` is only there to be refused.
  const has = Object.keys(names).filter((name) => name !== "from");
  const unknown = unknownOption(options, has);
  if (unknown !== undefined)
    throw invalidParameter(`${of} has no option ${unknown.slice(0, 40)}; it has ${has.join(", ")}`);
}
