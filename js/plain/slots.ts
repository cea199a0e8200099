/** Slots: which shape a key of a list of URLs has. FORMAT-URLS.md, "Slots and sites". And its site. */

/** Whether a host is an IP address: it starts with `[`, or is four runs of one to three digits. */
function isAddress(view: DataView, at: number, end: number): boolean {
  if (at < end && view.getUint8(at) === 0x5b) return true;
  let dots = 0;
  /** The digits since the last dot. */
  let digits = 0;
  for (let i = at; i < end; i++) {
    const byte = view.getUint8(i);
    const isDot = byte === DOT && digits > 0;
    if (!isDot && !(byte > 47 && byte < 58 && digits < 3)) return false;
    if (isDot) dots++;
    digits = isDot ? 0 : digits + 1;
  }
  return dots === 3 && digits > 0;
}

/** Where the host of a key ends. */
function hostEnd(view: DataView, at: number, end: number): number {
  while (at < end && view.getUint8(at) !== SLASH) at++;
  return at;
}

/** The part of a slot that a host gives: 0, 6, 12 or 18 for 2 to 5 labels, and 24 for any other and for an address. */
export function hostSlot(view: DataView, at: number, end: number): number {
  let dots = 0;
  for (let i = at; i < end; i++) if (view.getUint8(i) === DOT) dots++;
  return dots < 1 || dots > 4 || isAddress(view, at, end) ? 24 : 6 * dots - 6;
}

/** Where the site of a key begins and ends, which says in which shard it is. The key begins at 0. */
export function siteOf(view: DataView, length: number): [start: number, end: number] {
  const end = hostEnd(view, 0, length);
  let start = end;
  for (let dots = 0; start > 0; start--) if (view.getUint8(start - 1) === DOT && ++dots === 2) break;
  return [isAddress(view, 0, end) ? 0 : start, end];
}

/** The slot of a key, 0 to 29. */
export function slotOf(view: DataView, at: number, end: number): number {
  const path = hostEnd(view, at, end);
  let slashes = 0;
  for (let i = path; i < end; i++) {
    const byte = view.getUint8(i);
    if (byte === SLASH) slashes++;
    if (byte === 0x3f) return hostSlot(view, at, path) + 5;
  }
  const isFolder = path < end && slashes < 5 && view.getUint8(end - 1) === SLASH;
  return hostSlot(view, at, path) + (isFolder ? slashes - 1 : 4);
}

/** The maps that say which slots a filter's keys have: those of its base and its layers. */
interface Slotted {
  readonly map: number;
  readonly layers: readonly { readonly isInclude: boolean; readonly map: number }[];
}

/** The slots of the keys that can be present, a bit each; all bits unless digests have slots. */
export function slotsOf({ map, layers }: Slotted): number {
  return layers.reduce((all, layer) => (layer.isInclude ? all | layer.map : all), map);
}

const DOT = 46;
const SLASH = 47;
