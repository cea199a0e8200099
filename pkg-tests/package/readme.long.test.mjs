/**
 * README's samples run unchanged in the runtimes that they are for; only addresses and keys are
 * replaced.
 */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as vite from "vite";
import { root } from "../../scripts/setup.mjs";
import { newPage, noChromium, PATIENCE, playwright } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { replaced, until } from "../helpers/recipes.mjs";
import { listen } from "../helpers/server.mjs";
import { skipped } from "../runtimes/table.mjs";

const README = readFileSync(join(root, "README.md"), "utf8");

/** The samples of a section, without those of the sections below it. */
function sample(heading, index = 0) {
  const [, section] = README.split(`\n### ${heading}\n`);
  assert.ok(section, `there is no "${heading}"`);
  const [body] = section.split(/^##/m);
  return [...body.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)][index][1];
}

const { RibbonFilter } = await installed();
const work = (name) => mkdtempSync(join(folder, `readme-${name}-`));

const TYPES = { ".html": "text/html", ".js": "text/javascript" };

/** A server for the files of a folder, which answers anything else with an empty page. */
const serve = (cwd) =>
  listen(({ url }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const file = join(cwd, pathname);
    const known = pathname !== "/" && existsSync(file);
    response.setHeader("content-type", TYPES[known ? extname(file) : ".html"] ?? "application/octet-stream");
    response.end(known ? readFileSync(file) : "<!doctype html><title>A page</title>");
  });

const noPages = noChromium && skipped("README's pages", noChromium);

describe("a page in Chromium", { skip: noPages, timeout: 3 * PATIENCE }, () => {
  let browser;
  before(async () => {
    browser = await playwright();
  });
  after(() => browser?.close());

  /** What a function returns in a page of a folder. */
  async function visited(cwd, run) {
    const site = await serve(cwd);
    const page = await newPage(browser);
    const errors = [];
    page.on("pageerror", (error) => errors.push(error));
    try {
      await page.goto(site.at("index.html"));
      const result = await run(page);
      assert.deepEqual(errors, []);
      return result;
    } finally {
      await page.close();
      site.close();
    }
  }

  test("without a bundler, with the two files that README names", async () => {
    const cwd = work("page");
    const [, ...files] = /Copy `dist\/(.*)` and `dist\/(.*)` of the package/.exec(README);
    for (const file of files) copyFileSync(join(folder, "node_modules/bloom-wasm/dist", file), join(cwd, file));
    writeFileSync(join(cwd, "passwords.bloom"), RibbonFilter.from(["password1"], { profile: "password" }).toBytes());
    const code = sample("In a page without a bundler");
    const [tag] = /<script type="module" src="check\.js">/.exec(README);
    writeFileSync(join(cwd, "check.js"), code);
    const policy = `<meta http-equiv="Content-Security-Policy" content="script-src 'self'">`;
    writeFileSync(join(cwd, "index.html"), `<!doctype html>${policy}<input type="password">\n${tag}</script>`);
    await visited(cwd, async (page) => {
      const input = page.locator("input");
      const refuses = (text) => async () => {
        await input.fill(text);
        return input.evaluate((input) => input.validationMessage);
      };
      await until(refuses("password1"), "This password is too common.");
      await until(refuses("correct horse battery staple"), "");
    });
  });

  // Vite inlines files of up to 4 kB into the script, as data: URLs, which this policy forbids to fetch.
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; connect-src 'self'">`;
  for (const [size, more] of [
    ["small", 0],
    ["large", 10_000],
  ]) {
    test(`by Vite, with a ${size} blob, and in Node`, async () => {
      const cwd = work("vite");
      const hosts = Array.from({ length: more }, (_, i) => `host-${i}.example`);
      const blob = RibbonFilter.from(["evil.example", ...hosts], { profile: "url" }).toBytes();
      writeFileSync(join(cwd, "list.bloom"), blob);
      writeFileSync(join(cwd, "loading.js"), sample("With a bundler, and in Node"));
      const ask =
        'loading.then((filter) => [filter.hasUrl("http://evil.example/"), filter.hasUrl("http://a.example/")].join())';
      writeFileSync(
        join(cwd, "app.js"),
        `import { loading } from "./loading.js"; ${ask}.then((text) => (document.title = text));`,
      );
      writeFileSync(join(cwd, "index.html"), `<!doctype html>${policy}<script type="module" src="app.js"></script>`);
      const files = async () => {
        await vite.build({ root: cwd, configFile: false, logLevel: "error" });
        await visited(join(cwd, "dist"), (page) => until(() => page.title(), "true,false"));
        return readdirSync(join(cwd, "dist/assets")).filter((name) => name.endsWith(".bloom")).length;
      };
      assert.equal(await files(), more ? 1 : 0);

      const { loading } = await import(pathToFileURL(join(cwd, "loading.js")));
      const filter = await loading;
      assert.deepEqual([filter.hasUrl("http://evil.example/"), filter.hasUrl("http://a.example/")], [true, false]);

      // As docs/javascript.md says of a fetch of one's own.
      const [, inFile] = /`(\.\/list\.bloom\?.*?)`/.exec(readFileSync(join(root, "docs/javascript.md"), "utf8"));
      const [, place] = /load\((new URL\(.*?\))\)/.exec(sample("With a bundler, and in Node"));
      const own = place.replace("./list.bloom", inFile);
      const fetching = replaced(sample("With a bundler, and in Node"), place, `fetch(${own})`);
      writeFileSync(join(cwd, "loading.js"), fetching);
      assert.equal(await files(), 1);
    });
  }
});

test("README is an entrance: less than 200 lines, at most 1,400 words", () => {
  assert.ok(README.split("\n").length <= 200);
  assert.ok(README.trim().split(/\s+/).length <= 1400);
});
