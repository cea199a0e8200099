/** The docs in Chromium: going from page to page, the search, accessibility; and all links of the built site. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { after, before, describe, test } from "node:test";
import { root } from "../../scripts/setup.mjs";
import { files } from "../../scripts/www.mjs";
import { noChromium, PATIENCE, playwright } from "../helpers/browsers.mjs";
import { at, dist, open, serious, shows } from "../helpers/www.mjs";

const pages = files(dist, ".html");
const ours = pages.filter((page) => page.startsWith("docs/") && !page.startsWith("docs/rust/"));
const html = (page) => readFileSync(join(dist, page), "utf8");

/** The values of an attribute in a page, as written. */
const named = (text, attributes) =>
  [...text.matchAll(new RegExp(`\\s(?:${attributes})="([^"]*)"`, "g"))].map(([, value]) =>
    value.replaceAll("&amp;", "&").replaceAll("&#x2f;", "/"),
  );

test("no link inside the built site is dead, nor any script, style or picture", () => {
  assert.ok(ours.length > 50 && pages.some((page) => page.startsWith("docs/rust/")), `${pages.length} pages`);
  const present = new Set(files(dist));
  const ids = new Map();
  const idsOf = (page) => ids.get(page) ?? ids.set(page, new Set(named(html(page), "id"))).get(page);
  const dead = [];
  let links = 0;
  for (const page of pages) {
    // Only the text of rustdoc's pages has markup in scripts.
    for (const link of named(html(page).replace(/<script(?![^>]* src=)[\s\S]*?<\/script>/g, ""), "href|src")) {
      // For a trait, rustdoc names a script of its implementations in other crates, even if there are none.
      if (/^(https?:|data:|mailto:|javascript:)|\/trait\.impl\//.test(link)) continue;
      links++;
      const [, path, hash] = /^([^?#]*)(?:\?[^#]*)?#?(.*)$/.exec(link);
      let target = path ? posix.join(posix.dirname(page), decodeURI(path)) : page;
      if (target.endsWith("/") || target === ".") target = posix.join(target, "index.html");
      // A browser tries an id as written, and then decoded. In rustdoc's source pages, a script finds lines such as
      // #12-20.
      const there = () => idsOf(target).has(hash) || idsOf(target).has(decodeURIComponent(hash));
      const isPage = target.endsWith(".html") && !target.startsWith("docs/rust/src/");
      if (!present.has(target) || (hash && isPage && !there())) dead.push(`${page}: ${link}`);
    }
  }
  assert.deepEqual(dead, []);
  console.log(`site-docs: ${links} links of ${pages.length} pages`);
});

test("no page of ours has anything that its policy forbids", () => {
  for (const page of ours) assert.doesNotMatch(html(page), /\sstyle="|\son\w+="|@font-face/, page);
});

test("headings are in order: one at the top, and none skips a level", () => {
  for (const page of ours) {
    const main = /<main[\s\S]*<\/main>/.exec(html(page))[0];
    const levels = [...main.matchAll(/<h([1-6])\b/g)].map(([, level]) => Number(level));
    assert.equal(levels.filter((level) => level === 1).length, 1, `${page}: ${levels}`);
    assert.equal(levels[0], 1, page);
    levels.forEach((level, i) => assert.ok(i === 0 || level <= levels[i - 1] + 1, `${page}: ${levels}`));
  }
});

test("each export of the package has a page, and each part of README is on one", async () => {
  const entries = {
    "bloom-wasm": "docs/api/index.html",
    "bloom-wasm/reader": "docs/api/reader/index.html",
  };
  for (const [entry, page] of Object.entries(entries)) {
    const names = Object.keys(await import(entry));
    assert.ok(names.length > 5);
    for (const name of names) {
      const [, link] = new RegExp(`<a href="([^"]*)"><code[^>]*>${name}</code></a>`).exec(html(page)) ?? [];
      assert.ok(link, `${page}: ${name}`);
      assert.match(
        html(posix.join(posix.dirname(page), link)),
        new RegExp(`<h1[^>]*><a[^>]*>${name}(\\(\\))?</a></h1>`),
      );
    }
  }
  const readme = readFileSync(join(root, "README.md"), "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  const titles = [...readme.matchAll(/^#{2,} (.*)$/gm)].map(([, title]) => title);
  const all = ours.map(html).join();
  for (const title of titles) assert.match(all, new RegExp(`<h[1-4][^>]*><a[^>]*>${title.replace(/[?]/g, "\\?")}<`));
});

describe("in Chromium", { skip: noChromium, timeout: 10 * PATIENCE }, () => {
  let browser;
  before(async () => {
    browser = await playwright();
  });
  after(() => browser?.close());

  const visit = (path, options) => open(browser, path, options);

  /** Nothing went wrong, and nothing went elsewhere. */
  async function fine(page) {
    assert.deepEqual(page.errors, []);
    assert.deepEqual(
      page.requests.filter((url) => !url.startsWith(at())),
      [],
    );
    await page.context().close();
  }

  test("from page to page", async () => {
    const page = await visit("");
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Docs" }).click();
    await shows(page, "h1", "bloom-wasm");
    const contents = page.getByRole("navigation", { name: "Docs" });
    await contents.getByRole("link", { name: "Screen links" }).click();
    await shows(page, "h1", "Screen links");
    assert.equal(await contents.locator("[aria-current]").textContent(), "Screen links");
    await contents.getByRole("link", { name: "Ask the full list after a maybe" }).click();
    assert.equal(new URL(page.url()).hash, "#ask-the-full-list-after-a-maybe");
    await page.getByRole("link", { name: "Previous Block pages" }).click();
    await shows(page, "h1", "Block pages");
    // A link of the page to another file of the repository.
    await page.getByRole("main").getByRole("link", { name: "the example" }).click();
    await shows(page, "h1", "A browser extension");
    await contents.getByRole("link", { name: "The crate, by rustdoc" }).click();
    await shows(page, "h1", "bloom_wasm");
    await fine(page);
  });

  test("the search finds a method, prose and a name of the crate, with the keyboard alone", async () => {
    const page = await visit("docs/errors.html");
    const found = page.getByRole("option");
    await page.keyboard.press("/");
    await page.keyboard.type("matchUrl");
    await shows(page, "#found a", "matchUrl()");
    assert.equal(await found.first().getAttribute("aria-selected"), "true");
    await page.keyboard.press("Enter");
    await shows(page, "h1", /^Filter$/);
    assert.equal(page.url(), at("docs/api/classes/Filter.html#matchurl"));

    const input = page.getByRole("combobox", { name: "Search the docs" });
    // What newcomers looked for, and the page that has it.
    for (const [words, heading] of [
      ["offline", "Block pages"],
      ["first start", "Block pages"],
      ["save", "Keep it in Node"],
      ["reload", "Keep it in Node"],
      ["exempt", "Exempt a page for one user"],
    ]) {
      await input.fill(words);
      await shows(page, "#found a", heading);
    }
    await found.filter({ hasText: "Exempt a page" }).click();
    await shows(page, "h1", "Block pages");

    await input.fill("RibbonFilter");
    await shows(page, "#found a", "of bloom_wasm");
    await page.keyboard.press("ArrowDown");
    assert.equal(await found.nth(1).getAttribute("aria-selected"), "true");
    await page.keyboard.press("Escape");
    await page.locator("#found").waitFor({ state: "hidden" });
    await input.fill("xyzzy quux");
    await shows(page, "#count", "No results for “xyzzy quux”.");
    await fine(page);
  });

  test("if the index can't be fetched, the search says so, and tries again", async () => {
    const page = await visit("docs/");
    await page.context().route("**/search.json", (route) => route.abort());
    await page.getByRole("combobox").fill("feed");
    await shows(page, "#count", "The search index couldn't be loaded. Are you online?");
    await page.context().unroute("**/search.json");
    await page.getByRole("combobox").fill("feeds");
    await shows(page, "#found a", "Feeds");
    await page.context().close();
  });

  test("a button copies code, or says that it may not", async () => {
    const forbidden = (page) =>
      page.addInitScript(() => (navigator.clipboard.writeText = async () => Promise.reject(new Error("not allowed"))));
    for (const [prepare, says] of [
      [undefined, "Copied"],
      [forbidden, "Not allowed here"],
    ]) {
      const page = await visit("docs/", { prepare, permissions: ["clipboard-read", "clipboard-write"] });
      await page.locator(".code").first().hover();
      await page.locator(".code").first().getByRole("button", { name: "Copy" }).click();
      await shows(page, ".copy", says);
      if (says === "Copied") {
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        assert.equal(copied.trim(), "npx bloom-wasm build urls.txt -o phishing.bloom --profile url");
      }
      await fine(page);
    }
  });

  // site/pages.long.test.mjs checks every page as it opens.
  test("axe finds nothing serious in search results, nor in the contents, which a phone has behind a button", async () => {
    for (const [colorScheme, width] of [
      ["light", 1280],
      ["dark", 375],
    ]) {
      const page = await visit("docs/hosting.html", { colorScheme, viewport: { width, height: 800 } });
      await page.getByRole("combobox").fill("url");
      await shows(page, "#found a", "hasUrl()");
      assert.deepEqual(await serious(page), []);
      const contents = page.getByRole("navigation", { name: "Docs" });
      if (width < 800) {
        await contents.waitFor({ state: "hidden" });
        await page.getByRole("button", { name: "Contents" }).click();
      } else await page.keyboard.press("Escape");
      assert.deepEqual(await serious(page), []);
      await contents.getByRole("link", { name: "Errors" }).click();
      await shows(page, "h1", "Errors");
      await page.context().close();
    }
  });

  test("everything can be read without JavaScript", async () => {
    const page = await visit("docs/tool.html", { javaScriptEnabled: false });
    await shows(page, "h1", "The command line tool");
    await page.getByRole("navigation", { name: "Docs" }).getByRole("link", { name: "In JavaScript" }).click();
    await shows(page, "h1", "In JavaScript");
    await page.context().close();
  });
});
