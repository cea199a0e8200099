/** Words to fill a small filter with, and any number of made-up ones. */

const commonWords = (
  "apple river stone cloud window garden letter candle bridge forest silver winter summer orange basket mirror " +
  "pocket rabbit ladder pencil hammer island castle button ticket violin saddle cotton pepper dragon engine harbor " +
  "jacket kettle lantern meadow needle oyster parrot quartz ribbon saucer timber umbrella velvet walnut yellow zipper"
).split(" ");

/** The made-up word for a number, of two to four syllables. */
function madeUpWord(number: number): string {
  const [heads, tails] = ["bdfgklmnprstvz", ["a", "e", "i", "o", "u", "an", "el", "or"]];
  let left = number + 112; // from the first word of two syllables on
  let word = "";
  while (left > 0) {
    word += heads[left % 14]! + tails[Math.floor(left / 14) % 8]!;
    left = Math.floor(left / 112);
  }
  return word;
}

/** One word after another: common ones, then made-up ones. */
export const wordAt = (i: number): string => commonWords[i] ?? madeUpWord(i);

/** Ten words that aren't among these. */
export function tenMore(words: string[]): string[] {
  const found: string[] = [];
  for (let i = 0; found.length < 10; i++) if (!words.includes(wordAt(i))) found.push(wordAt(i));
  return found;
}
