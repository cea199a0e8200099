/** The cases in Chromium, Firefox and WebKit: in a page, its worker and an extension; and in what bundlers make. */
import { execFile, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createServer as listener } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { json } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import * as setup from "../scripts/setup.mjs";
import { app, folder } from "./installed.mjs";
import { record, skipped } from "./runtimes/table.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript" };

/** Serves the folder in which the package is installed, and emits what is posted, by its path. */
const heard = new EventEmitter();
const server = createServer(async (request, response) => {
  if (request.method === "POST") heard.emit(request.url, await json(request));
  const file = join(folder, request.url);
  if (!existsSync(file) || !TYPES[extname(file)]) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] }).end(readFileSync(file));
});
const at = (path) => `http://localhost:${server.address().port}/${path}`;

before(() => new Promise((listening) => server.listen(0, "localhost", listening)));
after(() => {
  server.closeAllConnections();
  server.close();
});

/**
 * The app without a bundler, as a page and as an extension that posts its verdict. As workers and extensions have no
 * import maps, each name becomes the file that the package's manifest has for browsers.
 */
function plain(name, manifest) {
  const here = app(name);
  cpSync(join(folder, "node_modules/bloom-wasm"), join(here, "bloom-wasm"), { recursive: true });
  const { exports } = JSON.parse(readFileSync(join(here, "bloom-wasm/package.json"), "utf8"));
  const source = readFileSync(join(here, "app.mjs"), "utf8");
  const named = source.replace(/"bloom-wasm(.*?)"/g, (_, entry) => `"./bloom-wasm/${exports[`.${entry}`].browser}"`);
  writeFileSync(join(here, "app.mjs"), named);
  const post = `fetch("${at(name)}", { method: "POST", mode: "no-cors", body: JSON.stringify(verdict) })`;
  writeFileSync(
    join(here, "extension.mjs"),
    `import "./background.mjs";\nglobalThis.verdict.then((verdict) => ${post});\n`,
  );
  const content_security_policy = { extension_pages: "script-src 'self' 'wasm-unsafe-eval'" };
  writeFileSync(
    join(here, "manifest.json"),
    JSON.stringify({ manifest_version: 3, name, version: "1", content_security_policy, ...manifest }),
  );
  return { path: here, verdict: once(heard, `/${name}`) };
}

/** What makes the app into the folder dist with its index.html: commands as a user types them, in the app's folder. */
const bundlers = {
  vite: ["build", "--base", "./", "--logLevel", "error"],
  esbuild: [
    "main.mjs",
    "background.mjs",
    "--bundle",
    "--splitting",
    "--format=esm",
    "--outdir=dist",
    "--out-extension:.js=.mjs",
    "--log-level=error",
  ],
  webpack: ["--mode", "production", "--entry", "./main.mjs", "--output-path", "dist", "--output-filename", "main.mjs"],
  rspack: ["build", "--mode", "production"],
  rollup: [
    "main.mjs",
    "background.mjs",
    "--dir",
    "dist",
    "--entryFileNames",
    "[name].mjs",
    "--plugin",
    "@rollup/plugin-node-resolve",
    "--silent",
  ],
  parcel: ["build", "index.html", "--dist-dir", "dist", "--public-url", "./", "--no-cache"],
};

/** What a worker of the open page says; this is run by the page. */
const ofWorker = () => globalThis.ofWorker();

/** What a page says that is opened by Playwright or Puppeteer, by default the verdict. */
async function visit(browser, url, ask = () => globalThis.verdict) {
  const page = await browser.newPage();
  try {
    await page.goto(url);
    return await page.evaluate(ask);
  } finally {
    await page.close();
  }
}

