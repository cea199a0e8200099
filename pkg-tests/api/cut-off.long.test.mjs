/** Calls that are cut off, in Node with and without compiled code, in Chromium and in Firefox. `CUTS` is how often each. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { missing, newPage, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { app, folder } from "../helpers/installed.mjs";
import { listen } from "../helpers/server.mjs";
import { given } from "../helpers/turn.mjs";
import { skipped } from "../runtimes/table.mjs";

const CUTS = given("CUTS", 20);
const timeout = PATIENCE + 60_000 * CUTS;
const here = app("cut-off");

function judge(name, { wrong, met, memory, lost }) {
  const calls = Object.values(met).reduce((sum, times) => sum + times, 0);
  console.log(`${name}: ${calls} calls cut off, ${lost} filters lost that were being changed; MB: ${memory.join()}`);
  assert.deepEqual(wrong, []);
  for (const [call, times] of Object.entries(met))
    assert.ok(times >= (call === "thrown" ? 100 : CUTS), `${call} was cut off ${times} times`);
}

for (const [name, flags] of Object.entries({ "Node, warm": [], "Node, cold": ["--no-opt", "--no-sparkplug"] })) {
  test(name, { timeout }, async () => {
    const source = `
      import * as api from "bloom-wasm";
      import { cutOff } from "./cut-off.mjs";
      console.log(JSON.stringify(await cutOff(api, { rounds: ${CUTS}, seed: 2 })));
    `;
    const args = [...flags, "--input-type=module", "-e", source];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: here, maxBuffer: 2 ** 26 });
    judge(name, JSON.parse(stdout));
  });
}

for (const name of ["Chromium", "Firefox"]) {
  const none = missing(name);
  describe(name, { skip: none && skipped(name, none), timeout }, () => {
    let server;
    let browser;

    before(async () => {
      cpSync(join(folder, "node_modules/bloom-wasm/dist"), join(here, "dist"), { recursive: true });
      server = await listen((request, response) => {
        const file = join(here, new URL(request.url, "http://localhost").pathname);
        if (request.url === "/")
          return response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>cut off</title>");
        if (!existsSync(file) || ![".js", ".mjs"].includes(extname(file))) return response.writeHead(404).end();
        response.writeHead(200, { "content-type": "text/javascript" }).end(readFileSync(file));
      });
      browser = await puppeteer(name, { protocolTimeout: timeout });
    });

    after(async () => {
      await browser?.close();
      server?.close();
    });

    test("a page", { timeout }, async () => {
      const page = await newPage(browser);
      await page.goto(server.at());
      const found = await page.evaluate(async (rounds) => {
        const api = await import("/dist/bloom.inline.js");
        const { cutOff } = await import("/cut-off.mjs");
        return cutOff(api, { rounds, seed: 3 });
      }, CUTS);
      judge(name, found);
    });
  });
}
