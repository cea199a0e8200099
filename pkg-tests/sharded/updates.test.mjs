/** Sharded filters whose host publishes while a client asks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, turns } from "../helpers/following.mjs";
import { keyPair, memoryCache, sha256 } from "../helpers/publisher.mjs";
import { KEYS, members, nonmembers, openSharded, published } from "../helpers/sharded.mjs";

test("the host publishes while a client asks", async () => {
  const { publisher, site, open } = await published();
  const [old, more] = [members.slice(0, KEYS / 2), members];
  publisher.put(old);
  const filter = await open();
  assert.equal(await filter.has(old[0]), true);
  // A different number of shards, and no files of the old generation left.
  publisher.files.clear();
  publisher.put(more, 64);
  site.asked();
  assert.ok((await filter.hasMany(more)).every((answer) => answer === 1));
  assert.equal(filter.generation, 3);
  assert.equal(site.asked().filter((path) => path === "shards.json").length, 1);
  publisher.files.clear();
  publisher.put(old, 128);
  assert.equal(await filter.update(), true);
  assert.equal(await filter.update(), false);
  assert.ok((await filter.hasMany(old)).every((answer) => answer === 1));
  assert.equal(filter.info().shards, 128);
  // A missing file that no newer manifest explains, and a newer manifest that can't be trusted.
  publisher.files.clear();
  await fails("http", (await open()).has(old[0]));
  publisher.key = keyPair();
  publisher.signers = [publisher.key];
  const stays = await openSharded(site.url, { publicKey: null, cache: null });
  publisher.generation = 0;
  publisher.publish();
  publisher.files.clear();
  await fails("http", stays.has(old[0]));
  await fails("rollback", stays.update());
  publisher.feedId = "f".repeat(32);
  publisher.publish();
  await fails("wrong_feed", stays.update());
});

test("what hasn't changed stays in memory", async () => {
  const { publisher, site, open } = await published(16);
  const filter = await open();
  await filter.hasMany(members);
  publisher.put([...members, "one more"]);
  await filter.update();
  site.asked();
  assert.ok((await filter.hasMany([...members, "one more"])).every((answer) => answer === 1));
  assert.deepEqual(site.asked(), publisher.filesOf("one more"));
});

test("the files of an old generation may disappear in any way", async () => {
  const gone = {
    "200 and a page": (response) => response.end("<!doctype html>"),
    "no answer that a page may read": (response) => response.destroy(),
  };
  for (const [what, answer] of Object.entries(gone)) {
    const { publisher, site, open } = await published(16);
    const filter = await open();
    publisher.files.clear();
    publisher.put(nonmembers);
    site.fault = (_path, response, bytes) => bytes === undefined && (answer(response), true);
    assert.ok(
      (await filter.hasMany(nonmembers)).every((one) => one === 1),
      what,
    );
  }
});

test("callers can give up on an update that hangs after a cached manifest was opened", async () => {
  const { open } = await published(2);
  const cache = memoryCache();
  (await open({ cache })).close();
  let asked = 0;
  const fetch = () => (asked++, new Promise(() => {}));
  const filter = await open({ cache, fetch });
  for (let i = 1; i < 4; i++) {
    const stop = new AbortController();
    const updating = filter.update({ signal: stop.signal });
    while (asked < i) await turns();
    const reason = new Error("enough");
    stop.abort(reason);
    await assert.rejects(updating, reason);
    assert.equal(asked, i);
  }
});

test("a question whose files are gone fetches the manifest itself, whatever an update under way has received", async () => {
  const { publisher, site, open } = await published(2);
  const filter = await open();
  const held = [];
  // Holds back the manifest that the host has now.
  const reached = new Promise((resolve) => {
    site.fault = (path, response, bytes) => {
      if (path !== publisher.path) return false;
      held.push(() => response.end(bytes));
      resolve();
      return true;
    };
  });
  const updating = filter.update();
  await reached;
  site.fault = undefined;
  const gone = [...publisher.pages, ...publisher.blobs.map(sha256)];
  publisher.put(members.slice(0, 500));
  for (const name of gone) publisher.files.delete(name);
  const asked = filter.hasMany(members.slice(0, 500));
  // It has got the first 404, and waits for the update.
  while (!site.log.some((path) => gone.includes(path))) await turns();
  await turns();
  held[0]();
  assert.equal(await updating, false);
  assert.ok((await asked).every((answer) => answer === 1));
  assert.equal(filter.generation, 2);
});
