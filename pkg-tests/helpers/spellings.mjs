/** Spellings of a few hosts, as a phisher would try them, and where a browser really goes. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { commands } from "../runtimes/commands.mjs";
import { newPage, puppeteer } from "./browsers.mjs";
import { nativeTool } from "./built.mjs";
import { testEach } from "./engines.mjs";
import { app, folder } from "./installed.mjs";
import { createServer } from "./server.mjs";

/** What a list holds. */
export const LISTED = ["evil.example", "192.0.2.7", "[2001:db8::7]", "xn--bcher-kva.example", "xn--strae-oqa.example"];

const BASE = "http://base.test/";

/** Numbers from 0 to below 1, the same every time: mulberry32. */
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let x = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Invisible characters, of which some browsers drop more than others. */
const INVISIBLE = [
  ..."\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2061\u2062\u2063\u2064\u2065",
  ..."\u2066\u2069\u206a\u206b\u206f\u3164\ufe00\ufe0f\ufeff\uffa0\ufff0\ufff8\u{1bca0}\u{1d173}\u{1d17a}\u{e0001}\u{e0020}\u{e007f}\u{e0100}\u{e01ef}",
];

/** Subdomains that a parser may refuse but a browser accepts, or the other way round. */
const SUBDOMAINS = [
  ..."www. a_b. -a. a-. a--b. xn--. xn--a. xn--abc-. xn--4ca. xn--zzzzzz99999. XN--A. xN--. é. \u05d0a. a\u0300.".split(
    " ",
  ),
  ..."\u0300. \u0661. %20. ^. |. a%00b. *. !. ~. '. $. (. +. ,. ;. =. {. `. \". <. %. %zz. %25. %ff.".split(" "),
  ..."\ud800. \u2100. \u2488 \u2024 .. . 1. 0x1. \u{1f4a9}. ß. ς. \u1e9e. \u0378. \ufffd. \u200d. \u2260.".split(" "),
  " .",
  `${"a".repeat(64)}.`,
];

/**
 * Random texts of a grammar, which more or less name one of the listed hosts. Each has `/NUMBER` in its path or query.
 */
