/** See: a small ribbon filter, with its table and the equations that the table solves. */
import { find } from "../page.ts";
import { number, oneIn, plural, significant } from "../words.ts";
import { chosenRows, type Equation, equationOf, type Ribbon, SEEDS, solve, WIDTH, xorOf } from "./equations.ts";
import { chosen, fillList, list, MOST_TRIES, quoted, type Shown, tell, tellMore } from "./story.ts";
import { tenMore, wordAt } from "./words.ts";

let filter: Ribbon;
let words: string[] = [];

const equation = (word: string) => equationOf(word, filter, filter.seed);
const matches = (word: string) =>
  words.length > 0 && xorOf(filter.table, equation(word)) === equation(word).fingerprint;

/** Bits as text, the lowest first, as they are drawn. */
const text = (value: number, length: number) => bitsOf(value, length).map(Number).join("");
const bitsOf = (value: number, length: number) => Array.from({ length }, (_, i) => ((value >> i) & 1) === 1);

function restart() {
  const [rows, bits] = chosen("#rows", "#row-bits") as [number, number];
  words = [];
  filter = solve(words, { rows, bits })!;
  tell("", "There is no word yet", "Add one, and watch how the table gets the rows that it needs.");
  draw();
}

/** Draws the table and below it the words by their start, with one that was asked for. */
function draw(asked?: string) {
  const { table, rows, bits } = filter;
  const looked = asked === undefined ? [] : chosenRows(equation(asked));
  const lines = Array.from({ length: bits }, (_, bit) => {
    const cells = table.map((row, i) => cell((row >> bit) & 1, looked.includes(i)));
    return line("line", bit === 0 ? "Table" : "", cells);
  });
  const shown = asked === undefined || words.includes(asked) ? words : [...words, asked];
  const equations = shown.map((word) => ({ word, ...equation(word) })).sort((a, b) => a.start - b.start);
  for (const { word, start, coefficients, fingerprint } of equations) {
    const is = word === asked;
    const chosen = bitsOf(coefficients, WIDTH).map((bit) => cell(bit, is && bit));
    const cells = [...gaps(start), ...chosen, ...gaps(rows - start - WIDTH + 1)];
    cells.push(...bitsOf(fingerprint, bits).map((bit) => cell(bit, is)));
    lines.push(line(is ? "line word asked" : "line word", word, cells));
  }
  const picture = find("#ribbon");
  picture.style.setProperty("--cells", String(rows + 1 + bits));
  picture.replaceChildren(...lines);
  const size = rows * bits;
  find("#state").textContent =
    `${plural(words.length, "word")} added. ${rows} rows of ${plural(bits, "bit")} are ${plural(size, "bit")}` +
    `${words.length ? `, ${significant(size / words.length)} for each word` : ""}. A word that wasn't added is ` +
    `“maybe present” with a probability of ${oneIn(words.length ? 2 ** -bits : 0)}.`;
  find("#table").textContent = table.map((row, i) => `${i}: ${text(row, bits)}`).join(", ");
  fillList(
    "#equations",
    equations.map(({ word, ...its }) => `${word}: ${inText(its)}.`),
  );
}

function cell(on: boolean | number, looked: boolean) {
  const cell = Object.assign(document.createElement("i"), { className: "cell" });
  cell.classList.toggle("on", Boolean(on));
  cell.classList.toggle("probe", looked);
  return cell;
}

const gaps = (count: number) => Array.from({ length: count }, () => document.createElement("i"));

function line(className: string, label: string, cells: Node[]) {
  const line = Object.assign(document.createElement("div"), { className });
  line.append(Object.assign(document.createElement("span"), { textContent: label }), ...cells);
  return line;
}

const inText = ({ start, coefficients, fingerprint }: Equation) =>
  `starts at row ${start}, coefficients ${text(coefficients, WIDTH)}, fingerprint ${text(fingerprint, filter.bits)}`;

/** Each row that a word chooses, their XOR, and the fingerprint. */
function reasons(word: string): string[] {
  const its = equation(word);
  const shown = (value: number) => text(value, filter.bits);
  return [
    ...chosenRows(its).map((row) => `Row ${row} is ${shown(filter.table[row]!)}.`),
    `Their XOR is ${shown(xorOf(filter.table, its))}. The fingerprint is ${shown(its.fingerprint)}.`,
  ];
}

/** Builds the filter anew, with more words. Returns what that changed, or nothing if there is no such filter. */
function build(more: string[]): string | undefined {
  const solved = solve([...words, ...more], filter);
  if (!solved) {
    const count = plural(words.length + more.length, "word");
    const means = `With ${filter.rows} rows, the equations of ${count} contradict each other, whichever of ${number(SEEDS)} seeds they are computed with.`;
    tell("", `${count} don't fit`, means);
    draw();
    return;
  }
  const changed = solved.table.filter((row, i) => row !== filter.table[i]).length;
  const reseeded = solved.seed !== filter.seed;
  words.push(...more);
  filter = solved;
  return (
    `The table is worked out anew from all words: ${number(changed)} of its ${solved.rows} rows have changed.` +
    (reseeded ? " The equations of the seed before contradicted each other, so each word has got another one." : "")
  );
}

function add(word: string) {
  const isNew = !words.includes(word);
  const means = isNew ? build([word]) : "It was there already, so nothing has changed.";
  if (!means) return;
  tell("", `${quoted(word)} is added`, means, reasons(word));
  draw(word);
}

function addTen() {
  const fresh = tenMore(words);
  const means = build(fresh);
  if (!means) return;
  tell("", "Ten words are added", `They are ${list(fresh)}. ${means}`);
  draw();
}

function check(word: string) {
  if (words.length === 0) {
    tell("not", `${quoted(word)} is definitely absent`, "There is no word in the filter.");
  } else if (!matches(word)) {
    const means = "The XOR of its rows isn't its fingerprint, as it is for each word that was added.";
    tell("not", `${quoted(word)} is definitely absent`, means, reasons(word));
  } else {
    const means = words.includes(word)
      ? "The XOR of its rows is its fingerprint, and it really was added."
      : "A false positive: it was never added, but the XOR of its rows happens to be its fingerprint.";
    tell("maybe", `${quoted(word)} is maybe present`, means, reasons(word));
  }
  draw(word);
}

function checkAll() {
  tell(
    "maybe",
    `${number(words.filter(matches).length)} of ${plural(words.length, "word")} maybe present`,
    words.length ? "The table was worked out so that each of them matches." : "Add a word first.",
  );
  draw();
}

/** Checks one word after another until one is a false positive. */
function findFalsePositive() {
  for (let i = 0; i < MOST_TRIES && words.length; i++) {
    const word = wordAt(i);
    if (words.includes(word) || !matches(word)) continue;
    find<HTMLInputElement>("#word").value = word;
    check(word);
    return tellMore(`It took ${plural(i + 1, "try", "tries")} to find it.`);
  }
  tell("", "There is no false positive", "An empty filter has none.");
  draw();
}

export const ribbon: Shown = {
  isEmpty: () => words.length === 0,
  restart,
  add,
  addTen,
  check,
  checkAll,
  findFalsePositive,
};
