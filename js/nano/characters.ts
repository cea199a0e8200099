/** Characters of hosts by Unicode 18, for the second reading. FORMAT.md section 10. */

import { INVISIBLE, MAPPED, VALID } from "./unicode.js";

/** Calls `each` for the characters of a table: with a character, and what follows its row's numbers. */
function read(table: string, each: (point: number, rest: string) => void): void {
  let last = 0;
  for (const row of table.split(" ")) {
    const [, gap, count = "1", rest] = /^(\w+)(?:\.(\w+))?(.*)/.exec(row) as unknown as [
      string,
      string,
      string,
      string,
    ];
    const first = last + parseInt(gap, 36);
    last = first + parseInt(count, 36) - 1;
    for (let point = first; point <= last; point++) each(point, rest);
  }
}

/** What each character of a host becomes that doesn't stay: nothing, or other characters. */
let mapped: Map<string, string> | undefined;

/** The characters that Unicode 18 allows in a host, and older tables refuse. */
let valid: Set<string> | undefined;

/** A host with the characters of the newest tables. The joiners may stay. */
export function modern(host: string, joiners: boolean): string {
  if (!mapped) {
    const all = new Map<string, string>();
    read(INVISIBLE, (point) => all.set(String.fromCodePoint(point), ""));
    read(MAPPED, (point, rest) =>
      all.set(
        String.fromCodePoint(point),
        rest[0] === "=" ? rest.slice(1) : String.fromCodePoint(point + parseInt(rest, 36)),
      ),
    );
    mapped = all;
  }
  const its = mapped;
  return host.replace(/[^\0-\x7f]/gu, (char) => (joiners && isJoiner(char) ? char : (its.get(char) ?? char)));
}

/** Whether Unicode 18 allows a character in a host that older tables refuse. */
export function isNewer(char: string): boolean {
  if (!valid) {
    const all = new Set<string>();
    read(VALID, (point) => all.add(String.fromCodePoint(point)));
    valid = all;
  }
  return valid.has(char);
}

/** Whether a character joins its neighbours or keeps them apart. Some browsers drop it, and others where it means nothing. */
export function isJoiner(char: string): boolean {
  return char === "\u200c" || char === "\u200d";
}