export function* spellings(count, seed = 1) {
  const next = random(seed);
  const one = (choices) => choices[Math.floor(next() * choices.length)];
  const often = (share, usual, choices) => (next() < share ? usual : one(choices));

  const escaped = (text) =>
    [...new TextEncoder().encode(text)]
      .map((byte) => `%${(next() < 0.5 ? byte.toString(16).toUpperCase() : byte.toString(16)).padStart(2, "0")}`)
      .join("");
  const fullwidth = (char) => (/[!-~]/.test(char) ? String.fromCharCode(char.charCodeAt(0) + 0xfee0) : char);
  const fancy = (char) =>
    /[a-z]/.test(char)
      ? String.fromCodePoint(one([0x1d41a, 0x24d0, 0x1d4ea, 0x1ccd6]) + char.charCodeAt(0) - 97)
      : fullwidth(char);
  const letter = (char, odd) => {
    if (next() > odd) return char;
    switch (Math.floor(next() * 8)) {
      case 0:
        return char.toUpperCase();
      case 1:
        return escaped(char);
      case 2:
        return escaped(escaped(char));
      case 3:
        return fullwidth(char);
      case 4:
        return fancy(char);
      case 5:
        return char + one(INVISIBLE);
      case 6:
        return one(["\uff05", "\ufe6a", "%EF%BC%85"]) + escaped(char).slice(1);
      default:
        return escaped(next() < 0.5 ? fullwidth(char) : char + one(INVISIBLE));
    }
  };
  const digit = (char) =>
    one([
      char,
      fullwidth(char),
      escaped(fullwidth(char)),
      ...(/\d/.test(char) ? [String.fromCodePoint(0x1d7ce + Number(char))] : []),
    ]);
  const literal = (host, odd) =>
    [...host].map((char) => (next() > odd || !/[\da-f]/.test(char) ? char : digit(char))).join("");
  const dot = (odd) =>
    next() > odd
      ? "."
      : one(["%2e", "%2E", "\u3002", "\uff0e", "\uff61", "%E3%80%82", "%ef%bd%a1", "..", ".\u00ad", "\t."]);
  const named = (host, odd) => [...host].map((char) => (char === "." ? dot(odd) : letter(char, odd))).join("");
  const addresses = [
    ..."192.0.2.7 3221225991 0xC0000207 030000001007 192.519".split(" "),
    ..."192.0.519 0300.0.0x2.7 192.0.2.0x7 192.0.2.07 192.0.2.7.".split(" "),
  ];
  const literals = ["[2001:db8::7]", "[2001:DB8:0:0:0:0:0:7]", "[2001:0db8::0.0.0.7]", "[2001:db8::7%25eth0]"];
  const umlauts = [
    ...["xn--bcher-kva.example", "bücher.example", "b\u0075\u0308cher.example", "BÜCHER.example"],
    ...["XN--BCHER-KVA.example", "straße.example", "STRA\u1e9eE.example", "XN--strae-OQA.example"],
  ];

  for (let i = 0; i < count; i++) {
    const odd = one([0, 0.05, 0.15, 0.3]);
    const schemes = ["HTTP:", "hTtP:", "ht\ttp:", "http\n:", "", "", "\x01http:", " http:", "http:\t"];
    const scheme = often(0.5, "http:", schemes);
    const slashes = often(0.5, "//", [
      ...["", "/", "\\\\", "\\/", "/\\", "///", "//\\", "\\\\\\", "/\t/", "/\n\\", "//\t", "////"],
    ]);
    const users =
      "good.example@ u:p@ good.example%2f@ a@b@ @ :@ good.example:80@ %40@ evil:evil@@ \u3002@ good.example#@ x%5C@";
    const user = often(0.7, "", [...users.split(" "), "good.example\uff0f@", "\uff20", "x\uff1a80@"]);
    const kind = next();
    const plain = next() < 0.02 ? "xn--evil-.example" : "evil.example";
    const host =
      kind < 0.1
        ? named(one(addresses), odd)
        : kind < 0.15
          ? literal(one(literals), odd)
          : named(kind < 0.25 ? one(umlauts) : plain, odd);
    const subdomain =
      kind >= 0.15 && next() < 0.4
        ? one(SUBDOMAINS) + (next() < 0.2 ? one(SUBDOMAINS) : "")
        : next() < 0.05
          ? one(INVISIBLE)
          : "";
    const ends = ". .. %2e \u3002 % %20 - \uff0f \uff05 \uff1a80 %00 %2f".split(" ");
    const end = often(0.85, "", [...ends, one(INVISIBLE)]);
    const port = often(0.8, "", [":80", ":", ":8080", ":080", ":80\t", ":0"]);
    const path = often(0.5, `/${i}`, [
      `\\${i}`,
      `\\@good.example/${i}`,
      `/@good.example/${i}`,
      `?/${i}`,
      `?@good.example/${i}`,
      `//${i}`,
      `/%2e%2e/${i}`,
      `/./a/../${i}`,
      `/\t${i}`,
      `/${i}#@good.example/`,
      `\\..\\${i}`,
    ]);
    yield scheme + slashes + user + subdomain + host + end + port + path;
  }
}

/**
 * Opens texts as links of a page in a browser. Returns for each the host that the browser asked, or undefined for none,
 * and whether each import of the package says there that it is on the blob's list. A proxy serves the files.
 */
