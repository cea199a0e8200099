/** The cases in this Node: through the package's names, and what pages get. */
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { app, forPages } from "../helpers/installed.mjs";
import { run } from "./cases.mjs";
import { golden } from "./golden.mjs";
import { record } from "./table.mjs";

test("Node", async () => {
  await import(pathToFileURL(join(app("node"), "main.mjs")).href);
  record("Node", process.version, await globalThis.verdict);
});

test("a page's entries, in Node", async () => {
  const first = performance.now();
  const [reader, full] = await Promise.all(["./reader", "."].map(forPages));
  record("Node, page's entries", process.version, await run({ full, reader, golden }, first));
});
