/** The cases in Chromium and Firefox: in a page, its worker and an extension. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { backgrounds, missing, ofStrict, ofWorker, PATIENCE, puppeteer, visit } from "../helpers/browsers.mjs";
import { at, plain } from "../helpers/site.mjs";
import { record, skipped } from "./table.mjs";

for (const [name, own] of Object.entries(backgrounds("extension.mjs"))) {
  describe(`in ${name}`, () => {
    const none = missing(name);
    const options = (target) => ({ timeout: 2 * PATIENCE, skip: none && skipped(target, none) });
    const version = async () => (await browser.version()).replace(/^.*\//, "");
    const page = at(`${name}/index.html`);
    let extension;
    let browser;

    before(
      async () => {
        if (none) return;
        extension = plain(name, own);
        browser = await puppeteer(name);
      },
      { timeout: PATIENCE },
    );

    after(() => browser?.close(), { timeout: PATIENCE });

    test("an extension's background", options(`${name}, extension`), async () => {
      await browser.installExtension(extension.path);
      const [verdict] = await extension.verdict;
      record(`${name}, extension`, await version(), verdict);
    });

    test("a page", options(`${name}, page`), async () => {
      record(`${name}, page`, await version(), await visit(browser, page));
    });

    test("a page's module worker", options(`${name}, worker`), async () => {
      record(`${name}, worker`, await version(), await visit(browser, page, ofWorker));
    });

    test("a page that forbids WebAssembly", options(`${name}, script-src 'self'`), async () => {
      const [verdict, refused] = await visit(browser, at(`${name}/strict.html`), ofStrict);
      record(`${name}, script-src 'self'`, await version(), verdict);
      assert.match(refused, /^FilterError wasm_load: .*bloom-wasm\/reader needs no WebAssembly$/);
    });
  });
}
