/** The cases in this Node. What pages get starts in package/package.test.mjs, and in a page. */
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { app } from "../helpers/installed.mjs";
import { record } from "./table.mjs";

test("Node", async () => {
  await import(pathToFileURL(join(app("node"), "main.mjs")).href);
  record("Node", process.version, await globalThis.verdict);
});
