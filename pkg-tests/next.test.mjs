/** The cases in an app of Next.js: in a route on the server, in one on the edge, in a page and in its worker. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import * as setup from "../scripts/setup.mjs";
import { app } from "./installed.mjs";
import { record, skipped } from "./runtimes/table.mjs";

const version = "16.4.6";
const modules = setup.installed("next", [`next@${version}`, "react@19.3.1", "react-dom@19.3.1"]);
const executablePath = setup.chromium();
const noBrowser = !executablePath && "there is no Chromium: install one or set CHROMIUM_PATH";

describe("Next.js", { timeout: 300_000 }, () => {
  let server;
  let url;

  before(async () => {
    if (!modules) return;
    const cwd = join(app("next"), "next");
    symlinkSync(modules, join(cwd, "node_modules"));
    const next = join(modules, "next/dist/bin/next");
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
    await promisify(execFile)(process.execPath, [next, "build"], { cwd, env });
    server = spawn(process.execPath, [next, "start", "--port", "0"], {
      cwd,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    for await (const line of createInterface(server.stdout)) {
      url = /http:\/\/localhost:\d+/.exec(line)?.[0];
      if (url) break;
    }
  });

  after(async () => {
    if (server?.kill()) await once(server, "exit");
  });

  for (const [path, target] of Object.entries({ node: "Next.js, server", edge: "Next.js, edge" })) {
    test(target, { skip: !modules && skipped(target, setup.NOT_INSTALLED) }, async () => {
      const response = await fetch(`${url}/${path}`);
      await record(target, version, await response.json());
    });
  }

  const missing = modules ? noBrowser : setup.NOT_INSTALLED;
  test("Next.js, client", { skip: missing && skipped("Next.js, client", missing) }, async () => {
    const { chromium } = await import("playwright-core");
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      const page = await browser.newPage();
      await page.goto(url);
      await page.waitForFunction(() => globalThis.verdict);
      await record("Next.js, client", version, await page.evaluate(() => globalThis.verdict));
      await record("Next.js, worker", version, await page.evaluate(() => globalThis.ofWorker()));
    } finally {
      await browser.close();
    }
  });
});
