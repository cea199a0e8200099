/** The lower half of the section See: the layers of a blob as a picture. */
import { decode, type Filter, init, RibbonFilter } from "bloom-wasm/slim";
import { bar } from "../bar.ts";
import { recorded } from "../feeds/recording.ts";
import { find, onChoose, onDrop } from "../page.ts";
import { inWords, oneIn, plural, size } from "../words.ts";
import { layersOf } from "./layers.ts";

const blobError = find("#blob-error");

/** Draws a blob as its layers, the newest on top. */
function drawLayers(blob: Filter) {
  const { kind, name, layers: count, byteLength } = blob.info();
  const layers = layersOf(blob.toBytes());
  const base = byteLength - layers.reduce((sum, { bytes }) => sum + bytes, 0);
  const largest = Math.max(base, ...layers.map(({ bytes }) => bytes));
  find("#blob-title").textContent =
    `${name ?? "The blob"}: a ${kind} filter of ${size(byteLength)} with ` +
    `${count ? plural(count, "layer") : "no layers"} on top. ` +
    `It answers “maybe present” to about ${oneIn(blob.info().urlFpr ?? blob.estimatedFpr)} strangers.`;
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
  find("#layers").replaceChildren(
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
    await init();
    const blob = await get();
    if (turn === turns) drawLayers(blob);
    blob.free();
  } catch (error) {
    if (turn === turns) blobError.textContent = inWords(error);
  }
}
let turns = 0;

const demos: Record<string, () => Promise<Filter>> = {
  /** Its false positives among the allowed names are removed. */
  async allowlist() {
    const names = (what: string, count: number) => Array.from({ length: count }, (_, i) => `${what}-${i}.example`);
    const options = { fpr: 0.01, allow: names("good", 5000), name: "2,000 made-up hosts, and 5,000 allowed ones" };
    return RibbonFilter.from(names("bad", 2000), options);
  },
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

const ofFile = (file: File) => show(async () => decode(await file.arrayBuffer()));
/** Shows the first demo, and from then on what is chosen. */
export function start() {
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-blob]"))
    button.addEventListener("click", () => show(demos[button.dataset.blob!]!));
  onChoose(find("#choose"), find<HTMLInputElement>("#file"), ofFile);
  onDrop(find("#blob"), ofFile);
  show(demos.allowlist!);
}
