/**
 * Pages without a bundler, with an import map and hashes, as docs/javascript.md has it: every entry of the packed
 * tarball, from a server of another origin with the layout of the CDNs for npm packages.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { root } from "../../scripts/setup.mjs";
import { missing, newPage, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { fileForPages, folder, installed } from "../helpers/installed.mjs";
import { listen } from "../helpers/server.mjs";
import { prints } from "../interop/docs.mjs";
import { skipped } from "./table.mjs";

const home = join(folder, "node_modules/bloom-wasm");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const { BloomFilter } = await installed();
const list = BloomFilter.from(["id-4711"]).toBytes();

const [, section] = readFileSync(join(root, "docs/javascript.md"), "utf8").split("\n## From a CDN\n");
const code = (language) => new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(section)[1];
/** The files of each entry, according to the table of the page. */
const table = Object.fromEntries(
  [...section.split("\n## ")[0].matchAll(/^\| `bloom-wasm(\S*)` \| (.*) \|$/gm)].map(([, entry, files]) => [
    `.${entry}`,
    [...files.matchAll(/`(.+?)`/g)].map(([, file]) => file),
  ]),
);

/** The hashes, by the commands of the page; `npm pack` gives the installed package here. */
const work = mkdtempSync(join(folder, "cdn-"));
const hashes = Object.fromEntries(
  prints("sh", ["-ec", `npm() { cp "${join(folder, "bloom-wasm.tgz")}" bloom-wasm-${version}.tgz; }\n${code("sh")}`], {
    cwd: work,
  })
    .trim()
    .split("\n")
    .map((line) => line.split(" ")),
);

const TYPES = { js: "text/javascript", wasm: "application/wasm" };

/** The CDN. It may change a file. */
let tampered;
let asked = new Set();
const cdn = await listen(({ url }, response) => {
  response.setHeader("access-control-allow-origin", "*");
  const [, at, name] = /^\/npm\/bloom-wasm@([^/]+)\/dist\/([\w.]+)$/.exec(url) ?? [];
  if (at !== version) return response.writeHead(404).end();
  asked.add(name);
  response.setHeader("content-type", TYPES[name.split(".").at(-1)]);
  const bytes = readFileSync(join(home, "dist", name));
  // An addition that changes only the hash: a comment, or a custom section without a name.
  const added = name.endsWith(".wasm") ? Buffer.from([0, 1, 0]) : Buffer.from("\n// changed\n");
  response.end(name === tampered ? Buffer.concat([bytes, added]) : bytes);
});
/** The page of an entry. */
const pages = await listen(({ url }, response) => {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  if (pathname === "/list.bloom") return response.end(list);
  if (pathname !== "/") return response.writeHead(404).end();
  response.setHeader("content-type", "text/html");
  const failing = "<script>addEventListener('error', () => (globalThis.failed = true), true);";
  const rejected = "addEventListener('unhandledrejection', () => (globalThis.failed = true));</script>";
  response.end(
    `<!doctype html><meta charset="utf-8"><output></output>${failing}${rejected}${page(searchParams.get("entry"))}`,
  );
});
after(() => [cdn, pages].map((server) => server.close()));
const dist = cdn.at(`npm/bloom-wasm@${version}/dist`);

/** The page of docs/javascript.md for an entry. */
function page(entry) {
  const html = code("html").replaceAll(`https://cdn.jsdelivr.net/npm/bloom-wasm@${version}/dist`, dist);
  const [whole, json] = /<script type="importmap">([\s\S]*?)<\/script>/.exec(html);
  const map = JSON.parse(json);
  const files = table[entry];
  assert.deepEqual(
    Object.keys(map.integrity),
    table["./reader"].map((file) => `${dist}/${file}`),
  );
  const modules = files.filter((file) => file.endsWith(".js"));
  map.imports = { [entry.replace(".", "bloom-wasm")]: `${dist}/${files[0]}` };
  map.integrity = Object.fromEntries(modules.map((file) => [`${dist}/${file}`, hashes[file]]));
  const page = html
    .replace(whole, `<script type="importmap">${JSON.stringify(map)}</script>`)
    .replace('"bloom-wasm/reader"', JSON.stringify(entry.replace(".", "bloom-wasm")));
  const wasm = files.find((file) => file.endsWith(".wasm"));
  if (!wasm) return page;
  const request = `new Request("${dist}/${wasm}", { integrity: "${hashes[wasm]}" })`;
  return page
    .replace("import { load }", "import { init, load }")
    .replace("const filter", `await init(${request});\n  const filter`);
}

test("the page names the files that each entry has, and their hashes", () => {
  const { exports } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const entries = Object.keys(exports).filter((entry) => exports[entry].default?.endsWith(".js"));
  assert.deepEqual(Object.keys(table).sort(), entries.sort());
  for (const [entry, [first]] of Object.entries(table)) assert.equal(`./dist/${first}`, fileForPages(home, entry));
  const files = readdirSync(join(home, "dist")).filter((name) => /\.(js|wasm)$/.test(name));
  assert.deepEqual(Object.keys(hashes).sort(), files.sort());
});

for (const name of ["Chromium", "Firefox"]) {
  const none = missing(name);
  const skip = none && skipped(`a CDN, ${name}`, none);
  describe(`${name}`, { skip, timeout: 4 * PATIENCE }, () => {
    test("every entry runs, but none with a changed file", async () => {
      const browser = await puppeteer(name);
      try {
        /** What the page of an entry says, or that it failed. */
        const says = async (entry) => {
          const page = await newPage(browser);
          await page.goto(pages.at(`?entry=${entry}`));
          await page.waitForFunction(() => globalThis.failed || document.querySelector("output").value);
          const said = await page.evaluate(() => document.querySelector("output").value || "failed");
          await page.close();
          return said;
        };
        for (const [entry, files] of Object.entries(table)) {
          tampered = undefined;
          asked = new Set();
          assert.equal(await says(entry), "maybe on the list", entry);
          assert.deepEqual([...asked].sort(), [...files].sort(), entry);
          for (tampered of files) assert.equal(await says(entry), "failed", `${entry}, ${tampered}`);
        }
      } finally {
        await browser.close();
      }
    });
  });
}
