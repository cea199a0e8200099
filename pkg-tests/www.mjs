/** The site for tests: built once, served while the test's process lives, and opened in Chromium. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "../scripts/setup.mjs";
import { serve, site } from "../scripts/www.mjs";
import { newPage } from "./browsers.mjs";

// `npm run test:all` has built it once for all files.
if (!process.env.BLOOM_WASM_SITE || !existsSync(join(root, "www/dist/index.html"))) await site();
const { url, close } = await serve({ port: 0 });

/** Where the site is: `at("size/")`. */
export const at = (path = "") => new URL(path, url).href;

export { close };

/** A new page of a section, in a context of its own: nothing is cached, and no theme is remembered. */
export async function open(browser, path = "", options = {}) {
  const context = await browser.newContext(options);
  const page = await newPage(context);
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  await page.goto(at(path));
  return page;
}

/** Waits until what a selector names shows a text or pattern. */
export const shows = (page, selector, text) =>
  page.locator(selector).filter({ hasText: text, visible: true }).first().waitFor();
