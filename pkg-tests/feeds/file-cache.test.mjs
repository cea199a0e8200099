/** The cache in a folder, `fileCache`: complete files or none, and what it refuses. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { answers, bases, fileCache, published } from "../helpers/feeds.mjs";
import { folder } from "../helpers/installed.mjs";
import { sha256 } from "../helpers/publisher.mjs";

test("fileCache: files are complete or absent, and failures are reported", async () => {
  const { publisher, site, open } = await published();
  const home = join(folder, "kept", "here");
  const cache = fileCache(home);
  await open({ cache });
  publisher.base(bases.b).delta("kept");
  const feed = await open({ cache });
  answers(feed, 1);
  assert.equal(await feed.update(), true);
  assert.equal(feed.cacheError, undefined);
  site.fault = (_, response) => (response.destroy(), true);
  for (const place of [home, pathToFileURL(home), pathToFileURL(home).href])
    answers(await open({ cache: fileCache(place) }), 3, { name: "kept", which: "b" });
  const kept = readdirSync(home).sort();
  assert.equal(kept.length, 2);
  for (const [i, kind] of ["base", "head"].entries()) assert.match(kept[i], new RegExp(`^${kind}-[0-9a-f]{64}$`));
  assert.equal(sha256(readFileSync(join(home, kept[0]))), publisher.listed[0].sha256);
  // A folder that is really a file.
  site.fault = undefined;
  const file = join(home, kept[0]);
  const broken = await open({ cache: fileCache(file) });
  answers(broken, 3, { name: "kept", which: "b" });
  assert.equal(broken.cacheError.code, "cache");
  assert.match(broken.cacheError.message, /^the cache could not be read: ENOTDIR: /);
  // A file that can't be read doesn't count as absent.
  await assert.rejects(fileCache(file).get("a"), { code: "ENOTDIR" });
  mkdirSync(join(home, "taken"));
  await assert.rejects(cache.get("taken"), { code: "EISDIR" });
  await assert.rejects(cache.put("taken", new Uint8Array(9)));
  assert.deepEqual(readdirSync(home).sort(), [...kept, "taken"].sort(), "a half-written file is left");
  assert.equal(await cache.get("absent"), undefined);
  await cache.delete("absent");
  // A failure leaves the last bytes.
  await cache.put("one", new Uint8Array(9));
  await assert.rejects(cache.put("one", {}));
  assert.equal((await cache.get("one")).length, 9);
});

test("fileCache: a relative path counts from where the program was", async (context) => {
  const before = process.cwd();
  context.after(() => process.chdir(before));
  process.chdir(folder);
  const cache = fileCache("relative");
  mkdirSync("elsewhere");
  process.chdir("elsewhere");
  await cache.put("one", new Uint8Array(9));
  assert.deepEqual(readdirSync(join(folder, "relative")), ["one"]);
});

test("fileCache: a file that can't be removed holds nothing up", async () => {
  const home = join(folder, "stuck");
  const stuck = join(home, `file-${sha256("stuck")}.${randomUUID()}.tmp`);
  mkdirSync(join(stuck, "below"), { recursive: true });
  utimesSync(stuck, new Date(0), new Date(0));
  const cache = fileCache(home);
  for (const name of ["one", "two"]) await cache.put(name, new Uint8Array(9));
  assert.deepEqual(readdirSync(home).sort(), [basename(stuck), "one", "two"].sort());
});

test("fileCache: leftovers of killed runs are removed, but not what another run is writing", async () => {
  const home = join(folder, "left");
  mkdirSync(home);
  const half = (name) => join(home, `${name}.${randomUUID()}.tmp`);
  const [old, young] = ["file", "manifest"].map((kind) => half(`${kind}-${sha256(kind)}`));
  // Other programs' files.
  const others = [half("upload"), half(sha256("upload")), join(home, "c.tmp")];
  for (const file of [old, young, ...others]) writeFileSync(file, "half");
  for (const file of [old, ...others]) utimesSync(file, new Date(0), new Date(0));
  const caches = [fileCache(home), fileCache(home)];
  const bytes = Array.from({ length: 20 }, (_, i) => new Uint8Array(100_000).fill(i));
  await Promise.all(bytes.map((some, i) => caches[i % 2].put("same", some)));
  assert.deepEqual(readdirSync(home).sort(), [young, ...others, "same"].map((file) => basename(file)).sort());
  const kept = await caches[0].get("same");
  assert.ok(kept.length === 100_000 && kept.every((byte) => byte === kept[0]), "a mixture of two");
});

test("fileCache: names and folders that it refuses", async () => {
  const cache = fileCache(join(folder, "refusing"));
  for (const name of ["", ".", "..", "../a", "a/b", "a\\b", "A", "a..b", ".a", "a.", "a\0"]) {
    await assert.rejects(cache.get(name), { code: "cache" }, JSON.stringify(name));
    await assert.rejects(cache.put(name, new Uint8Array(1)), { code: "cache" }, JSON.stringify(name));
    await assert.rejects(cache.delete(name), { code: "cache" }, JSON.stringify(name));
  }
  for (const wrong of ["", undefined, null, 5, {}, new URL("https://a.example/")])
    assert.throws(() => fileCache(wrong), { code: "invalid_parameter" }, String(wrong));
});
