/** Random keys, one per line, for filters of other systems. */

/** Numbers from 0 to limit - 1, by a seed of 32 bits: mulberry32. */
export function randomly(seed) {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

const ALPHABETS = [
  [..."abcdefghijklmnopqrstuvwxyz0123456789-_.~/?&=%+@: ,;\"'\\#<>{}|^`ABCDEFGHIJKLMNOPQRSTUVWXYZ\t\x01\x7f"],
  [..."àéîõüßçñøæþðłžšőÿ\u00a0\u0301\u200d"],
  [..."абвгдеёжзικλμνξοπאבגدهوझञट"],
  [..."漢字仮名日本語한국어ﬁ\uffff\ue000\ufeff"],
  [..."😀🦊🏳️‍🌈𝒳𐀀🀀\u{10ffff}"],
];

/** Keys of each kind that a line can hold. */
const KINDS = {
  /** ASCII and other text of 1 to 50 characters, and now and then one of thousands. */
  text(below) {
    const length = below(2000) ? 1 + below(50) : 1000 + below(20_000);
    const alphabets = below(2) ? ALPHABETS.slice(0, 1) : ALPHABETS;
    const pick = (list) => list[below(list.length)];
    return Buffer.from(Array.from({ length }, () => pick(pick(alphabets))).join(""));
  },
  /** 1 to 40 bytes of all sorts. */
  bytes(below) {
    return Buffer.from(Array.from({ length: 1 + below(40) }, () => below(256)));
  },
  int: (below) => Buffer.from(`${BigInt.asIntN(1 + below(32), random64(below))}`),
  long: (below) => Buffer.from(`${BigInt.asIntN(1 + below(64), random64(below))}`),
};

const random64 = (below) => (BigInt(below(2 ** 32)) << 32n) | BigInt(below(2 ** 32));

/** Whether a list can hold a key in a line, as the tool reads it. */
const fits = (key) => !/^#|^\xef\xbb\xbf|[\r\n]/.test(key);

/** Keys of a kind, all different, as Buffers. */
export function randomKeys(kind, count, below) {
  const keys = new Map();
  while (keys.size < count) {
    const key = KINDS[kind](below);
    const latin1 = key.toString("latin1");
    if (fits(latin1)) keys.set(latin1, key);
  }
  return [...keys.values()];
}

/** A list of keys, one per line. */
export const listed = (keys) => Buffer.concat(keys.flatMap((key) => [key, Buffer.from("\n")]));
