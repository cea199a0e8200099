/**
 * Spellings of listed hosts, opened in real browsers: whatever host one of them asks is on the list, wherever the list
 * is checked. `SPELLINGS=100000` is their number; `SEED` makes others.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before } from "node:test";
import { missing } from "../helpers/browsers.mjs";
import { full, testEach } from "../helpers/engines.mjs";
import { folder } from "../helpers/installed.mjs";
import { askEverywhere, LISTED, opened, spellings } from "../helpers/spellings.mjs";
import { given } from "../helpers/turn.mjs";

const { RibbonFilter } = full;
const blob = RibbonFilter.from(LISTED, { profile: "url", fpr: 1e-8 }).toBytes();
const texts = [...spellings(given("SPELLINGS", 2000), Number(process.env.SEED ?? 1))];
const dist = (name) => [
  name,
  { type: "text/javascript", body: readFileSync(join(folder, "node_modules/bloom-wasm/dist", name)) },
];
const files = {
  "": { type: "text/html", body: "<title>spellings</title>" },
  "list.bloom": { type: "application/octet-stream", body: blob },
  ...Object.fromEntries(["bloom.inline.js", "bloom.js", "core.js", "reader.js"].map(dist)),
};

/** The texts, by their place, for which a browser asks a listed host, and that host. */
const bad = new Map();
/** The answers of each import of the package in each browser. */
const answers = new Map();

/** The browsers, and why one is missing. */
const browsers = Object.fromEntries(["Chromium", "Firefox"].map((name) => [name, missing(name)]));

const isListed = (host) => LISTED.some((listed) => host === listed || host.endsWith(`.${listed}`));

before(async () => {
  for (const [name, missing] of Object.entries(browsers)) {
    if (missing) {
      console.log(`spellings: not opened in ${name}: ${missing}`);
      continue;
    }
    const { hosts, answers: its } = await opened(texts, name, files);
    // Dots at an end, or several in a row, don't name another host.
    const named = hosts.map((host) => host?.replace(/\.+$/, ""));
    const found = named.flatMap((host, i) => (host && isListed(host) ? [i] : []));
    console.log(
      `spellings: ${name} opens ${hosts.filter(Boolean).length} of ${texts.length}, of which ${found.length} are listed`,
    );
    assert.ok(found.length > 0.3 * texts.length);
    for (const i of found) bad.set(i, [named[i]]);
    answers.set(name, its);
  }
});

const skip = Object.values(browsers).every(Boolean) && "there is no browser to open them";
const requireAll = askEverywhere("spellings", texts, bad, () => blob, skip);

for (const name of Object.keys(browsers)) {
  testEach(`in ${name}`, { skip: skip || browsers[name] }, (_, entry) => requireAll(answers.get(name)[entry]));
}
