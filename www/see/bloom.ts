/** See: a small Bloom filter, drawn bit by bit. */
import type { BloomFilter } from "bloom-wasm/slim";
import { find } from "../page.ts";
import { inWords, number, oneIn, percent, plural } from "../words.ts";
import { chosen, list, MOST_TRIES, quoted, type Shown, tell, tellMore } from "./story.ts";
import { tenMore, wordAt } from "./words.ts";

const cells = find("#cells");

let filter: BloomFilter;
/** Whether the filter is there. An empty one can be drawn without it. */
let made = false;
let words: string[] = [];
/** How often it has started over. */
let restarts = 0;
let loading: Promise<typeof import("bloom-wasm/slim")> | undefined;

/** The package. It is larger than the rest of the page, so it isn't loaded before the visitor comes near. */
export function load() {
  loading ??= import("bloom-wasm/slim").then(async (all) => (await all.init(), all));
  loading.catch(() => (loading = undefined)); // the next click tries again
  return loading;
}

/** The chosen numbers of bits and of hashes. */
const shape = () => chosen("#bits", "#hashes") as [number, number];

/** An action that needs the filter. */
const acting =
  <A extends unknown[]>(act: (...args: A) => void) =>
  async (...args: A) => {
    const begun = restarts;
    try {
      if (!made) tell("", "Loading the package …", "");
      const { BloomFilter } = await load();
      if (restarts !== begun) return;
      if (!made) filter = new BloomFilter(...shape());
      made = true;
      act(...args);
    } catch (error) {
      if (restarts === begun) tell("", "That went wrong", inWords(error));
    }
  };

/**
 * The bits of the filter. The payload is the end of the blob, before the checksum of 4 bytes: FORMAT.md, section 6.1.
 */
function bitsOf(filter: BloomFilter): boolean[] {
  const { bits } = filter.info();
  const payload = filter.toBytes().subarray(-4 - Math.ceil(bits / 8), -4);
  return Array.from({ length: bits }, (_, i) => ((payload[i >> 3]! >> (i & 7)) & 1) === 1);
}

/** The words that set a bit. */
const settersOf = (bit: number) => words.filter((word) => filter.locations(word).includes(bit));

function restart() {
  restarts++;
  if (made) filter.free();
  made = false;
  words = [];
  const [bits] = shape();
  cells.replaceChildren(...Array.from({ length: bits }, () => document.createElement("i")));
  cells.classList.toggle("many", bits > 64);
  tell("", "All bits are 0", "Add a word, and watch its bits turn to 1.");
  draw();
}

/** Draws the bits, and the probes of a word. */
function draw(looked: number[] = [], fresh: number[] = []) {
  const bits = made ? bitsOf(filter) : Array<boolean>(shape()[0]).fill(false);
  for (const [i, cell] of [...cells.children].entries()) {
    cell.className = "cell";
    cell.classList.toggle("on", bits[i]);
    cell.classList.toggle("probe", looked.includes(i));
    cell.classList.toggle("new", fresh.includes(i));
  }
  const ones = bits.flatMap((bit, i) => (bit ? [i] : []));
  find("#state").textContent =
    `${plural(words.length, "word")} added. ${number(ones.length)} of ${plural(bits.length, "bit")} are 1, ` +
    `${percent(ones.length / bits.length)}. ` +
    `A word that wasn't added is “maybe present” with a probability of ${oneIn(made ? filter.estimatedFpr : 0)}.`;
  find("#ones").textContent = ones.join(" ") || "none";
  find("#words").textContent = words.join(", ") || "none";
}

const bitList = (bits: number[]) => `${bits.length === 1 ? "bit" : "bits"} ${list(bits.map(String))}`;

function add(word: string) {
  const looked = [...new Set(filter.locations(word))];
  const before = bitsOf(filter);
  const isNew = filter.add(word);
  const fresh = looked.filter((bit) => !before[bit]);
  const lines = looked.map((bit) =>
    before[bit] ? `Bit ${bit} was 1 already, set by ${by(bit)}.` : `Bit ${bit} was 0 and is 1 now.`,
  );
  const known = words.includes(word);
  if (!known) words.push(word);
  const means = isNew
    ? "It was definitely not there before, since at least one of its bits was 0."
    : known
      ? "It was there already, so nothing has changed."
      : "All of its bits were 1 already, so nothing has changed: the filter can't tell that it is new.";
  tell("", `${quoted(word)} is added`, means, lines);
  draw(looked, fresh);
}

const by = (bit: number) => list(settersOf(bit).map(quoted)) || "nobody";

function check(word: string) {
  const looked = [...new Set(filter.locations(word))];
  const bits = bitsOf(filter);
  const maybe = filter.has(word);
  const lines = looked.map((bit) => (bits[bit] ? `Bit ${bit} is 1, set by ${by(bit)}.` : `Bit ${bit} is 0.`));
  if (!maybe) {
    const zeros = looked.filter((bit) => !bits[bit]);
    const means = `Adding it would have set ${bitList(zeros)}, and ${zeros.length === 1 ? "that is" : "those are"} 0.`;
    tell("not", `${quoted(word)} is definitely absent`, means, lines);
  } else if (words.includes(word)) {
    tell("maybe", `${quoted(word)} is maybe present`, "All of its bits are 1, and it really was added.", lines);
  } else {
    const means = "A false positive: it was never added, but other words have set all of its bits.";
    tell("maybe", `${quoted(word)} is maybe present`, means, lines);
  }
  draw(looked);
}

/** Checks one made-up word after another until one is a false positive. */
function findFalsePositive() {
  for (let i = 0; i < MOST_TRIES; i++) {
    const word = wordAt(i);
    if (words.includes(word) || !filter.has(word)) continue;
    find<HTMLInputElement>("#word").value = word;
    check(word);
    tellMore(`It took ${plural(i + 1, "try", "tries")} to find it.`);
    return;
  }
  const means = words.length ? "The filter is too empty. Add a few more words." : "An empty filter has none.";
  tell("", `No false positive among ${number(MOST_TRIES)} words`, means);
  draw();
}

function checkAll() {
  const found = filter.hasMany(words).reduce((sum, answer) => sum + answer, 0);
  tell(
    "maybe",
    `${number(found)} of ${plural(words.length, "word")} maybe present`,
    words.length ? "No word that was added is ever denied, however full the filter is." : "Add a word first.",
  );
  draw([...new Set(words.flatMap((word) => filter.locations(word)))]);
}

function addTen() {
  const fresh = tenMore(words);
  const before = bitsOf(filter);
  filter.addMany(fresh);
  words.push(...fresh);
  const looked = [...new Set(fresh.flatMap((word) => filter.locations(word)))];
  const set = looked.filter((bit) => !before[bit]);
  const means = `They are ${list(fresh)}. Together they turned ${plural(set.length, "bit")} from 0 to 1.`;
  tell("", "Ten words are added", means);
  draw([], set);
}

export const bloom: Shown = {
  isEmpty: () => words.length === 0,
  restart,
  add: acting(add),
  addTen: acting(addTen),
  check: acting(check),
  checkAll: acting(checkAll),
  findFalsePositive: acting(findFalsePositive),
};
