/**
 * SHA-256 (FIPS 180-4) of bytes that arrive piece by piece. WebCrypto's takes all bytes at once, is asynchronous, and is
 * missing on pages that aren't served over https, where unsigned feeds work all the same.
 */

/** The first 32 bits of the fraction of a root, square or cube, of a prime: what the standard takes its numbers from. */
function fraction(prime: number, power: number): number {
  const root = prime ** power;
  return ((root - Math.floor(root)) * 2 ** 32) | 0;
}

let numbers: { starts: number[]; keys: number[] } | undefined;

function constants(): { starts: number[]; keys: number[] } {
  if (!numbers) {
    const primes: number[] = [];
    for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
    numbers = {
      starts: primes.slice(0, 8).map((prime) => fraction(prime, 1 / 2)),
      keys: primes.map((prime) => fraction(prime, 1 / 3)),
    };
  }
  return numbers;
}

/** The SHA-256 of the bytes so far. */
export class Sha256 {
  readonly #state = Int32Array.from(constants().starts);
  readonly #keys = Int32Array.from(constants().keys);
  readonly #words = new Int32Array(64);
  readonly #block = new Uint8Array(64);
  readonly #view = new DataView(this.#block.buffer);
  #length = 0;

  /** Appends bytes. */
  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const start = this.#length % 64;
      const part = bytes.subarray(at, at + 64 - start);
      this.#block.set(part, start);
      at += part.length;
      this.#length += part.length;
      if (this.#length % 64 === 0) this.#compress();
    }
  }

  /** The hash in 64 lower-case hexadecimal digits. Afterwards this is of no use. */
  finish(): string {
    const length = this.#length;
    const padding = new Uint8Array(64 - ((length + 8) % 64));
    padding[0] = 0x80;
    const bits = new DataView(new ArrayBuffer(8));
    bits.setUint32(0, length / 2 ** 29);
    bits.setUint32(4, length << 3);
    this.update(padding);
    this.update(new Uint8Array(bits.buffer));
    return Array.from(this.#state, (its) => (its >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #compress(): void {
    const words = this.#words;
    const keys = this.#keys;
    const state = this.#state;
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
    for (let i = 0; i < 64; i++) {
      if (i < 16) words[i] = this.#view.getInt32(4 * i);
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
    [a, b, c, d, e, f, g, h].forEach((its, i) => {
      state[i]! += its;
    });
  }
}

/** A word rotated to the right. */
function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
