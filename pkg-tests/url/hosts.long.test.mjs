/**
 * Hosts with every character, in every form: whatever a browser makes of a URL is found in every runtime, by both
 * imports and by the tool, and all of them make the same list. With `CASES=1000000`, every character occurs in each
 * kind of host, and new releases of browsers are compared with the package's tables.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { missing, newPage, puppeteer } from "../helpers/browsers.mjs";
import { full } from "../helpers/engines.mjs";
import { folder } from "../helpers/installed.mjs";
import { askEverywhere, shown, tool } from "../helpers/spellings.mjs";
import { given } from "../helpers/turn.mjs";

const { RibbonFilter, canonicalizeUrl, decode, urlExpressions } = full;
const CASES = given("CASES", 100_000);

/** The hosts that a character is put into. */
const HOSTS = [
  (char) => `x${char}y.com`,
  (char) => `${char}.example.com`,
  (char) => `中${char}.com`,
  (char) => `ა${char}A.example.com`,
  (char) => `www.\u05d0${char}.com`,
];

/** Different ways to write the same URL. */
const WAYS = [
  (host) => `http://${host}/`,
  (host) => `https://${host}/a/b?c=d`,
  (host) =>
    `HTTP://${host.toUpperCase() === host ? host : host.replace(/[a-z]+/g, (letters) => letters.toUpperCase())}/`,
  (host) => `http:\\\\${host}\\a`,
  (host) => `http://user:pass@${host}:8080/?x#y`,
  (host) =>
    `http://${[...new TextEncoder().encode(host)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")}/`,
  (host) => ` ht\ttp://${host}./a b/../é`,
  (host) => `http://${host}/${"long/".repeat(40)}#${"é".repeat(100)}`,
];

/** The characters that Node's parser doesn't know, although others may. */
const all = [];
for (let code = 0x80; code < 0x110000; code++) if (code < 0xd800 || code > 0xdfff) all.push(code);
const odd = all.filter((code) => {
  const char = String.fromCodePoint(code);
  return /[^\p{Co}\p{Cn}]/u.test(char) && HOSTS.every((host) => !URL.canParse(`http://${host(char)}`));
});

/** Texts of `CASES` characters: the odd ones first, in each kind of host; then others. */
function* cases() {
  let count = 0;
  for (const codes of [odd, all]) {
    // In large steps, so that any part of them has characters of each script.
    const step = codes.length > 7919 ? 7919 : 1;
    for (let round = 0; round < HOSTS.length; round++) {
      for (let i = 0; i < codes.length; i++, count++) {
        if (count === CASES) return;
        const char = String.fromCodePoint(codes[(i * step + round) % codes.length]);
        yield WAYS[(i + round) % WAYS.length](HOSTS[round](char));
      }
    }
  }
}

const texts = [...cases()];
// URLs of megabytes, for which WebAssembly keeps no memory, in each form.
for (const way of WAYS) texts.push(`${way("АРРӀЕ.com").replace(/#.*/s, "")}#${"a".repeat(5 << 20)}`);

/** The hosts that browsers make of the texts, by the text's place. */
const hosts = new Map();
const browsers = Object.fromEntries(["Chromium", "Firefox"].map((name) => [name, missing(name)]));
const skip = Object.values(browsers).every(Boolean) && "there is no browser to open them";

before(async () => {
  for (const [name, missing] of Object.entries(browsers)) {
    if (missing) {
      console.log(`hosts: not asked in ${name}: ${missing}`);
      continue;
    }
    const browser = await puppeteer(name);
    try {
      const page = await newPage(browser);
      let refused = 0;
      for (let start = 0; start < texts.length; start += 20_000) {
        const some = await page.evaluate(
          hostsOf,
          texts.slice(start, start + 20_000).map((text) => text.slice(0, 2000)),
        );
        some.forEach((host, i) => {
          // Dots at the end don't name another host. A host with an escape can't be opened, and one with a sign of other
          // formats is no entry of a list.
          const named = host.replace(/\.+$/, "");
          if (!named || /[%,;|^"<>()]/.test(named)) refused++;
          else hosts.set(start + i, (hosts.get(start + i) ?? new Set()).add(named));
        });
      }
      console.log(`hosts: ${name} ${await browser.version()} opens ${texts.length - refused} of ${texts.length}`);
    } finally {
      await browser.close();
    }
  }
});

/** Runs in the page. */
function hostsOf(texts) {
  const link = document.createElement("a");
  return texts.map((text) => {
    link.href = text;
    return link.protocol.startsWith("http") ? link.hostname : "";
  });
}

let blob;

/** A filter of all hosts that a browser opens, as the browsers write them. */
function list() {
  if (blob) return blob;
  const skipped = [];
  const keys = new Set([...hosts.values()].flatMap((its) => [...its].map((host) => `http://${host}/`)));
  const options = { profile: "url", fpr: 1e-8, onSkip: ({ key }) => skipped.push(key) };
  blob = RibbonFilter.from(keys, options).toBytes();
  assert.deepEqual(skipped, []);
  assert.ok(hosts.size > 0.1 * texts.length, `${hosts.size} hosts`);
  return blob;
}

askEverywhere("hosts", texts, hosts, list, skip);

/** The key of a line of a list. */
const own = (line) => urlExpressions(line)[0];

// For URLs that no browser opens, the canonical form doesn't matter.
test("a list of these URLs is the same, made by Node and by the tool", { skip }, () => {
  // The tool skips longer lines.
  const lines = texts.map((text) => text.replaceAll("\n", ""));
  const opened = lines.filter((line, i) => hosts.has(i) && line.length < 1 << 20);
  const file = join(folder, "opened.txt");
  writeFileSync(file, opened.join("\n"));
  const made = join(folder, "opened.bloom");
  tool("", "build", file, "-o", made, "--profile", "url", "--allow-suffixes");
  const filter = RibbonFilter.from(opened, { profile: "url" });
  assert.ok(filter.info().count > 0.3 * opened.length);
  // The key of a line, if it gives one; by chance, some others match.
  const theirs = decode(readFileSync(made));
  const other = opened.filter(
    (line) => canonicalizeUrl(line) !== null && filter.has(own(line)) !== theirs.has(own(line)),
  );
  assert.deepEqual(other.map(shown), []);
  assert.deepEqual(Buffer.from(filter.toBytes()), readFileSync(made));
});
