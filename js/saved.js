/** Takes what WebAssembly hands over (src/wasm/npm/rescue.rs). JavaScript, not TypeScript, because Rust calls it. */

/**
 * What was taken. Null if there was no memory for it.
 *
 * @type {Uint8Array | null | undefined}
 */
let bytes;
let at = 0;

/**
 * Takes the next bytes, of `length` in all.
 *
 * @param {Uint8Array} part
 * @param {number} length
 */
export function keep(part, length) {
  if (bytes === undefined) {
    at = 0;
    bytes = null;
    try {
      bytes = new Uint8Array(length);
    } catch {}
  }
  bytes?.set(part, at);
  at += part.length;
}

/** What was taken since the last call; undefined if there was no memory for it. */
export function kept() {
  const all = bytes ?? undefined;
  bytes = undefined;
  return all;
}
