/** The section Measure in Chromium: it measures, can be stopped, and its numbers can be copied. No time is asserted. */
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
    await page.getByLabel("Rounds", { exact: true }).selectOption(rounds);
    await button("Measure").click();
  }

  /** The text of each row's cells. */
  const table = () =>
    page
      .locator("#results tbody tr")
      .evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll("\u00a0", " "))),
      );

  test("it says how long it will take, by the keys and the rounds", async () => {
    const seconds = async (keys, rounds) => {
      await page.getByLabel("Keys", { exact: true }).selectOption(keys);
      await page.getByLabel("Rounds", { exact: true }).selectOption(rounds);
      const [, count, unit] = /about (\d+) (second|minute)s? on a laptop/.exec(
        await page.locator("#now").textContent(),
      );
      return count * (unit === "minute" ? 60 : 1);
    };
    const [few, many, most] = [
      await seconds("100,000", "3"),
      await seconds("100,000", "21"),
      await seconds("1,000,000", "21"),
    ];
    assert.ok(many > 3 * few && most > 5 * many, `${few}, ${many} and ${most} seconds`);
  });

  test("every kind is measured against a Set and plain JavaScript, with its memory", async () => {
    await start("10,000", "3");
    await shows(page, "#status", "Measured with 10,000 keys, in 3 rounds.");
    await shows(page, "#now", /^The next run takes about \d+ \w+ here\.$/);
    const rows = await table();
    const names = "ribbon; ribbon, by the reader; bloom; cuckoo; scalable; counting; 40 lines of JavaScript; Set";
    assert.equal(rows.map(([name]) => name).join("; "), names);
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
  });

  test("the table fills row by row; if stopped in the middle, nothing keeps running, and it stays", async () => {
    // What the page shows after each change: which row is running, the memory of the first and of the last, what is said.
    await page.evaluate(() => {
      globalThis.seen = [];
      const { rows } = document.querySelector("#results tbody").parentElement;
      const look = () => {
        const current = document.querySelector("#results [aria-current]")?.cells[0].textContent;
        const [first, last] = [rows[1], rows[8]].map(({ cells }) => cells[2].textContent);
        globalThis.seen.push([current, first, last, document.querySelector("#now").textContent]);
      };
      new MutationObserver(look).observe(document.querySelector("main"), { childList: true, subtree: true });
    });
    const [worker] = await Promise.all([page.waitForEvent("worker"), start("100,000", "21")]);
    const closed = worker.waitForEvent("close");
    await shows(page, "#status", "Round 1 of 21");
    assert.ok(await button("Measure").isDisabled());
    await page.locator("#results td", { hasText: "ns" }).first().waitFor();
    const seen = await page.evaluate(() => globalThis.seen);
    const current = new Set(seen.map(([current]) => current));
    for (const [name] of await table()) assert.ok(current.has(name), `${name} never ran`);
    assert.ok(
      seen.some(([, first, last]) => /^125\skB$/.test(first) && last === "–"),
      "not row by row",
    );
    assert.ok(seen.some(([name, , , now]) => name && new RegExp(`^Now: ${name}\\. About .* left\\.$`).test(now)));
    await page.locator("#cancel:focus").press("Enter");
    await shows(page, "#status", "Stopped. The table has what was measured until then.");
    await closed;
    assert.equal(page.workers().length, 0);
    const left = await table();
    assert.ok(left.some(([, time]) => time.endsWith(" ns")));
    for (const [, , memory, fpr] of left) assert.notEqual(`${memory}${fpr}`, "––");
    assert.equal(await page.locator("#results [aria-current]").count(), 0);
    assert.ok(await button("Measure").isEnabled());
    assert.ok(await button("Copy as Markdown").isDisabled());
    await page.locator("#start:focus").waitFor();
    assert.deepEqual(page.errors, []);
  });
});
