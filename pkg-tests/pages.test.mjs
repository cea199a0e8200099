/** The cases in Chromium: in a page, its worker and an extension, and in what bundlers make. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import * as setup from "../scripts/setup.mjs";
import { app, folder } from "./installed.mjs";
import { record, skipped } from "./runtimes/table.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript" };

/** Serves the folder in which the package is installed. */
const server = createServer(({ url }, response) => {
  const file = join(folder, new URL(url, "http://localhost").pathname);
  if (!existsSync(file) || !TYPES[extname(file)]) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] }).end(readFileSync(file));
});
const at = (path) => `http://localhost:${server.address().port}/${path}`;

/**
 * The app without a bundler, which is an extension too. As workers and extensions have no import maps, each name becomes
 * the file that the manifest has for browsers.
 */
function plain() {
  const here = app("plain");
  cpSync(join(folder, "node_modules/bloom-wasm"), join(here, "bloom-wasm"), { recursive: true });
  const { exports } = JSON.parse(readFileSync(join(here, "bloom-wasm/package.json"), "utf8"));
  const source = readFileSync(join(here, "app.mjs"), "utf8");
  const named = source.replace(/"bloom-wasm(.*?)"/g, (_, entry) => `"./bloom-wasm/${exports[`.${entry}`].browser}"`);
  writeFileSync(join(here, "app.mjs"), named);
  const manifest = {
    manifest_version: 3,
    name: "cases",
    version: "1",
    background: { service_worker: "background.mjs", type: "module" },
    content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'" },
  };
  writeFileSync(join(here, "manifest.json"), JSON.stringify(manifest));
  return here;
}

/** What a worker of the open page says; this is run by the page. */
const ofWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker("background.mjs", { type: "module" });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });

const executablePath = setup.chromium();
const missing = !executablePath && "there is no Chromium: install one or set CHROMIUM_PATH";

describe("in Chromium", { concurrency: 2, timeout: 240_000 }, () => {
  const targets = ["Chromium page", "Chromium worker", "Chromium extension"];
  let browser;
  let profile;

  before(async () => {
    await new Promise((listening) => server.listen(0, "localhost", listening));
    if (missing) return;
    const extension = plain();
    profile = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
    const { chromium } = await import("playwright-core");
    const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
    browser = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      ignoreDefaultArgs: ["--disable-extensions"],
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet, `--disable-extensions-except=${extension}`, `--load-extension=${extension}`],
    });
    browser.setDefaultTimeout(30_000);
  });

  after(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
    if (profile) rmSync(profile, { recursive: true, force: true });
  });

  /** Opens a page, and returns what a function says that is run there: by default the verdict. */
  async function visit(url, ask = () => globalThis.verdict) {
    const page = await browser.newPage();
    try {
      await page.goto(url);
      return await page.evaluate(ask);
    } finally {
      await page.close();
    }
  }
  const version = () => browser.browser().version();
  const skip = (target) => missing && skipped(target, missing);

  test("a page", { skip: skip("Chromium, page") }, async () => {
    record("Chromium, page", version(), await visit(at("plain/index.html")));
  });

  test("a page's module worker", { skip: skip("Chromium, worker") }, async () => {
    record("Chromium, worker", version(), await visit(at("plain/index.html"), ofWorker));
  });

  test("an extension's service worker", { skip: skip("Chromium, extension") }, async () => {
    const worker = browser.serviceWorkers()[0] ?? (await browser.waitForEvent("serviceworker"));
    let verdict;
    while (!(verdict = await worker.evaluate(() => globalThis.verdict))) await delay(20);
    record("Chromium, extension", version(), verdict);
  });
});