describe("in Chromium", { timeout: 300_000 }, () => {
  const executablePath = setup.chromium();
  const missing = !executablePath && "there is no Chromium: install one or set CHROMIUM_PATH";
  const options = (target) => ({ timeout: 60_000, skip: missing && skipped(target, missing) });
  const version = () => browser.browser().version();
  let extension;
  let browser;
  let profile;

  before(async () => {
    if (missing) return;
    extension = plain("chromium", { background: { service_worker: "extension.mjs", type: "module" } });
    profile = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
    const { chromium } = await import("playwright-core");
    const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
    const load = [`--disable-extensions-except=${extension.path}`, `--load-extension=${extension.path}`];
    browser = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      ignoreDefaultArgs: ["--disable-extensions"],
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet, ...load],
    });
  });

  after(async () => {
    await browser?.close();
    if (profile) rmSync(profile, { recursive: true, force: true });
  });

  test("an extension's service worker", options("Chromium, extension"), async () => {
    const [verdict] = await extension.verdict;
    await record("Chromium, extension", version(), verdict);
  });

  test("a page", options("Chromium, page"), async () => {
    await record("Chromium, page", version(), await visit(browser, at("chromium/index.html")));
  });

  test("a page's module worker", options("Chromium, worker"), async () => {
    await record("Chromium, worker", version(), await visit(browser, at("chromium/index.html"), ofWorker));
  });

  describe("bundled", () => {
    const pinned = {
      webpack: "5.112.2",
      "webpack-cli": "7.3.1",
      rollup: "4.68.7",
      "@rollup/plugin-node-resolve": "16.0.3",
      "@rspack/core": "2.3.2",
      "@rspack/cli": "2.2.8",
      parcel: "2.16.4",
    };
    const theirs =
      !missing &&
      setup.installed(
        "bundlers",
        Object.entries(pinned).map(([name, version]) => `${name}@${version}`),
      );
    const packageOf = (bundler) => ({ rspack: "@rspack/core" })[bundler] ?? bundler;
    const modulesOf = (bundler) => (pinned[packageOf(bundler)] ? theirs : join(setup.root, "node_modules"));
    const builds = {};

    async function build(bundler) {
      const cwd = app(bundler);
      await promisify(execFile)(join(modulesOf(bundler), ".bin", bundler), bundlers[bundler], {
        cwd,
        timeout: 120_000,
      });
      if (!existsSync(join(cwd, "dist/index.html")))
        copyFileSync(join(cwd, "index.html"), join(cwd, "dist/index.html"));
    }

    // All are built before the first is visited, which would be slowed down.
    before(async () => {
      if (missing) return;
      for (const bundler of Object.keys(bundlers).filter(modulesOf)) builds[bundler] = build(bundler);
      await Promise.allSettled(Object.values(builds));
    });

    for (const bundler of Object.keys(bundlers)) {
      const target = `Chromium, ${bundler}`;
      const { timeout, skip } = options(target);
      test(bundler, {
        timeout,
        skip: skip || (!modulesOf(bundler) && skipped(target, setup.NOT_INSTALLED)),
      }, async () => {
        await builds[bundler];
        const { version } = JSON.parse(
          readFileSync(join(modulesOf(bundler), packageOf(bundler), "package.json"), "utf8"),
        );
        await record(target, version, await visit(browser, at(`${bundler}/dist/index.html`)));
        await record(`${target} worker`, version, await visit(browser, at(`${bundler}/dist/index.html`), ofWorker));
      });
    }

    test("Vite's dev server", options("Chromium, vite dev"), async () => {
      const { createServer, version } = await import("vite");
      const dev = await createServer({
        root: app("vite-dev"),
        configFile: false,
        logLevel: "error",
        server: { port: 0 },
      });
      try {
        await dev.listen();
        await record("Chromium, vite dev", version, await visit(browser, dev.resolvedUrls.local[0]));
        await record("Chromium, vite dev worker", version, await visit(browser, dev.resolvedUrls.local[0], ofWorker));
      } finally {
        await dev.close();
      }
    });
  });
});

describe("in Firefox", { timeout: 120_000 }, () => {
  const executablePath = setup.firefox();
  const modules = executablePath && setup.installed("puppeteer", ["puppeteer-core@24.43.1"]);
  const missing = executablePath
    ? !modules && setup.NOT_INSTALLED
    : "there is no Firefox: install one or set FIREFOX_PATH";
  const options = (target) => ({ timeout: 60_000, skip: missing && skipped(target, missing) });
  const version = async () => (await browser.version()).replace("firefox/", "");
  let browser;

  before(async () => {
    if (missing) return;
    // Playwright drives only a Firefox of its own.
    const puppeteer = createRequire(join(modules, "user.cjs"))("puppeteer-core");
    browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
  });

  after(() => browser?.close());

  test("an extension's background", options("Firefox, extension"), async () => {
    const browser_specific_settings = { gecko: { id: "cases@example.com" } };
    const extension = plain("firefox", {
      background: { scripts: ["extension.mjs"], type: "module" },
      browser_specific_settings,
    });
    await browser.installExtension(extension.path);
    const [verdict] = await extension.verdict;
    await record("Firefox, extension", await version(), verdict);
  });

  test("a page", options("Firefox, page"), async () => {
    await record("Firefox, page", await version(), await visit(browser, at("firefox/index.html")));
  });

  test("a page's module worker", options("Firefox, worker"), async () => {
    await record("Firefox, worker", await version(), await visit(browser, at("firefox/index.html"), ofWorker));
  });
});

describe("in WebKit", { timeout: 120_000 }, () => {
  const commands = setup.webkit();
  const missing = !commands && "there is no WebKitWebDriver, or no Xvfb";
  const options = (target) => ({ timeout: 60_000, skip: missing && skipped(target, missing) });
  let screen;
  let driver;
  let port;
  let session;
  let version;

  /** One command of the WebDriver protocol; returns its value. */
  async function command(method, path, body) {
    const response = await fetch(`http://localhost:${port}/${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(value.message);
    return value;
  }

  before(async () => {
    if (missing) return;
    screen = spawn(commands.screen, ["-displayfd", "3", "-nolisten", "tcp"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const [display] = await once(screen.stdio[3], "data");
    const free = listener().listen(0);
    await once(free, "listening");
    ({ port } = free.address());
    free.close();
    const env = { ...process.env, DISPLAY: `:${String(display).trim()}` };
    driver = spawn(commands.driver, [`--port=${port}`], { env, stdio: "ignore" });
    while (!(await command("GET", "status").catch(() => driver.exitCode !== null))) await setTimeout(20);
    const { sessionId, capabilities } = await command("POST", "session", { capabilities: {} });
    session = `session/${sessionId}`;
    version = capabilities.browserVersion;
    plain("webkit");
  });

  after(async () => {
    if (session) await command("DELETE", session);
    driver?.kill();
    screen?.kill();
  });

  /** What the page says, as {@link visit} asks it elsewhere. */
  async function ask(question) {
    await command("POST", `${session}/url`, { url: at("webkit/index.html") });
    return command("POST", `${session}/execute/sync`, { script: `return (${question})()`, args: [] });
  }

  test("a page", options("WebKit, page"), async () => {
    await record("WebKit, page", version, await ask(() => globalThis.verdict));
  });

  test("a page's module worker", options("WebKit, worker"), async () => {
    await record("WebKit, worker", version, await ask(ofWorker));
  });
});
