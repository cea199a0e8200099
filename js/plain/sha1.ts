/** SHA-1 (RFC 3174), which a blob may have instead of passwords. FORMAT.md section 4. WebCrypto's is asynchronous. */

import { room } from "../boundary/input.js";

/** The SHA-1 of less than 2^29 bytes. */
export function sha1(text: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = text;
  // The text, a one, and zeros until the length in bits ends with one of the blocks of 64 bytes.
  const padded = room(((length + 72) >> 6) << 6);
  padded.set(text);
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, 8 * length);
  const state = Int32Array.of(0x67452301, 0xefcdab89, ~0x67452301, ~0xefcdab89, 0xc3d2e1f0);
  const words = new Int32Array(80);
  for (let at = 0; at < padded.length; at += 64) {
    let [a, b, c, d, e] = state as unknown as [number, number, number, number, number];
    for (let i = 0; i < 80; i++) {
      const mixed = words[i - 3]! ^ words[i - 8]! ^ words[i - 14]! ^ words[i - 16]!;
      words[i] = i < 16 ? view.getInt32(at + 4 * i) : (mixed << 1) | (mixed >>> 31);
      // Every 20 rounds another function and another constant: the roots of 2, 3, 5 and 10.
      const round = Math.floor(i / 20);
      const mix = round === 0 ? d ^ (b & (c ^ d)) : round === 2 ? (b & c) | (d & (b | c)) : b ^ c ^ d;
      const constant = Math.floor(2 ** 30 * Math.sqrt([2, 3, 5, 10][round]!));
      const next = (((a << 5) | (a >>> 27)) + mix + e + constant + words[i]!) | 0;
      [a, b, c, d, e] = [next, a, (b << 30) | (b >>> 2), c, d];
    }
    [a, b, c, d, e].forEach((word, i) => (state[i]! += word));
  }
  return Uint8Array.from({ length: 20 }, (_, i) => state[i >> 2]! >> (24 - 8 * (i & 3)));
}
