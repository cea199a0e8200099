/**
 * What action.yml needs of a feed.toml before the tool runs, as outputs of a step. It reads only keys that stand in one
 * line, as `feed init` writes them; the tool reads the whole file.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

const [file] = process.argv.slice(2);

function fail(words) {
  console.error(`::error::${file}: ${words}`);
  process.exit(2);
}

if (!existsSync(file)) fail("there is no such file: `npx bloom-wasm feed init` begins one");

const known = {};
for (const line of readFileSync(file, "utf8").split(/\r?\n/)) {
  if (/^\s*\[/.test(line)) break; // the lists
  const [, key, value] = /^\s*(id|public|state|sign|secret|shards)\s*=\s*(.*?)\s*(#.*)?$/.exec(line) ?? [];
  if (!key) continue;
  try {
    known[key] = JSON.parse(value);
  } catch {
    fail(`write \`${key}\` in one line, and texts in double quotes`);
  }
}
const { id, sign, public: folder = "public", state = "state", secret, shards } = known;
if (!/^[0-9a-f]{32}$/.test(id)) fail("`id` is missing: `npx bloom-wasm feed init` adds one");
if (!Array.isArray(sign)) fail("`sign` is missing");

/** A path of the file, from the folder in which the action runs. */
const path = (...names) => relative("", resolve(dirname(file), ...names));
const missing = sign.map((key) => path(key)).filter((key) => !existsSync(key));
if (missing.length > 1)
  fail(
    `FEED_KEY is one of the keys in \`sign\`, and these are missing; write the others before: ${missing.join(", ")}`,
  );
if (missing.length === 0 && process.env.FEED_KEY) fail("FEED_KEY is given, and no key of `sign` is missing");
if (missing.length === 1 && !process.env.FEED_KEY) fail("the secret key is missing: give the step FEED_KEY by env");

const outputs = {
  id,
  public: path(folder),
  state: path(state),
  key: missing[0] ?? "",
  secret: secret === undefined ? "" : path(secret),
  manifest: path(folder, shards === undefined ? "feed.json" : "shards.json"),
};
for (const [name, value] of Object.entries(outputs)) {
  if (/[\r\n]/.test(value)) fail(`the path \`${name}\` has a line break`);
  console.log(`${name}=${value}`);
}
