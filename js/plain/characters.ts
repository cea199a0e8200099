/** Characters of hosts by Unicode 18, for the second reading. FORMAT.md section 10. */

import { CHARACTERS } from "./unicode.js";

let table: Map<string, string> | undefined;

/** What characters become in a host: nothing, others, or themselves, if Unicode 18 allows them and older tables don't. */
function characters(): Map<string, string> {
  if (table) return table;
  table = new Map();
  let point = 0;
  // As scripts/unicode.mjs writes them.
  for (const [, gap, sign, becomes, count] of CHARACTERS.matchAll(/([\da-z]*)([-+=]?)([^A-Z]*)([A-Z]+)/g)) {
    point += parseInt(gap || "0", 36);
    const number = parseInt(becomes!, 36);
    const by = sign === "-" ? number - point : sign === "+" ? number || 1 : 0;
    let more = 0;
    for (const letter of count!) more = 26 * more + parseInt(letter, 36) - 10;
    for (; more >= 0; more--, point++)
      table.set(String.fromCodePoint(point), sign === "=" ? becomes! : String.fromCodePoint(point + by));
  }
  return table;
}

/** A host with the characters of the newest tables. The joiners may stay, and U+1E9E may be what older tables make of it. */
export function modern(host: string, joiners: boolean, older: boolean): string {
  return host.replace(/[^\0-\x7f]/gu, (char) => {
    if (older && char === "\u1e9e") return "ss";
    return joiners && isJoiner(char) ? char : (characters().get(char) ?? char);
  });
}

/** Whether Unicode 18 allows a character in a host that older tables refuse. */
export function isNewer(char: string): boolean {
  return characters().get(char) === char;
}

/** Whether a character joins its neighbours or keeps them apart. Some browsers drop it, and others where it means nothing. */
export function isJoiner(char: string): boolean {
  return char === "\u200c" || char === "\u200d";
}
