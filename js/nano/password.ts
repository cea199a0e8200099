/** From a password to its key. FORMAT.md section 4, profile 2. */

import type { Key } from "../boundary/input.js";
import { requireShort, utf8, wellFormed } from "./scratch.js";
import { sha1 } from "./sha1.js";

/** The key of a password, by the flags of a blob: 4 = in lower case, 8 = its SHA-1. Throws `too_large` for a long one. */
export function passwordKey(password: string, flags: number): Key {
  requireShort(password);
  let text = wellFormed(password).normalize("NFC");
  if (flags & 4) text = text.toLowerCase().normalize("NFC");
  return flags & 8 ? sha1(utf8(text)) : text;
}
