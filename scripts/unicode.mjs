/**
 * Writes the tables of Unicode that both Rust and JavaScript need, from scripts/unicode.txt: src/keys/url/unicode/tables.rs
 * and js/nano/unicode.ts. `pkg-tests/unicode.test.mjs` fails if somebody has forgotten to.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The rows of the file: what each is of, its first and last character, and what that becomes. */
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

/**
 * A table as one string: of each row how far its first character is from the last one of the row before, then a dot and
 * the number of characters unless that is 1. Numbers are in base 36. Then how far what it becomes is from the
 * character, with its sign, or after `=` a text.
 */
function packed(table) {
  let before = 0;
  const cells = of(table).map(({ first, last, to, text }) => {
    const gap = (first - before).toString(36);
    const count = last > first ? `.${(last - first + 1).toString(36)}` : "";
    const by = to === undefined ? "" : to < first ? (to - first).toString(36) : `+${(to - first).toString(36)}`;
    before = last;
    return gap + count + (text ? `=${text}` : by);
  });
  return cells.join(" ");
}

function typescript() {
  const table = (comment, name, its) => {
    const [left, right] = [`export const ${name} =`, `"${packed(its)}";`];
    return `/** ${comment} */\n${left}${left.length + right.length < 120 ? " " : "\n  "}${right}\n`;
  };
  return [
    "/**\n * What Unicode 18 brought to hosts, as strings that js/nano/characters.ts reads. Written by scripts/unicode.mjs from\n * scripts/unicode.txt. FORMAT.md section 10, the second reading.\n */\n",
    table("Characters that become others.", "MAPPED", "map"),
    table("Characters that stay as they are.", "VALID", "valid"),
    table("Characters that nobody sees.", "INVISIBLE", "invisible"),
  ].join("\n");
}

/** The files that are written, with what is to be in each. */
export const files = {
  "src/keys/url/unicode/tables.rs": rust(),
  "js/nano/unicode.ts": typescript(),
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
