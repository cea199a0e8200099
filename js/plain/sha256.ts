/**
 * SHA-256 (FIPS 180-4) of bytes that arrive piece by piece. WebCrypto's takes all bytes at once, is asynchronous, and
 * is missing on pages that aren't served over https, where unsigned feeds still work.
 */

/** A hash of bytes that arrive piece by piece. */
export interface Hash {
  update(bytes: Uint8Array): void;
  /** The hash in 64 lower-case hexadecimal digits. Call it only once, at the end. */
  finish(): string;
}

/** The first 32 bits of the fraction of a root, square or cube, of a prime: what the standard takes its numbers from. */
function fraction(prime: number, power: number): number {
  return ((prime ** power % 1) * 2 ** 32) | 0;
}

/** A word rotated to the right. */
function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** The SHA-256 of bytes that are there, in hexadecimal. */
export function sha256Of(bytes: Uint8Array): string {
  const hash = sha256();
  hash.update(bytes);
  return hash.finish();
}

/** The SHA-256 of the bytes so far. */
export function sha256(): Hash {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const keys = Int32Array.from(primes, (prime) => fraction(prime, 1 / 3));
  const state = Int32Array.from(primes.slice(0, 8), (prime) => fraction(prime, 1 / 2));
  const words = new Int32Array(64);
  const block = new Uint8Array(64);
  const view = new DataView(block.buffer);
  let length = 0;

  function compress(): void {
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
    for (let i = 0; i < 64; i++) {
      if (i < 16) words[i] = view.getInt32(4 * i);
      else {
        const x = words[i - 15]!;
        const y = words[i - 2]!;
        words[i] =
          words[i - 16]! +
          words[i - 7]! +
          (rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3)) +
          (rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10));
      }
      const first =
        (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + keys[i]! + words[i]!) | 0;
      const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i]! += word));
  }

  function update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const start = length % 64;
      const part = bytes.subarray(at, at + 64 - start);
      block.set(part, start);
      at += part.length;
      length += part.length;
      if (length % 64 === 0) compress();
    }
  }

  return {
    update,
    finish() {
      // A one, and zeros until the length in bits ends with a block.
      const padding = new Uint8Array(72 - ((length + 8) % 64));
      padding[0] = 0x80;
      new DataView(padding.buffer).setBigUint64(padding.length - 8, BigInt(8 * length));
      update(padding);
      return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
    },
  };
}
