/** The cases in Chromium: in a page, its worker and an extension, and in what bundlers make. */
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

const UNREACHABLE = "npm's registry can't be reached";
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

const ours = join(setup.root, "node_modules");
const packages = { webpack: "5.112.2", "webpack-cli": "7.3.1", rollup: "4.68.7", "@rollup/plugin-node-resolve": "16.0.3", parcel: "2.16.4" };

/** What makes the app into the folder dist with its index.html: commands as a user types them, in the app's folder. */
const bundlers = {
  vite: ["build", "--base", "./", "--logLevel", "error"],
  esbuild: ["main.mjs", "--bundle", "--splitting", "--format=esm", "--outdir=dist", "--out-extension:.js=.mjs", "--log-level=error"],
  webpack: ["--mode", "production", "--entry", "./main.mjs", "--output-path", "dist", "--output-filename", "main.mjs"],
  rollup: ["main.mjs", "--dir", "dist", "--entryFileNames", "[name].mjs", "--plugin", "@rollup/plugin-node-resolve", "--silent"],
  parcel: ["build", "index.html", "--dist-dir", "dist", "--public-url", "./", "--no-cache"],
};

/** The folder with a bundler's package: some are the project's own. */
const modulesOf = (bundler) => {
  if (!packages[bundler]) return ours;
  const folder = setup.installed("bundlers", Object.entries(packages).map(([name, version]) => `${name}@${version}`));
  return folder && join(folder, "node_modules");
};

/** What a worker of the open page says; this is run by the page. */
const ofWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker("background.mjs", { type: "module" });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });

const executablePath = setup.chromium();
const missing = !executablePath && "there is no Chromium: install one or set CHROMIUM_PATH";

describe("in Chromium", { timeout: 240_000 }, () => {
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

  describe("bundled", { concurrency: 2 }, () => {
    for (const [bundler, args] of Object.entries(bundlers)) {
      const modules = modulesOf(bundler);
      const reason = missing || (!modules && UNREACHABLE);
      test(bundler, { skip: reason && skipped(`Chromium, ${bundler}`, reason) }, async () => {
        const cwd = app(bundler);
        // Parcel reads a package's exports only if the project, which a lock file makes this folder, asks for it.
        writeFileSync(join(cwd, "package.json"), '{ "@parcel/resolver-default": { "packageExports": true } }');
        writeFileSync(join(cwd, "package-lock.json"), "{}");
        await promisify(execFile)(join(modules, ".bin", bundler), args, { cwd, timeout: 120_000 });
        if (!existsSync(join(cwd, "dist/index.html"))) copyFileSync(join(cwd, "index.html"), join(cwd, "dist/index.html"));
        const { version } = JSON.parse(readFileSync(join(modules, bundler, "package.json"), "utf8"));
        record(`Chromium, ${bundler}`, version, await visit(at(`${bundler}/dist/index.html`)));
      });
    }

    test("Vite's dev server", { skip: skip("Chromium, vite dev") }, async () => {
      const { createServer, version } = await import("vite");
      const dev = await createServer({ root: app("vite-dev"), configFile: false, logLevel: "error", server: { port: 0 } });
      try {
        await dev.listen();
        record("Chromium, vite dev", version, await visit(dev.resolvedUrls.local[0]));
      } finally {
        await dev.close();
      }
    });
  });
});
