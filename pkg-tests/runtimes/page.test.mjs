/** The cases in a page of Chromium. `npm run test:all` has the other browsers, workers, extensions and bundlers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newPage, noChromium, PATIENCE, playwright, visit } from "../helpers/browsers.mjs";
import { listen } from "../helpers/server.mjs";
import { at, plain } from "../helpers/site.mjs";
import { record, skipped } from "./table.mjs";

const skip = noChromium && skipped("Chromium, page", noChromium);

test("a page of Chromium", { skip, timeout: 3 * PATIENCE }, async () => {
  plain("page");
  const browser = await playwright();
  try {
    record("Chromium, page", browser.version(), await visit(browser, at("page/index.html")));
  } finally {
    await browser.close();
  }
});

test("a host that doesn't let other origins read its files is named, and what it lacks", {
  skip,
  timeout: 3 * PATIENCE,
}, async () => {
  const { path: _, ...app } = plain("cors");
  app.verdict.catch(() => {});
  const host = await listen((_, response) => response.end("{}"));
  const own = at("cors/index.html");
  const browser = await playwright();
  try {
    const page = await newPage(browser);
    await page.goto(own);
    const messages = (origin) =>
      page.evaluate(async (origin) => {
        const { load, openFeed } = await import("./bloom-wasm/dist/reader.js");
        const of = (promise) => promise.then(String, ({ code, message }) => `${code}: ${message}`);
        const feed = openFeed(`${origin}/feed.json`, { publicKey: null, cache: null });
        return [await of(load(`${origin}/list.bloom`)), await of(feed)];
      }, origin);
    const other = new URL(host.at()).origin;
    const hint = "(does its host send Access-Control-Allow-Origin?)";
    assert.deepEqual(await messages(other), [
      `network: ${other}/list.bloom could not be fetched ${hint}: Failed to fetch`,
      `network: ${other}/feed.json could not be fetched ${hint}: Failed to fetch`,
    ]);
    // The page's own origin may always be read: there the host is down.
    await page.route("**/*", (route) => route.abort());
    for (const message of await messages(new URL(own).origin)) assert.match(message, /fetched: Failed to fetch$/);
  } finally {
    await browser.close();
    host.close();
  }
});
