/** Nothing is released before CONTRIBUTING.md was followed: its command, in a copy of the repository. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { root } from "../../scripts/setup.mjs";

const copy = mkdtempSync(join(tmpdir(), "releasable-"));
after(() => rmSync(copy, { recursive: true }));
const git = (...args) => execFileSync("git", args, { cwd: copy, encoding: "utf8" });
const skip = process.platform === "win32" && "its shell has no sed";

test("a release needs an owner, one version, and a README that doesn't say otherwise", { skip }, () => {
  const manifests = ["package.json", "Cargo.toml", "README.md", "examples/lists/feed.yml"];
  const others = ["CHANGELOG.md", "CONTRIBUTING.md", "Cargo.lock", "cli/Cargo.toml", "scripts", "docs"];
  for (const name of [...manifests, ...others]) cpSync(join(root, name), join(copy, name), { recursive: true });
  const edit = (name, from, to) => {
    const text = readFileSync(join(copy, name), "utf8");
    assert.match(text, from, name);
    writeFileSync(join(copy, name), text.replace(from, to));
  };
  // The copy begins as the repository was before its first release, whoever owns it by now.
  const { repository: ours } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  const [, owner] = /github\.com\/(.*)\/bloom-wasm/.exec(ours.url);
  for (const name of manifests) edit(name, new RegExp(`\\b${owner}(?=/bloom-wasm|\\.github\\.io)`, "g"), "OWNER");
  if (!readFileSync(join(copy, "README.md"), "utf8").includes("not on npm yet"))
    edit("README.md", /^# bloom-wasm$/m, "# bloom-wasm\n\nbloom-wasm is not on npm yet.");
  edit("CHANGELOG.md", /^## .*$/m, "## Unreleased");
  git("init", "-q");
  git("add", "-A");
  const check = (...tag) =>
    spawnSync(process.execPath, ["scripts/releasable.mjs", ...tag], { cwd: copy, encoding: "utf8" });
  const refuses = (what, ...tag) => {
    const { status, stderr } = check(...tag);
    assert.equal(status, 1, stderr);
    assert.match(stderr, what);
    return stderr;
  };
  const run = (command) => execFileSync("sh", ["-ec", command], { cwd: copy });

  const { version } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  const said = refuses(/the account that owns the repository isn't set/);
  for (const name of manifests) assert.ok(said.includes(name), name);

  const [, command] = /^```sh\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, "CONTRIBUTING.md"), "utf8"));
  run(command);
  refuses(/the account that owns the repository isn't set/); // it is still the page's example
  run(command.replace(/OWNER(?=[[(])/g, "your-account").replace("your-account\\1", "acme\\1"));
  assert.doesNotMatch(refuses(/isn't released:\nREADME\.md:/), /owns/);
  const { repository, homepage, bugs } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  assert.deepEqual(
    [repository.url, homepage, bugs],
    [
      "git+https://github.com/acme/bloom-wasm.git",
      "https://acme.github.io/bloom-wasm/",
      "https://github.com/acme/bloom-wasm/issues",
    ],
  );

  edit("README.md", /^bloom-wasm is not on npm yet[\s\S]*?\n\n/m, "");
  refuses(/the versions differ/); // of the changelog, which says "Unreleased"
  edit("CHANGELOG.md", /^## Unreleased$/m, `## ${version} (2026-11-27)`);
  for (const tag of [[], [`v${version}`]]) assert.equal(check(...tag).status, 0);
  refuses(/the versions differ/, "v9.9.9");
});
