/**
 * The example extension in real, headless browsers, under their default policy: it blocks, goes back, continues,
 * learns, is stopped, loses its host, and begins without one.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { root } from "../../scripts/setup.mjs";
import { missing, newPage, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { folder } from "../helpers/installed.mjs";
import { serve as serveFeed, ToolPublisher } from "../helpers/publisher.mjs";
import { until } from "../helpers/recipes.mjs";
import { listen } from "../helpers/server.mjs";
import { skipped } from "./table.mjs";

/** How each browser is started, and how its background script is stopped. */
const browsers = {
  Chromium: {
    async stop(browser, popup) {
      const worker = () => browser.targets().find((target) => target.type() === "service_worker");
      const devtools = await popup.createCDPSession();
      await devtools.send("ServiceWorker.enable");
      await devtools.send("ServiceWorker.stopAllWorkers");
      await until(() => !worker());
      await devtools.detach();
    },
  },
  Firefox: {
    options: {
      // Less than the default of 30 s, but longer than any check waits, because Firefox stops it even then.
      extraPrefsFirefox: { "extensions.background.idle.timeout": 3000 },
    },
    stop: (_, popup) => until(() => popup.evaluate(() => chrome.extension.getBackgroundPage() === null)),
  },
};

/** Builds a copy of the example for a feed. Returns the folder to install. */
async function build(name, copy, { url, publisher }) {
  cpSync(join(root, "examples/extension"), copy, { recursive: true, filter: (path) => !path.endsWith("dist") });
  const args = ["build.mjs", "--feed", url, `--public-key=${publisher.key.publicKey}`];
  await promisify(execFile)(process.execPath, args, { cwd: copy });
  const built = join(copy, "dist", name.toLowerCase());
  const manifest = JSON.parse(readFileSync(join(built, "manifest.json"), "utf8"));
  assert.equal(manifest.content_security_policy, undefined);
  return built;
}

/** A server that shows the same page everywhere, and redirects what is below `/to/`. */
const servePages = () =>
  listen((request, response) => {
    if (request.url.startsWith("/to/"))
      return response.writeHead(302, { Location: decodeURIComponent(request.url.slice(4)) }).end();
    response
      .writeHead(200, { "Content-Type": "text/html" })
      .end("<!doctype html><title>Welcome</title><h1>Welcome</h1>");
  });

const text = (of, selector) => of.evaluate((selector) => document.querySelector(selector).textContent.trim(), selector);

