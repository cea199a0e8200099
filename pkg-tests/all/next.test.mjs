/** The cases in an app of Next.js: in a route on the server, in one on the edge, in a page and in its worker. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import * as setup from "../../scripts/setup.mjs";
import { newPage, noChromium, PATIENCE, playwright, start } from "../browsers.mjs";
import { app } from "../installed.mjs";
import { record, skipped } from "../runtimes/table.mjs";

const version = "16.4.6";
const modules = setup.installed("next", [`next@${version}`, "react@19.3.1", "react-dom@19.3.1"]);

describe("Next.js", { timeout: 6 * PATIENCE }, () => {
  let server;
  let url;

  before(async () => {
    if (!modules) return;
    const cwd = join(app("next"), "next");
    symlinkSync(modules, join(cwd, "node_modules"));
    const next = join(modules, "next/dist/bin/next");
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
    await promisify(execFile)(process.execPath, [next, "build"], { cwd, env, timeout: 4 * PATIENCE });
    server = start(process.execPath, [next, "start", "--port", "0"], {
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

  const missing = modules ? noChromium : setup.NOT_INSTALLED;
  test("Next.js, client", { skip: missing && skipped("Next.js, client", missing) }, async () => {
    const browser = await playwright();
    try {
      const page = await newPage(browser);
      await page.goto(url);
      await page.waitForFunction(() => globalThis.verdict);
      await record("Next.js, client", version, await page.evaluate(() => globalThis.verdict));
      await record("Next.js, worker", version, await page.evaluate(() => globalThis.ofWorker()));
    } finally {
      await browser.close();
    }
  });
});
