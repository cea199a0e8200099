/**
 * The cases in a Next.js app: in a route on the server, in one on the edge, in a page and in its worker. Also the
 * redirects of docs/edge.md, as a proxy of that app and as middleware on the edge.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import * as setup from "../../scripts/setup.mjs";
import { newPage, noChromium, PATIENCE, playwright, start } from "../helpers/browsers.mjs";
import { app, installed } from "../helpers/installed.mjs";
import { page as docs } from "../interop/docs.mjs";
import { record, skipped, tried } from "./table.mjs";

const version = "16.4.6";
const modules = setup.installed("next", [`next@${version}`, "react@19.3.1", "react-dom@19.3.1"]);

const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
const run = promisify(execFile);

/** Builds an app and starts it: its address, and how to stop it. */
async function serve(cwd) {
  const next = join(modules, "next/dist/bin/next");
  await run(process.execPath, [next, "build"], { cwd, env, timeout: 4 * PATIENCE });
  const server = start(process.execPath, [next, "start", "--port", "0"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let url;
  for await (const line of createInterface(server.stdout)) {
    url = /http:\/\/localhost:\d+/.exec(line)?.[0];
    if (url) break;
  }
  return { url, stop: async () => server.kill() && (await once(server, "exit")) };
}

const [making, proxy] = docs("edge.md").code["A thousand redirects in Next.js"].js;
const redirects = { "/caf%C3%A9": { destination: "/", permanent: false } };
for (let i = 0; i < 1000; i++) redirects[`/old/${i}`] = { destination: `/?new=${i}`, permanent: i % 2 === 0 };

/** Adds the redirects to an app, in a file of this name. */
async function addRedirects(cwd, name, source) {
  writeFileSync(join(cwd, "redirects.json"), JSON.stringify(redirects));
  writeFileSync(join(cwd, "redirects.mjs"), making);
  await run(process.execPath, ["redirects.mjs"], { cwd });
  writeFileSync(join(cwd, name), source);
}

/** What is redirected, and what isn't although the filter says so. */
async function redirected(url, cwd) {
  const ask = async (path, headers) => {
    const response = await fetch(url + path, { redirect: "manual", headers });
    const location = response.headers.get("location");
    return [response.status, location && new URL(location, url).href];
  };
  assert.deepEqual(await ask("/old/0"), [308, `${url}/?new=0`]);
  assert.deepEqual(await ask("/old/999?x"), [307, `${url}/?new=999`]);
  assert.deepEqual(await ask("/caf%C3%A9"), [307, `${url}/`]);
  assert.deepEqual(await ask("/caf%C3%A9?x=1"), [307, `${url}/?x=1`]);
  // As behind a proxy that ends TLS, or if a visitor says so.
  const [status] = await ask("/old/0", { "x-forwarded-proto": "https" });
  assert.equal(status, 308);
  assert.deepEqual(await ask("/"), [200, null]);
  assert.deepEqual(await ask("/old/1000"), [404, null]);
  const { decode } = await installed("bloom-wasm/reader");
  const [, blob] = /"(.*)"/.exec(readFileSync(join(cwd, "redirects.bloom.js"), "utf8"));
  const filter = decode(Buffer.from(blob, "base64"));
  const nonmembers = Array.from({ length: 20_000 }, (_, i) => `/new/${i}`).filter((path) => filter.has(path));
  assert.ok(nonmembers.length > 0 && nonmembers.length < 60, `${nonmembers.length} of 20,000 at 0.001`);
  for (const path of nonmembers.slice(0, 3)) assert.deepEqual(await ask(path), [404, null], path);
}

describe("Next.js", { timeout: 8 * PATIENCE }, () => {
  let url;
  let stop;
  let cwd;

  before(async () => {
    if (!modules) return;
    cwd = join(app("next"), "next");
    symlinkSync(modules, join(cwd, "node_modules"));
    await addRedirects(cwd, "proxy.js", proxy);
    ({ url, stop } = await serve(cwd));
  });

  after(() => stop?.());

  for (const [path, target] of Object.entries({ node: "Next.js, server", edge: "Next.js, edge" })) {
    test(target, { skip: !modules && skipped(target, setup.NOT_INSTALLED) }, async () => {
      const response = await fetch(`${url}/${path}`);
      record(target, version, await response.json());
    });
  }

  const redirecting = "Next.js, a thousand redirects";
  test(redirecting, { skip: !modules && skipped(redirecting, setup.NOT_INSTALLED) }, async () => {
    await redirected(url, cwd);
    tried(`${redirecting}, proxy`, version, "redirects, and lets others through");
    // The same on the edge, in a smaller app.
    const edge = join(cwd, "../edge");
    mkdirSync(join(edge, "app"), { recursive: true });
    for (const name of ["next.config.mjs", "app/layout.js"]) cpSync(join(cwd, name), join(edge, name));
    writeFileSync(join(edge, "app/page.js"), "export default () => null;\n");
    symlinkSync(modules, join(edge, "node_modules"));
    assert.equal(proxy.split("function proxy(").length, 2);
    await addRedirects(edge, "middleware.js", proxy.replace("function proxy(", "function middleware("));
    const its = await serve(edge);
    try {
      await redirected(its.url, edge);
    } finally {
      await its.stop();
    }
    tried(`${redirecting}, middleware on the edge`, version, "redirects, and lets others through");
  });

  const missing = modules ? noChromium : setup.NOT_INSTALLED;
  test("Next.js, client", { skip: missing && skipped("Next.js, client", missing) }, async () => {
    const browser = await playwright();
    try {
      const page = await newPage(browser);
      await page.goto(url);
      await page.waitForFunction(() => globalThis.verdict);
      record("Next.js, client", version, await page.evaluate(() => globalThis.verdict));
      record("Next.js, worker", version, await page.evaluate(() => globalThis.ofWorker()));
    } finally {
      await browser.close();
    }
  });
});
