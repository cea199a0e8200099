/**
 * Makes and asks filters of the npm package bloom-filters, which is the first argument. Jobs come on standard input, a
 * line each, as systems.mjs says. The scheme is "text" or "json", the name of a class, and maybe its seed.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { default: filters } = await import(pathToFileURL(process.argv[2]).href);

const keys = (file, form) => {
  const lines = readFileSync(file, "utf8").replace(/\n$/, "").split("\n");
  return form === "json" ? lines.map((line) => JSON.parse(line)) : lines;
};

for (const job of readFileSync(0, "utf8").trimEnd().split("\n")) {
  const [what, scheme, file, list, ...rest] = job.split("\t");
  const [form, name, seed] = scheme.split(" ");
  if (what === "make") {
    const made = filters[name].create(Number(rest[0]), Number(rest[1]));
    if (seed !== undefined) made.seed = Number(seed);
    for (const key of keys(list, form)) made.add(key);
    writeFileSync(file, JSON.stringify(made.saveAsJSON()));
  } else {
    const asked = filters[name].fromJSON(JSON.parse(readFileSync(file, "utf8")));
    assert.ok(asked instanceof filters[name]);
    writeFileSync(
      rest[0],
      keys(list, form)
        .map((key) => (asked.has(key) ? "1\n" : "0\n"))
        .join(""),
    );
  }
}
