/** SHA-1 (RFC 3174), which a blob may have of passwords in place of themselves. FORMAT.md section 4. WebCrypto's is asynchronous. */

export function sha1(text: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = text;
  const padded = new Uint8Array((((length + 8) >> 6) + 1) << 6);
  padded.set(text);
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, length / 2 ** 29);
  view.setUint32(padded.length - 4, length << 3);
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
  const words = new Int32Array(80);
  for (let at = 0; at < padded.length; at += 64) {
    let [a, b, c, d, e] = state as [number, number, number, number, number];
    for (let i = 0; i < 80; i++) {
      const mixed = words[i - 3]! ^ words[i - 8]! ^ words[i - 14]! ^ words[i - 16]!;
      words[i] = i < 16 ? view.getInt32(at + 4 * i) : (mixed << 1) | (mixed >>> 31);
      const [mix, add] =
        i < 20
          ? [(b & c) | (~b & d), 0x5a827999]
          : i < 40
            ? [b ^ c ^ d, 0x6ed9eba1]
            : i < 60
              ? [(b & c) | (b & d) | (c & d), 0x8f1bbcdc]
              : [b ^ c ^ d, 0xca62c1d6];
      const next = (((a << 5) | (a >>> 27)) + mix + e + add + words[i]!) | 0;
      [a, b, c, d, e] = [next, a, (b << 30) | (b >>> 2), c, d];
    }
    [a, b, c, d, e].forEach((its, i) => {
      state[i] = (state[i]! + its) | 0;
    });
  }
  const out = new DataView(new ArrayBuffer(20));
  state.forEach((its, i) => {
    out.setInt32(4 * i, its);
  });
  return new Uint8Array(out.buffer);
}
