/**
 * The section Measure in Chromium: it measures, can be cancelled, and its numbers can be copied. No time is asserted.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BloomFilter, RibbonFilter } from "bloom-wasm";
import { members, strings } from "../../bench/keys.mjs";
import { PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { open, shows } from "../helpers/www.mjs";

if (skip) console.log(`site/measure.long.test.mjs skipped: ${skip}`);

describe("Measure", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  let page;

  before(async () => {
    browser = await playwright();
    page = await open(browser, "measure/", { permissions: ["clipboard-read", "clipboard-write"] });
  });

  after(() => browser?.close());

  const button = (name) => page.getByRole("button", { name, exact: true });
  async function start(keys, rounds) {
    await page.getByLabel("Keys", { exact: true }).selectOption(keys);
    await page.getByLabel("Rounds").selectOption(rounds);
    await button("Measure").click();
  }

  test("if cancelled in the middle, nothing keeps running, and nothing is shown", async () => {
    assert.ok(await button("Copy as Markdown").isDisabled());
    const [worker] = await Promise.all([page.waitForEvent("worker"), start("100,000", "21")]);
    const closed = worker.waitForEvent("close");
    await shows(page, "#status", "Warming up");
    assert.ok(await button("Measure").isDisabled());
    await page.locator("#cancel:focus").press("Enter");
    await shows(page, "#status", "Cancelled. Nothing is running any more.");
    await closed;
    assert.equal(page.workers().length, 0);
    assert.match(await page.locator("#results tbody").textContent(), /^\D*40\D*$/, "no number but in a name");
    assert.ok(await button("Measure").isEnabled());
    await page.locator("#start:focus").waitFor();
  });

  test("every kind is measured against a Set and plain JavaScript, with its memory", async () => {
    await start("10,000", "3");
    await shows(page, "#status", "Measured with 10,000 keys, in 3 rounds.");
    const rows = await page
      .locator("#results tbody tr")
      .evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll("\u00a0", " "))),
      );
    const names = [
      "ribbon",
      "ribbon, by the reader",
      "bloom",
      "cuckoo",
      "scalable",
      "counting",
      "40 lines of JavaScript",
      "Set",
    ];
    assert.deepEqual(
      rows.map(([name]) => name),
      names,
    );
    for (const [name, time] of rows) assert.match(time, /^[\d.,]+ ns$/, name);
    const keys = strings(members(10_000));
    const kilobytes = (its) => `${(its.from(keys, { fpr: 0.001 }).info().byteLength / 1000).toPrecision(3)} kB`;
    assert.equal(rows[0][2], kilobytes(RibbonFilter));
    assert.deepEqual(rows[1].slice(2), rows[0].slice(2));
    assert.equal(parseFloat(rows[2][2]), parseFloat(kilobytes(BloomFilter)));
    assert.equal(rows[7][2], "over 590 kB"); // 10,000 keys of 59 characters
    assert.equal(rows[7][3], "none");
    assert.equal(await page.locator("#results .bar").count(), 16);
  });

  test("the numbers can be copied", async () => {
    await button("Copy as Markdown").click();
    await button("Copied").waitFor();
    const markdown = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(markdown, /^bloom-wasm: 10,000 URLs of 59 characters at a rate of 0\.001, medians of 3 rounds/);
    assert.match(markdown, /^\| ribbon \| [\d.,]+ ns \| 12\.\d kB \| .* \|$/m);
    assert.equal(markdown.split("\n").filter((line) => line.startsWith("|")).length, 10);
    await button("Copy as text").click();
    await page.waitForFunction(async () => !(await navigator.clipboard.readText()).includes("|"));
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(text, /^Set +[\d.,]+ ns +over 590 kB +none$/m);
    assert.deepEqual(page.errors, []);
  });
});
