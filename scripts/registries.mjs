/**
 * `node scripts/registries.mjs publish FOLDER` publishes those of the folder's packages that their registries lack, so
 * a second run completes what the first began. `check` says which registry has its package, and fails unless all do.
 * The workflow `release` runs both. A registry has a package if it has the same bytes.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { root, run } from "./setup.mjs";

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const npm = {
  name: "npm's bloom-wasm",
  file: `bloom-wasm-${version}.tgz`,
  hash: (bytes) => `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
  url: `https://registry.npmjs.org/bloom-wasm/${version}`,
  hashIn: (answer) => JSON.parse(answer).dist.integrity,
  publish: (path) => ["npm", "publish", path, "--provenance", "--access", "public"],
};
const crate = (name) => ({
  name: `crates.io's ${name}`,
  file: `${name}-${version}.crate`,
  hash: (bytes) => createHash("sha256").update(bytes).digest("hex"),
  // The index has a line for each version.
  url: `https://index.crates.io/${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`,
  hashIn: (answer) =>
    answer
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .find(({ vers }) => vers === version)?.cksum,
  publish: () => ["cargo", "publish", "--package", name, "--locked", "--no-verify"],
});
/** The tool's crate needs the library's. */
const PACKAGES = [npm, crate("bloom-wasm"), crate("bloom-wasm-cli")];

/** The packages of a folder, which must have them all. */
const packagesIn = (folder) =>
  PACKAGES.map((its) => {
    const path = resolve(folder, its.file);
    return { ...its, path, ours: its.hash(readFileSync(path)) };
  });

/** Whether the registry has the package. An answer that doesn't say so is an error: it isn't taken for "no". */
async function has({ name, url, hashIn, ours }) {
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
  if (response.status === 404) return false;
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const theirs = hashIn(await response.text());
  if (theirs !== undefined && theirs !== ours) throw new Error(`${name} ${version} is another file than ours`);
  return theirs !== undefined;
}

/** Publishes what the registries lack, by a function that runs a command. */
export async function publish(folder, by = run) {
  for (const its of packagesIn(folder)) if (!(await has(its))) by(...its.publish(its.path));
}

/** Says which registry has its package. Returns whether all do, after a wait if need be: registries take minutes. */
export async function check(folder, waits = 20) {
  const said = await Promise.all(
    packagesIn(folder).map(async (its) => {
      const is = await has(its).catch((error) => `unknown: ${error.message}`);
      return { ...its, is };
    }),
  );
  const all = said.every(({ is }) => is === true);
  if (!all && waits > 0) {
    await sleep(15_000);
    return check(folder, waits - 1);
  }
  for (const { name, is } of said)
    console.log(`${name} ${version}: ${is === true ? "published" : is || "NOT published"}`);
  return all;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, folder] = process.argv.slice(2);
  if (folder === undefined || !["publish", "check"].includes(command))
    throw new Error("usage: node scripts/registries.mjs publish|check FOLDER");
  if (command === "publish") await publish(folder);
  else if (!(await check(folder))) process.exitCode = 1;
}
