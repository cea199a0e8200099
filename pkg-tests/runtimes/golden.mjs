/** The golden files, as something that can be sent to any runtime as JSON. */
import { readdirSync, readFileSync } from "node:fs";
import { feedOf } from "../helpers/publisher.mjs";

const folder = new URL("../../tests/golden/", import.meta.url);

/** The range of i in the list of each file according to their README; 1000 to 2999 for all others. */
const readme = readFileSync(new URL("../../tests/golden/README.md", import.meta.url), "utf8");
const rows = readme.matchAll(/^- `([\w-]+)\.bloom` \((\d+)\.\.(\d+)\)/gm);
const ranges = Object.fromEntries(Array.from(rows, ([, name, from, to]) => [name, [Number(from), Number(to) + 1]]));

const bytesOf = (file) => readFileSync(new URL(file, folder));

/** The files whose deltas have another name. */
const parents = { keyed: "keyed-ribbon", slots: "slots-one" };

/** The files of a feed, by name: their bytes as text. */
function fileTexts(blobs) {
  const { manifest, files } = feedOf(blobs);
  const texts = [["feed.json", manifest], ...files].map(([name, bytes]) => [name, bytes.toString("base64")]);
  return Object.fromEntries(texts);
}

export const golden = readdirSync(folder)
  .filter((file) => file.endsWith(".bloom"))
  .map((file) => {
    const name = file.replace(".bloom", "");
    const [from, to] = ranges[name] ?? [1000, 3000];
    const hits = readFileSync(new URL(`${name}.txt`, folder), "utf8")
      .split("\n")
      .filter(Boolean)
      .map(Number);
    // The secret of all keyed files.
    const secret = name.startsWith("keyed-") ? Array.from({ length: 16 }, (_, i) => i) : undefined;
    // What a feed makes of a parent and its delta.
    const [, of] = /^(.*)-child$/.exec(name) ?? [];
    const made = of && { feed: fileTexts([`${parents[of] ?? of}.bloom`, `${of}.delta`].map(bytesOf)) };
    return { name, from, to, hits, secret, base64: bytesOf(file).toString("base64"), ...made };
  });
