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
  const names = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "Cargo.lock",
    "cli/Cargo.toml",
    "package.json",
    "scripts",
  ];
  for (const name of [...names, "docs", "examples/lists"])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  const edit = (name, from, to) => {
    const text = readFileSync(join(copy, name), "utf8");
    assert.match(text, from, name);
    writeFileSync(join(copy, name), text.replace(from, to));
  };
  // The copy begins as the repository was before its first release, whoever owns it by now.
  const { repository: ours } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  const [, owner] = /github\.com\/(.*)\/bloom-wasm/.exec(ours.url);
  for (const name of ["package.json", "Cargo.toml", "README.md", "examples/lists/feed.yml"])
    edit(name, new RegExp(`\\b${owner}(?=/bloom-wasm|\\.github\\.io)`, "g"), "OWNER");
  if (!readFileSync(join(copy, "README.md"), "utf8").includes("not on npm yet"))
    edit("README.md", /^# bloom-wasm$/m, "# bloom-wasm\n\nbloom-wasm is not on npm yet.");
  edit("CHANGELOG.md", /^## .*$/m, "## Unreleased");
  git("init", "-q");
  git("add", "-A");
  const check = (...tag) => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/releasable.mjs", ...tag], {
      cwd: copy,
      encoding: "utf8",
    });
    return { status, stderr };
  };
  const refuses = (what, ...tag) => {
    const { status, stderr } = check(...tag);
    assert.equal(status, 1, stderr);
    assert.match(stderr, what);
    return stderr;
  };

  const { version } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
  const said = refuses(/the account that owns the repository isn't set/);
  for (const name of ["package.json", "Cargo.toml", "README.md", "examples/lists/feed.yml"])
    assert.ok(said.includes(name), name);

  const [, command] = /^```sh\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, "CONTRIBUTING.md"), "utf8"));
  execFileSync("sh", ["-ec", command], { cwd: copy });
  refuses(/the account that owns the repository isn't set/); // it is still the page's example
  execFileSync(
    "sh",
    [
      "-ec",
      command
        .replace("OWNER[/.]", "your-account[/.]")
        .replace("OWNER(", "your-account(")
        .replace("your-account\\1", "acme\\1"),
    ],
    { cwd: copy },
  );
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
  assert.deepEqual(check(`v${version}`), { status: 0, stderr: "" });
  assert.equal(check().status, 0);
  refuses(/the versions differ/, "v9.9.9");
});
