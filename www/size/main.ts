/** The section Size: two numbers in, the third out, for every kind; and plots, code and an address to share. */
import { type Axis, type Line, lineChart } from "../chart";
import { copyButton } from "../copy";
import { number, oneIn, percent, significant, size } from "../words";
import { code, tool } from "./code";
import { bound, filling, type Kind, kinds, type Shape, shapeIn, shapeOf, shapeWith } from "./formulas";
import { parseBytes, parseCount, parseRate } from "./parse";

const element = <E extends HTMLElement>(selector: string) => document.querySelector<E>(selector)!;
const form = element<HTMLFormElement>("#form");
const wrong = element("#wrong");
const body = element<HTMLTableElement>("#kinds").tBodies[0]!;

const quantities = ["count", "bytes", "fpr"] as const;
type Quantity = (typeof quantities)[number];
const field = (name: Quantity) => element<HTMLInputElement>(`#${name}`);
const profile = element<HTMLSelectElement>("#profile");

const parsers = { count: parseCount, bytes: parseBytes, fpr: parseRate };
const names = { count: "Keys", bytes: "Size", fpr: "Rate" };
const examples = {
  count: "Keys must be a whole number, such as 1,000,000.",
  bytes: "The size must be a number of bytes, such as 500 kB.",
  fpr: "The rate must be above 0 and below 1, such as 0.001 or 0.1 %.",
};
const uses: Record<Kind, string> = {
  ribbon: "shipping: read-only, and the smallest",
  cuckoo: "keys that come and go, up to a known number",
  bloom: "adding keys later, and merging",
  scalable: "adding keys when nobody knows how many; here it starts at 1,000",
  counting: "keys that come and go, and merging",
};
const colours: Record<Kind, number> = { ribbon: 1, cuckoo: 2, bloom: 3, scalable: 4, counting: 5 };

let find: Quantity = "bytes";
let kind: Kind = "ribbon";
/** The chosen kind's filter, as it was last worked out. Its rate is that of a key. */
let chosen: Shape | undefined;

/** With URLs, a key gets a tenth of the rate. */
const share = () => (profile.value === "url" ? 10 : 1);

/** The given numbers, or what is wrong with one of them. */
function given(): Record<Quantity, number> | string {
  const found = { count: 0, bytes: 0, fpr: 0 };
  for (const name of quantities) {
    if (name === find) continue;
    const value = parsers[name](field(name).value);
    field(name).setAttribute("aria-invalid", String(value === undefined));
    if (value === undefined) return examples[name];
    found[name] = value;
  }
  return found;
}

function shape(kind: Kind, { count, bytes, fpr }: Record<Quantity, number>): Shape | undefined {
  if (find === "bytes") return shapeOf(kind, count, fpr / share());
  return find === "fpr" ? shapeIn(kind, count, bytes) : shapeWith(kind, bytes, fpr / share());
}

function boundOf({ count, bytes, fpr }: Record<Quantity, number>): Shape {
  if (find === "bytes") return { count, bytes: bound.bytes(count, fpr / share()), fpr: fpr / share() };
  if (find === "fpr") return { count, bytes, fpr: bound.fpr(count, bytes) };
  return { count: bound.count(bytes, fpr / share()), bytes, fpr: fpr / share() };
}

/** The number that was worked out, in words. */
function inWords(shape: Shape): string {
  if (find === "bytes") return size(shape.bytes);
  return find === "count" ? number(shape.count) : rate(Math.min(1, shape.fpr * share()));
}

const rate = (fpr: number) => (fpr < 1e-12 ? "below 1 in 10\u00b9\u00b2" : oneIn(fpr));
const bitsPerKey = ({ count, bytes }: Shape) => (8 * bytes) / count;

/** Works all out anew, and shows it. */
function update() {
  find = (form.elements.namedItem("find") as RadioNodeList).value as Quantity;
  for (const name of quantities) {
    field(name).closest<HTMLElement>(".field")!.hidden = name === find;
  }
  element("#found").textContent = names[find];
  const numbers = given();
  wrong.textContent = typeof numbers === "string" ? numbers : "";
  if (typeof numbers === "string") return;
  const all = kinds.map((kind) => [kind, shape(kind, numbers)] as const);
  chosen = all.find(([name]) => name === kind)![1];
  fill(numbers, all);
  describe(numbers);
  remember();
  clearTimeout(timer);
  timer = window.setTimeout(draw, drawn ? 150 : 0);
}

