/** The digest of a key, and the checksum of a blob. FORMAT.md sections 2 and 3. */

/** The digest that was computed last, the low half first. Returning both would make garbage. */
export const digest = /* @__PURE__ */ new Int32Array(2);

/** A word as MurmurHash3 takes it in. 0 stays 0. */
function murmurWord(word: number): number {
  word = Math.imul(word, 0xcc9e2d51);
  return Math.imul((word << 15) | (word >>> 17), 0x1b873593);
}

/** MurmurHash3 after a whole word. */
function murmurStep(hash: number, word: number): number {
  hash ^= murmurWord(word);
  return (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
}

/** A lane of XXH32 after a word. */
function lane(sum: number, word: number): number {
  sum = (sum + Math.imul(word, 0x85ebca77)) | 0;
  return Math.imul((sum << 13) | (sum >>> 19), 0x9e3779b1);
}

/** XXH32 after a word beyond the stripes of 16 bytes. */
function xxhWord(hash: number, word: number): number {
  hash = (hash + Math.imul(word, 0xc2b2ae3d)) | 0;
  return Math.imul((hash << 17) | (hash >>> 15), 0x27d4eb2f);
}

/** The same after a last byte. */
function xxhByte(hash: number, byte: number): number {
  hash = (hash + Math.imul(byte, 0x165667b1)) | 0;
  return Math.imul((hash << 11) | (hash >>> 21), 0x9e3779b1);
}

/** Mixes all bits of a hash: the last step of XXH32 and MurmurHash3, each with its own numbers. */
function finish(hash: number, first: number, by: number, second: number, byNext: number, third: number): number {
  hash = Math.imul(hash ^ (hash >>> first), by);
  hash = Math.imul(hash ^ (hash >>> second), byNext);
  return hash ^ (hash >>> third);
}

/** The four lanes of XXH32, merged. */
function merged(a: number, b: number, c: number, d: number): number {
  return (((a << 1) | (a >>> 31)) + ((b << 7) | (b >>> 25)) + ((c << 12) | (c >>> 20)) + ((d << 18) | (d >>> 14))) | 0;
}

/**
 * Puts the digest of the bytes from `at` to `end` into {@link digest}: the XXH32 under the seed's low half, and the
 * MurmurHash3_x86_32 under its high half, in one pass.
 */
export function hashKey(view: DataView, at: number, end: number, seedHigh: number, seedLow: number): void {
  const length = end - at;
  let murmur = seedHigh | 0;
  let xxh = (seedLow + 0x165667b1) | 0;
  let word = 0;
  if (length >= 16) {
    let a = (seedLow + 0x24234428) | 0;
    let b = (seedLow + 0x85ebca77) | 0;
    let c = seedLow | 0;
    let d = (seedLow + 0x61c8864f) | 0;
    // Four times `lane` and `murmurStep`, written out: V8 inlines only so much into a function, and calls take twice as
    // long.
    for (const stop = end - (length & 15); at < stop; at += 16) {
      word = view.getInt32(at, true);
      a = (a + Math.imul(word, 0x85ebca77)) | 0;
      a = Math.imul((a << 13) | (a >>> 19), 0x9e3779b1);
      word = Math.imul(word, 0xcc9e2d51);
      murmur ^= Math.imul((word << 15) | (word >>> 17), 0x1b873593);
      murmur = (Math.imul((murmur << 13) | (murmur >>> 19), 5) + 0xe6546b64) | 0;
      word = view.getInt32(at + 4, true);
      b = (b + Math.imul(word, 0x85ebca77)) | 0;
      b = Math.imul((b << 13) | (b >>> 19), 0x9e3779b1);
      word = Math.imul(word, 0xcc9e2d51);
      murmur ^= Math.imul((word << 15) | (word >>> 17), 0x1b873593);
      murmur = (Math.imul((murmur << 13) | (murmur >>> 19), 5) + 0xe6546b64) | 0;
      word = view.getInt32(at + 8, true);
      c = (c + Math.imul(word, 0x85ebca77)) | 0;
      c = Math.imul((c << 13) | (c >>> 19), 0x9e3779b1);
      word = Math.imul(word, 0xcc9e2d51);
      murmur ^= Math.imul((word << 15) | (word >>> 17), 0x1b873593);
      murmur = (Math.imul((murmur << 13) | (murmur >>> 19), 5) + 0xe6546b64) | 0;
      word = view.getInt32(at + 12, true);
      d = (d + Math.imul(word, 0x85ebca77)) | 0;
      d = Math.imul((d << 13) | (d >>> 19), 0x9e3779b1);
      word = Math.imul(word, 0xcc9e2d51);
      murmur ^= Math.imul((word << 15) | (word >>> 17), 0x1b873593);
      murmur = (Math.imul((murmur << 13) | (murmur >>> 19), 5) + 0xe6546b64) | 0;
    }
    xxh = merged(a, b, c, d);
  }
  xxh = (xxh + length) | 0;
  for (; at + 4 <= end; at += 4) {
    word = view.getInt32(at, true);
    murmur = murmurStep(murmur, word);
    xxh = xxhWord(xxh, word);
  }
  word = 0;
  for (let by = 0; at < end; at++, by += 8) {
    const byte = view.getUint8(at);
    xxh = xxhByte(xxh, byte);
    word |= byte << by;
  }
  digest[0] = finish(xxh, 15, 0x85ebca77, 13, 0xc2b2ae3d, 16);
  digest[1] = finish(murmur ^ murmurWord(word) ^ length, 16, 0x85ebca6b, 13, 0xc2b2ae35, 16);
}

/** The checksum of the first bytes: XXH32 with seed 0. */
export function checksum(view: DataView, end: number): number {
  let at = 0;
  let xxh = 0x165667b1;
  if (end >= 16) {
    let a = 0x24234428;
    let b = 0x85ebca77 | 0;
    let c = 0;
    let d = 0x61c8864f;
    for (const stop = end & ~15; at < stop; at += 16) {
      a = lane(a, view.getInt32(at, true));
      b = lane(b, view.getInt32(at + 4, true));
      c = lane(c, view.getInt32(at + 8, true));
      d = lane(d, view.getInt32(at + 12, true));
    }
    xxh = merged(a, b, c, d);
  }
  xxh = (xxh + end) | 0;
  for (; at + 4 <= end; at += 4) xxh = xxhWord(xxh, view.getInt32(at, true));
  for (; at < end; at++) xxh = xxhByte(xxh, view.getUint8(at));
  return finish(xxh, 15, 0x85ebca77, 13, 0xc2b2ae3d, 16);
}
