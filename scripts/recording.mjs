/** Records a feed for the site: ten generations of a real list, each with its own files and signature. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run } from "./setup.mjs";

const GENERATIONS = 10;
/** Hosts that come and go from one generation to the next. */
const [ADDED, REMOVED] = [60, 20];
const source = join(root, "node_modules/eth-phishing-detect");

/** Publishes the feed by the native tool, and leaves `recording.json` and its files in the folder `target`. */
export function record(target) {
  run("cargo", "build", "--release", "--package", "bloom-wasm-cli", "--locked", "--quiet");
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  const tool = (...args) =>
    execFileSync(join(root, "target/release/bloom-wasm"), args, {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  try {
    const { version } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
    const { blacklist } = JSON.parse(readFileSync(join(source, "src/config.json"), "utf8"));
    const hosts = blacklist.slice(0, -(GENERATIONS - 1) * ADDED);
    const later = blacklist.slice(hosts.length);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });

    const [publicKey] = /[\w-]{43}/.exec(tool("feed", "init", "list.txt", "--profile", "url"));
    const path = join(folder, "feed.toml");
    // It is played back for as long as the site exists.
    writeFileSync(path, `name = "Phishing hosts"\nexpires-in = "36500d"\n${readFileSync(path, "utf8")}`);
    const generations = [];
    for (let i = 0; i < GENERATIONS; i++) {
      const fresh = i === 0 ? [] : later.slice((i - 1) * ADDED, i * ADDED);
      if (i > 0) hosts.splice(0, REMOVED);
      hosts.push(...fresh);
      writeFileSync(join(folder, "list.txt"), hosts.join("\n"));
      const { count, added, removed } = JSON.parse(tool("feed", "publish", "--json"));
      tool("build", "list.txt", "-o", "whole.bloom", "--profile", "url");
      const manifest = readFileSync(join(folder, "public/feed.json"), "utf8");
      const { files } = JSON.parse(Buffer.from(JSON.parse(manifest).payload, "base64url"));
      for (const { sha256 } of files) copyFileSync(join(folder, "public", sha256), join(target, sha256));
      // A new host that is easy to read.
      const example = fresh.find((host) => /^(?!xn--)[a-z-]{4,16}\.[a-z]{2,6}$/.test(host)) ?? null;
      const full = statSync(join(folder, "whole.bloom")).size;
      generations.push({ manifest, count, added, removed, full, example });
    }
    const recording = { source: `eth-phishing-detect ${version}`, publicKey, generations };
    writeFileSync(join(target, "recording.json"), JSON.stringify(recording));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
