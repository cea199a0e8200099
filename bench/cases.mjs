/** The cases. Each gives its tables and claims. Every answer is checked before it is timed. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BloomFilter, canonicalizeUrl, RibbonFilter, urlExpressions } from "../dist/bloom.node.js";
import { decode as decodeInReader } from "../dist/reader.js";
import { askBoth, keysOf, SECRET, verdict } from "./engines.mjs";
import { members, nonmembers, queries, strings } from "./keys.mjs";
import { load } from "./loading.mjs";
import { cli, large, native } from "./native.mjs";
import { page } from "./page.mjs";
import { filterOf, peers, RIVAL } from "./peers.mjs";
import { loop, race, tell } from "./race.mjs";
import { claim, table } from "./table.mjs";
import { expressions, matchUrl } from "./urls.mjs";

const FPRS = [0.01, 0.001];

/** What the cases share. Each part is made once, when it is first needed. */
export function bench({ count, rounds }) {
  const made = new Map();
  const once = (name, make) => {
    if (!made.has(name)) {
      tell(`making ${name}`);
      made.set(name, make());
    }
    return made.get(name);
  };
  return {
    count,
    rounds,
    /** A folder for files. */
    folder: () => once("folder", () => mkdtempSync(join(tmpdir(), "bloom-wasm-"))),
    end: () => made.has("folder") && rmSync(made.get("folder"), { recursive: true }),
    memberText: () => once("member text", () => members(count)),
    members: () => once("members", () => strings(members(count))),
    nonmembers: () => once("nonmembers", () => strings(nonmembers(count))),
    queryText: () => once("query text", () => queries(count)),
    queries: () => once("queries", () => strings(queries(count))),
    /** A real list of hosts. */
    hosts: () =>
      once("phishing hosts", () => {
        const config = new URL("../node_modules/eth-phishing-detect/src/config.json", import.meta.url);
        return JSON.parse(readFileSync(config, "utf8")).blacklist;
      }),
    /** As many keys as a page can handle. */
    few: () => Math.ceil(count / 20),
    /** The blobs that engines.mjs asks. */
    engineBlobs() {
      return once("blobs of engines.mjs", () => {
        const [short, usual, long] = [25, 59, 295].map((length) => keysOf(this.few(), length)[0]);
        const bytes = (Kind, keys, options) => {
          const filter = Kind.from(keys, { fpr: 0.001, ...options });
          const blob = filter.toBytes();
          filter.free();
          return blob;
        };
        return {
          "ribbon 25": bytes(RibbonFilter, short),
          "ribbon 59": bytes(RibbonFilter, usual),
          "Bloom 59": bytes(BloomFilter, usual),
          "keyed 59": bytes(RibbonFilter, usual, { secret: SECRET }),
          "keyed 295": bytes(RibbonFilter, long, { secret: SECRET }),
          urls: bytes(RibbonFilter, usual, { profile: "url" }),
          hosts: bytes(RibbonFilter, this.hosts(), { profile: "url" }),
        };
      });
    },
    /** A peer's filter of all members, and its measured false-positive rate. */
    built(peer, fpr) {
      return once(`${peer.name} ${fpr}`, () => {
        const filter = filterOf(peer, this.members(), fpr);
        const part = count * (peer.share ?? 1);
        const has = loop(peer.has);
        const missing = part - has(filter, this.members().slice(0, part));
        if (missing > 0) throw new Error(`${peer.name} misses ${missing} of its keys`);
        return { filter, fpr: has(filter, this.nonmembers().slice(0, part)) / part };
      });
    },
  };
}

const share = ({ share = 1 }, keys) => (share < 1 ? keys.slice(0, keys.length * share) : keys);

/** `has`, one string after another. */
async function has(bench) {
  const tables = [];
  const claims = [];
  for (const fpr of FPRS) {
    const contestants = peers.map((peer) => {
      const { filter } = bench.built(peer, fpr);
      const keys = share(peer, bench.queries());
      const ask = loop(peer.has);
      return { name: peer.name, keys: keys.length, run: () => ask(filter, keys) };
    });
    const times = await race(contestants, bench.rounds);
    const more = (name) => {
      const peer = peers.find((peer) => peer.name === name);
      const { filter, fpr: measured } = bench.built(peer, fpr);
      const bitsPerKey = (8 * peer.save(filter).length) / bench.count;
      return { share: peer.share, fpr: measured, overTarget: measured / fpr, bitsPerKey };
    };
    tables.push(table(`has(string), fpr ${fpr}`, times, { rival: RIVAL, more }));
    for (const { name } of peers.filter(({ reader }) => reader)) {
      const what = `${name}.has`;
      claims.push(
        claim(`${what} against ${RIVAL}, fpr ${fpr}`, { atLeast: 1 }, times, (time) => time[RIVAL] / time[name]),
        claim(`${what}, fpr ${fpr}`, { atMost: 600, unit: "ns" }, times, (time) => time[name]),
      );
    }
    for (const own of ["BloomFilter", "RibbonFilter"]) {
      claims.push(
        claim(`${own}.has against ${RIVAL}, fpr ${fpr}`, { atLeast: 1.6 }, times, (time) => time[RIVAL] / time[own]),
      );
      claims.push(
        claim(
          `${own}.has against plain JavaScript, fpr ${fpr}`,
          { atLeast: 1 },
          times,
          (time) => time["plain JavaScript"] / time[own],
        ),
      );
    }
  }
  return { tables, claims };
}

