/** The site for tests: built once, served until the file's last test has ended, and opened in a browser that Playwright drives. */
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after } from "node:test";
import { root } from "../../scripts/setup.mjs";
import { files, serve, site } from "../../scripts/www.mjs";
import { newPage } from "./browsers.mjs";
import { folder } from "./installed.mjs";

export const dist = join(root, "www/dist");

// `npm run test:all` has built it once for all files.
if (!process.env.BLOOM_WASM_SITE) await site();
const { url, close } = await serve({ port: 0 });
after(close); // otherwise it would keep the process running

/** Where the site is: `at("size/")`. */
export const at = (path = "") => new URL(path, url).href;

/** The paths of all pages. */
export const pages = () =>
  files(dist)
    .filter((path) => path.endsWith(".html"))
    .map((path) => path.replace(/(^|\/)index\.html$/, "$1"));

/**
 * A new page of a section, in its own context: nothing is cached, no theme is remembered, and without `serviceWorkers:
 * "allow"` nothing is kept. Errors are in `errors`, and requests in `requests`.
 */
export async function open(browser, path = "", { prepare, ...options } = {}) {
  const context = await browser.newContext({ serviceWorkers: "block", ...options });
  const page = await newPage(context);
  page.errors = [];
  page.requests = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  page.on("request", (request) => page.requests.push(request.url()));
  const pending = new Set();
  page.on("request", (request) => pending.add(request.url()));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => pending.delete(request.url()));
  await prepare?.(page);
  await page.goto(at(path)).catch((cause) => {
    throw new Error(`/${path} doesn't load; it waits for ${[...pending].join() || "nothing"}`, { cause });
  });
  return page;
}

/** Waits until an element shows a text or pattern. */
export const shows = (page, selector, text) =>
  page.locator(selector).filter({ hasText: text, visible: true }).first().waitFor();

/** Waits until an element is hidden. */
export const gone = (page, selector) => page.locator(selector).waitFor({ state: "hidden" });

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds serious on a page. */
export async function serious(page) {
  const { violations } = await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] })`);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`));
}

/** The download of a click: its name and its bytes. */
export async function downloaded(page, selector) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(selector).click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Drops a file onto an element. */
export async function drop(page, selector, name, text) {
  const data = await page.evaluateHandle(
    ([name, base64]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], name));
      return data;
    },
    [name, Buffer.from(text).toString("base64")],
  );
  await page.dispatchEvent(selector, "dragover", { dataTransfer: data });
  await page.dispatchEvent(selector, "drop", { dataTransfer: data });
}

/** A folder for files to upload. It is removed when this process ends. */
export const temporary = mkdtempSync(join(folder, "site-"));
