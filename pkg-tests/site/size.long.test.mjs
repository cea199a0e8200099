/** The section Size in Chromium, checked against the package's formulas and the filters that it builds. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as bloomWasm from "bloom-wasm";
import { root } from "../../scripts/setup.mjs";
import { PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { at, open, shows } from "../helpers/www.mjs";

if (skip) console.log(`site/size.long.test.mjs skipped: ${skip}`);

const tool = (...args) => execFileSync(join(root, "target/release/bloom-wasm"), args, { encoding: "utf8" });
const classes = {
  ribbon: bloomWasm.RibbonFilter,
  cuckoo: bloomWasm.CuckooFilter,
  bloom: bloomWasm.BloomFilter,
  scalable: bloomWasm.ScalableBloomFilter,
  counting: bloomWasm.CountingBloomFilter,
};
const list = (count) => Array.from({ length: count }, (_, i) => `key ${i}`);
const near = (actual, expected, share, what) =>
  assert.ok(Math.abs(actual / expected - 1) <= share, `${what}: ${actual} on the page, ${expected} in truth`);

/** "1.25 MB" in bytes, "1 in 1,000" as a rate, "1,000" as a number. */
function value(text) {
  const [, number, unit] = /([\d.,]+)\s*(bytes?|kB|MB|GB)?$/.exec(text.replaceAll("\u00a0", " ")) ?? [];
  const plain = Number(number.replaceAll(",", "")) * ({ kB: 1e3, MB: 1e6, GB: 1e9 }[unit] ?? 1);
  return text.startsWith("1\u00a0in") || text.startsWith("1 in") ? 1 / plain : plain;
}