export async function opened(texts, browser, files) {
  const hosts = new Array(texts.length);
  const proxy = createServer((request, response) => {
    const file = request.url.startsWith(BASE) && files[request.url.slice(BASE.length)];
    if (file) return response.writeHead(200, { "Content-Type": file.type }).end(file.body);
    const id = /^\w+:\/\/([^/?#]*).*?\/(\d+)(?:$|#)/.exec(request.url);
    if (id) hosts[id[2]] = id[1].replace(/:\d*$/, "").toLowerCase();
    response.writeHead(204).end();
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address();
  const launched = await puppeteer(browser, {
    args: browser === "Chromium" ? [`--proxy-server=http://127.0.0.1:${port}`, "--proxy-bypass-list=<-loopback>"] : [],
    extraPrefsFirefox: {
      "network.proxy.type": 1,
      "network.proxy.http": "127.0.0.1",
      "network.proxy.http_port": port,
    },
  });
  try {
    const page = await newPage(launched);
    await page.goto(BASE);
    const answers = {};
    for (let start = 0; start < texts.length; start += 1000) {
      const found = await page.evaluate(openAll, texts.slice(start, start + 1000));
      for (const [entry, its] of Object.entries(found)) (answers[entry] ??= []).push(...its);
    }
    return { hosts, answers };
  } finally {
    await launched.close();
    proxy.closeAllConnections();
    proxy.close();
  }
}

/** Runs in the page. */
async function openAll(texts) {
  const scripts = { "bloom-wasm": "/bloom.inline.js", "bloom-wasm/reader": "/reader.js" };
  const open = async (text) => {
    // A link of a page. Only a visit may carry a name and a password, so they are removed.
    const link = document.createElement("a");
    link.href = text;
    try {
      if (link.username || link.password) link.username = link.password = "";
      if (link.protocol === "http:") await fetch(link.href, { mode: "no-cors", cache: "no-store" });
    } catch {
      // The link leads nowhere.
    }
  };
  for (let i = 0; i < texts.length; i += 100) await Promise.all(texts.slice(i, i + 100).map(open));
  const answers = {};
  for (const [entry, script] of Object.entries(scripts)) {
    const { load } = await import(script);
    const filter = await load("/list.bloom");
    answers[entry] = texts.map((text) => filter.hasUrl(text));
  }
  return answers;
}

/** What the native tool prints for an input. */
export function tool(input, ...args) {
  const { stdout, stderr, status } = spawnSync(nativeTool(), args, { input, encoding: "utf8", maxBuffer: 2 ** 30 });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** A text for a message, in ASCII. */
export const shown = (text) =>
  JSON.stringify(text.slice(0, 80)).replace(/[^ -~]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);

/**
 * Tests that each text which a browser opens is on a list, wherever that is checked: in Node, in the tool and in other
 * runtimes. `hosts` has what they open, by their places. Returns the check of answers.
 */
export function askEverywhere(name, texts, hosts, list, skip) {
  const requireAll = (answers) => {
    assert.equal(answers.length, texts.length);
    const missed = [...hosts].filter(([i]) => !answers[i]).map(([i, its]) => `${shown(texts[i])} opens ${[...its]}`);
    assert.equal(missed.length, 0, `${missed.length} missed: ${missed.slice(0, 10).join("; ")}`);
  };

  testEach("in this Node", { skip }, ({ decode }) => {
    const filter = decode(list());
    requireAll(texts.map((text) => filter.hasUrl(text)));
  });

  test("in the tool", { skip }, () => {
    const file = join(folder, `${name}.bloom`);
    writeFileSync(file, list());
    // Lines can't contain line ends, and a URL is read without them.
    const lines = texts.map((text) => Buffer.from(text.replaceAll("\n", "")).toString());
    const found = new Set(tool(lines.join("\n"), "check", file).split("\n"));
    requireAll(lines.map((line) => found.has(line)));
  });

  const here = app(name);
  for (const { name, command, missing } of commands) {
    test(`in ${name}`, { skip: skip || missing, timeout: 600_000 }, async () => {
      const asked = JSON.stringify({ texts, blob: Buffer.from(list()).toString("base64") });
      writeFileSync(join(here, "spellings.json"), asked);
      const args = [...command.slice(1), join(here, "spellings.mjs")];
      const { stdout } = await promisify(execFile)(command[0], args, { maxBuffer: 1 << 30 });
      requireAll(JSON.parse(stdout));
    });
  }
  return requireAll;
}
