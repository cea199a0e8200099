/** In Chromium: what `has` costs compared with its parts, and how soon a fresh page has an answer. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { chromium as playwright } from "playwright-core";
import { chromium, root } from "../scripts/setup.mjs";
import { verdict } from "./engines.mjs";
import { short, sooner } from "./loading.mjs";
import { peers, RIVAL } from "./peers.mjs";
import { race } from "./race.mjs";
import { names } from "./readers.mjs";
import { claim, table } from "./table.mjs";

/** The scripts that a page fetches before it imports one of readers.mjs. */
const SCRIPTS = {
  RibbonFilter: ["dist/bloom.inline.js", "dist/bloom.js", "dist/core.js"],
  "reader RibbonFilter": ["dist/reader.js", "dist/core.js"],
  bloomfilter: ["bench/node_modules/bloomfilter/bloomfilter.js"],
  "plain JavaScript": ["bench/plain.mjs"],
};

/** Runs in the page. Everything is fetched before a clock starts. */
async function askingAll({ count, rounds, rival }) {
  const { queries, strings } = await import("/bench/keys.mjs");
  const { loop, race } = await import("/bench/race.mjs");
  const { opener } = await import("/bench/readers.mjs");
  const { matchUrl } = await import("/bench/urls.mjs");
  const bytesOf = async (name) => new Uint8Array(await (await fetch(`/${name}`)).arrayBuffer());
  const decode = await opener("RibbonFilter");
  const decodeInReader = await opener("reader RibbonFilter");
  const openRival = await opener(rival);
  const text = queries(count);
  const keys = strings(text);
  const scratch = new Uint8Array(1024);
  const copy = (key) => {
    for (let i = 0; i < key.length; i++) scratch[i] = key.charCodeAt(i);
    return scratch[key.length - 1];
  };
  const copying = loop("filter(key) > 0");
  const contestants = [{ name: "characters", keys: count, run: () => copying(copy, keys) }];
  for (const name of ["BloomFilter", "RibbonFilter"]) {
    const filter = decode(await bytesOf(name));
    const read = decodeInReader(await bytesOf(name));
    const [ask, askReader] = [loop("filter.has(key)"), loop("filter.has(key)")];
    contestants.push({ name: `${name}.has`, keys: count, run: () => ask(filter, keys) });
    contestants.push({ name: `reader ${name}.has`, keys: count, run: () => askReader(read, keys) });
    const check = (answers) => answers.reduce((sum, answer) => sum + answer, 0);
    contestants.push({ name: `${name}.hasLines`, keys: count, run: () => filter.hasLines(text), check });
  }
  const theirs = openRival(await bytesOf(rival));
  const plain = (await opener("plain JavaScript"))(await bytesOf("plain JavaScript"));
  const [askTheirs, askPlain] = [loop("filter.test(key)"), loop("filter.has(key)")];
  contestants.push({ name: rival, keys: count, run: () => askTheirs(theirs, keys) });
  contestants.push({ name: "plain JavaScript", keys: count, run: () => askPlain(plain, keys) });

  const [hosts, hostsInReader] = [decode(await bytesOf("hosts")), decodeInReader(await bytesOf("hosts"))];
  const theirHosts = openRival(await bytesOf("hosts by the rival"));
  const matcher = { match: (url) => matchUrl(theirHosts, url) };
  const [asking, askingReader] = [loop("filter.hasUrl(key)"), loop("filter.hasUrl(key)")];
  const [parsing, matching] = [loop("new URL(key).href.length > 0"), loop("filter.match(key) !== null")];
  contestants.push({ name: "new URL", keys: count, run: () => parsing(null, keys) });
  contestants.push({ name: "RibbonFilter.hasUrl", keys: count, run: () => asking(hosts, keys) });
  contestants.push({ name: "reader RibbonFilter.hasUrl", keys: count, run: () => askingReader(hostsInReader, keys) });
  contestants.push({ name: `JavaScript and ${rival}`, keys: count, run: () => matching(matcher, keys) });
  return race(contestants, rounds);
}

/** Runs in the page: the questions of engines.mjs. */
async function both({ count, rounds }) {
  const { askBoth } = await import("/bench/engines.mjs");
  const bytesOf = async (name) => new Uint8Array(await (await fetch(`/${name}`)).arrayBuffer());
  return askBoth({ count, rounds, bytesOf });
}

/** Runs in the page: opens what readers.mjs read, again and again. In nanoseconds. */
async function opening({ names, folder, repeats, rounds }) {
  const { opener } = await import("/bench/readers.mjs");
  const { race } = await import("/bench/race.mjs");
  const contestants = [];
  for (const name of names) {
    const open = await opener(name);
    const bytes = new Uint8Array(await (await fetch(`/${folder}${name}`)).arrayBuffer());
    const run = () => Array.from({ length: repeats }, () => open(bytes));
    const check = (filters) => {
      for (const filter of filters) filter.free?.();
    };
    contestants.push({ name, keys: repeats, run, check });
  }
  return race(contestants, rounds);
}

/** Runs in the page: from import to the first answer of the short list, in milliseconds. */
async function once({ name, key }) {
  const { first } = await import("/bench/readers.mjs");
  return first(name, new Uint8Array(await (await fetch(`/short ${name}`)).arrayBuffer()), key);
}

