/** Sharded filters: what a question fetches and answers, what stays in memory, and what is refused before a fetch. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, served } from "../helpers/following.mjs";
import { ShardsPublisher } from "../helpers/publisher.mjs";
import {
  KEYS,
  members,
  neighbour,
  nonmembers,
  openSharded,
  published,
  RibbonFilter,
  urlExpressions,
} from "../helpers/sharded.mjs";

test("a question takes one page and one shard", async () => {
  const { publisher, site, open } = await published();
  const filter = await open();
  assert.deepEqual(site.asked(), ["shards.json"]);
  assert.equal(await filter.has(members[0]), true);
  assert.deepEqual(site.asked(), publisher.filesOf(members[0]));
  assert.equal(await filter.has(members[0]), true);
  assert.equal(await filter.has(Buffer.from(neighbour(publisher, members[0]))), true);
  assert.deepEqual(site.asked(), []);
  // The same page, another shard.
  const [page, shard] = publisher.filesOf(members[0]);
  const other = members.find((key) => publisher.filesOf(key)[0] === page && publisher.filesOf(key)[1] !== shard);
  assert.equal(await filter.has(other), true);
  assert.deepEqual(site.asked(), [publisher.filesOf(other)[1]]);
  filter.close();
});

test("all answers are those of the shards", async () => {
  for (const shards of [1, 2, 256, 512]) {
    const { publisher, site, open } = await published(shards);
    const filter = await open();
    site.asked();
    assert.ok((await filter.hasMany(members)).every((answer) => answer === 1));
    const files = site.asked();
    assert.equal(files.length, shards + Math.ceil(shards / 256), "each file once");
    assert.equal(new Set(files).size, files.length);
    const blobs = publisher.blobs.map((blob) => RibbonFilter.decode(blob));
    const expected = nonmembers.map((key) => Number(blobs[publisher.shardOf(key)].has(key)));
    const keys = nonmembers.map((key, i) => (i % 2 ? key : Buffer.from(key)));
    assert.deepEqual([...(await filter.hasMany(keys))], expected);
    const hits = expected.filter(Boolean).length;
    assert.ok(hits > 0 && hits < KEYS / 400, `${hits} of ${KEYS} at 0.001`);
    for (const key of nonmembers.slice(0, 100)) {
      assert.equal(await filter.has(key), blobs[publisher.shardOf(key)].has(key));
    }
    assert.deepEqual(await filter.hasMany([]), new Uint8Array(0));
    filter.close();
  }
});

test("a thousand callers share one request", async () => {
  const { publisher, site, open } = await published(2);
  const filter = await open();
  site.asked();
  const shared = members.filter((key) => publisher.shardOf(key) === 1).slice(0, 1000);
  assert.ok((await Promise.all(shared.map((key) => filter.has(key)))).every(Boolean));
  assert.deepEqual(site.asked(), publisher.filesOf(shared[0]));
});

test("the description", async () => {
  const { publisher, open } = await published();
  const filter = await open();
  const { createdAt, expires } = JSON.parse(Buffer.from(JSON.parse(publisher.manifest).payload, "base64url"));
  assert.deepEqual(filter.info(), {
    feedId: publisher.feedId,
    name: "test",
    homepage: null,
    license: null,
    generation: 1,
    createdAt,
    expires,
    profile: "raw",
    lowercase: false,
    sha1: false,
    keyed: false,
    fpr: 0.001,
    count: KEYS,
    shards: 512,
    byteLength: publisher.blobs.reduce((sum, { length }) => sum + length, 0),
    tags: null,
  });
});

const golden = new URL("../../tests/golden/shards/", import.meta.url);
const goldenOf = (name) => openSharded(new URL(`${name}/shards.json`, golden), { publicKey: null, cache: null });

test("folders of the tool, by their files", async () => {
  const urls = await goldenOf("url");
  for (const [url, expected] of [
    ["https://user@www.EVIL.example:8443/x?y#z", "evil.example/"],
    ["http://bad.example/%61/b", "bad.example/a/"],
    ["http://bad.example/b/", null],
    ["mailto:a@b.example", null],
  ]) {
    assert.equal(await urls.matchUrl(url), expected, url);
    assert.equal(await urls.hasUrl(new URL(url)), expected !== null, url);
  }
  await fails("wrong_profile", urls.hasPassword("hunter2"));
  await fails("wrong_profile", urls.hasPasswords(["hunter2"]));
  const passwords = ["Hunter2", "hunter2", "stranger's", "gro\u0308\u00dfer"];
  for (const [name, expected] of [
    ["password", [1, 1, 0, 1]],
    ["sha1", [0, 1, 0, 1]],
  ]) {
    const filter = await goldenOf(name);
    assert.deepEqual([...(await filter.hasPasswords(passwords))], expected, name);
    assert.equal(await filter.hasPassword("Hunter2"), Boolean(expected[0]), name);
    await fails("wrong_profile", filter.hasUrl("https://evil.example/"));
  }
});

test("a key that a filter of URLs or passwords can't hold is refused before anything is fetched", async () => {
  const encode = (text) => new TextEncoder().encode(text);
  const hash = Uint8Array.from(Buffer.from("f3bbbd66a63d4bf1747940578ec3d0103530e21d", "hex")); // of hunter2
  for (const [name, held, absent, ...refused] of [
    ["url", "evil.example/", "good.example/", "evil.example", "https://evil.example/", "", encode("evil.example")],
    ["password", "hunter2", "other", "Hunter2", encode("Hunter2"), "gro\u0308\u00dfer"],
    ["sha1", hash, hash.toReversed(), "hunter2", encode("hunter2"), "x".repeat(20), ""],
  ]) {
    const filter = await goldenOf(name);
    const words =
      name === "url" ? / is no key of a filter of URLs; ask hasUrl/ : / is no key .* passwords; ask hasPassword$/;
    for (const key of refused)
      for (const asked of [filter.has(key), filter.hasMany([held, key])])
        assert.match((await fails("invalid_key", asked)).message, words);
    assert.equal(await filter.has(held), true);
    assert.deepEqual([...(await filter.hasMany([held, absent]))], [1, 0]);
  }
  for (const changes of [{ profile: "url" }, { profile: "password", sha1: true }]) {
    const { publisher, site, open } = await published(1);
    publisher.publish({ ...changes, tags: [{ name: "a", count: 1 }] });
    const filter = await open();
    site.asked();
    for (const ask of ["has", "tags"]) await fails("invalid_key", filter[ask]("evil.example"));
    await fails("invalid_key", filter.hasMany(["evil.example"]));
    assert.deepEqual(site.asked(), []);
  }
});

test("the least recently used parts leave the memory", async () => {
  const { publisher, site, open } = await published(16);
  // A part takes 5 kB besides its bytes.
  const room = (Math.max(...publisher.blobs.map(({ length }) => length)) + 5000) * 5;
  const filter = await open({ maxMemory: room });
  const one = (shard) => members.find((key) => publisher.shardOf(key) === shard);
  for (const shard of [0, 1, 2]) assert.equal(await filter.has(one(shard)), true);
  site.asked();
  assert.equal(await filter.has(one(0)), true);
  for (const shard of [3, 4, 5]) assert.equal(await filter.has(one(shard)), true);
  assert.equal(site.asked().length, 3);
  assert.equal(await filter.has(one(0)), true);
  assert.deepEqual(site.asked(), [], "it was used recently");
  assert.equal(await filter.has(one(1)), true);
  assert.deepEqual(site.asked(), publisher.filesOf(one(1)).slice(1), "it was evicted");

  const none = await open({ maxMemory: 0 });
  site.asked();
  for (let i = 0; i < 3; i++) assert.ok((await none.hasMany(members)).every((answer) => answer === 1));
  assert.ok(site.asked().length >= 3 * 16);
});

test("keys of a wrong type", async () => {
  const { open } = await published(2);
  const filter = await open();
  for (const key of [undefined, null, 5, 5n, {}, [], new Uint16Array(2)]) {
    await fails("invalid_key", filter.has(key), String(key));
    await fails("invalid_key", filter.hasMany(["a", key]), String(key));
  }
  for (const keys of [undefined, "abc", 5, new Uint8Array(3)]) await fails("invalid_key", filter.hasMany(keys));
  await fails("invalid_parameter", filter.has("a", { signal: {} }));
  const { message } = await fails("wrong_profile", filter.hasUrl("https://evil.example/"));
  assert.match(message, /raw, not url; build it with the profile url$/);
  await fails("wrong_profile", filter.hasUrl("mailto:"));
  await fails("wrong_profile", filter.hasPassword("x"));
  await fails("invalid_key", filter.hasPassword(5));
  await fails("invalid_key", filter.hasUrl(5));
  // A key that its owner changes in the meantime.
  const key = Buffer.from(members[0]);
  const asked = filter.has(key);
  const [askedToo, all] = [filter.hasMany([key]), filter.hasMany([Buffer.from(members[1]), key])];
  key.fill(0);
  assert.equal(await asked, true);
  assert.deepEqual([...(await askedToo), ...(await all)], [1, 1, 1]);
  assert.equal(await filter.has(""), await filter.has(new Uint8Array(0)));
  assert.equal(await filter.has("\ud800"), await filter.has("\ufffd"));
});

test("questions that need no file end with the others", async () => {
  const { open } = await published(2);
  const filter = await open();
  const reason = new Error("enough");
  await assert.rejects(filter.hasMany([], { signal: AbortSignal.abort(reason) }), reason);
  filter.close();
  await fails("freed", filter.hasMany([]));
  await fails("freed", filter.hasUrl("mailto:"));
  await fails("freed", filter.hasPassword("x"));
  const gone = new Uint8Array(4);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  await fails("invalid_key", (await open()).has(gone));
});

test("a URL's first key that is maybe present is found, whichever shards its keys are in", async () => {
  const from = (keys, options) => RibbonFilter.from(keys, { ...options, profile: "url" });
  const publisher = new ShardsPublisher({ from }, 1, []);
  const { shardOf } = publisher;
  // By the site: the last two labels of the host.
  publisher.shardOf = (key) => shardOf.call(publisher, key.split("/")[0].split(".").slice(-2).join("."));
  // Browsers read this host in two ways.
  const url = "http://a.\u1e9e.de/a/x%2F..%2F..%2Fy";
  const { open } = await served(publisher, openSharded);
  for (const [first, second] of [
    ["a.ss.de/", "a.xn--zca.de/a/"],
    ["a.xn--zca.de/a/", "a.ss.de/a/"],
  ]) {
    publisher.put([first, second], 256).publish({ profile: "url" });
    const asked = urlExpressions(url);
    // Their keys take turns: the shard that is asked first doesn't have all earlier ones.
    assert.notEqual(publisher.shardOf(first), publisher.shardOf(second));
    assert.ok(asked.indexOf(first) < asked.indexOf(second));
    assert.equal(await (await open()).matchUrl(url), first);
  }
});
