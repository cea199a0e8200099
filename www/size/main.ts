/** The section Size: two numbers in, the third out, for every kind; and plots, code and an address to share. */
import { copyButton } from "../copy.ts";
import { find, whenNear } from "../page.ts";
import { number, oneIn, size } from "../words.ts";
import { code, tool } from "./code.ts";
import { bound, type Kind, type Shape, shapeIn, shapeOf, shapeWith } from "./formulas.ts";
import { parseBytes, parseCount, parseRate } from "./parse.ts";

const form = find<HTMLFormElement>("#form");
const wrong = find("#wrong");
const results = document.querySelectorAll<HTMLElement>("main > section, #sentence, #by-bits");
const sentence = find("#sentence");
const plots = [find("#by-bits"), find("#plots")];
const body = find<HTMLTableElement>("#kinds").tBodies[0]!;

const quantities = ["count", "bytes", "fpr"] as const;
type Quantity = (typeof quantities)[number];
const field = (name: Quantity) => find<HTMLInputElement>(`#${name}`);
const profile = find<HTMLSelectElement>("#profile");

const parsers = { count: parseCount, bytes: parseBytes, fpr: parseRate };
const headings = { count: "Keys", bytes: "Size", fpr: "Rate" };
const examples = {
  count: "Keys must be a whole number, such as 1,000,000.",
  bytes: "The size must be a number of bytes, such as 500 kB.",
  fpr: "The rate must be above 0 and below 1, such as 0.001 or 0.1 %.",
};
const uses: Record<Kind, string> = {
  ribbon: "shipping: read-only, and the smallest",
  cuckoo: "keys that come and go, up to a known number",
  bloom: "adding keys later, and merging",
  scalable: "adding keys when you don't know how many; here it starts at 1,000",
  counting: "keys that come and go, and merging",
};

/** How many milliseconds after the last keystroke the visitor has stopped typing. */
const PAUSE = 400;
const names = Object.keys(uses) as Kind[];

let wanted: Quantity = "bytes";
let kind: Kind = "ribbon";
/** The chosen kind's filter, as it was last worked out. Its rate is that of a key. */
let chosen: Shape | undefined;

/** How many keys share the rate of a check: of a list of hosts in a ribbon filter a third each, and a tenth in others. */
const share = (of = kind) => (profile.value === "raw" ? 1 : of === "ribbon" ? 3 : 10);

/** The given numbers, or what is wrong with one of them. */
function given(): Record<Quantity, number> | string {
  const found = { count: 0, bytes: 0, fpr: 0 };
  for (const name of quantities) {
    if (name === wanted) continue;
    const value = parsers[name](field(name).value);
    field(name).setAttribute("aria-invalid", String(value === undefined));
    if (value === undefined) return examples[name];
    found[name] = value;
  }
  return found;
}

function shape(kind: Kind, { count, bytes, fpr }: Record<Quantity, number>): Shape | undefined {
  if (wanted === "bytes") return shapeOf(kind, count, fpr / share(kind));
  if (wanted === "count") return shapeWith(kind, bytes, fpr / share(kind));
  const found = shapeIn(kind, count, bytes);
  return found && found.fpr * share(kind) <= 0.99 ? found : undefined; // one that always says "maybe" is none
}

function boundOf({ count, bytes, fpr }: Record<Quantity, number>): Shape {
  const rate = fpr / share("ribbon");
  if (wanted === "bytes") return { count, bytes: bound.bytes(count, rate), fpr: rate };
  if (wanted === "fpr") return { count, bytes, fpr: bound.fpr(count, bytes) };
  return { count: bound.count(bytes, rate), bytes, fpr: rate };
}

/** The number that was worked out, in words. */
function answer(shape: Shape, kind: Kind): string {
  if (wanted === "bytes") return size(shape.bytes);
  return wanted === "count" ? number(shape.count) : rate(Math.min(1, shape.fpr * share(kind)));
}

const rate = (fpr: number) => (fpr < 1e-12 ? "below 1 in 10\u00b9\u00b2" : oneIn(fpr));
const bitsPerKey = ({ count, bytes }: Shape) => (8 * bytes) / count;

/** Shows the fields of what is given. */
function choose() {
  wanted = (form.elements.namedItem("find") as RadioNodeList).value as Quantity;
  for (const name of quantities) field(name).closest<HTMLElement>(".field")!.hidden = name === wanted;
  find("#found").textContent = headings[wanted];
}

/** Works everything out again, and shows it. What is slow, and what is read aloud, waits for a pause in typing. */
function update(pause = 0) {
  choose();
  kind = find<HTMLInputElement>('[name="kind"]:checked').value as Kind;
  const numbers = given();
  const soon = (what: () => void) => {
    clearTimeout(timer);
    timer = window.setTimeout(what, pause);
  };
  const isWrong = typeof numbers === "string";
  // What is there belongs to other numbers.
  for (const result of results) result.inert = isWrong;
  if (isWrong) return soon(() => (wrong.textContent = numbers));
  wrong.textContent = "";
  const all = names.map((kind) => [kind, shape(kind, numbers)] as const);
  chosen = all.find(([name]) => name === kind)![1];
  fill(numbers, all);
  const said = describe(numbers);
  soon(() => {
    sentence.textContent = said;
    draw();
    remember();
  });
}

let timer = 0;

