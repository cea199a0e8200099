/** The cases in this Node: through the package's name, and what pages get. */
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { test } from "node:test";
import { folder } from "./installed.mjs";
import { run } from "./runtimes/cases.mjs";
import { golden } from "./runtimes/golden.mjs";
import { record } from "./runtimes/table.mjs";

const dist = (name) => import(pathToFileURL(join(folder, "node_modules/bloom-wasm/dist", name)).href);

test("Node", async () => {
  const first = performance.now();
  const node = await dist("node.js");
  record("Node", process.version, await run({ ask: node, full: node, golden }, first));
});

test("a page's entries, in Node", async () => {
  const first = performance.now();
  const ask = await dist("inline.js");
  record("Node, page's entries", process.version, await run({ ask, full: await dist("full.js"), golden }, first));
});
