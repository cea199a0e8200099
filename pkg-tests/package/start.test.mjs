/** `npm start`, whose build other tests use: what it shows in the terminal before it serves the site. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { root } from "../../scripts/setup.mjs";
import { show } from "../../scripts/start.mjs";

test("npm start shows a real list, what became of it, and answers", async (context) => {
  const log = context.mock.method(console, "log", () => {});
  await show();
  const shown = log.mock.calls.map(({ arguments: [line] }) => line).join("\n");
  log.mock.restore();

  const config = readFileSync(join(root, "node_modules/eth-phishing-detect/src/config.json"), "utf8");
  const { blacklist, whitelist } = JSON.parse(config);
  const list = blacklist.map((host) => `${host}\n`).join("");
  const bytes = (what) => Number(new RegExp(`${what} +([\\d,]+) bytes`).exec(shown)[1].replaceAll(",", ""));
  assert.equal(bytes("as text"), list.length);
  assert.equal(bytes("gzipped"), gzipSync(list, { level: 9 }).length);
  // Ten bits a key, and what the allowlist adds.
  const ideal = (blacklist.length * Math.log2(1000)) / 8;
  assert.ok(bytes("as a blob") > ideal && bytes("as a blob") < 1.25 * ideal, `${bytes("as a blob")} of ${ideal}`);

  const answers = [...shown.matchAll(/^ {2}(maybe present|definitely absent) +(\S+:\/\/\S+)$/gm)];
  assert.equal(answers.length, 4);
  const isListed = (url) => blacklist.some((host) => `.${new URL(url).hostname}`.endsWith(`.${host}`));
  for (const [, answer, url] of answers)
    assert.equal(answer, isListed(url) ? "maybe present" : "definitely absent", url);
  assert.ok(
    answers.some(([, , url]) => whitelist.includes(new URL(url).hostname)),
    "none looks like a listed one",
  );
});