for (const [name, { options, stop: stopBackground }] of Object.entries(browsers)) {
  const none = missing(name);
  const skip = none && skipped(`example extension, ${name}`, none);

  describe(`the extension in ${name}`, { skip, timeout: 6 * PATIENCE }, () => {
    let copy;
    let built; // the extension
    let feed; // the host of the feed, and what the native tool publishes there
    let publisher;
    let pages; // the server of the pages
    let browser;
    let page; // of the tab that goes to pages
    let tab; // the extension's id of it
    let popup; // in its own tab, and drives the other one

    const listed = ["listed.localhost", "other.localhost", "a.other.localhost", "fine.localhost/app/"];
    const site = (host, path) => pages.at(path, `${host}.localhost`);
    /** Sends the tab to a URL, like the address bar. */
    const open = (url) => popup.evaluate((tab, url) => chrome.tabs.update(tab, { url }).then(() => {}), tab, url);

    const shows = (url) =>
      until(async () => [await page.evaluate(() => location.href), await text(page, "h1")], [url, "Welcome"]);

    /** Waits for the blocking page of a URL, blocked for a key. */
    const blocks = (url, key) =>
      until(async () => {
        assert.deepEqual([await text(page, "#url"), await text(page, "#key")], [url, key]);
        return page.evaluate(() => document.readyState === "complete");
      });

    /** Asserts that the blocking page names these kinds of danger, or none. */
    const names = async (kinds) => {
      const shown = await page.evaluate(() => {
        const element = document.querySelector("#kinds");
        return element.checkVisibility() ? element.textContent : "";
      });
      assert.equal(shown, kinds);
    };

    /** Waits until the popup has these texts, by the ids of their elements. */
    const popupSays = (texts) =>
      until(async () => {
        for (const [id, expected] of Object.entries(texts))
          assert.match(await text(popup, `#${id}`), RegExp(`^(${expected})$`));
        return true;
      });

    const newest = () => publisher.generation.toLocaleString("en");
    const refresh = () => popup.evaluate(() => chrome.alarms.create("refresh", { when: Date.now() }));

    before(async () => {
      copy = mkdtempSync(join(folder, `extension-${name}-`));
      publisher = new ToolPublisher(copy).publish(...listed);
      feed = await serveFeed(publisher);
      pages = await servePages();
      built = await build(name, copy, feed);
      // Its first start waits for the host, therefore.
      rmSync(join(built, "feed"), { recursive: true });
      browser = await puppeteer(name, options);
    });

    after(
      async () => {
        await browser?.close();
        feed?.close();
        pages?.close();
        if (copy) rmSync(copy, { recursive: true });
      },
      { timeout: PATIENCE },
    );

    // Each test continues where the one before it ended: after a failure, the others would wait in vain.
    let failed;
    beforeEach(() => assert.ok(!failed, `not tried, after the failure of "${failed}"`));
    afterEach(({ name, passed }) => {
      if (!passed) failed ??= name;
    });

    test("navigations wait until the feed is open; a page that was left by then isn't blocked", async () => {
      page = await newPage(browser);
      const asked = new Promise((resolve) => {
        feed.fault = (path, response, bytes) => path !== "feed.json" && (resolve(() => response.end(bytes)), true);
      });
      await browser.installExtension(built);
      const release = await asked;
      for (const url of [site("fine"), site("listed", "left"), site("fine"), site("listed", "a?b")])
        await page.goto(url);
      feed.fault = undefined;
      release();
      await blocks(site("listed", "a?b"), "listed.localhost/");
      await names(""); // this list has no tags

      // Firefox refuses to be sent to an extension's page by anything else, and its driver doesn't learn the address.
      const before = browser.targets();
      tab = await page.evaluate(async () => {
        await chrome.tabs.create({ url: "popup.html", active: false });
        return (await chrome.tabs.getCurrent()).id;
      });
      popup = await (
        await browser.waitForTarget((target) => target.type() === "page" && !before.includes(target), {
          timeout: PATIENCE,
        })
      ).page();
      await popupSays({ checks: 4, blocked: 1 });
      await page.keyboard.press("Enter");
      await shows(site("fine"));
      await popupSays({ checks: 5, blocked: 1 });
    });

    test("a page that isn't on the list opens; one that is doesn't, nor after a redirect, nor without being loaded", async () => {
      await open(site("fine", "1"));
      await shows(site("fine", "1"));
      await open(site("listed"));
      await blocks(site("listed"), "listed.localhost/");
      await page.click("#back");
      await shows(site("fine", "1"));
      await open(site("fine", `to/${encodeURIComponent(site("b.other", "<b>"))}`));
      await blocks(site("b.other", "%3Cb%3E"), "other.localhost/");
      await page.click("#back");
      await shows(site("fine", "1"));
      // Not at once: Firefox ends the scripts of a page that is being replaced, including the driver's.
      await page.evaluate(() => void setTimeout(() => history.pushState(null, "", "/app/2")));
      await blocks(site("fine", "app/2"), "fine.localhost/app/");
      await page.click("#back");
      await shows(site("fine", "1"));
    });

    test("the popup shows keys, generation, age and checks", async () => {
      const now = "this minute|1 minute ago|[2-9] minutes ago";
      await popupSays({
        keys: 4,
        generation: newest(),
        published: now,
        updated: now,
        checks: 12,
        blocked: 4,
        problem: "",
      });
    });

    test("learns a newly published URL without a restart; an unsigned or incomplete update changes nothing", async () => {
      await open(site("new"));
      await shows(site("new"));
      const before = newest();
      // Its parent hasn't both of its tags, so `a.other.localhost` stays a key of its own.
      publisher.publishTagged({ phishing: [...listed.slice(0, 3), "new.localhost"], malware: [...listed.slice(2)] });
      feed.fault = (path, response, bytes) => path !== "feed.json" && (response.end(Buffer.alloc(bytes.length)), true);
      await refresh();
      await popupSays({
        generation: before,
        problem: "The last update failed: http.+: the file isn't the one that was signed",
      });
      feed.fault = undefined;
      feed.publisher = new ToolPublisher(copy).publish("nobody.localhost");
      await refresh();
      await popupSays({ generation: before, problem: "The last update failed: http.+: none of the public keys .+" });
      await open(site("listed"));
      await blocks(site("listed"), "listed.localhost/");
      feed.publisher = publisher;
      await refresh();
      await popupSays({ keys: 5, generation: newest(), problem: "" });
      await open(site("new"));
      await blocks(site("new"), "new.localhost/");
      await names("phishing");
    });

    test("blocks what it has learned after it has been stopped, without the feed's host", async () => {
      feed.close();
      await open(site("fine", "3"));
      await shows(site("fine", "3"));
      await popupSays({ checks: 16, blocked: 6 });
      await stopBackground(browser, popup);
      await open(site("new", "stopped"));
      await blocks(site("new", "stopped"), "new.localhost/");
      await popupSays({ checks: 17, blocked: 7, generation: newest(), problem: "The last update failed: .+" });
      await page.click("#back");
      await shows(site("fine", "3"));
      await popupSays({ checks: 18, blocked: 7 });
    });

    test("continuing anyway lets that key through, and no other, until the browser is closed", async () => {
      await open(site("a.other", "1"));
      await blocks(site("a.other", "1"), "a.other.localhost/");
      await names("malware, phishing"); // in the order of their names
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await blocks(site("a.other", "1"), "other.localhost/");
      await names("phishing");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await shows(site("a.other", "1"));
      await popupSays({ checks: 21, blocked: 9 });
      await stopBackground(browser, popup);
      await open(site("other", "2"));
      await shows(site("other", "2"));
      await open(site("listed", "2"));
      await blocks(site("listed", "2"), "listed.localhost/");
      await popupSays({ checks: 23, blocked: 10 });
    });
  });

  test(`its package answers while the feed's host is down, and then it fetches deltas alone, in ${name}`, {
    skip,
    timeout: 3 * PATIENCE,
  }, async () => {
    const copy = mkdtempSync(join(folder, `packaged-${name}-`));
    const listed = Array.from({ length: 2000 }, (_, i) => `listed${i}.localhost`);
    const publisher = new ToolPublisher(copy).publish(...listed);
    const feed = await serveFeed(publisher);
    const pages = await servePages();
    const browser = await puppeteer(name, options);
    try {
      const built = await build(name, copy, feed);
      publisher.publish(...listed, "new.localhost");
      const { files } = JSON.parse(Buffer.from(JSON.parse(publisher.manifest).payload, "base64url"));
      feed.fault = (_, response) => response.destroy();
      await browser.installExtension(built);
      const page = await newPage(browser);
      const blocks = (host) =>
        until(async () => {
          // The background may not listen yet, or may not know it yet. Leaving a page in the middle rejects.
          await page.goto(pages.at("", host)).catch(() => {});
          await pause(250);
          return (await text(page, "#key")) === `${host}/`;
        });
      await blocks("listed7.localhost");
      assert.ok(feed.log.length > 0, "it has tried");
      feed.fault = undefined;
      feed.asked();
      await page.evaluate(() => chrome.alarms.create("refresh", { when: Date.now() }));
      await blocks("new.localhost");
      const fetched = feed.asked().filter((path) => path !== "feed.json");
      assert.deepEqual(
        fetched,
        files.slice(1).map(({ sha256 }) => sha256),
      );
      assert.equal(fetched.length, 1);
    } finally {
      await browser.close();
      feed.close();
      pages?.close();
      rmSync(copy, { recursive: true });
    }
  });
}