/** Fills the table. The radio buttons stay as they are, so that the keyboard's focus does too. */
function fill(numbers: Record<Quantity, number>, all: (readonly [Kind, Shape | undefined])[]) {
  const least = boundOf(numbers);
  if (body.rows.length === 0) {
    for (const [kind] of all) body.insertRow().append(headOf(kind), ...cells(3), cell(uses[kind]));
    const last = body.insertRow();
    last.append(head("information bound"), ...cells(3), cell("comparing: no filter can be smaller"));
  }
  const rows: (readonly [string, Shape | undefined])[] = [...all, ["bound", least]];
  for (const [i, [name, shape]] of rows.entries()) {
    const [, found, bits, above] = body.rows[i]!.cells;
    // Cuckoo filters may have a lower rate than asked for, and still pay for it.
    const asked = find === "fpr" ? shape?.fpr : numbers.fpr / share();
    found!.textContent = shape ? inWords(shape) : "not possible";
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
  radio.addEventListener("change", () => {
    kind = name;
    update();
  });
  const label = Object.assign(document.createElement("label"), { className: "check" });
  label.append(radio, name);
  return head(label);
}

/** Says in a sentence and in code what was chosen. */
function describe(numbers: Record<Quantity, number>) {
  if (!chosen) {
    element("#sentence").textContent = `There can be no ${kind} filter with these numbers.`;
    element("#javascript").textContent = element("#tool").textContent = "";
    return;
  }
  const fpr = find === "fpr" ? roundedUp(Math.min(chosen.fpr * share(), 0.99)) : numbers.fpr;
  const { count } = chosen;
  const plan = { kind, count, fpr, profile: profile.value as "raw" | "url" };
  const keys = `${number(count)} ${profile.value === "url" ? "URLs" : "keys"}`;
  element("#sentence").textContent =
    `A ${kind} filter of ${keys} at a rate of ${rate(fpr)} takes ${size(chosen.bytes)}: ` +
    `${bitsPerKey(chosen).toFixed(1)} bits for each key.`;
  element("#javascript").textContent = code(plan);
  element("#tool").textContent = tool(plan);
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
    if (name !== find) state.set(name, String(parsers[name](field(name).value)));
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
  if (missing.length === 1) find = missing[0]!;
  element<HTMLInputElement>(`[name="find"][value="${find}"]`).checked = true;
  const asked = kinds.find((name) => name === state.get("kind"));
  if (asked) kind = asked;
  if (state.get("profile") === "url") profile.value = "url";
}

const written = (name: Quantity, value: number) => (name === "fpr" ? String(value) : number(value));

const compact = (value: number) => value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
const perKey: Axis = { label: "rate of a key", format: (rate) => `1\u00a0in\u00a0${compact(1 / rate)}`, log: true };
const plots = {
  bits: lineChart(element("#by-bits")),
  fill: lineChart(element("#by-fill")),
  keys: lineChart(element("#by-keys")),
};
let timer = 0;
let drawn = false;

function draw() {
  drawn = true;
  if (!chosen) return;
  const { count, fpr } = chosen;
  const range = (length: number, at: (i: number) => number) => Array.from({ length }, (_, i) => at(i));

  const LEAST = 1e-7;
  const bits = range(63, (i) => i + 2);
  const visible = (rate: number | undefined) => (rate && rate >= LEAST && rate < 1 ? rate : null);
  const many = Math.max(count, 1000); // below, the sizes go in steps
  plots.bits({
    x: { label: "bits per key", format: (bits) => number(bits), values: bits, range: [0, 64] },
    y: { ...perKey, range: [LEAST, 1] },
    mark: bitsPerKey(chosen),
    lines: [
      ...kinds.map((kind): Line => {
        const values = bits.map((bits) => visible(shapeIn(kind, many, Math.round((bits * many) / 8))?.fpr));
        return { label: kind, colour: colours[kind], values };
      }),
      { label: "bound", colour: 7, dashed: true, values: bits.map((bits) => visible(2 ** -bits)) },
    ],
  });

  const shares = range(121, (i) => i / 40);
  const asked = Math.min(0.5, Math.max(fpr, 1e-8));
  const growing = [
    ["bloom", "bloom, counting"],
    ["cuckoo", "cuckoo"],
    ["scalable", "scalable"],
  ] as const;
  plots.fill({
    x: {
      label: "keys, of those that it is made for",
      format: (share) => `${number(100 * share)}\u00a0%`,
      values: shares,
    },
    y: { ...perKey, range: [asked / 1000, 1] },
    mark: 1,
    lines: growing.map(([kind, label]): Line => {
      const rate = possible(() => filling(kind, count, asked));
      const values = shares.map((share) => {
        const value = possible(() => rate?.(Math.round(share * count)));
        return value && value >= asked / 1000 ? value : null;
      });
      return { label, colour: colours[kind], values };
    }),
  });

  const keys = range(30, (i) => i + 1);
  const whole = Math.min(0.99, fpr * share());
  const any = (rate: number) => keys.map((keys) => -Math.expm1(keys * Math.log1p(-rate)));
  plots.keys({
    x: { label: "keys that a URL is looked up by", format: (keys) => number(keys), values: keys },
    y: { label: "chance to be flagged", format: (rate) => (rate === 0 ? "0" : percent(rate)) },
    lines: [
      { label: `profile url, made for ${significant(whole, 3)} a URL`, colour: 1, values: any(whole / 10) },
      { label: `raw keys at ${significant(whole, 3)} each`, colour: 2, values: any(whole) },
    ],
  });
}

/** What a formula gives, or undefined if there is no such filter. */
function possible<T>(formula: () => T): T | undefined {
  try {
    return formula();
  } catch {
    return undefined;
  }
}

recall();
update();
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", ({ target }) => {
  const radio = target as HTMLInputElement;
  if (radio.name === "find" && chosen) {
    // What was worked out is given now.
    const value = { count: chosen.count, bytes: chosen.bytes, fpr: roundedUp(Math.min(chosen.fpr * share(), 0.99)) };
    field(find).value = written(find, value[find]);
  }
  update();
});
copyButton(element("#copy-javascript"), () => element("#javascript").textContent);
copyButton(element("#copy-tool"), () => element("#tool").textContent);
copyButton(element("#share"), () => location.href);
