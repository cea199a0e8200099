/** The section See: a small Bloom filter drawn bit by bit, and the layers of a blob. */
import { BloomFilter, decode, type Filter } from "bloom-wasm";
import { bar } from "../bar";
import { recorded } from "../feeds/recording";
import { inWords, number, oneIn, percent, plural, size } from "../words";
import { layersOf } from "./layers";
import { commonWords, madeUpWord } from "./words";

const element = <E extends HTMLElement>(selector: string) => document.querySelector<E>(selector)!;
const cells = element("#cells");
const input = element<HTMLInputElement>("#word");
const verdict = element("#verdict");
const meaning = element("#meaning");
const probes = element("#probes");

let filter: BloomFilter;
let words: string[] = [];

/** The bits of the filter. The payload is the end of the blob, before the checksum of 8 bytes: FORMAT.md, section 6.1. */
function bitsOf(filter: BloomFilter): boolean[] {
  const { bits } = filter.info();
  const payload = filter.toBytes().subarray(-8 - Math.ceil(bits / 8), -8);
  return Array.from({ length: bits }, (_, i) => ((payload[i >> 3]! >> (i & 7)) & 1) === 1);
}

/** The words that set a bit. */
const settersOf = (bit: number) => words.filter((word) => filter.locations(word).includes(bit));

function restart() {
  filter?.free();
  const [bits, hashes] = ["#bits", "#hashes"].map((name) => Number(element<HTMLSelectElement>(name).value));
  filter = new BloomFilter(bits!, hashes!);
  words = [];
  cells.replaceChildren(...Array.from({ length: bits! }, () => document.createElement("i")));
  cells.classList.toggle("many", bits! > 64);
  tell("", "All bits are 0", "Add a word, and watch its bits turn to 1.");
  draw();
}

/** Draws the bits, and the probes of a word. */
function draw(looked: number[] = [], fresh: number[] = []) {
  const bits = bitsOf(filter);
  for (const [i, cell] of [...cells.children].entries()) {
    cell.className = "cell";
    cell.classList.toggle("on", bits[i]);
    cell.classList.toggle("probe", looked.includes(i));
    cell.classList.toggle("new", fresh.includes(i));
  }
  const ones = bits.flatMap((bit, i) => (bit ? [i] : []));
  element("#state").textContent =
    `${plural(words.length, "word")} added. ${number(ones.length)} of ${plural(bits.length, "bit")} are 1, ` +
    `${percent(ones.length / bits.length)}. A stranger is “maybe present” with a chance of ${oneIn(filter.estimatedFpr)}.`;
  element("#ones").textContent = ones.join(" ") || "none";
  element("#words").textContent = words.join(", ") || "none";
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
    tell("maybe", `${quoted(word)} is maybe present`, "All of its bits are 1, and it was really added.", lines);
  } else {
    const means = "A false positive: it was never added, but others have set all of its bits.";
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
  const means = words.length ? "The filter is too empty. Add a few words more." : "An empty filter has none.";
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

function typed(run: (word: string) => void) {
  if (input.value) run(input.value);
  else tell("", "No word yet", "Type a word first.");
  input.focus();
  input.select();
}

element("#form").addEventListener("submit", (event) => {
  event.preventDefault();
  typed(add);
});
element("#check").addEventListener("click", () => typed(check));
element("#ten").addEventListener("click", addTen);
element("#find").addEventListener("click", findFalsePositive);
element("#all").addEventListener("click", checkAll);
element("#clear").addEventListener("click", restart);
for (const name of ["#bits", "#hashes"]) element(name).addEventListener("change", restart);
restart();

// The layers of a blob.

const blobError = element("#blob-error");

/** Draws a blob as its layers, the newest on top. */
function drawLayers(blob: Filter) {
  const { kind, name, layers: count, byteLength } = blob.info();
  const layers = layersOf(blob.toBytes());
  const base = byteLength - layers.reduce((sum, { bytes }) => sum + bytes, 0);
  const largest = Math.max(base, ...layers.map(({ bytes }) => bytes));
  element("#blob-title").textContent =
    `${name ?? "The blob"}: a ${kind} filter of ${size(byteLength)} with ${plural(count, "layer")} on top. ` +
    `It answers “maybe present” to about ${oneIn(blob.estimatedFpr)} strangers.`;
  const rows = layers.map(({ type, keys, bytes }, i) => ({
    title: `Layer ${i + 1}: ${type}`,
    bytes,
    colour: type === "include" ? 3 : 2,
    says:
      type === "include"
        ? `${plural(keys, "key")} added later. A key in it is maybe present; the others are asked below.`
        : `${plural(keys, "key")} that must not match. A key in it is definitely absent; the others are asked below.`,
  }));
  rows.reverse();
  rows.push({
    title: `Base: ${kind}`,
    bytes: base,
    colour: 1,
    says: "The filter that it began with. It answers the rest.",
  });
  element("#layers").replaceChildren(
    ...rows.map(({ title, bytes, colour, says }) => {
      const item = document.createElement("li");
      const strong = Object.assign(document.createElement("strong"), { textContent: title });
      const text = Object.assign(document.createElement("span"), { className: "small", textContent: says });
      item.append(strong, `, ${size(bytes)}`, bar(bytes / largest, colour), text);
      return item;
    }),
  );
}

/** Shows what comes of getting a filter. The newest click wins. */
async function show(get: () => Promise<Filter>) {
  const turn = ++turns;
  blobError.textContent = "";
  try {
    const blob = await get();
    if (turn === turns) drawLayers(blob);
    blob.free();
  } catch (error) {
    if (turn === turns) blobError.textContent = inWords(error);
  }
}
let turns = 0;

const demos: Record<string, () => Promise<Filter>> = {
  phishing: async () => decode(await bytesOf(new URL("../phishing.bloom", location.href))),
  /** The recorded feed's base with all of its deltas. */
  async feed() {
    const { files } = await recorded();
    const [base, ...deltas] = await Promise.all(files.map(bytesOf));
    return deltas.reduce((filter, delta) => filter.apply(delta), decode(base!));
  },
};

async function bytesOf(url: URL) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the server answered with status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

const ofFile = (file: File | undefined) => file && show(async () => decode(await file.arrayBuffer()));
for (const button of document.querySelectorAll<HTMLButtonElement>("[data-blob]"))
  button.addEventListener("click", () => show(demos[button.dataset.blob!]!));
const file = element<HTMLInputElement>("#file");
file.addEventListener("change", () => ofFile(file.files?.[0]));
const zone = element("#blob");
for (const type of ["dragenter", "dragover", "dragleave", "drop"]) {
  zone.addEventListener(type, (event) => {
    event.preventDefault();
    zone.classList.toggle("over", type === "dragenter" || type === "dragover");
  });
}
zone.addEventListener("drop", ({ dataTransfer }) => ofFile(dataTransfer?.files[0]));
show(demos.phishing!);
