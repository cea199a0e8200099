/** Passwords to their keys. */

/**
 * Unicode's normal form NFC; with `lowercase` in lower case by Unicode's default mapping, which knows no language, and
 * in NFC again.
 */
export function normalized(password: string, lowercase: boolean): string {
  const nfc = password.normalize("NFC");
  return lowercase ? nfc.toLowerCase().normalize("NFC") : nfc;
}