/** Making a filter and adding one string after another. */
async function add(bench) {
  const tables = [];
  const claims = [];
  for (const fpr of FPRS) {
    const probe = bench.members().slice(0, 1000 * Math.min(...peers.map(({ share = 1 }) => share)));
    const makers = peers.filter(({ reader }) => !reader);
    const contestants = makers.map((peer) => {
      const keys = share(peer, bench.members());
      const [fill, ask] = [peer.add && loop(peer.add), loop(peer.has)];
      const run = () => {
        if (peer.from) return peer.from(keys, fpr);
        const filter = peer.create(bench.count, fpr);
        fill(filter, keys);
        return filter;
      };
      const check = (filter) => {
        assert.equal(ask(filter, probe), probe.length);
        filter.free?.();
      };
      return { name: peer.name, keys: keys.length, run, check };
    });
    const times = await race(contestants, bench.rounds);
    const more = (name) => ({ share: peers.find((peer) => peer.name === name).share });
    const title = `making a filter of all keys, one add(string) after the other where there is add, fpr ${fpr}`;
    tables.push(table(title, times, { rival: RIVAL, more }));
    claims.push(
      claim(
        `BloomFilter.add against ${RIVAL}, fpr ${fpr}`,
        { atLeast: 1.5 },
        times,
        (time) => time[RIVAL] / time.BloomFilter,
      ),
    );
  }
  return { tables, claims };
}

/** Many keys in one call, as strings and as the bytes of lines. The rival knows only strings and gets those. */
async function many(bench) {
  const tables = [];
  const claims = [];
  const rival = peers.find(({ name }) => name === RIVAL);
  const [fillRival, askRival] = [loop(rival.add), loop(rival.has)];
  const sum = (answers) => answers.reduce((sum, answer) => sum + answer, 0);
  const { count } = bench;
  const [strings, text] = [bench.queries(), bench.queryText()];
  const [memberStrings, memberText] = [bench.members(), bench.memberText()];
  for (const fpr of FPRS) {
    const asking = [{ name: RIVAL, keys: count, run: () => askRival(bench.built(rival, fpr).filter, strings) }];
    for (const peer of peers.filter(({ own }) => own)) {
      const { filter } = bench.built(peer, fpr);
      const one = loop(peer.has)(filter, strings);
      const check = (answers) => assert.equal(sum(answers), one);
      asking.push({ name: `${peer.name}.hasMany`, keys: count, run: () => filter.hasMany(strings), check });
      asking.push({ name: `${peer.name}.hasLines`, keys: count, run: () => filter.hasLines(text), check });
    }
    const adding = [
      {
        name: RIVAL,
        keys: count,
        run() {
          const filter = rival.create(count, fpr);
          fillRival(filter, memberStrings);
          return filter;
        },
        check: (filter) => assert.equal(askRival(filter, memberStrings), count),
      },
    ];
    for (const [name, keys] of [
      ["addMany", memberStrings],
      ["addLines", memberText],
    ]) {
      const run = () => {
        const filter = BloomFilter.withCapacity(count, fpr);
        filter[name](keys);
        return filter;
      };
      const check = (filter) => {
        assert.equal(sum(filter.hasLines(memberText)), count);
        filter.free();
      };
      adding.push({ name: `BloomFilter.${name}`, keys: count, run, check });
    }
    const asked = await race(asking, bench.rounds);
    const added = await race(adding, bench.rounds);
    tables.push(table(`many keys in one call, fpr ${fpr}`, asked, { rival: RIVAL }));
    tables.push(table(`adding many keys in one call, fpr ${fpr}`, added, { rival: RIVAL }));
    const against = (name) => (time) => time[RIVAL] / time[name];
    claims.push(
      claim(
        `BloomFilter.hasLines against ${RIVAL}.test, fpr ${fpr}`,
        { atLeast: 4 },
        asked,
        against("BloomFilter.hasLines"),
      ),
    );
    claims.push(
      claim(
        `RibbonFilter.hasLines against ${RIVAL}.test, fpr ${fpr}`,
        { atLeast: 4 },
        asked,
        against("RibbonFilter.hasLines"),
      ),
    );
    claims.push(
      claim(
        `BloomFilter.addLines against ${RIVAL}.add, fpr ${fpr}`,
        { atLeast: 3.5 },
        added,
        against("BloomFilter.addLines"),
      ),
    );
  }
  return { tables, claims };
}

/** How both loops begin. */
const PARSING = "new URL alone";

