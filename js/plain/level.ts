/** A level of a layer, or of tags: a ribbon filter that is asked for other digests. FORMAT.md section 7. */

import type { Ribbon } from "./ribbon.js";
import { stirred } from "./words.js";

/** The digest that a level is asked for. */
const own = /* @__PURE__ */ new Int32Array(2);

/** Whether a level holds a key, which it looks up under a digest of its own. */
export function holds(level: Ribbon, salt: number, digest: Int32Array): boolean {
  let low = digest[0]!;
  let high = digest[1]! ^ salt;
  low ^= stirred(high);
  high ^= stirred(low);
  low ^= stirred(high);
  // After three rounds, the halves have changed places.
  own[0] = high;
  own[1] = low;
  return level.has(own);
}
