/** The section See: a small Bloom filter drawn bit by bit. The layers of a blob, below it, are blob.ts. */
import type { BloomFilter } from "bloom-wasm/slim";
import { find, onChoose, onDrop, onForm, whenNear } from "../page.ts";
import { inWords, number, oneIn, percent, plural } from "../words.ts";
import { commonWords, madeUpWord } from "./words.ts";

const cells = find("#cells");
const input = find<HTMLInputElement>("#word");
const verdict = find("#verdict");
const meaning = find("#meaning");
const probes = find("#probes");

let filter: BloomFilter;
/** Whether the filter is there. An empty one can be drawn without it. */
let made = false;
let words: string[] = [];
let loading: Promise<typeof import("bloom-wasm/slim")> | undefined;

/** The package. It is larger than the rest of the page, so it isn't loaded before the visitor comes near. */
function load() {
  loading ??= import("bloom-wasm/slim").then(async (all) => (await all.init(), all));
  loading.catch(() => (loading = undefined)); // the next click tries again
  return loading;
}

/** The chosen numbers of bits and of hashes. */
const shape = () => ["#bits", "#hashes"].map((name) => Number(find<HTMLSelectElement>(name).value)) as [number, number];

/** A handler of clicks that need a filter. */
const acting = (act: () => void) => async () => {
  try {
    if (!made) tell("", "Loading the package …", "");
    const { BloomFilter } = await load();
    if (!made) filter = new BloomFilter(...shape());
    made = true;
    act();
  } catch (error) {
    tell("", "That went wrong", inWords(error));
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

function tell(kind: "" | "maybe" | "not", says: string, means: string, lines: string[] = []) {
  verdict.className = kind;
  verdict.textContent = says;
  meaning.textContent = means;
  probes.replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
}

const list = new Intl.ListFormat("en");
const quoted = (word: string) => `“${word}”`;
const bitList = (bits: number[]) => `${bits.length === 1 ? "bit" : "bits"} ${list.format(bits.map(String))}`;

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

const by = (bit: number) => list.format(settersOf(bit).map(quoted)) || "nobody";

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
  const MOST = 200_000;
  for (let i = 0; i < MOST; i++) {
    const word = commonWords[i] ?? madeUpWord(i);
    if (words.includes(word) || !filter.has(word)) continue;
    input.value = word;
    check(word);
    meaning.textContent += ` It took ${plural(i + 1, "try", "tries")} to find it.`;
    return;
  }
  const means = words.length ? "The filter is too empty. Add a few more words." : "An empty filter has none.";
  tell("", `No false positive among ${number(MOST)} words`, means);
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
  const fresh = commonWords.filter((word) => !words.includes(word)).slice(0, 10);
  for (let i = 0; fresh.length < 10; i++) {
    const word = madeUpWord(i);
    if (!words.includes(word)) fresh.push(word);
  }
  const before = bitsOf(filter);
  filter.addMany(fresh);
  words.push(...fresh);
  const looked = [...new Set(fresh.flatMap((word) => filter.locations(word)))];
  const set = looked.filter((bit) => !before[bit]);
  const means = `They are ${list.format(fresh)}. Together they turned ${plural(set.length, "bit")} from 0 to 1.`;
  tell("", "Ten words are added", means);
  draw([], set);
}

const typed = (run: (word: string) => void) =>
  acting(() => {
    if (input.value) run(input.value);
    else tell("", "No word yet", "Type a word first.");
    input.focus();
    input.select();
  });
const [addTyped, checkTyped] = [typed(add), typed(check)];

find("#form").addEventListener("submit", (event) => {
  event.preventDefault();
  addTyped();
});
find("#check").addEventListener("click", checkTyped);
find("#ten").addEventListener("click", acting(addTen));
find("#find").addEventListener("click", acting(findFalsePositive));
find("#all").addEventListener("click", acting(checkAll));
find("#clear").addEventListener("click", restart);
for (const name of ["#bits", "#hashes"]) find(name).addEventListener("change", restart);
for (const type of ["pointerover", "focusin"]) {
  find(".bench").addEventListener(type, () => void load().catch(() => {}), { once: true });
}

/** Whether the visitor has chosen a blob. */
let picked = false;

let code: Promise<typeof import("./blob.ts")> | undefined;

/** Shows a blob. The code for it is loaded on demand; what was asked for meanwhile is shown in that order. */
async function showBlob(show: (blob: typeof import("./blob.ts")) => void) {
  try {
    code ??= import("./blob.ts");
    show(await code);
  } catch (error) {
    code = undefined; // the next click tries again
    find("#blob-error").textContent = inWords(error);
  }
}

function pick(show: (blob: typeof import("./blob.ts")) => void) {
  picked = true;
  void showBlob(show);
}

for (const button of document.querySelectorAll<HTMLButtonElement>("[data-blob]"))
  button.addEventListener("click", () => pick(({ showDemo }) => showDemo(button.dataset.blob as "allowlist" | "feed")));
const pickFile = (file: File) => pick(({ showFile }) => showFile(file));
onChoose(find("#choose"), find<HTMLInputElement>("#file"), pickFile);
onDrop(find("#blob"), pickFile);
whenNear(find("#lower"), () => void showBlob(({ showDemo }) => picked || showDemo("allowlist")));
onForm(() => made || restart());