/** Fills the table. The radio buttons stay as they are, so that the keyboard's focus does too. */
function fill(numbers: Record<Quantity, number>, all: (readonly [Kind, Shape | undefined])[]) {
  const least = boundOf(numbers);
  const rows: (readonly [Kind | "bound", Shape | undefined])[] = [...all, ["bound", least]];
  for (const [i, [name, shape]] of rows.entries()) {
    const [, found, bits, above] = body.rows[i]!.cells;
    const of = name === "bound" ? "ribbon" : name;
    const asked = wanted === "fpr" ? shape?.fpr : numbers.fpr / share(of);
    found!.textContent = shape ? answer(shape, of) : "not possible";
    bits!.textContent = shape ? bitsPerKey(shape).toFixed(1) : "–";
    const over = shape && asked ? bitsPerKey(shape) / -Math.log2(asked) - 1 : Number.NaN;
    above!.textContent = name === "bound" ? "–" : over >= 0 ? `${number(100 * over, over < 0.1 ? 1 : 0)}\u00a0%` : "–";
    body.rows[i]!.classList.toggle("chosen", name === kind);
  }
}

const cell = (text = "") => Object.assign(document.createElement("td"), { textContent: text });
const cells = (count: number) => Array.from({ length: count }, () => cell());
const head = (...content: (string | Node)[]) => {
  const head = Object.assign(document.createElement("th"), { scope: "row" });
  head.append(...content);
  return head;
};

function headOf(name: Kind) {
  const radio = Object.assign(document.createElement("input"), { type: "radio", name: "kind", value: name });
  radio.checked = name === kind;
  const label = Object.assign(document.createElement("label"), { className: "check" });
  label.append(radio, name);
  return head(label);
}

/** Shows the code of what was chosen. Returns a sentence about it. */
function describe(numbers: Record<Quantity, number>): string {
  find("#codes").hidden = !chosen;
  for (const plot of plots) plot.inert = !chosen;
  if (!chosen) {
    find("#javascript").textContent = find("#tool").textContent = "";
    return `There can be no ${kind} filter with these numbers.`;
  }
  const fpr = wanted === "fpr" ? roundedUp(chosen.fpr * share()) : numbers.fpr;
  const { count } = chosen;
  const plan = { kind, count, fpr, profile: profile.value as "raw" | "url" };
  const keys = `${number(count)} ${profile.value === "url" ? "URLs" : "keys"}`;
  find("#javascript").textContent = code(plan);
  find("#tool").textContent = tool(plan);
  const bits = bitsPerKey(chosen).toFixed(1);
  return `A ${kind} filter of ${keys} at a rate of ${rate(fpr)} takes ${size(chosen.bytes)}: ${bits} bits for each key.`;
}

/** Three digits, never a lower rate, so that the filter isn't larger than was asked for. */
function roundedUp(fpr: number): number {
  const step = 10 ** (Math.floor(Math.log10(fpr)) - 2);
  return Number((Math.ceil(fpr / step - 1e-9) * step).toPrecision(3));
}

/** Keeps the state in the address. */
function remember() {
  const state = new URLSearchParams();
  for (const name of quantities) {
    if (name !== wanted) state.set(name, String(parsers[name](field(name).value)));
  }
  state.set("kind", kind);
  if (profile.value !== "raw") state.set("profile", profile.value);
  history.replaceState(null, "", `?${state}`);
}

/** Takes the state from the address, where there is one. */
function recall() {
  const state = new URLSearchParams(location.search);
  const texts = { count: "1,000,000", bytes: "1 MB", fpr: "0.001" };
  for (const name of quantities) {
    const value = parsers[name](state.get(name) ?? "");
    field(name).value = value === undefined ? texts[name] : written(name, value);
  }
  const missing = quantities.filter((name) => !state.has(name));
  if (missing.length === 1) wanted = missing[0]!;
  find<HTMLInputElement>(`[name="find"][value="${wanted}"]`).checked = true;
  const asked = names.find((name) => name === state.get("kind"));
  if (asked) kind = asked;
  if (state.get("profile") === "url") profile.value = "url";
}

const written = (name: Quantity, value: number) => (name === "fpr" ? String(value) : number(value));

/** Whether the plots may be in view: they take more code, and more time, than the rest of the page. */
let near = false;

async function draw() {
  if (!near) return;
  const plots = await import("./plots.ts").catch(() => {
    wrong.textContent = "The plots could not be loaded. Are you online?";
  });
  if (chosen) plots?.draw(chosen, share());
}

recall();
for (const name of names) body.insertRow().append(headOf(name), ...cells(3), cell(uses[name]));
body.insertRow().append(head("information bound"), ...cells(3), cell("comparison: no filter can be smaller"));
choose();
update();
whenNear(plots[0]!, () => {
  near = true;
  draw();
});
body.addEventListener("change", () => update());
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", ({ target }) => {
  const radio = target as HTMLInputElement;
  if (radio.name === "find" && chosen) {
    // What was worked out is given now.
    const value = { count: chosen.count, bytes: chosen.bytes, fpr: roundedUp(chosen.fpr * share()) };
    field(wanted).value = written(wanted, value[wanted]);
  }
  update(radio.name === "find" ? 0 : PAUSE);
});
copyButton(find("#copy-javascript"), () => find("#javascript").textContent);
copyButton(find("#copy-tool"), () => find("#tool").textContent);
copyButton(find("#share"), () => {
  remember();
  return location.href;
});
