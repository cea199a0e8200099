/**
 * A small ribbon filter, as in "Ribbon filter: practically smaller than Bloom and Xor" by Dillinger and Walzer, 2021.
 * It shows the principle. What the package's own look like is in FORMAT.md, section 6.5.
 */

/** Coefficients of a word. The package has 64, but the picture must fit a phone. */
export const WIDTH = 8;

/** Each seed fails with some probability, the higher the more words there are for the rows. */
export const SEEDS = 1000;

/** What a word asks of the table: the rows that its coefficients choose must XOR to its fingerprint. */
export interface Equation {
  start: number;
  /** Bit i is for the row start + i. Bit 0 is 1. */
  coefficients: number;
  fingerprint: number;
}

/** The number of rows, and how many bits each of them has. */
export interface Shape {
  rows: number;
  bits: number;
}

/** The rows, and the seed with which a word's equation is computed. A filter needs nothing else. */
export interface Ribbon extends Shape {
  seed: number;
  table: number[];
}

/** 32 bits for a word and a number: FNV-1a, and the last steps of MurmurHash3. */
function hash(word: string, number: number): number {
  let hash = 0x811c9dc5 ^ number;
  for (const byte of new TextEncoder().encode(word)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function equationOf(word: string, { rows, bits }: Shape, seed: number): Equation {
  const random = hash(word, 2 * seed + 1);
  return {
    start: hash(word, 2 * seed) % (rows - WIDTH + 1),
    coefficients: (random % 2 ** WIDTH) | 1,
    fingerprint: (random >>> WIDTH) % 2 ** bits,
  };
}

/** The rows that the coefficients choose. */
export const chosenRows = ({ start, coefficients }: Equation) =>
  Array.from({ length: WIDTH }, (_, i) => start + i).filter((row) => (coefficients >> (row - start)) & 1);

/** What a lookup compares with the fingerprint. */
export const xorOf = (table: number[], equation: Equation) =>
  chosenRows(equation).reduce((xor, row) => xor ^ table[row]!, 0);

/** A table that solves the equations of all words, with the first seed that has one. */
export function solve(words: string[], shape: Shape): Ribbon | undefined {
  for (let seed = 0; seed < SEEDS; seed++) {
    const equations = words.map((word) => equationOf(word, shape, seed));
    const table = eliminate(equations, shape.rows);
    if (table) return { ...shape, seed, table };
  }
}

/** Gaussian elimination. Each equation ends as the only one that starts at its row, or says nothing new. */
function eliminate(equations: Equation[], rows: number): number[] | undefined {
  const at = Array<Equation | undefined>(rows);
  for (let { start, coefficients, fingerprint } of equations) {
    for (let other = at[start]; other && coefficients; other = at[start]) {
      coefficients ^= other.coefficients;
      fingerprint ^= other.fingerprint;
      for (; coefficients && !(coefficients & 1); coefficients >>= 1) start++;
    }
    if (coefficients) at[start] = { start, coefficients, fingerprint };
    else if (fingerprint) return; // the same rows would have to XOR to two fingerprints
  }
  // From the last row up: an equation's other rows are known by then. A row that none starts at may be anything.
  const table = Array<number>(rows).fill(0);
  for (let row = rows - 1; row >= 0; row--) {
    const equation = at[row];
    if (equation) table[row] = equation.fingerprint ^ xorOf(table, equation);
  }
  return table;
}