/** Unlisted URLs with 8 keys each, asked of lists of URLs and of hosts, against the same in JavaScript with the rival's filter. */
async function url(bench) {
  const urls = bench.nonmembers().slice(0, Math.ceil(bench.count / 4));
  const vectors = JSON.parse(readFileSync(new URL("../tests/url_vectors.json", import.meta.url)));
  for (const url of [...vectors.map(({ input }) => input), ...urls]) {
    // Those of the canonical form: the loop in JavaScript doesn't look for the folder of an escaped path.
    const form = canonicalizeUrl(url);
    assert.deepEqual(expressions(url), form === null ? [] : urlExpressions(form), url);
  }
  assert.ok(urls.every((url) => expressions(url).length === 8));

  const ofUrls = await urlRace(bench, urls, bench.members(), "a list of URLs", "matchUrl(key) !== null", 2.5);
  const ofHosts = await urlRace(
    bench,
    urls,
    bench.hosts(),
    "a list of phishing hosts (eth-phishing-detect)",
    "hasUrl(key)",
    6,
  );
  const ribbon = "RibbonFilter.hasUrl";
  ofHosts.claims.push(
    claim(`${ribbon} against ${PARSING}`, { atLeast: 1 }, ofHosts.times, (time) => time[PARSING] / time[ribbon]),
  );
  return { tables: [ofUrls.table, ofHosts.table], claims: [...ofUrls.claims, ...ofHosts.claims] };
}

/**
 * Asks lists of all kinds for URLs by a question such as `hasUrl(key)`, which a ribbon filter should answer `atLeast`
 * times as fast as the rival.
 */
async function urlRace(bench, urls, listed, what, question, atLeast) {
  const fpr = 0.001;
  const method = question.split("(")[0];
  const rival = peers.find(({ name }) => name === RIVAL);
  // A key of a URL gets a tenth of the rate.
  const theirs = rival.create(listed.length, fpr / 10);
  for (const url of listed) theirs.add(expressions(url)[0]);
  // Both loops know only the filter and the key, so the rival's function is a part of its filter.
  const js = `JavaScript and ${RIVAL}`;
  const matcher = { match: (url) => matchUrl(theirs, url) };
  const match = loop("filter.match(key) !== null");
  assert.equal(match(matcher, listed), listed.length);
  const parsing = loop("new URL(key).href.length > 0");
  const contestants = [
    { name: js, keys: urls.length, run: () => match(matcher, urls) },
    { name: PARSING, keys: urls.length, run: () => parsing(null, urls) },
  ];
  for (const [name, kind] of Object.entries({ BloomFilter, RibbonFilter })) {
    const filter = kind.from(listed, { profile: "url", fpr });
    const ask = loop(`filter.${question}`);
    assert.equal(ask(filter, listed), listed.length);
    contestants.push({ name: `${name}.${method}`, keys: urls.length, run: () => ask(filter, urls) });
    const [read, askReader] = [decodeInReader(filter.toBytes()), loop(`filter.${question}`)];
    assert.equal(askReader(read, urls), ask(filter, urls));
    contestants.push({ name: `reader ${name}.${method}`, keys: urls.length, run: () => askReader(read, urls) });
  }
  const times = await race(contestants, bench.rounds);
  const more = (name) =>
    name === PARSING ? {} : { fpr: contestants.find((one) => one.name === name).run() / urls.length };
  // Only ribbon filters know which keys a list has.
  const targets = { BloomFilter: 2.5, RibbonFilter: atLeast };
  const claims = Object.entries(targets).map(([name, atLeast]) => {
    const own = `${name}.${method}`;
    return claim(`${own}, ${what}, against ${js}`, { atLeast }, times, (time) => time[js] / time[own]);
  });
  const title = `${method}, 8 keys a URL, none listed, ${what}, fpr ${fpr} a URL`;
  return { times, table: table(title, times, { rival: js, more }), claims };
}

/** What a secret costs: the same keys in a keyed filter and in an ordinary one. */
async function keyed(bench) {
  const [fpr, secret] = [0.001, new Uint8Array(16).fill(7)];
  const tables = [];
  for (const [name, kind] of Object.entries({ BloomFilter, RibbonFilter })) {
    const ask = loop("filter.has(key)");
    const contestants = [[name], [`${name}, keyed`, { secret }]].map(([name, options]) => {
      const filter = kind.from(bench.members(), { fpr, ...options });
      assert.equal(ask(filter, bench.members()), bench.count);
      return { name, keys: bench.count, run: () => ask(filter, bench.queries()) };
    });
    const times = await race(contestants, bench.rounds);
    tables.push(table(`keyed ${name}: has(string), fpr ${fpr}`, times, { rival: name }));
  }
  return { tables, claims: [] };
}

/** The same blobs in plain JavaScript and in WebAssembly. */
async function engines(bench) {
  const { rounds } = bench;
  const blobs = bench.engineBlobs();
  const results = await askBoth({ count: bench.few(), rounds, bytesOf: (name) => blobs[name] });
  return verdict(`Node ${process.versions.node}`, results, 0.9);
}

export const cases = { has, add, many, url, keyed, engines, load, native, page, cli, large };
