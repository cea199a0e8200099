/** docs/block-pages.md: its extension unchanged, in Chromium and Firefox, and its exemptions of a page. */
import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { backgrounds, missing, newPage, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { serve as serveFeed, ToolPublisher } from "../helpers/publisher.mjs";
import { replaced, until } from "../helpers/recipes.mjs";
import { listen } from "../helpers/server.mjs";
import { page as docs } from "../interop/docs.mjs";
import { skipped } from "./table.mjs";

const { code } = docs("block-pages.md");
const [background] = code["The extension"].js;
const [blocked, ofPage] = code["Exempt a page for one user"].js;
const work = (name) => mkdtempSync(join(folder, `block-pages-${name}-`));

for (const [name, own] of Object.entries(backgrounds("background.js"))) {
  const none = missing(name);
  const skip = none && skipped(`docs/block-pages.md, ${name}`, none);
  describe(`an extension in ${name}`, { skip, timeout: 6 * PATIENCE }, () => {
    let site;
    let feed;
    before(async () => {
      site = await listen((_, response) => {
        response.setHeader("content-type", "text/html");
        response.end("<!doctype html><title>A page</title>");
      });
      feed = await serveFeed(new ToolPublisher(work("feed")).publish("evil.localhost", "worse.localhost"));
    });
    after(() => {
      site?.close();
      feed?.close();
    });

    test("blocks by the feed in its package, and exempts what the user continued to", async () => {
      feed.fault = (_, response) => response.destroy();
      const cwd = work(name);
      const opening = replaced(background, "https://lists.example/urls/feed.json", feed.url);
      writeFileSync(join(cwd, "background.js"), replaced(opening, "...", feed.publisher.key.publicKey));
      for (const file of ["reader.js", "core.js"])
        copyFileSync(join(folder, "node_modules/bloom-wasm/dist", file), join(cwd, file));
      cpSync(join(feed.publisher.home, "public"), join(cwd, "feed"), { recursive: true });
      writeFileSync(join(cwd, "blocked.js"), blocked);
      const script = '<script type="module" src="blocked.js"></script>';
      writeFileSync(
        join(cwd, "blocked.html"),
        `<!doctype html><title>Blocked</title><button>Continue</button>${script}`,
      );
      const manifest = JSON.parse(code["The extension"].json[0]);
      manifest.browser_specific_settings = own.browser_specific_settings; // Firefox wants an id to install it for a test
      writeFileSync(join(cwd, "manifest.json"), JSON.stringify(manifest));
      const browser = await puppeteer(name);
      try {
        await browser.installExtension(cwd);
        const page = await newPage(browser);
        const at = (host, path) => site.at(path, `${host}.localhost`);
        const shown = () => page.title();
        // Leaving a page in the middle rejects.
        const visit = (url) => page.goto(url).catch((error) => String(error));
        // Repeatedly, because the background may not listen yet.
        const stopped = (url) =>
          until(async () => {
            if ((await shown()) !== "Blocked") await visit(url);
            await pause(250);
            return shown();
          }, "Blocked");
        /** Stays a page, although the extension has had the time to block it. */
        const open = async (url) => {
          await visit(url);
          await pause(1000);
          assert.equal(await shown(), "A page", url);
        };
        await stopped(at("www.evil", "login"));
        await open(at("good"));
        await stopped(at("www.evil", "login"));
        await page.click("button");
        await until(shown, "A page");
        assert.equal(page.url(), at("www.evil", "login"));
        await open(at("evil", "other"));
        await stopped(at("worse"));
      } finally {
        await browser.close();
      }
    });
  });
}

test("a page keeps exemptions in localStorage", async (context) => {
  const { RibbonFilter } = await installed();
  const filter = RibbonFilter.from(["evil.example", "worse.example"], { profile: "url" });
  const kept = new Map();
  globalThis.localStorage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
  };
  context.after(() => delete globalThis.localStorage);
  const cwd = work("page");
  /** The page, when it is loaded once more. */
  const loaded = (time) => {
    writeFileSync(join(cwd, `${time}.mjs`), ofPage);
    return import(pathToFileURL(join(cwd, `${time}.mjs`)));
  };
  const first = await loaded("first");
  const key = first.listedBy(filter, "https://www.evil.example/login");
  assert.equal(key, "evil.example/");
  first.allow(key);
  for (const page of [first, await loaded("second")]) {
    assert.equal(page.listedBy(filter, "https://evil.example/"), undefined);
    assert.equal(page.listedBy(filter, "https://worse.example/"), "worse.example/");
  }
});
