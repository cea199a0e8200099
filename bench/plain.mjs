/** The bar to clear: a Bloom filter in plain JavaScript, written in an afternoon. For strings of Latin letters. */
export class PlainBloom {
  constructor(count, fpr) {
    this.bits = Math.ceil((-count * Math.log(fpr)) / Math.LN2 ** 2);
    this.hashes = Math.max(1, Math.round((this.bits / count) * Math.LN2));
    this.words = new Int32Array(Math.ceil(this.bits / 32));
  }

  add(key) {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let i = 0; i < key.length; i++) {
      const code = key.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x5bd1e995);
    }
    a = Math.imul(a ^ (a >>> 15), 0x85ebca6b) ^ b;
    b = Math.imul(b ^ (b >>> 13), 0xc2b2ae35) ^ (a >>> 16);
    for (let i = 0; i < this.hashes; i++) {
      const bit = (((a >>> 0) * this.bits) / 0x100000000) >>> 0;
      this.words[bit >>> 5] |= 1 << bit;
      a = (a + b) | 0;
      b = (b + i) | 0;
    }
  }

  has(key) {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let i = 0; i < key.length; i++) {
      const code = key.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x5bd1e995);
    }
    a = Math.imul(a ^ (a >>> 15), 0x85ebca6b) ^ b;
    b = Math.imul(b ^ (b >>> 13), 0xc2b2ae35) ^ (a >>> 16);
    for (let i = 0; i < this.hashes; i++) {
      const bit = (((a >>> 0) * this.bits) / 0x100000000) >>> 0;
      if ((this.words[bit >>> 5] & (1 << bit)) === 0) return false;
      a = (a + b) | 0;
      b = (b + i) | 0;
    }
    return true;
  }

  toBytes() {
    const words = new Int32Array(2 + this.words.length);
    words.set([this.bits, this.hashes]);
    words.set(this.words, 2);
    return new Uint8Array(words.buffer);
  }

  static fromBytes(bytes) {
    const [bits, hashes] = new Int32Array(bytes.buffer, 0, 2);
    const words = new Int32Array(bytes.buffer.slice(8));
    return Object.assign(new PlainBloom(1, 0.5), { bits, hashes, words });
  }
}
