/** The golden files, as something that can be sent to any runtime as JSON. */
import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../tests/golden/", import.meta.url);

/** Which i each list of hits is of, by FORMAT.md section 11; 1000 to 2999 if it doesn't say. */
const ranges = {
  "ribbon-wide": [1000, 30_000],
  "ribbon-stages": [20_000, 30_000],
  layers: [0, 4000],
  "counting-layers": [0, 4000],
  "password-sha1-layers": [0, 4000],
};

export const golden = readdirSync(folder)
  .filter((file) => file.endsWith(".bloom"))
  .map((file) => {
    const name = file.replace(".bloom", "");
    const [from, to] = ranges[name] ?? [1000, 3000];
    const hits = readFileSync(new URL(`${name}.txt`, folder), "utf8")
      .split("\n")
      .filter(Boolean)
      .map(Number);
    return { name, from, to, hits, base64: readFileSync(new URL(file, folder)).toString("base64") };
  });
