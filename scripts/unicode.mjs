/**
 * Writes the tables of Unicode that both Rust and JavaScript need, from scripts/unicode.txt:
 * src/keys/url/unicode/tables.rs and js/plain/unicode.ts. `pkg-tests/url/unicode.test.mjs` fails if they are out of
 * date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The rows of the file: each one's table, its first and last character, and what the first becomes. */
export const rows = readFileSync(join(root, "scripts/unicode.txt"), "utf8")
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => {
    const [, table, first, last = first, , point, text] =
      /^(map|valid|invisible) ([0-9A-F]+)(?:\.\.([0-9A-F]+))?( (?:U\+([0-9A-F]+)|(\S+)))?$/.exec(line) ?? [];
    if (!table || (table === "map") !== Boolean(point ?? text)) throw new Error(`unicode.txt: ${line}`);
    return { table, first: parseInt(first, 16), last: parseInt(last, 16), to: point && parseInt(point, 16), text };
  });

const of = (table) => rows.filter((row) => row.table === table);
const hex = (number) => `0x${number.toString(16).toUpperCase()}`;

/** A constant array of rows, as many to a line as fit. */
function constant(comment, name, type, cells) {
  const lines = [""];
  for (const cell of cells) {
    if (lines.at(-1).length + cell.length + 2 > 110) lines.push("");
    lines[lines.length - 1] += ` ${cell},`;
  }
  const body = lines.map((line) => `   ${line}`).join("\n");
  return `/// ${comment}\n#[rustfmt::skip]\npub(super) const ${name}: [${type}; ${cells.length}] = [\n${body}\n];\n`;
}

function rust() {
  const ranges = (table) => of(table).map(({ first, last }) => `(${hex(first)}, ${hex(last)})`);
  const points = of("map").filter(({ text }) => !text);
  const texts = of("map").filter(({ text }) => text);
  return [
    "//! Written by scripts/unicode.mjs from scripts/unicode.txt.\n",
    constant(
      "The first and the last of some characters, and what the first of them becomes. The others follow it.",
      "MAPPED",
      "(u32, u32, u32)",
      points.map(({ first, last, to }) => `(${hex(first)}, ${hex(last)}, ${hex(to)})`),
    ),
    constant(
      "Characters that become a text.",
      "TEXTS",
      "(u32, &str)",
      texts.map(({ first, text }) => `(${hex(first)}, "${text}")`),
    ),
    constant(
      "The first and the last of some characters that stay as they are.",
      "VALID",
      "(u32, u32)",
      ranges("valid"),
    ),
    constant(
      "The first and the last of some characters that nobody sees: Default_Ignorable_Code_Point in\n/// DerivedCoreProperties.txt.",
      "INVISIBLE",
      "(u32, u32)",
      ranges("invisible"),
    ),
  ].join("\n");
}

/** A number in letters, A to Z for 0 to 25. */
function letters(number) {
  const rest = number < 26 ? "" : letters(Math.floor(number / 26));
  return rest + String.fromCharCode(65 + (number % 26));
}

/**
 * All rows as one string, by their first character. Each row has the number of characters between it and the row
 * before, in base 36, but nothing for 0 before a sign. Then what its first character becomes: nothing if it stays, `=`
 * and a text, which is empty for invisible characters, `-` and a number, or `+` and the distance, which is left out for
 * 1. Last, the number of characters after the first one, in letters.
 */
function packed() {
  let next = 0;
  const cells = rows
    .toSorted((one, other) => one.first - other.first)
    .map(({ table, first, last, to, text }) => {
      const gap = first - next;
      next = last + 1;
      const becomes = [table === "invisible" ? "=" : table === "valid" ? "" : `=${text}`];
      if (to !== undefined) becomes[0] = `-${to.toString(36)}`;
      if (to > first) becomes.push(`+${to === first + 1 ? "" : (to - first).toString(36)}`);
      becomes.sort((one, other) => one.length - other.length);
      return (gap > 0 || !becomes[0] ? gap.toString(36) : "") + becomes[0] + letters(last - first);
    });
  return cells.join("");
}

function typescript() {
  return `/**
 * What Unicode 18 brought to hosts, as a string that js/plain/characters.ts reads. Written by scripts/unicode.mjs from
 * scripts/unicode.txt. FORMAT-URLS.md, the second reading.
 */
export const CHARACTERS =
  "${packed()}";
`;
}

/** The generated files, with the contents of each. */
export const files = {
  "src/keys/url/unicode/tables.rs": rust(),
  "js/plain/unicode.ts": typescript(),
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
