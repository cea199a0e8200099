/** Prints which of the texts in spellings.json are on its list, on the command line of a runtime. */
import { readFileSync } from "node:fs";
import { decode } from "bloom-wasm/reader";

const { texts, blob } = JSON.parse(readFileSync(new URL("spellings.json", import.meta.url), "utf8"));
const filter = decode(Uint8Array.from(atob(blob), (char) => char.charCodeAt(0)));
console.log(JSON.stringify(texts.map((text) => filter.hasUrl(text))));