/** Runs in the page, in milliseconds. The scripts and the blob were fetched before. */
async function start(key) {
  const bytes = await (await fetch("/RibbonFilter")).arrayBuffer();
  let compiling = 0;
  const { Module } = WebAssembly;
  // biome-ignore lint/complexity/useArrowFunction: a constructor
  WebAssembly.Module = function (source) {
    const start = performance.now();
    const module = new Module(source);
    compiling += performance.now() - start;
    return module;
  };
  WebAssembly.Module.prototype = Module.prototype;
  const begun = performance.now();
  const { decode } = await import("/dist/bloom.inline.js");
  const imported = performance.now();
  const filter = decode(bytes);
  const decoded = performance.now();
  if (!filter.has(key)) throw new Error("a member is missing");
  const done = performance.now();
  return {
    importing: imported - begun,
    compiling,
    // The first call compiles.
    decoding: decoded - imported - compiling,
    answering: done - decoded,
    whole: done - begun,
  };
}

/** How long importing any module takes in a new page, in milliseconds. */
async function small() {
  const begun = performance.now();
  await import("/bench/plain.mjs");
  return performance.now() - begun;
}

export async function page(bench) {
  const executablePath = chromium();
  if (!executablePath) {
    console.log("bench: nothing in a page, because there is no Chromium: install one or set CHROMIUM_PATH\n");
    return { tables: [], claims: [] };
  }
  const blobs = Object.fromEntries(
    peers
      .filter(({ own, name }) => own || names.includes(name))
      .map((peer) => [peer.name, peer.save(bench.built(peer, 0.001).filter)]),
  );
  Object.assign(blobs, bench.engineBlobs());
  const list = short(bench);
  for (const name of names) blobs[`short ${name}`] = list.saved[name];
  blobs["hosts by the rival"] = list.saved[RIVAL];
  const server = createServer(({ url }, response) => {
    // Cross-origin isolated; otherwise the clock ticks in tenths of a millisecond.
    const isolated = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
    const [path, scripts = ""] = decodeURIComponent(url).slice(1).split("?");
    const preload = scripts.split(",").map((script) => `<link rel="modulepreload" href="/${script}">`);
    const file = /^(dist|bench)\/[\w./-]+\.m?js$/.test(path);
    const body = blobs[path] ?? (file ? readFileSync(join(root, path)) : `<!doctype html>${preload.join("")}`);
    const type = blobs[path] ? "application/octet-stream" : file ? "text/javascript" : "text/html";
    response.writeHead(200, { ...isolated, "content-type": type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}/`;
  const browser = await playwright.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic"],
  });
  /** The result of a function in a page of a new profile. */
  const visit = async (run, argument, scripts = SCRIPTS.RibbonFilter) => {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(`${origin}?${scripts}`, { waitUntil: "load" });
      return await page.evaluate(run, argument);
    } finally {
      await context.close();
    }
  };
  try {
    const asked = { count: bench.few(), rounds: 3 * bench.rounds, rival: RIVAL };
    const times = await visit(askingAll, asked);
    const { rounds } = bench;
    const ofBoth = await visit(both, { count: bench.few(), rounds });
    const opened = await visit(opening, { names, folder: "", repeats: 10, rounds });
    const openedShort = await visit(opening, { names, folder: "short ", repeats: 200, rounds });
    const firsts = names.map((name) => {
      return { name, time: async () => (await visit(once, { name, key: list.key }, SCRIPTS[name])) * 1e6 };
    });
    const imported = await race(firsts, rounds);
    const starts = [];
    for (let round = 0; round < bench.rounds; round++) {
      starts.push({
        ...(await visit(start, bench.members()[0])),
        "importing another, small module": await visit(small),
      });
    }
    const parts = Object.fromEntries(
      Object.keys(starts[0]).map((part) => [part, starts.map((times) => times[part] * 1e6)]),
    );
    const version = browser.version();
    const title = `from import to the first answer in a new page of Chromium ${version}, ribbon of ${bench.count} keys`;
    const milliseconds = true;
    const tables = [
      table(`Chromium ${version}, fpr 0.001`, times),
      table(title, parts, { milliseconds }),
      table(`decoding in Chromium ${version}, ${bench.count} keys, fpr 0.001`, opened, { milliseconds, rival: RIVAL }),
      table(`decoding in Chromium ${version}, ${list.what}`, openedShort, { milliseconds, rival: RIVAL }),
      table(`from import to the first answer in a new page, ${list.what}`, imported, { milliseconds }),
    ];
    const claims = ["BloomFilter", "RibbonFilter"].map((name) => {
      const ratio = (time) => time[`${name}.has`] / (time.characters + time[`${name}.hasLines`]);
      return claim(`Chromium: ${name}.has against its characters, and hasLines`, { atMost: 1.3 }, times, ratio);
    });
    for (const name of ["reader BloomFilter", "reader RibbonFilter"]) {
      claims.push(
        claim(`Chromium: ${name}.has`, { atMost: 600, unit: "ns" }, times, (time) => time[`${name}.has`]),
        claim(
          `Chromium: ${name}.has against ${RIVAL}`,
          { atLeast: 1 },
          times,
          (time) => time[RIVAL] / time[`${name}.has`],
        ),
      );
    }
    claims.push(sooner("Chromium", imported));
    const parsing = (time) => time["RibbonFilter.hasUrl"] / time["new URL"];
    claims.push(claim("Chromium: hasUrl of a list of hosts against new URL", { atMost: 1 }, times, parsing));
    const answered = ({ decoding, answering }) => (decoding + answering) / 1e6;
    claims.push(claim("Chromium: from imported to the first answer", { atMost: 2, unit: "ms" }, parts, answered));
    const engines = verdict(`Chromium ${version}`, ofBoth, 0.35);
    return { tables: [...tables, ...engines.tables], claims: [...claims, ...engines.claims] };
  } finally {
    await browser.close();
    server.close();
  }
}
