/**
 * The section See in Chromium: words are added and checked, the bits of a Bloom filter are the package's own, a ribbon
 * filter's table solves the equations of its words, and blobs are drawn.
 */
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
    const ones = [];
    const begun = ["hello", "wörld"].flatMap((text) => truth.locations(text));
    const third = Array.from({ length: 100 }, (_, i) => `third-${i}`).find(
      (text) => truth.locations(text).filter((bit) => begun.includes(bit)).length === 1,
    );
    for (const text of ["hello", "wörld", third]) {
      await word(text, "Add");
      await shows(page, "#verdict", `“${text}” is added`);
      const fresh = truth.locations(text).filter((bit) => !ones.includes(bit));
      ones.push(...fresh);
      truth.add(text);
      assert.deepEqual(await cells("probe"), ascending(truth.locations(text)));
      assert.deepEqual(await cells("new"), ascending(fresh));
    }
    ones.sort((a, b) => a - b);
    assert.deepEqual(await cells("on"), [...new Set(ones)]);
    await page.getByText("The bits and the words as text").click();
    assert.equal(await page.locator("#ones").textContent(), ones.join(" "));
    assert.equal(await page.locator("#words").textContent(), `hello, wörld, ${third}`);

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

  describe("a ribbon filter", () => {
    /** The XOR of strings of bits. */
    function xorOf(rows) {
      const xor = rows.reduce((xor, row) => xor ^ parseInt(row, 2), 0);
      return xor.toString(2).padStart(rows[0].length, "0");
    }
    const on = (cells) => cells.evaluateAll((cells) => cells.map((cell) => Number(cell.classList.contains("on"))));

    /** What the page says in words: the rows of the table, and the equation of each word. */
    async function said() {
      const rows = (await page.locator("#table").textContent()).split(", ").map((row, i) => {
        assert.match(row, new RegExp(`^${i}: [01]+$`));
        return row.split(": ")[1];
      });
      const equations = (await page.locator("#equations li").allTextContents()).map((text) => {
        const [, word, start, coefficients, fingerprint] =
          /^(.*): starts at row (\d+), coefficients (1[01]{7}), fingerprint ([01]+)\.$/.exec(text);
        const chosen = [...coefficients].flatMap((bit, i) => (bit === "1" ? [Number(start) + i] : []));
        return { word, coefficients, chosen, fingerprint, xor: xorOf(chosen.map((row) => rows[row])) };
      });
      return { rows, equations };
    }

    const count = (words) => shows(page, "#state", new RegExp(`^${words} words? added\\.`));
    const words = (equations) => equations.map(({ word }) => word);

    before(async () => {
      await page.getByLabel("Bloom").focus();
      await page.keyboard.press("ArrowRight");
      await shows(page, "#verdict", "There is no word yet");
      await word("early", "Check");
      await shows(page, "#verdict", "“early” is definitely absent");
      await page.getByText("The table and the words as text").click();
    });

    test("its table solves the equations of all words, and is drawn as it is told", async () => {
      await word("wörld", "Add");
      await shows(page, "#verdict", "“wörld” is added");
      await button("Add ten words").click();
      await button("Add ten words").click();
      await count(21);
      const { rows, equations } = await said();
      assert.equal(rows.length, 32);
      assert.equal(new Set(words(equations)).size, 21);
      assert.ok(new Set(equations.map(({ fingerprint }) => fingerprint)).size > 5);
      for (const { word, fingerprint, xor } of equations) assert.equal(xor, fingerprint, word);
      const drawn = await on(page.locator("#ribbon .line:not(.word) .cell"));
      assert.deepEqual(
        drawn,
        [0, 1, 2, 3].flatMap((bit) => rows.map((row) => Number(row[bit]))),
      );
      const coefficients = await on(page.locator("#ribbon .word .cell"));
      const told = equations.map(({ coefficients, fingerprint }) => coefficients + fingerprint).join("");
      assert.equal(coefficients.join(""), told);
      await shows(page, "#state", "32 rows of 4 bits are 128 bits, 6.1 for each word.");
      await shows(page, "#state", /probability of 1\sin\s16\./);
    });

    test("a check compares the XOR of the chosen rows with the fingerprint", async () => {
      const added = words((await said()).equations);
      for (const text of ["one", "two", "three", "wörld"]) {
        await word(text, "Check");
        const { rows, equations } = await said();
        const { chosen, fingerprint, xor } = equations.find(({ word }) => word === text);
        const maybe = xor === fingerprint;
        await shows(page, "#verdict", `“${text}” is ${maybe ? "maybe present" : "definitely absent"}`);
        assert.deepEqual(await page.locator("#probes li").allTextContents(), [
          ...chosen.map((row) => `Row ${row} is ${rows[row]}.`),
          `Their XOR is ${xor}. The fingerprint is ${fingerprint}.`,
        ]);
        assert.ok(maybe || !added.includes(text), text);
        const ringed = await page
          .locator("#ribbon .line")
          .first()
          .locator(".cell")
          .evaluateAll((cells) => cells.flatMap((cell, row) => (cell.classList.contains("probe") ? [row] : [])));
        assert.deepEqual(ringed, chosen);
        await count(21);
      }
      await word("wörld", "Add");
      await shows(page, "#meaning", "It was there already");
      await count(21);
    });

    test("a false positive is found", async () => {
      const added = words((await said()).equations);
      await button("Find a false positive").click();
      await shows(page, "#meaning", /^A false positive: .* It took \d+ tr(y|ies) to find it\.$/);
      const found = await page.getByLabel("Word", { exact: true }).inputValue();
      const { fingerprint, xor } = (await said()).equations.find(({ word }) => word === found);
      assert.ok(xor === fingerprint && !added.includes(found), found);
    });

    test("with one bit, about half of the other words match; every added one does until no more fit", async () => {
      await page.getByLabel("Bits per row").selectOption("1");
      await count(0);
      await button("Find a false positive").click();
      await shows(page, "#verdict", "There is no false positive");
      for (let added = 10; added <= 30; added += 10) {
        await button("Add ten words").click();
        await count(added);
      }
      let matched = 0;
      for (let i = 0; i < 40; i++) {
        await word(`other ${i}`, "Check");
        if ((await page.locator("#verdict").textContent()).endsWith("maybe present")) matched++;
      }
      assert.ok(matched >= 8 && matched <= 32, `${matched} of 40`);
      await button("Add ten words").click();
      await shows(page, "#verdict", "40 words don't fit");
      await count(30);
      await button("Check all added words").click();
      await shows(page, "#verdict", "30 of 30 words maybe present");
    });

    test("the other kind starts over", async () => {
      await page.locator("#kinds label", { hasText: "Bloom" }).click();
      await shows(page, "#verdict", "All bits are 0");
      assert.equal(await page.locator("#ribbon").isVisible(), false);
      await word("", "Check");
      await shows(page, "#verdict", "No word yet");
    });
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

  test("an answer that comes after another kind was chosen is dropped", async () => {
    let go;
    const held = new Promise((resolve) => (go = resolve));
    const prepare = (page) => page.route("**/*.wasm", (route) => held.then(() => route.continue()));
    const other = await open(browser, "see/", { prepare });
    await other.getByRole("button", { name: "Add ten words" }).click();
    await other.locator("#kinds label", { hasText: "Ribbon" }).click();
    const [answer] = await Promise.all([other.waitForResponse("**/*.wasm"), go()]);
    await answer.finished();
    await other.locator("#kinds label", { hasText: "Bloom" }).click();
    await other.getByLabel("Word", { exact: true }).fill("a");
    await other.getByRole("button", { name: "Add", exact: true }).click();
    await shows(other, "#state", /^1 word added/);
    await other.context().close();
  });

  test("a shape that the browser restores is drawn", async () => {
    const other = await open(browser, "see/");
    await other.getByLabel("Bits", { exact: true }).selectOption("512");
    await other.goto(new URL("../size/", other.url()).href);
    await other.goBack();
    const bits = await other.getByLabel("Bits", { exact: true }).inputValue();
    assert.equal(await other.locator("#cells .cell").count(), Number(bits));
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
