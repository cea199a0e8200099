/** In Chromium: what `has` costs compared with its parts, and how soon a fresh page has an answer. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { chromium as playwright } from "playwright-core";
import { RibbonFilter } from "../dist/bloom.node.js";
import { chromium, root } from "../scripts/setup.mjs";
import { peers } from "./peers.mjs";
import { claim, table } from "./table.mjs";

/** Runs in the page. Everything is fetched before a clock starts. */
async function race({ count, rounds }) {
  const { queries, strings } = await import("/bench/keys.mjs");
  const { loop, race } = await import("/bench/race.mjs");
  const { decode } = await import("/dist/reader.inline.js");
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
    const filter = decode(await (await fetch(`/${name}`)).arrayBuffer());
    const ask = loop("filter.has(key)");
    contestants.push({ name: `${name}.has`, keys: count, run: () => ask(filter, keys) });
    const check = (answers) => answers.reduce((sum, answer) => sum + answer, 0);
    contestants.push({ name: `${name}.hasLines`, keys: count, run: () => filter.hasLines(text), check });
  }
  const hosts = decode(await (await fetch("/hosts")).arrayBuffer());
  const [asking, parsing] = [loop("filter.hasUrl(key)"), loop("new URL(key).href.length > 0")];
  contestants.push({ name: "new URL", keys: count, run: () => parsing(null, keys) });
  contestants.push({ name: "RibbonFilter.hasUrl", keys: count, run: () => asking(hosts, keys) });
  return race(contestants, rounds);
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
  const { decode } = await import("/dist/reader.inline.js");
  const imported = performance.now();
  const filter = decode(bytes);
  const decoded = performance.now();
  if (!filter.has(key)) throw new Error("a member is missing");
  const done = performance.now();
  return {
    importing: imported - begun - compiling,
    compiling,
    decoding: decoded - imported,
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
    console.log("bench: nothing in a page, for there is no Chromium: install one or set CHROMIUM_PATH\n");
    return { tables: [], claims: [] };
  }
  const blobs = Object.fromEntries(
    peers.filter(({ own }) => own).map((peer) => [`/${peer.name}`, peer.save(bench.built(peer, 0.001).filter)]),
  );
  blobs["/hosts"] = RibbonFilter.from(bench.hosts(), { profile: "url" }).toBytes();
  const server = createServer(({ url }, response) => {
    // Isolated; otherwise the clock ticks in tenths of a millisecond.
    const isolated = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
    const preload = ["reader.inline", "reader", "error"]
      .map((name) => `<link rel="modulepreload" href="/dist/${name}.js">`)
      .join("");
    const file = /^\/(dist|bench)\/[\w.-]+\.m?js$/.test(url);
    const body = blobs[url] ?? (file ? readFileSync(`${root}${url}`) : `<!doctype html>${preload}`);
    const type = blobs[url] ? "application/octet-stream" : file ? "text/javascript" : "text/html";
    response.writeHead(200, { ...isolated, "content-type": type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}/`;
  const browser = await playwright.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic"],
  });
  /** What a function gives in a page of a new profile. */
  const visit = async (run, argument) => {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(origin, { waitUntil: "load" });
      return await page.evaluate(run, argument);
    } finally {
      await context.close();
    }
  };
  try {
    const times = await visit(race, { count: Math.ceil(bench.count / 20), rounds: 3 * bench.rounds });
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
    const tables = [table(`Chromium ${version}, fpr 0.001`, times), table(title, parts, { milliseconds: true })];
    const claims = ["BloomFilter", "RibbonFilter"].map((name) => {
      const ratio = (time) => time[`${name}.has`] / (time.characters + time[`${name}.hasLines`]);
      return claim(`Chromium: ${name}.has against its characters, and hasLines`, { atMost: 1.3 }, times, ratio);
    });
    const parsing = (time) => time["RibbonFilter.hasUrl"] / time["new URL"];
    claims.push(claim("Chromium: hasUrl of a list of hosts against new URL", { atMost: 1 }, times, parsing));
    const answered = ({ decoding, answering }) => (decoding + answering) / 1e6;
    claims.push(claim("Chromium: from imported to the first answer", { atMost: 2, unit: "ms" }, parts, answered));
    return { tables, claims };
  } finally {
    await browser.close();
    server.close();
  }
}
