/** A level of a layer, or of tags: a ribbon filter that is asked for other digests. FORMAT.md section 7. */

import type { Ribbon } from "./ribbon.js";
import { product } from "./words.js";

/** Whether a level holds a key, which it is asked for under a digest of its own. */
export function holds(level: Ribbon, salt: number, high: number, low: number): boolean {
  low ^= Math.imul(salt, 0x7f4a7c15);
  high ^= product(0, salt, 0x9e3779b9, 0x7f4a7c15);
  low ^= high;
  high = product(high, low, 0xf1357aea, 0x2e62a9c5);
  low = Math.imul(low, 0x2e62a9c5) ^ high;
  high = product(high, low, 0x9e3779b9, 0x7f4a7c15);
  return level.has(high, Math.imul(low, 0x7f4a7c15) ^ high);
}
