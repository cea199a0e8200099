/** From a password to its key. FORMAT.md section 4, profile 2. */

import { type Key, plainBytes } from "../boundary/input.js";
import { fromUtf8, requireShort, utf8, wellFormed } from "./scratch.js";
import { sha1 } from "./sha1.js";

function normal(text: string, flags: number): string {
  const composed = text.normalize("NFC");
  return flags & 4 ? composed.toLowerCase().normalize("NFC") : composed;
}

/** The key of a password, by the flags of a blob: 4 = in lower case, 8 = its SHA-1. Throws `too_large` for a long one. */
export function passwordKey(password: string, flags: number): Key {
  requireShort(password);
  const text = normal(wellFormed(password), flags);
  return flags & 8 ? sha1(utf8(text)) : text;
}

/**
 * Whether a key may be that of a password: it is a hash, or its own normal form. Text is never a hash, even if it has
 * the length of one. `src/keys/password.rs` has the same.
 */
export function isPasswordKey(key: Key, isText: boolean, flags: number): boolean {
  const input = typeof key === "string" ? wellFormed(key) : plainBytes(key);
  if (flags & 8) return !isText && input.length === 20;
  requireShort(input);
  const text = typeof input === "string" ? input : fromUtf8(input);
  // Bytes that aren't Unicode have no other form.
  return text === undefined || text === normal(text, flags);
}
