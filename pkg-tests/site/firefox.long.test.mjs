/** Check on the site, in Firefox. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { missing, newPage, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { at, dist, temporary } from "../helpers/www.mjs";

const skip = missing("Firefox");
if (skip) console.log(`site/firefox.long.test.mjs skipped: ${skip}`);

describe("Check in Firefox", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  let page;
  before(async () => {
    browser = await puppeteer("Firefox");
    page = await newPage(browser);
    await page.goto(at());
  });
  after(() => browser?.close());

  /** Waits until an element shows a text. */
  const shows = (selector, text) =>
    page.waitForFunction(
      (selector, text) =>
        document.querySelector(selector)?.checkVisibility() &&
        document.querySelector(selector).textContent.includes(text),
      {},
      selector,
      text,
    );
  const choose = (value) => page.$eval(`[value=${value}]`, (radio) => radio.click());
  async function type(text) {
    await page.waitForSelector("#key:enabled");
    await page.click("#key", { count: 3 });
    await page.keyboard.press("Backspace");
    await page.keyboard.type(text);
  }
  async function upload(name, bytes) {
    const path = join(temporary, name);
    writeFileSync(path, bytes);
    await (await page.$("#file")).uploadFile(path);
  }

  test("answers as one types", async () => {
    await type("https://www.azukishop.live/login");
    await shows("#verdict", "maybe on the list");
    await shows("#tested mark", "azukishop.live/");
    await type("github.com");
    await shows("#verdict", "definitely not on the list");
    await shows("#time", "One check takes");
  });

  test("accepts the user's own file, and says what is wrong with another", async () => {
    await choose("own");
    const blob = readFileSync(join(dist, "phishing.bloom"));
    await upload("half.bloom", blob.subarray(0, 9000));
    await shows("#error", "“half.bloom” is incomplete");
    await upload("list.txt", "a list\n".repeat(100));
    await shows("#error", "“list.txt” is not a filter");
    await upload("good.bloom", blob);
    await type("azukishop.live");
    await shows("#verdict", "maybe on the list");
  });

  test("checks a whole list", async () => {
    await page.$eval("#lines", (field) => {
      field.value = "github.com\nazukishop.live\nopensea.cc";
    });
    await page.click("#bulk [type=submit]");
    await shows("#found [role=status]", "2 lines of 3");
    assert.equal(await page.$eval("#found ul", (list) => list.innerText.trim()), "azukishop.live\nopensea.cc");
  });
});
