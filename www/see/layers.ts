/** What is in a blob, read as FORMAT.md says: the base, and the table of layers over it. */
import { ribbonBytes } from "../size/ribbon.ts";

export interface Layer {
  type: "include" | "exclude";
  /** Keys that it was built from. */
  keys: number;
  bytes: number;
}

/** Bytes of the parameters that follow the header, by kind; a ribbon's depend on its stages. */
const PARAMETERS: Record<number, number> = { 1: 5, 2: 6, 3: 29, 4: 5 };

/** The layers of a blob that decodes, the lowest first. */
export function layersOf(blob: Uint8Array): Layer[] {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const [kind, flags] = [blob[5]!, blob[7]!];
  if (!(flags & 16)) return [];
  const hasSlots = flags & 64; // then a map of them stands with the base and with each layer
  let at = 17 + (kind === 5 ? 14 + 4 * blob[30]! + (hasSlots ? 4 : 0) : PARAMETERS[kind]!);
  const byte = () => view.getUint8(at++);
  const word = () => view.getUint32((at += 4) - 4, true);
  const double = () => view.getFloat64((at += 8) - 8, true);
  if (flags & 1) at += blob[at]! + 1; // the name
  if (flags & 2) at += 8; // the creation time
  const count = byte();
  word(); // keys
  return Array.from({ length: count }, () => {
    const type = byte() === 1 ? "include" : "exclude";
    word(); // salt
    const fpr = double();
    if (hasSlots) word();
    const layer: Layer = { type, keys: 0, bytes: 0 };
    const levels = byte();
    for (let level = 0; level < levels; level++) {
      const keys = word();
      byte(); // attempt
      const rows = Array.from({ length: byte() }, word);
      // Level 0 holds the layer's own keys; the others put right what it gets wrong.
      if (level === 0) layer.keys = keys;
      layer.bytes += ribbonBytes(rows, level === 0 ? fpr : 0.5);
    }
    return layer;
  });
}
