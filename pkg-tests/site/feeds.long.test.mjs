/** The section Feeds in Chromium: the recorded feed is played back, step by step, and a tampered update is refused. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { root } from "../../scripts/setup.mjs";
import { PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { open, shows } from "../helpers/www.mjs";

if (skip) console.log(`site/feeds.long.test.mjs skipped: ${skip}`);

describe("Feeds", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  let page;
  let recording;
  /** The bytes of the files that the page has fetched since this was cleared, by name. */
  let fetched = {};

  before(async () => {
    browser = await playwright();
    page = await open(browser, "feeds/");
    recording = JSON.parse(readFileSync(join(root, "www/dist/recording/recording.json"), "utf8"));
    page.on("response", async (response) => {
      const name = response.url().split("/").at(-1);
      if (/^[0-9a-f]{64}$/.test(name)) fetched[name] = readFileSync(join(root, "www/dist/recording", name)).length;
    });
  });

  after(() => browser?.close());

  const button = (name) => page.getByRole("button", { name, exact: true });
  const generation = (number) => shows(page, "#generation", `Generation ${number} of 10`);
  const watch = (url) => page.getByLabel("A URL to watch").fill(url);
  const kilobytes = (text) => Number(/([\d.]+)\skB/.exec(text)[1]) * 1000;

  test("a URL becomes blocked in the generation that brings it", async () => {
    await generation(1);
    const at = recording.generations.findIndex(({ example }, i) => i >= 3 && example);
    const { example } = recording.generations[at];
    await watch(`https://user@www.${example}:8443/login?x`);
    await shows(page, "#verdict", "definitely not on the list");
    for (let i = 2; i <= at + 1; i++) {
      await shows(page, "#verdict", "definitely not on the list");
      fetched = {};
      await button("Next generation").click();
      await generation(i);
      const { manifest, added, removed, count, full } = recording.generations[i - 1];
      const cells = await page
        .locator("#fetched tr")
        .nth(i - 1)
        .locator("td")
        .allTextContents();
      assert.deepEqual(cells.slice(2), [String(added), String(removed), count.toLocaleString("en")]);
      // The manifest comes from the recording, the files over the network.
      const bytes = Buffer.byteLength(manifest) + Object.values(fetched).reduce((sum, bytes) => sum + bytes, 0);
      assert.ok(Math.abs(kilobytes(cells[0]) - bytes) <= 6, `${cells[0]} for ${bytes} bytes`);
      assert.ok(Math.abs(kilobytes(cells[1]) - full) <= 60, `${cells[1]} for ${full} bytes`);
      assert.ok(bytes < full / 5);
    }
    await shows(page, "#verdict", "maybe on the list");
    await shows(page, "#since", `${example}/ matched, in generation ${at + 1}`);
  });

  test("a tampered update is refused, and the genuine one is accepted afterwards", async () => {
    const before = Number(/Generation (\d+)/.exec(await page.locator("#generation").textContent())[1]);
    await button("A tampered one").click();
    await shows(
      page,
      "#wrong",
      "Refused. The feed isn't signed by the expected key. The current filter still answers.",
    );
    await generation(before);
    await shows(page, "#verdict", "maybe on the list");
    await button("Next generation").click();
    await generation(before + 1);
    assert.equal(await page.locator("#wrong").textContent(), "");
  });

  test("it plays to the end by itself, pauses, and starts over", async () => {
    await button("From the start").click();
    await generation(1);
    assert.equal(await page.locator("#fetched tr").count(), 1);
    await button("Play").click();
    await generation(2);
    await button("Pause").click();
    await button("Play").waitFor();
    await button("Next generation").focus();
    for (let i = 3; i <= 10; i++) {
      await page.locator("#step:focus").press("Enter");
      await generation(i);
    }
    await page.locator("#again:focus").waitFor();
    assert.ok(await button("Next generation").isDisabled());
    assert.ok(await button("Play").isDisabled());
    await shows(page, "#total", /So far: [\d.]+.kB with the feed, [\d.]+.kB with a full download each time\./);
    assert.equal(await page.locator("#fetched tr").count(), 10);
    assert.deepEqual(page.errors, []);
  });

  test("without a network it says so, and continues once there is one", async () => {
    const other = await open(browser, "feeds/", { serviceWorkers: "block" });
    await shows(other, "#generation", "Generation 1 of 10");
    await other.context().setOffline(true);
    await other.getByRole("button", { name: "Next generation" }).click();
    await shows(other, "#wrong", "It could not be fetched. Are you online? The current filter still answers.");
    await shows(other, "#generation", "Generation 1 of 10");
    await other.context().setOffline(false);
    await other.getByRole("button", { name: "Next generation" }).click();
    await shows(other, "#generation", "Generation 2 of 10");
    await other.context().close();
  });
});
