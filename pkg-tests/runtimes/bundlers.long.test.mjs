/** The cases in Chromium: in bundlers' builds of the app, and from Vite's dev server. */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import * as setup from "../../scripts/setup.mjs";
import { noChromium, ofWorker, PATIENCE, playwright, visit } from "../helpers/browsers.mjs";
import { app } from "../helpers/installed.mjs";
import { at } from "../helpers/site.mjs";
import { record, skipped } from "./table.mjs";

/**
 * The commands that build the app into the folder dist with its index.html, as a user types them in the app's folder.
 */
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

const pinned = {
  webpack: "5.112.2",
  "webpack-cli": "7.3.1",
  rollup: "4.68.7",
  "@rollup/plugin-node-resolve": "16.0.3",
  "@rspack/core": "2.3.2",
  "@rspack/cli": "2.2.8",
  parcel: "2.16.4",
};
const names = Object.entries(pinned).map(([name, version]) => `${name}@${version}`);
const theirs = noChromium ? undefined : setup.installed("bundlers", names);
const packageOf = (bundler) => ({ rspack: "@rspack/core" })[bundler] ?? bundler;
const modulesOf = (bundler) => (pinned[packageOf(bundler)] ? theirs : join(setup.root, "node_modules"));
const builds = {};
const options = (target, none = noChromium) => ({ timeout: 3 * PATIENCE, skip: none && skipped(target, none) });
let browser;

async function build(bundler) {
  const cwd = app(bundler);
  const program = join(modulesOf(bundler), ".bin", bundler);
  await promisify(execFile)(program, bundlers[bundler], { cwd, timeout: 3 * PATIENCE });
  if (!existsSync(join(cwd, "dist/index.html"))) copyFileSync(join(cwd, "index.html"), join(cwd, "dist/index.html"));
}

// All are built before the first is visited, since building would slow it down.
before(
  async () => {
    if (noChromium) return;
    for (const bundler of Object.keys(bundlers).filter(modulesOf)) builds[bundler] = build(bundler);
    await Promise.allSettled(Object.values(builds));
    browser = await playwright();
  },
  { timeout: 4 * PATIENCE },
);

after(() => browser?.close(), { timeout: PATIENCE });

for (const bundler of Object.keys(bundlers)) {
  const target = `Chromium, ${bundler}`;
  test(bundler, options(target, noChromium || (modulesOf(bundler) ? undefined : setup.NOT_INSTALLED)), async () => {
    await builds[bundler];
    const { version } = JSON.parse(readFileSync(join(modulesOf(bundler), packageOf(bundler), "package.json"), "utf8"));
    record(target, version, await visit(browser, at(`${bundler}/dist/index.html`)));
    record(`${target} worker`, version, await visit(browser, at(`${bundler}/dist/index.html`), ofWorker));
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
    record("Chromium, vite dev", version, await visit(browser, dev.resolvedUrls.local[0]));
    record("Chromium, vite dev worker", version, await visit(browser, dev.resolvedUrls.local[0], ofWorker));
  } finally {
    await dev.close();
  }
});