describe("Size", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  let page;
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));

  before(async () => {
    browser = await playwright();
    page = await open(browser, "size/");
    await shows(page, "#sentence", "A ribbon filter of 1,000,000 keys");
  });

  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The table's row for a kind: the computed number, bits per key, and how far above the bound. */
  async function row(kind) {
    const cells = page.locator("#kinds tbody tr", { has: page.locator("th", { hasText: kind }) }).locator("td");
    return (await cells.allTextContents()).slice(0, 3);
  }

  async function given(find, numbers) {
    await page.locator(".choices label", { hasText: `the ${find}` }).click();
    for (const [label, text] of Object.entries(numbers)) await page.getByLabel(label, { exact: true }).fill(text);
  }

  test("the size of a Bloom filter is the package's, and that of every kind is its size when built", async () => {
    for (const [count, fpr] of [
      [150, 1e-6],
      [1200, 0.01],
      [20_000, 0.001],
      [3000, 0.0001],
    ]) {
      await given("size", { Keys: String(count), "False-positive rate": String(fpr) });
      const { bytes } = bloomWasm.optimal(count, fpr);
      near(value((await row("bloom"))[0]), bytes, 0.006, `bloom ${count}, ${fpr}`); // three digits are shown
      for (const [kind, its] of Object.entries(classes)) {
        const filter = its.from(list(count), { fpr });
        const [size, bits] = await row(kind);
        const { byteLength } = filter.info();
        // The table is without the header and the checksum, at most 64 bytes.
        const share = kind === "ribbon" ? 0.02 : 0.006;
        near(
          value(size),
          Math.min(byteLength, Math.max(value(size), byteLength - 64)),
          share,
          `${kind} ${count}, ${fpr}`,
        );
        near(value(bits), (8 * byteLength) / count, 0.06, `${kind}'s bits per key`);
        filter.free();
      }
      const [least] = await row("information bound");
      near(value(least), (count * Math.log2(1 / fpr)) / 8, 0.006, "the bound");
    }
  });

  test("the rate of keys in a size is that of fprFor", async () => {
    await given("rate", { Keys: "100,000", Size: "120 kB" });
    const hashes = Math.round(9.6 * Math.LN2); // 9.6 bits a key
    const fpr = bloomWasm.fprFor(100_000, 960_000, hashes);
    near(value((await row("bloom"))[0]), fpr, 0.006, "bloom");
    // A ribbon filter of that rate must fit, and one of nine tenths of it must not.
    const rate = value((await row("ribbon"))[0]);
    const bytes = (fpr) => bloomWasm.RibbonFilter.from(list(100_000), { fpr }).info().byteLength;
    assert.ok(bytes(rate * 1.03) <= 120_100, `${rate}: ${bytes(rate)}`);
    assert.ok(bytes(rate * 0.9) > 120_000, `${rate}`);
    near(value((await row("information bound"))[0]), 2 ** -(8 * 1.2), 0.01, "the bound");
  });

  test("the keys that fit a size are those of countFor", async () => {
    await given("keys", { Size: "1 MB", "False-positive rate": "0.1 %" });
    assert.equal(value((await row("bloom"))[0]), bloomWasm.countFor(8e6, 0.001));
    const keys = value((await row("cuckoo"))[0]);
    const bytes = (count) => bloomWasm.CuckooFilter.withCapacity(count, 0.001).info().byteLength;
    assert.ok(bytes(keys) <= 1e6 + 64 && bytes(keys + 10) > 1e6 - 64, `${keys}: ${bytes(keys)}`);
  });

  test("URLs get a tenth of the rate, and in a ribbon filter of hosts a third", async () => {
    await given("size", { Keys: "10000", "False-positive rate": "0.001" });
    await page.getByLabel("The keys are").selectOption("URLs, by their hosts");
    const { bytes } = bloomWasm.optimal(10_000, 0.0001);
    near(value((await row("bloom"))[0]), bytes, 0.006, "bloom");
    const keys = Array.from({ length: 10_000 }, (_, i) => `key ${i}`);
    const { byteLength } = bloomWasm.RibbonFilter.from(keys, { fpr: 0.001 / 3 }).info();
    near(value((await row("ribbon"))[0]), byteLength, 0.02, "ribbon");
    await page.getByLabel("bloom", { exact: true }).check();
    await given("size", { "False-positive rate": "0.7 %" });
    await shows(page, "#javascript", "fpr: 0.007 ");
    await shows(page, "#tool", /--fpr 0\.007 --kind bloom --profile url$/);
    await page.getByLabel("The keys are").selectOption("any keys");
  });

  test("the code for a given size makes a filter that fits, even where there is far too much room", async () => {
    const keys = list(2000);
    for (const [size, bytes] of [
      ["3 kB", 3e3],
      ["10 kB", 1e4],
      ["1 GB", 1e9],
    ]) {
      await given("rate", { Keys: "2000", Size: size });
      for (const kind of Object.keys(classes)) {
        await page.getByLabel(kind, { exact: true }).check();
        await shows(page, "#sentence", new RegExp(`${kind} filter`));
        const code = await page.locator("#javascript").textContent();
        if (!code) {
          await shows(page, "#sentence", `There can be no ${kind} filter with these numbers.`);
          continue;
        }
        const fpr = Number(/fpr: (.*?) }/.exec(code)[1]);
        const filter = classes[kind].from(keys, { fpr });
        // The estimate for a ribbon filter is accurate to 2 %.
        const most = bytes * (kind === "ribbon" ? 1.02 : 1) + 64;
        assert.ok(filter.info().byteLength <= most, `${kind} in ${size}: ${filter.info().byteLength} at ${fpr}`);
        filter.free();
      }
    }
    await page.getByLabel("ribbon", { exact: true }).check();
  });

  test("the code and the command make the filter that the sentence describes", async () => {
    const keys = list(5000);
    writeFileSync(join(folder, "keys.txt"), keys.join("\n"));
    await given("size", { Keys: "5000", "False-positive rate": "1 in 500" });
    for (const kind of Object.keys(classes)) {
      await page.getByLabel(kind, { exact: true }).check();
      await shows(page, "#sentence", new RegExp(`^A ${kind} filter of 5,000 keys at a rate of 1.in.500 takes`));
      const code = await page.locator("#javascript").textContent();
      const run = code.replace(/import (\{.*?\}) from "bloom-wasm";/, "const $1 = bloomWasm;");
      const filter = new Function("bloomWasm", "keys", `${run}\nreturn filter;`)(bloomWasm, keys);
      assert.equal(filter.kind, kind);
      assert.equal(filter.hasAll(keys), true);
      const sentence = await page.locator("#sentence").textContent();
      near(value(/takes (.*?):/.exec(sentence)[1]), filter.info().byteLength, 0.03, sentence);

      const command = await page.locator("#tool").textContent();
      const args = command.replace("npx bloom-wasm ", "").replaceAll("keys.", join(folder, "keys.")).split(" ");
      tool(...args);
      const { kind: built, byteLength } = JSON.parse(tool("info", join(folder, "keys.bloom"), "--json"));
      assert.deepEqual([built, byteLength], [kind, filter.info().byteLength]);
      filter.free();
    }
  });

  test("the address keeps the numbers, and opening it shows them", async () => {
    await given("rate", { Keys: "250000", Size: "300 kB" });
    await page.getByLabel("The keys are").selectOption("URLs, by their hosts");
    await page.getByLabel("cuckoo", { exact: true }).check();
    await shows(page, "#sentence", /^A cuckoo filter of 250,000 URLs/);
    const address = page.url();
    assert.equal(new URL(address).search, "?count=250000&bytes=300000&kind=cuckoo&profile=url");
    const sentence = await page.locator("#sentence").textContent();
    const other = await open(browser, address.slice(at().length));
    await shows(other, "#sentence", /^A cuckoo filter/);
    assert.equal(await other.locator("#sentence").textContent(), sentence);
    assert.equal(await other.getByLabel("Keys", { exact: true }).inputValue(), "250,000");
    assert.deepEqual(other.errors, []);
    await other.context().close();
    await page.getByLabel("The keys are").selectOption("any keys");
  });

  test("invalid numbers are reported, and the earlier result can't be used", async () => {
    const inert = () => page.locator("main > section").evaluateAll((parts) => parts.map(({ inert }) => inert));
    await given("size", { Keys: "5000", "False-positive rate": "0.01" });
    assert.deepEqual(await inert(), [false, false, false]);
    await given("size", { "False-positive rate": "2" });
    await shows(page, "#wrong", "The rate must be above 0 and below 1");
    assert.deepEqual(await inert(), [true, true, true]);
    await given("size", { "False-positive rate": "0.01", Keys: "many" });
    await shows(page, "#wrong", "Keys must be a whole number");
    // A comma that doesn't separate thousands may be a decimal comma: without it, the number would be ten times as
    // large.
    await given("size", { "False-positive rate": "0,5 %", Keys: "1,000" });
    await shows(page, "#wrong", "The rate must be above 0 and below 1");
    // A Bloom filter has at most 512 MiB.
    await given("size", { "False-positive rate": "0.01", Keys: "10 billion" });
    await page.getByLabel("bloom", { exact: true }).check();
    await shows(page, "#sentence", "There can be no bloom filter with these numbers.");
    await given("size", { Keys: "1000" });
    await shows(page, "#sentence", "A bloom filter of 1,000 keys");
  });

  test("nothing is read aloud while the user types", async () => {
    const other = await open(browser, "size/", { prepare: (page) => page.clock.install() });
    await other.clock.runFor(10_000);
    const sentence = await other.locator("#sentence").textContent();
    assert.match(sentence, /^A ribbon filter of 1,000,000 keys/);
    await other.getByLabel("Keys", { exact: true }).fill("x");
    await other.getByLabel("Keys", { exact: true }).fill("5000");
    await shows(other, "#javascript", "fpr");
    assert.equal(await other.locator("#sentence").textContent(), sentence);
    assert.equal(await other.locator("#wrong").textContent(), "");
    await other.clock.runFor(10_000);
    await shows(other, "#sentence", "A ribbon filter of 5,000 keys");
    await other.context().close();
  });

  test("three plots are drawn, and their numbers are a table", async () => {
    await given("size", { Keys: "1,000,000", "False-positive rate": "0.001" });
    await page.getByLabel("ribbon", { exact: true }).check();
    await page.locator("#plots").scrollIntoViewIfNeeded();
    await page.locator("#by-keys canvas").waitFor();
    assert.equal(await page.locator("figure canvas").count(), 3);
    await page.locator("#by-keys summary").click();
    const rows = page.locator("#by-keys details tbody tr");
    const [first, last] = [rows.first(), rows.last()];
    assert.equal(await first.locator("th").textContent(), "1");
    assert.equal(await last.locator("th").textContent(), "30");
    await last.getByText("0.3\u00a0%").waitFor(); // the plots follow the numbers a little later
    // 1 - (1 - 0.0001)^30 and 1 - (1 - 0.001)^30
    assert.deepEqual(await last.locator("td").allTextContents(), ["0.3\u00a0%", "3\u00a0%"]);
    await page.getByLabel("bloom", { exact: true }).check();
    await given("size", { Keys: "10", "False-positive rate": "1e-15" });
    await last.getByText("0.000000000003\u00a0%").waitFor(); // even the lowest rate is drawn
    assert.deepEqual(page.errors, []);
  });
});
