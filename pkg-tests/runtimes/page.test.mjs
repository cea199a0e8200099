/** The cases in a page of Chromium. `npm run test:all` has the other browsers, workers, extensions and bundlers. */
import { test } from "node:test";
import { noChromium, PATIENCE, playwright, visit } from "../helpers/browsers.mjs";
import { at, plain } from "../helpers/site.mjs";
import { record, skipped } from "./table.mjs";

const skip = noChromium && skipped("Chromium, page", noChromium);

test("a page of Chromium", { skip, timeout: PATIENCE }, async () => {
  plain("page");
  const browser = await playwright();
  try {
    await record("Chromium, page", browser.version(), await visit(browser, at("page/index.html")));
  } finally {
    await browser.close();
  }
});
