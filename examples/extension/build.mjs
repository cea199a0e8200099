/**
 * Writes dist/chromium and dist/firefox, with a copy of the feed as it is now. For another feed: `node build.mjs --feed URL
 * --public-key KEY`.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const options = { feed: { type: "string" }, "public-key": { type: "string" } };
const { feed, "public-key": key } = parseArgs({ options }).values;
if (!feed !== !key) throw new Error("--feed and --public-key go together");
const here = new URL("./", import.meta.url);
const bloom = new URL("./", import.meta.resolve("bloom-wasm/reader"));
const manifest = JSON.parse(readFileSync(new URL("manifest.json", here), "utf8"));

/** Fetches a file of the feed. */
async function get(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

const url = feed ?? (await import("./src/config.js")).FEED_URL;
const newest = await get(url);
const packaged = new Map([["feed.json", newest]]);
// Not verified here: the extension does that.
const { files } = JSON.parse(Buffer.from(JSON.parse(newest).payload, "base64url"));
for (const { sha256 } of files) packaged.set(sha256, await get(new URL(sha256, url)));

/** What only one of the browsers understands. */
const manifests = {
  chromium: {
    minimum_chrome_version: "137", // the first with Ed25519
    background: { service_worker: "background.js", type: "module" },
    incognito: "split", // otherwise incognito tabs can't show the blocking page
  },
  firefox: {
    background: { scripts: ["background.js"], type: "module" },
    browser_specific_settings: {
      gecko: {
        id: "page-check@example.com",
        strict_min_version: "140.0",
        data_collection_permissions: { required: ["none"] },
      },
    },
  },
};

for (const [browser, own] of Object.entries(manifests)) {
  const out = new URL(`dist/${browser}/`, here);
  rmSync(out, { recursive: true, force: true });
  cpSync(new URL("src/", here), out, { recursive: true });
  writeFileSync(new URL("manifest.json", out), JSON.stringify({ ...manifest, ...own }, null, 2));
  const config = { FEED_URL: feed, PUBLIC_KEY: key };
  const lines = Object.entries(config).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`);
  if (feed) writeFileSync(new URL("config.js", out), lines.join(""));

  mkdirSync(new URL("feed/", out));
  for (const [name, bytes] of packaged) writeFileSync(new URL(`feed/${name}`, out), bytes);

  // The package's reader, and the file that it imports.
  mkdirSync(new URL("bloom-wasm/", out));
  for (const file of ["reader.js", "core.js"]) cpSync(new URL(file, bloom), new URL(`bloom-wasm/${file}`, out));
  console.log(`built ${fileURLToPath(out)}`);
}
