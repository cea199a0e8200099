/**
 * The keys: made-up URLs of 59 characters, the same in every run and in `bench/peers.rs`. Half of the queries, in an
 * order that is as good as random, are members; the others are non-members, which means that they aren't members.
 */

const PATTERN = "https://www.????????.example/??????????/????????.html?id=??";
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

export const MEMBER = 0;
export const NONMEMBER = 1;

function mix(x) {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}

/** Where the pattern has a letter to fill in. The question mark of the query stays. */
const holes = [...PATTERN.matchAll(/\?(?!id=)/g)].map(({ index }) => index);
const pattern = new TextEncoder().encode(`${PATTERN}\n`);
const letters = new TextEncoder().encode(ALPHABET);

/** The keys `from` to `to`, as the bytes of lines. `kindOf` says of each whether it is a member. */
export function lines(from, to, kindOf) {
  const text = new Uint8Array((to - from) * pattern.length);
  for (let i = from, at = 0; i < to; i++, at += pattern.length) {
    text.set(pattern, at);
    let state = mix(2 * i + kindOf(i));
    for (const hole of holes) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      text[at + hole] = letters[state >>> 27];
    }
  }
  return text;
}

/** A string for each line, each in its own memory: neither a slice of a longer string nor a concatenation. */
export function strings(text) {
  const decoder = new TextDecoder();
  const keys = [];
  for (let at = 0; at < text.length; at += pattern.length)
    keys.push(decoder.decode(text.subarray(at, at + pattern.length - 1)));
  return keys;
}

export const members = (count) => lines(0, count, () => MEMBER);
export const nonmembers = (count) => lines(0, count, () => NONMEMBER);
/** Member *i* or non-member *i*, for each *i*. */
export const queries = (count) => lines(0, count, kindOfQuery);

export function kindOfQuery(i) {
  return mix(~i) & 1;
}
