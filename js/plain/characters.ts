/** Characters of hosts by Unicode 18, for the second reading. FORMAT-URLS.md. */

import { changed, toBytes } from "./text.js";
import { CHARACTERS } from "./unicode.js";

let table: Map<number, string | undefined> | undefined;

/**
 * What characters become in a host: some UTF-8, with a byte in each character; undefined for one that stays, because
 * Unicode 18 allows it and older tables don't.
 */
function characters(): Map<number, string | undefined> {
  if (table) return table;
  table = new Map();
  let point = 0;
  // As scripts/unicode.mjs writes them.
  for (const [, gap, sign, becomes, count] of CHARACTERS.matchAll(/([\da-z]*)([-+=]?)([^A-Z]*)([A-Z]+)/g)) {
    point += parseInt(gap || "0", 36);
    const number = parseInt(becomes!, 36);
    const by = sign === "-" ? number - point : number || 1;
    let more = 0;
    for (const letter of count!) more = 26 * more + parseInt(letter, 36) - 10;
    for (; more >= 0; more--, point++)
      table.set(point, sign ? toBytes(sign === "=" ? becomes! : String.fromCodePoint(point + by)) : undefined);
  }
  return table;
}

/**
 * A host with the characters of the newest tables, both with a byte in each character. The joiners may stay, and U+1E9E
 * may be what older tables make of it.
 */
export function modern(host: string, joiners: boolean, older: boolean): string {
  return changed(host, (point) => {
    if (joiners && isJoiner(point)) return undefined;
    return older && point === 0x1e9e ? "ss" : characters().get(point);
  });
}

/** Whether Unicode 18 allows a character in a host that older tables refuse. */
export function isNewer(point: number): boolean {
  return characters().has(point) && characters().get(point) === undefined;
}

/** Whether a character joins its neighbours or keeps them apart. Some browsers drop it, and others where it means nothing. */
export function isJoiner(point: number): boolean {
  return point === 0x200c || point === 0x200d;
}
