/**
 * "Stop the next request" of examples/extension/README.md, unchanged: a site that is certainly listed gets no second
 * request, and one that is only maybe listed gets all of them.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import * as esbuild from "esbuild";
import { root } from "../../scripts/setup.mjs";
import { backgrounds, FAILS_ONCE, missing, newPage, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { replaced, until } from "../helpers/recipes.mjs";
import { listen } from "../helpers/server.mjs";
import { skipped } from "./table.mjs";

const readme = readFileSync(join(root, "examples/extension/README.md"), "utf8");
const [, section] = readme.split("\n## Stop the next request\n");
const [, code] = /^```js\n([\s\S]*?)^```$/m.exec(section);
const permissions = /permissions `(\w+)` and `(\w+)`/.exec(section).slice(1);

const { RibbonFilter } = await installed();
// All are in the filter, but only two are on the list: the third is a false positive.
const filter = RibbonFilter.from(["evil.localhost", "worse.localhost", "maybe.localhost", "part.localhost/a/"], {
  profile: "url",
});
const listed = ["evil.localhost/", "worse.localhost/", "part.localhost/a/"];

/** All hosts, and the requests to them. */
const requests = [];
const server = await listen(({ url, headers: { host } }, response) => {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  if (pathname === "/favicon.ico") return response.writeHead(404).end();
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("cache-control", "no-store");
  requests.push(`${host.split(":")[0]}${url}`);
  if (pathname === "/listed") return response.end(JSON.stringify(listed.includes(searchParams.get("key"))));
  response.setHeader("content-type", "text/html");
  response.end("<!doctype html><title>A page</title>");
});
after(server.close);
const at = (host, path) => server.at(path, `${host}.localhost`);
const asked = (text) => requests.filter((request) => request.startsWith(text)).length;

for (const [name, own] of Object.entries(backgrounds("background.js"))) {
  const none = missing(name);
  const skip = none && skipped(`rules of an extension, ${name}`, none);
  test(`${name}: the next request to a site that is certainly listed doesn't leave`, {
    skip,
    timeout: 4 * PATIENCE,
  }, async () => {
    const cwd = mkdtempSync(join(folder, `rules-${name}-`));
    const local = replaced(code, "https://lists.example/", server.at());
    writeFileSync(join(cwd, "source.js"), FAILS_ONCE + local);
    await esbuild.build({
      entryPoints: [join(cwd, "source.js")],
      outfile: join(cwd, "background.js"),
      bundle: true,
      format: "esm",
    });
    writeFileSync(join(cwd, "list.bloom"), filter.toBytes());
    writeFileSync(join(cwd, "blocked.html"), "<!doctype html><title>Blocked</title>");
    const manifest = { manifest_version: 3, name: "Rules", version: "1", permissions, ...own };
    writeFileSync(join(cwd, "manifest.json"), JSON.stringify(manifest));
    requests.length = 0;
    const browser = await puppeteer(name);
    try {
      await browser.installExtension(cwd);
      const page = await newPage(browser);
      // A page that is replaced while it loads, or stopped, rejects. Firefox doesn't tell its driver that it was stopped.
      const open = (url) => page.goto(url, { timeout: 3000 }).catch((error) => String(error));
      /** Opens a listed page until the extension listens and has its filter. */
      const blocked = (url) =>
        until(async () => {
          await open(url);
          for (const end = Date.now() + 2000; Date.now() < end; await pause(50))
            if ((await page.title().catch(() => "it is leaving")) === "Blocked") return true;
          return false;
        });
      await blocked(at("www.evil", "first"));
      assert.ok(asked("www.evil.localhost/first") > 0, "the first one was sent");
      const before = requests.length;
      await open(at("good"));
      for (const url of [at("www.evil", "second"), at("evil", "second"), at("a.b.evil", "second")]) await open(url);
      // Nor do requests for anything but pages. The error page of the last one may still be on its way.
      await open(at("good"));
      await until(() => page.title(), "A page");
      const loaded = await page.evaluate(
        (src) =>
          new Promise((done) => {
            const image = Object.assign(new Image(), { src });
            image.onload = image.onerror = () => done(true);
          }),
        at("evil", "image"),
      );
      assert.equal(loaded, true);
      assert.deepEqual(requests.slice(before), ["good.localhost/", "good.localhost/"]);

      // A second site joins the first in the rule.
      await blocked(at("worse", "first"));
      await open(at("worse", "second"));
      await open(at("evil", "third"));
      assert.deepEqual([asked("worse.localhost/second"), asked("evil.localhost/third")], [0, 0]);

      // A page that is listed is blocked each time, and its site isn't stopped.
      await blocked(at("part", "a/b"));
      await open(at("part", "c"));
      assert.equal(await page.title(), "A page");
      await blocked(at("part", "a/d"));
      assert.ok(asked("part.localhost/a/d") > 0);

      // A site that is only in the filter was checked, and gets all requests.
      for (const path of ["first", "second"]) {
        await open(at("maybe", path));
        await until(() => asked("localhost/listed?key=maybe.localhost%2F") > 0);
        assert.equal(await page.title(), "A page");
      }
      assert.equal(asked("maybe.localhost/second"), 1);
    } finally {
      await browser.close();
    }
  });
}
