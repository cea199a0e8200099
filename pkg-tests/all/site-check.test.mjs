/** Tests of the page in a real, headless Chromium, with filters that arrive well, slowly, damaged or not at all. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { root } from "../../scripts/setup.mjs";
import { serve, site } from "../../scripts/www.mjs";
import { newPage, PATIENCE, playwright, noChromium as skip } from "../browsers.mjs";

if (skip) console.log(`site-check.test.mjs skipped: ${skip}`);

describe("the page", { skip, timeout: 10 * PATIENCE }, () => {
  let pages; // what serves the page
  let filters; // what serves filters, good and bad, by `respond`
  let respond;
  let blob;
  let browser;
  let context;
  let page;

  before(async () => {
    await site();
    pages = await serve({ port: 0 });
    blob = readFileSync(join(root, "www/dist/phishing.bloom"));
    filters = createServer((request, response) => {
      response.setHeader("Access-Control-Allow-Origin", "*");
      respond(request, response);
    });
    await new Promise((listening) => filters.listen(0, "localhost", listening));
    browser = await playwright();
  });

  after(async () => {
    await browser?.close();
    filters?.closeAllConnections();
    filters?.close();
    await pages?.close();
  });

  /**
   * Opens the page with its own filter, with another of its server by name, or with what the function `answer` sends.
   */
  async function open(answer) {
    await context?.close();
    context = await browser.newContext();
    page = await newPage(context);
    respond = answer;
    const filter = typeof answer === "function" ? `http://localhost:${filters.address().port}/test.bloom` : answer;
    await page.goto(pages.url + (filter ? `?filter=${filter}` : ""));
  }

  /** Waits until the element that a selector names shows what a pattern or a whole text asks for. */
  async function shows(selector, text) {
    const whole = typeof text === "string" ? new RegExp(`^\\s*${text}\\s*$`) : text;
    await page.locator(selector).filter({ hasText: whole, visible: true }).waitFor();
  }

  const gone = (selector) => page.locator(selector).waitFor({ state: "hidden" });
  const loaded = () => page.locator("#key:enabled").waitFor();
  const send = (bytes, headers) => (_, response) => response.writeHead(200, headers).end(bytes);
  const flipped = () => blob.map((byte, at) => (at === blob.length >> 1 ? byte ^ 1 : byte));

  test("says of a host whether it is on the list, and how long that took", async () => {
    await open();
    await loaded();
    await gone("#progress");
    await gone("#error");
    assert.equal(await page.locator("#verdict").textContent(), "");

    await page.locator("#key").pressSequentially("azukishop.live");
    await shows("#verdict", "maybe on the list");
    await shows("#time", /takes (about \d+(\.\d+)? µs|under 0\.1 ms)/);
    await page.locator("#key").press("Backspace");
    await shows("#verdict", "definitely not on the list");
    await page.locator("#key").fill("github.com");
    await shows("#verdict", "definitely not on the list");
    await shows("#time", /takes (about \d+(\.\d+)? µs|under 0\.1 ms)/);

    for (const url of [
      "  AzukiShop.LIVE ",
      "https://user@www.azukishop.live:8443/a?b#c",
      "http://azukishop.live\\\\@github.com/",
    ]) {
      await page.locator("#key").fill(url);
      await shows("#verdict", "maybe on the list");
      await shows("#meaning", /^\s*azukishop\.live\/ matched\./);
    }
    await page.locator("#key").fill("https://github.com/azukishop.live");
    await shows("#verdict", "definitely not on the list");
    await page.locator("#key").fill("  ");
    await page.locator("#verdict:empty").waitFor({ state: "attached" });
    assert.equal(await page.locator("#time").textContent(), "");
  });

  test("answers for its examples", async () => {
    await open();
    await loaded();
    for (const [host, verdict] of [
      ["metamaskapp.io", "maybe on the list"],
      ["github.com", "definitely not on the list"],
      ["opensea.cc", "maybe on the list"],
    ]) {
      await page.getByRole("button", { name: host }).click();
      await shows("#verdict", verdict);
      assert.equal(await page.locator("#key").inputValue(), host);
    }
  });

  test("describes the filter", async () => {
    await open();
    await shows("#info", /Name\s*eth-phishing-detect \d+\.\d+\.\d+/);
    await shows("#info", /Kind\s*ribbon filter/);
    await shows("#info", /Key profile\s*url:/);
    await shows("#info", new RegExp(`Size\\s*${blob.length.toLocaleString("en")} bytes`));
    await shows("#info", /ID\s*[0-9a-f]{16}/);
  });

  test("sends nothing of what is typed", async () => {
    await open();
    await loaded();
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.locator("#key").pressSequentially("secret.example");
    await shows("#verdict", "definitely not on the list");
    await page.locator("#key").press("Enter");
    await page.evaluate(() => fetch("index.html?last"));
    assert.deepEqual(requests, [`${pages.url}index.html?last`]);
  });

  test("fits a narrow phone", async () => {
    await open();
    await page.setViewportSize({ width: 320, height: 640 });
    await page.getByRole("button", { name: "github.com" }).click();
    await shows("#verdict", "definitely not on the list");
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  });

  test("shows the progress of a slow transfer", async () => {
    const third = Math.floor(blob.length / 3);
    let response;
    const requested = new Promise((resolve) => {
      respond = (_, slow) => {
        response = slow.writeHead(200, { "Content-Length": blob.length });
        response.write(blob.subarray(0, third));
        resolve();
      };
    });
    await open(respond);
    await requested;
    const total = blob.length.toLocaleString("en");
    const words = (bytes) => `${bytes.toLocaleString("en")} of ${total} bytes`;
    await shows("#bytes", words(third));
    assert.equal(await page.locator("#progress").isVisible(), true);
    assert.equal(await page.locator("#progress").evaluate((bar) => bar.position), third / blob.length);
    assert.equal(await page.locator("#key").isDisabled(), true);

    response.write(blob.subarray(third, 2 * third));
    await shows("#bytes", words(2 * third));
    assert.equal(await page.locator("#progress").evaluate((bar) => bar.position), (2 * third) / blob.length);

    response.end(blob.subarray(2 * third));
    await loaded();
    await gone("#progress");
    await gone("#bytes");
  });

  const troubles = [
    ["a damaged filter", () => send(flipped()), /arrived damaged/],
    ["a truncated filter", () => send(blob.subarray(0, -1000)), /arrived incomplete/],
    ["a page in place of a filter", () => send("<!doctype html><title>Welcome</title>".repeat(100)), /not a filter/],
    ["a missing filter", () => (_, response) => response.writeHead(404).end(), /no such filter \(status 404\)/],
    ["a filter that the page's server lacks", () => "no.bloom", /no such filter \(status 404\)/],
    ["a server that is down", () => (_, response) => response.writeHead(503).end(), /did not send .* \(status 503\)/],
    ["a connection that is closed at once", () => (request) => request.socket.destroy(), /could not be reached/],
    [
      "a transfer that breaks off",
      () => (request, response) => {
        response.writeHead(200, { "Content-Length": blob.length });
        response.write(blob.subarray(0, 5000), () => request.socket.end());
      },
      /broke off/,
    ],
  ];
  for (const [name, answer, message] of troubles) {
    test(`says what is wrong with ${name}`, async () => {
      await open(answer());
      await shows("#error[role=alert]", message);
      await gone("#progress");
      assert.equal(await page.locator("#key").isDisabled(), true);
      assert.equal(await page.locator("#info").isVisible(), false);
      assert.equal(await page.getByRole("button", { name: "Try again" }).isVisible(), true);
    });
  }

  test("tries again after a 404", async () => {
    await open((_, response) => response.writeHead(404).end());
    await shows("#error", /status 404/);
    respond = send(blob);
    await page.getByRole("button", { name: "Try again" }).click();
    await loaded();
    await gone("#error");
    await page.locator("#key:focus").waitFor();
    await page.keyboard.type("azukishop.live");
    await shows("#verdict", "maybe on the list");
  });

  test("tries again with the server, not with the damaged copy in the browser's cache", async () => {
    await open(send(flipped(), { "Cache-Control": "max-age=3600" }));
    await shows("#error", /arrived damaged/);
    respond = send(blob);
    await page.getByRole("button", { name: "Try again" }).click();
    await loaded();
    await gone("#error");
  });
});
