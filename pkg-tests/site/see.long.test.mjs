/** The section See in Chromium: words are added and checked, the bits are the package's own, and blobs are drawn. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { BloomFilter, RibbonFilter } from "bloom-wasm";
import { root } from "../../scripts/setup.mjs";
import { PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { open, shows } from "../helpers/www.mjs";

if (skip) console.log(`site/see.long.test.mjs skipped: ${skip}`);

describe("See", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  let page;

  before(async () => {
    browser = await playwright();
    page = await open(browser, "see/");
    await shows(page, "#verdict", "All bits are 0");
  });

  after(() => browser?.close());

  const button = (name) => page.getByRole("button", { name, exact: true });
  /** The numbers of the cells that have all of these classes. */
  const cells = (...classes) =>
    page
      .locator("#cells .cell")
      .evaluateAll(
        (cells, classes) =>
          cells.flatMap((cell, i) => (classes.every((name) => cell.classList.contains(name)) ? [i] : [])),
        classes,
      );
  const ascending = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);
  async function word(text, action) {
    await page.getByLabel("Word", { exact: true }).fill(text);
    await button(action).click();
  }

  test("a word sets the bits that the package computes, and a check highlights them", async () => {
    const truth = new BloomFilter(128, 3);
    for (const text of ["hello", "wörld", "third"]) {
      await word(text, "Add");
      await shows(page, "#verdict", `“${text}” is added`);
      truth.add(text);
      assert.deepEqual(await cells("probe"), ascending(truth.locations(text)));
    }
    const ones = ascending(["hello", "wörld", "third"].flatMap((text) => truth.locations(text)));
    assert.deepEqual(await cells("on"), ones);
    await page.getByText("The bits and the words as text").click();
    assert.equal(await page.locator("#ones").textContent(), ones.join(" "));
    assert.equal(await page.locator("#words").textContent(), "hello, wörld, third");

    await word("hello", "Check");
    await shows(page, "#verdict", "“hello” is maybe present");
    await shows(page, "#meaning", "it really was added");
    const nonmembers = ["one", "two", "three", "four", "five", "six"];
    const absent = nonmembers.find((text) => !truth.has(text));
    await word(absent, "Check");
    await shows(page, "#verdict", `“${absent}” is definitely absent`);
    assert.deepEqual(await cells("probe"), ascending(truth.locations(absent)));
    const zeros = ascending(truth.locations(absent)).filter((bit) => !ones.includes(bit));
    for (const bit of zeros) await shows(page, "#probes", `Bit ${bit} is 0.`);
  });

  test("Enter adds", async () => {
    await page.getByLabel("Word", { exact: true }).fill("typed");
    await page.getByLabel("Word", { exact: true }).press("Enter");
    await shows(page, "#verdict", "“typed” is added");
  });

  test("a false positive is found, and the words that made it are named", async () => {
    await button("Add ten words").click();
    await shows(page, "#verdict", "Ten words are added");
    await button("Find a false positive").click();
    await shows(page, "#meaning", "A false positive: it was never added");
    const found = await page.getByLabel("Word", { exact: true }).inputValue();
    const words = (await page.locator("#words").textContent()).split(", ");
    assert.equal(words.length, 14);
    const truth = new BloomFilter(128, 3);
    truth.addMany(words);
    assert.ok(truth.has(found) && !words.includes(found), found);
    // Each of its bits was set by a word that really sets it.
    const lines = await page.locator("#probes li").allTextContents();
    assert.equal(lines.length, new Set(truth.locations(found)).size);
    for (const line of lines) {
      const [, bit, setters] = /^Bit (\d+) is 1, set by (.*)\.$/.exec(line);
      const named = [...setters.matchAll(/“(.*?)”/g)].map(([, name]) => name);
      assert.deepEqual(
        named,
        words.filter((word) => truth.locations(word).includes(Number(bit))),
      );
    }
  });

  test("no word that was added is denied, however full the filter is", async () => {
    for (let i = 0; i < 5; i++) await button("Add ten words").click();
    await button("Check all added words").click();
    await shows(page, "#verdict", "64 of 64 words maybe present");
  });

  test("another shape starts over; an empty filter has no false positives", async () => {
    await page.getByLabel("Bits", { exact: true }).selectOption("512");
    await page.getByLabel("Bits per word").selectOption("8");
    await shows(page, "#verdict", "All bits are 0");
    assert.equal(await page.locator("#cells .cell").count(), 512);
    await button("Find a false positive").click();
    await shows(page, "#verdict", "No false positive among 200,000 words");
    await word("", "Check");
    await shows(page, "#verdict", "No word yet");
  });

  test("the layers of the demo blobs", async () => {
    await button("A list with an allowlist").click();
    await shows(page, "#blob-title", /^2,000 made-up hosts, .*: a ribbon filter of .* with 1 layer on top/);
    const titles = page.locator("#layers strong");
    assert.deepEqual(await titles.allTextContents(), ["Layer 1: exclude", "Base: ribbon"]);
    // Its keys are the allowlist's false positives in the same filter without one.
    const names = (what, count) => Array.from({ length: count }, (_, i) => `${what}-${i}.example`);
    const plain = RibbonFilter.from(names("bad", 2000), { fpr: 0.01 });
    const wrong = plain.hasMany(names("good", 5000)).reduce((sum, answer) => sum + answer, 0);
    await shows(page, "#layers", `${wrong} keys that must not match`);
    await button("A feed after nine updates").click();
    await shows(page, "#blob-title", "Phishing hosts: a ribbon filter");
    const kinds = (await titles.allTextContents()).map((title) => title.replace(/^.*: /, ""));
    assert.equal(kinds.at(-1), "ribbon");
    assert.ok(kinds.includes("include") && kinds.includes("exclude"), kinds.join());
  });

  test("a blob that is chosen before its section was in view stays", async () => {
    const other = await open(browser, "see/", { viewport: { width: 1280, height: 400 } });
    // The code of the section comes late.
    await other.route("**/assets/blob-*.js", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    // A click scrolls there first, unless a script clicks.
    await other.locator("[data-blob=feed]").evaluate((button) => button.click());
    await other.locator("#lower").scrollIntoViewIfNeeded();
    await shows(other, "#blob-title", "Phishing hosts: a ribbon filter");
    await other.waitForTimeout(1000);
    assert.match(await other.locator("#blob-title").textContent(), /^Phishing hosts: a ribbon filter/);
    await other.context().close();
  });

  test("the package can't be loaded at first", async () => {
    const parts = ["**/bloom.slim-*.js", "**/*.wasm"];
    const prepare = (page) => Promise.all(parts.map((part) => page.route(part, (route) => route.abort())));
    const other = await open(browser, "see/", { prepare });
    await other.getByLabel("Word", { exact: true }).fill("a");
    for (const part of parts) {
      await other.getByRole("button", { name: "Add", exact: true }).click();
      await shows(other, "#meaning", "It could not be fetched. Are you online?");
      await other.unroute(part);
    }
    await other.getByRole("button", { name: "Add", exact: true }).click();
    await shows(other, "#verdict", "“a” is added");
    await other.context().close();
  });

  test("the user's own blob, and a file that isn't one", async () => {
    // FORMAT.md: two updates, each with an include, an exclude of removed keys and one of keys that must be absent.
    const golden = readFileSync(join(root, "tests/golden/layers.bloom"));
    const choose = (name, buffer) =>
      page.locator("#file").setInputFiles({ name, mimeType: "application/octet-stream", buffer });
    await choose("layers.bloom", golden);
    await shows(page, "#blob-title", "with 6 layers on top");
    const layers = await page.locator("#layers li").allTextContents();
    assert.equal(layers.length, 7);
    assert.equal(layers.filter((text) => text.includes(": exclude")).length, 4);
    const [bytes, sum] = [golden.length, layers.reduce((sum, text) => sum + bytesIn(text), 0)];
    assert.ok(Math.abs(sum / bytes - 1) < 0.02, `${sum} of ${bytes}`);

    const filter = RibbonFilter.from(["a", "b"], { name: "Mine" });
    await choose("mine.bloom", Buffer.from(filter.toBytes()));
    await shows(page, "#blob-title", /^Mine: a ribbon filter of .* with no layers/);
    assert.equal(await page.locator("#layers li").count(), 1);
    const damaged = Buffer.from(golden);
    damaged[damaged.length - 20] ^= 1;
    for (const [name, buffer, says] of [
      ["list.txt", Buffer.from("evil.example\n"), "This is not a filter."],
      ["damaged.bloom", damaged, "The filter is damaged: its checksum is wrong."],
      ["short.bloom", golden.subarray(0, 500), "The filter is incomplete: its end is missing."],
    ]) {
      await choose(name, buffer);
      await shows(page, "#blob-error", says);
    }
    await shows(page, "#blob-title", "Mine: a ribbon filter of"); // the last good one stays
    assert.deepEqual(page.errors, []);
  });
});

/** "…, 1.15 kB…" in bytes. */
function bytesIn(text) {
  const [, number, unit] = /, ([\d.,]+)\s(bytes?|kB)/.exec(text);
  return Number(number.replaceAll(",", "")) * (unit === "kB" ? 1000 : 1);
}
