/**
 * The browsers that tests drive, and other programs that they start. All end with the test's process, however it ends.
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as setup from "../../scripts/setup.mjs";

/** How many milliseconds one step may take: a busy machine is slow to start a browser, and to show its first page. */
export const PATIENCE = 90_000;

// The drivers kill their browsers when this process exits, so a signal has to let it exit.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
const options = { timeout: PATIENCE, handleSIGHUP: false, handleSIGINT: false, handleSIGTERM: false };

const CHROMIUM = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** Notes if a browser ends that nobody closed. The runner of all tests then runs this file once more. */
function noted(browser) {
  const close = browser.close.bind(browser);
  let closed = false;
  browser.close = (...options) => {
    closed = true;
    return close(...options);
  };
  browser.on("disconnected", () => {
    if (closed) return;
    console.log("The browser crashed.");
    if (process.env.BLOOM_WASM_CRASHES) appendFileSync(process.env.BLOOM_WASM_CRASHES, `${process.argv[1]}\n`);
  });
  return browser;
}

/** Why there is no Chromium, or undefined. */
export const noChromium = setup.chromium() ? undefined : "there is no Chromium: install one or set CHROMIUM_PATH";

/** A Chromium that Playwright drives. */
export async function playwright() {
  const { chromium } = await import("playwright-core");
  return noted(await chromium.launch({ ...options, executablePath: setup.chromium(), args: CHROMIUM }));
}

/** Puppeteer can drive an installed Firefox, and put extensions into both browsers. */
const puppeteers = {
  Chromium: { find: setup.chromium, browser: "chrome", pipe: true, enableExtensions: true, args: CHROMIUM },
  Firefox: { find: setup.firefox, browser: "firefox" },
};

const packages = () => setup.installed("puppeteer", ["puppeteer-core@24.43.1"]);

/** Why Puppeteer can't drive a browser of this name, or undefined. */
export function missing(name) {
  if (!puppeteers[name].find()) return `there is no ${name}: install one or set ${name.toUpperCase()}_PATH`;
  return packages() ? undefined : setup.NOT_INSTALLED;
}

/** A browser of this name that Puppeteer drives, with given arguments and preferences. */
export async function puppeteer(name, { args = [], ...its } = {}) {
  const { find, ...known } = puppeteers[name];
  const driver = createRequire(join(packages(), "user.cjs"))("puppeteer-core");
  const launched = await driver.launch({
    ...options,
    ...known,
    ...its,
    executablePath: find(),
    args: [...(known.args ?? []), ...args],
  });
  return noted(launched);
}

/** How the manifest of an extension names its background script to each browser. */
export const backgrounds = (script) => ({
  Chromium: { background: { service_worker: script, type: "module" } },
  Firefox: {
    background: { scripts: [script], type: "module" },
    browser_specific_settings: { gecko: { id: "tested@example.com" } },
  },
});

/** Code for the beginning of a script that makes its first fetch fail, such as that of its filter. */
export const FAILS_ONCE = `
  const whole = globalThis.fetch;
  globalThis.fetch = async () => {
    globalThis.fetch = whole;
    throw new TypeError("fails once");
  };
`;

/** A new page of a browser of either driver, with long timeouts. */
export async function newPage(browser) {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  return page;
}

/** Opens a page at a URL. Returns what it says, by default the verdict. */
export async function visit(browser, url, ask = () => globalThis.verdict) {
  const page = await newPage(browser);
  try {
    await page.goto(url);
    return await page.evaluate(ask);
  } finally {
    await page.close();
  }
}

/** What a worker of the visited page says. Runs in the page. */
export const ofWorker = () => globalThis.ofWorker();

/** What a page without WebAssembly must report, and the message of the entry that needs it. */
export const ofStrict = async () => [await globalThis.verdict, await globalThis.ofFull()];

/** Starts another program. */
export function start(...command) {
  const child = spawn(...command);
  process.once("exit", () => child.kill());
  return child;
}
