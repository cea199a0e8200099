/**
 * Fails unless this checkout may be released: the manifests, the changelog and the tag that may be given
 * (`node scripts/releasable.mjs v1.2.3`) name the same version, and no file still has what CONTRIBUTING.md says to
 * replace before the first release. `npm publish` runs it too.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./setup.mjs";

const read = (name) => readFileSync(join(root, name), "utf8");
const [tag] = process.argv.slice(2);
const versions = {
  ...(tag === undefined ? {} : { "the tag": tag.replace(/^v/, "") }),
  "package.json": JSON.parse(read("package.json")).version,
  "Cargo.toml": /^version = "(.*)"/m.exec(read("Cargo.toml"))[1],
  "cli/Cargo.toml": /^bloom-wasm = .*version = "=(.*?)"/m.exec(read("cli/Cargo.toml"))[1],
  "CHANGELOG.md": /^## (\d\S*)/m.exec(read("CHANGELOG.md"))?.[1],
};
for (const [where, version] of Object.entries(versions)) console.log(`${where}: ${version ?? "no version"}`);
const problems = new Set(Object.values(versions)).size > 1 ? ["the versions differ"] : [];

/** The lines of tracked files that have a word, but for those that say what to do about it. */
function linesWith(word) {
  const others = [":!CONTRIBUTING.md", ":!scripts/releasable.mjs", ":!pkg-tests"];
  try {
    return execFileSync("git", ["grep", "-nIE", word, "--", ".", ...others], { cwd: root, encoding: "utf8" });
  } catch (error) {
    if (error.status === 1) return ""; // none
    throw error;
  }
}
for (const [word, what] of Object.entries({
  "(OWNER|your-account)[/.]": "the account that owns the repository isn't set",
  "not on npm yet": "a page says that the package isn't released",
})) {
  const lines = linesWith(word);
  if (lines) problems.push(`${what}:\n${lines.trimEnd()}`);
}

for (const problem of problems) console.error(`releasable: ${problem}`);
if (problems.length > 0) {
  console.error("releasable: CONTRIBUTING.md says what to do");
  process.exit(1);
}
