/**
 * The service worker's copy of the site, in Chromium: a host that corrects its headers, and one with a newer version.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { newPage, PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { createServer } from "../helpers/server.mjs";
import { dist, serious, shows } from "../helpers/www.mjs";

if (skip) console.log(`site/offline.long.test.mjs skipped: ${skip}`);

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

/**
 * A host of the site, with its own origin. Its responses can be changed: `headers` of all files, `files` by path, and
 * `answer` may send something else.
 */
async function host() {
  const changed = { headers: {}, files: {}, answer: (_path, _response) => false };
  const server = createServer(({ url, method }, response) => {
    const path = decodeURI(new URL(url, "http://host").pathname.slice(1)).replace(/(^|\/)$/, "$1index.html");
    if (changed.answer(path, response)) return;
    const there = path in changed.files || existsSync(join(dist, path));
    if (!there) return response.writeHead(404).end();
    const body = changed.files[path] ?? readFileSync(join(dist, path));
    const type = TYPES[extname(path)] ?? "application/octet-stream";
    // As on GitHub Pages: a response is used for ten minutes, unless it is revalidated.
    const etag = `"${createHash("sha256").update(body).digest("hex")}"`;
    response.writeHead(200, { "Content-Type": type, "Cache-Control": "max-age=600", ETag: etag, ...changed.headers });
    response.end(method === "HEAD" ? undefined : body);
  });
  await once(server.listen(0, "localhost"), "listening");
  server.unref();
  const { port } = server.address();
  const at = (path = "") => `http://localhost:${port}/${path}`;
  return Object.assign(changed, { at, close: () => server.close() });
}

describe("the service worker", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  let context;
  let site;
  before(async () => {
    browser = await playwright();
  });
  after(async () => {
    await browser?.close();
    site?.close();
  });

  /** A new visitor of a new host. */
  async function visitor(headers = {}) {
    await context?.close();
    site?.close();
    site = await host();
    site.headers = headers;
    context = await browser.newContext();
  }

  /** A new tab of the visitor, after the service worker has kept the site. */
  async function tab(path = "") {
    const page = await newPage(context);
    page.errors = [];
    page.on("pageerror", ({ message }) => page.errors.push(message));
    await page.goto(site.at(path));
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    return page;
  }

  /** Builds a filter in Build. Returns what the page says. */
  async function builds(page, text) {
    await page.goto(site.at("build/"));
    await page.getByText("Or paste it").click();
    await page.locator("#pasted").fill("a\nb");
    await page.locator("#build").click();
    await shows(page, "#error, #headline", text);
  }

  test("passes on the current headers, of pages and of workers, and keeps them for offline use", async () => {
    // They forbid WebAssembly, which building needs, but checking doesn't.
    await visitor({ "Content-Security-Policy": "default-src 'self'; script-src 'self'; style-src 'self'" });
    const page = await tab();
    const compiles = () =>
      page.evaluate(() =>
        WebAssembly.compile(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)).then(
          () => "compiled",
          ({ name }) => name,
        ),
      );
    assert.equal(await compiles(), "CompileError");
    await page.locator("#key:enabled").fill("azukishop.live");
    await shows(page, "#verdict", "maybe on the list");
    await page.goto(site.at("build/"));
    await builds(page, "WebAssembly");
    site.headers = { "X-Mended": "yes" };
    await page.goto(site.at());
    await page.reload();
    assert.equal(await compiles(), "compiled");
    await page.locator("#key:enabled").fill("azukishop.live");
    await shows(page, "#verdict", "maybe on the list");
    await builds(page, "2 keys in");

    // In a new page, since the browser may show the earlier one.
    await context.setOffline(true);
    site.close();
    const offline = await newPage(context);
    const response = await offline.goto(site.at());
    assert.equal(response.fromServiceWorker(), true);
    assert.equal(response.headers()["x-mended"], "yes");
    await offline.locator("#key:enabled").fill("azukishop.live");
    await shows(offline, "#verdict", "maybe on the list");
    await builds(offline, "2 keys in");
  });

  test("doesn't wait for a host that doesn't answer, or that sends an error instead of the page", async () => {
    await visitor();
    const page = await tab();
    const later = (response) => response.writeHead(503, { "content-type": "text/plain" }).end("later");
    for (const refuse of [later, () => {}]) {
      let asked = 0;
      site.answer = (path, response) => {
        if (path !== "size/index.html") return false;
        asked++;
        refuse(response);
        return true;
      };
      await page.goto(site.at("size/"));
      await shows(page, "h1", "How large must it be?");
      assert.equal(asked, 1);
    }
  });

  /** Gives the host a newer version, with another heading on the home page. */
  function deploy(heading) {
    const home = readFileSync(join(dist, "index.html"), "utf8").replace(/<h1>.*?<\/h1>/, `<h1>${heading}</h1>`);
    const worker = readFileSync(join(dist, "sw.js"), "utf8");
    const revision = createHash("sha256").update(home).digest("hex").slice(0, 16);
    const renewed = worker.replace(/(url:"index\.html",revision:")[^"]*/, `$1${revision}`);
    assert.notEqual(renewed, worker);
    site.files = { "index.html": home, "sw.js": renewed };
  }

  test("says that there is a newer version, and shows it when asked to", async () => {
    await visitor();
    const page = await tab();
    const other = await tab("size/");
    const line = (page) => page.getByRole("status").filter({ hasText: "There is a newer version of this site." });
    const button = (page) => line(page).getByRole("button", { name: "Show it" });
    // Not at the first visit, when the service worker itself is new.
    await page.reload();
    await shows(page, "h1", "Ask a list of millions");
    assert.equal(await line(page).count(), 0);

    deploy("The second version");
    await page.reload();
    await button(page).waitFor();
    // A tab that was open all the time shows it, too, when it is looked at again.
    await other.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await button(other).waitFor();
    await shows(other, "h1", "How large must it be?");
    // All tabs stay at one version until the user asks.
    await shows(page, "h1", "Ask a list of millions");
    assert.deepEqual(await serious(page), []);
    await page.setViewportSize({ width: 320, height: 640 });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 320);
    assert.ok(await button(page).evaluate((button) => button.getBoundingClientRect().bottom <= innerHeight));
    await button(page).focus();
    await page.keyboard.press("Enter");
    await shows(page, "h1", "The second version");
    assert.equal(await line(page).count(), 0);
    // Text typed in other tabs stays there.
    await shows(other, "h1", "How large must it be?");
    await button(other).click();
    await line(other).waitFor({ state: "detached" });
    await shows(other, "h1", "How large must it be?");
    await context.setOffline(true);
    await page.reload();
    await shows(page, "h1", "The second version");
    assert.deepEqual([...page.errors, ...other.errors], []);
  });
});
