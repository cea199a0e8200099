/** Slots: which shape a key of a list of URLs has. FORMAT.md section 3. */

/** The part of a slot that a host gives: 0, 6, 12 or 18 for 2 to 5 labels, and 24 for any other and for an address. */
export function hostSlot(view: DataView, at: number, end: number): number {
  let dots = 0;
  /** The digits since the last dot, or more than 3 for anything else. */
  let digits = 0;
  let isAddress = true;
  for (let i = at; i < end; i++) {
    const byte = view.getUint8(i);
    if (byte === DOT) {
      dots++;
      if (digits < 1 || digits > 3) isAddress = false;
      digits = 0;
    } else digits += byte > 47 && byte < 58 ? 1 : 4;
  }
  isAddress &&= dots === 3 && digits > 0 && digits < 4;
  return dots < 1 || dots > 4 || isAddress || view.getUint8(at) === 0x5b ? 24 : 6 * dots - 6;
}

/** The slot of a key, 0 to 29. */
export function slotOf(view: DataView, at: number, end: number): number {
  let path = at;
  while (path < end && view.getUint8(path) !== SLASH) path++;
  let slashes = 0;
  for (let i = path; i < end; i++) {
    const byte = view.getUint8(i);
    if (byte === SLASH) slashes++;
    if (byte === 0x3f) return hostSlot(view, at, path) + 5;
  }
  const isFolder = path < end && slashes < 5 && view.getUint8(end - 1) === SLASH;
  return hostSlot(view, at, path) + (isFolder ? slashes - 1 : 4);
}

const DOT = 46;
const SLASH = 47;
