/** The lower half of the section See: the layers of a blob as a picture. */
import { decode, type Filter, init, openFeed, RibbonFilter } from "bloom-wasm/slim";
import { bar } from "../bar.ts";
import { folder, recorded } from "../feeds/recording.ts";
import { find } from "../page.ts";
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
    `It answers “maybe present” for about ${oneIn(blob.info().urlFpr ?? blob.estimatedFpr)} keys that aren't in it.`;
  const rows = layers.map(({ type, keys, bytes }, i) => ({
    title: `Layer ${i + 1}: ${type}`,
    bytes,
    colour: type === "include" ? 3 : 2,
    says:
      type === "include"
        ? `${plural(keys, "key")} added later. A key in this layer is maybe present; others are looked up further down.`
        : `${plural(keys, "key")} that must not match. A key in this layer is definitely absent; others are looked up further down.`,
  }));
  rows.reverse();
  rows.push({
    title: `Base: ${kind}`,
    bytes: base,
    colour: 1,
    says: "The original filter. It answers for all other keys.",
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

/** Shows a filter once it is there. The newest click wins. */
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

const demos = {
  /** Its false positives among the allowed names are removed. */
  async allowlist(): Promise<Filter> {
    const names = (what: string, count: number) => Array.from({ length: count }, (_, i) => `${what}-${i}.example`);
    const options = { fpr: 0.01, allow: names("good", 5000), name: "2,000 made-up hosts, and 5,000 allowed ones" };
    return RibbonFilter.from(names("bad", 2000), options);
  },
  /** The last generation of the recorded feed: a base and its deltas. */
  async feed(): Promise<Filter> {
    const { publicKey, generations } = await recorded();
    const url = new URL("feed.json", folder);
    const host: typeof fetch = async (input, init) =>
      String(input) === url.href ? new Response(generations.at(-1)!.manifest) : fetch(input, init);
    const feed = await openFeed(url, { publicKey, fetch: host, cache: null });
    const { filter } = feed;
    feed.close();
    return filter;
  },
};

export const showFile = (file: File) => show(async () => decode(await file.arrayBuffer()));
export const showDemo = (name: keyof typeof demos) => show(demos[name]);
