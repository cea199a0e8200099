/** docs/recipes.md: each JavaScript snippet runs unchanged against the installed package. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { root } from "../../scripts/setup.mjs";
import { folder } from "../helpers/installed.mjs";

const text = readFileSync(join(root, "docs/recipes.md"), "utf8");
const recipes = [...text.matchAll(/^## (.*)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)];

test("every recipe has a snippet, and is in the list at the top", () => {
  assert.ok(recipes.length >= 6);
  const listed = [...text.matchAll(/^- \[(.*)\]\(#(.*)\)$/gm)];
  const anchor = (title) =>
    title
      .toLowerCase()
      .replace(/[^\w ]/g, "")
      .replaceAll(" ", "-");
  assert.deepEqual(
    listed.map(([, title, to]) => [title, to]),
    recipes.map(([, title]) => [title, anchor(title)]),
  );
});

for (const [, title, body] of recipes) {
  test(title, async (context) => {
    const snippets = [...body.matchAll(/^```js\n([\s\S]*?)^```$/gm)];
    assert.equal(snippets.length, 1);
    const file = join(folder, `recipe-${recipes.findIndex(([, other]) => other === title)}.mjs`);
    writeFileSync(file, snippets[0][1]);
    // console.assert only prints; here it throws.
    const asserted = context.mock.method(console, "assert", assert.ok);
    await import(pathToFileURL(file).href);
    assert.ok(asserted.mock.callCount() > 0);
  });
}

test("the list as a Set refuses what it would never find", async () => {
  const [, , body] = recipes.find(([, title]) => title === "Check a short list with a Set");
  const [, snippet] = /^```js\n([\s\S]*?)^```$/m.exec(body);
  const file = join(folder, "recipe-set.mjs");
  writeFileSync(file, `${snippet}\nexport { isListed, readList };`);
  const { isListed, readList } = await import(pathToFileURL(file).href);
  for (const odd of ["evil.example", "evil.example:80", "about:blank", "/login"])
    assert.throws(() => isListed(odd), TypeError, odd);
  for (const odd of ["http://evil.example", "*.evil.example", "evil.example/path", "a@evil.example", "evil com", "com"])
    assert.throws(() => readList(`good.example\n${odd}\n`), { name: "TypeError", message: `${odd} is no host` });
  assert.deepEqual([...readList("\r\nEvil.example\r\n\n b.example.")], ["evil.example", "b.example"]);
});
