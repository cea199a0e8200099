/** Takes what WebAssembly hands over (src/wasm/npm/rescue.rs). JavaScript, not TypeScript, because Rust calls it. */

/** @type {Uint8Array | undefined} */
let bytes;
let at = 0;

/**
 * Makes room for the bytes that follow.
 *
 * @param {number} length
 */
export function makeRoom(length) {
  at = 0;
  bytes = undefined;
  try {
    bytes = new Uint8Array(length);
  } catch {}
}

/**
 * Takes the next bytes.
 *
 * @param {Uint8Array} part
 */
export function keep(part) {
  bytes?.set(part, at);
  at += part.length;
}

/** All that was taken since room was made; undefined if there was none. */
export function kept() {
  const all = bytes;
  bytes = undefined;
  return all;
}
