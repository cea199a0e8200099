/** Feeds: what a client fetches when it opens and when it updates, and how it then describes itself. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { answers, bases, keysOf, openFeed, published, RibbonFilter } from "../helpers/feeds.mjs";
import { fails } from "../helpers/following.mjs";
import { folder } from "../helpers/installed.mjs";
import { base64url, keyPair, manifest, Publisher, signature } from "../helpers/publisher.mjs";

test("a feed is opened, and then fetches only what is new", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const feed = await open();
  answers(feed, 2, { name: "second" });
  assert.deepEqual(site.asked(), ["feed.json", ...publisher.listed.map(({ sha256 }) => sha256)]);
  // In Node's words.
  assert.equal(site.headers[0]["cache-control"], "max-age=0");
  assert.equal(site.headers[1]["cache-control"], undefined);
  assert.equal(await feed.update(), false);
  assert.deepEqual(site.asked(), ["feed.json"]);

  const before = feed.filter;
  publisher.delta("third");
  assert.equal(await feed.update(), true);
  answers(feed, 3, { name: "third" });
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[2].sha256]);
  assert.equal(before.info().name, "second", "a filter that is kept stays as it is");

  // The last two deltas become one: only this is fetched.
  publisher.delta("merged", 2);
  assert.equal(await feed.update(), true);
  answers(feed, 4, { name: "merged" });
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[1].sha256]);

  // Only signed again.
  const same = feed.filter;
  publisher.publish();
  assert.equal(await feed.update(), true);
  assert.equal(feed.generation, 5);
  assert.equal(feed.filter, same);
  assert.deepEqual(site.asked(), ["feed.json"]);

  publisher.base(bases.b);
  assert.equal(await feed.update(), true);
  answers(feed, 6, { name: "b", which: "b" });
  assert.equal(feed.filter.hasAny(keysOf("a").slice(0, 1)), false);
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[0].sha256]);
  // A user's mistake, which must not affect the next generation, even if it is only signed again.
  feed.filter.free();
  publisher.publish();
  assert.equal(await feed.update(), true);
  answers(feed, 7, { name: "b", which: "b" });
});

test("passwords are compared as the manifest says", async () => {
  for (const options of [{}, { lowercase: true }, { sha1: true }]) {
    const { publisher, open } = await published();
    const list = options.sha1 ? ["5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8"] : ["password"];
    publisher.base(RibbonFilter.from(list, { profile: "password", ...options }));
    const feed = await open();
    assert.ok(feed.filter.hasPassword("password"));
    const { lowercase, sha1 } = feed.info();
    assert.deepEqual({ lowercase: false, sha1: false, ...options }, { lowercase, sha1 });
    publisher.publish({ lowercase: !lowercase, sha1: false });
    await fails("not_a_feed", feed.update());
    assert.ok(feed.filter.hasPassword("password"));
  }
});

test("the description, the progress, and limits", async () => {
  const { publisher, open } = await published();
  publisher.delta();
  const seen = [];
  const feed = await open({ onProgress: (progress) => seen.push(progress) });
  const total = publisher.listed.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.ok(seen.every((progress, i) => progress.total === total && progress.loaded > (seen[i - 1]?.loaded ?? 0)));
  assert.equal(seen.at(-1).loaded, total);
  const { createdAt, expires } = JSON.parse(Buffer.from(JSON.parse(publisher.manifest).payload, "base64url"));
  const { estimatedFpr, ...info } = feed.info();
  assert.deepEqual(info, {
    feedId: publisher.feedId,
    name: "test",
    homepage: null,
    license: null,
    generation: 2,
    createdAt,
    expires,
    profile: "raw",
    lowercase: false,
    sha1: false,
    fpr: 0.001,
    count: 1000,
    files: 2,
    byteLength: total,
  });
  assert.equal(estimatedFpr, feed.filter.estimatedFpr);
  await open({ maxBytes: total });
  await fails("too_large", open({ maxBytes: total - 1 }));
  const mine = new Error("mine");
  const onProgress = () => {
    throw mine;
  };
  await assert.rejects(open({ onProgress }), mine);
});

test("what may be in a manifest: more members, several signatures, the largest numbers", async () => {
  const { publisher, open } = await published();
  const feed = await open();
  const other = keyPair();
  const payload = base64url(
    JSON.stringify({ ...publisher.payload({ generation: 2 ** 53 - 1, count: 2 ** 53 - 1 }), more: [{}], signed: 5 }),
  );
  const fillers = Array.from({ length: 14 }, () => ({ protected: "e30", signature: "AA", header: {} }));
  const signatures = [...fillers, signature(payload, other), signature(payload, publisher.key)];
  publisher.manifest = Buffer.from(` ${JSON.stringify({ more: null, payload, signatures })}\n`);
  assert.equal(await feed.update(), true);
  answers(feed, 2 ** 53 - 1);
  // As long as allowed, in chunks of any size.
  publisher.feedId = "f".repeat(32);
  const longest = JSON.stringify(publisher.publish().payload()).padEnd(2 ** 20);
  publisher.manifest = manifest(longest, [publisher.key]);
  publisher.manifest = Buffer.concat([publisher.manifest, Buffer.alloc(2 ** 21 - publisher.manifest.length, 32)]);
  answers(await open(), 2);
});

test("64 files are accepted", async () => {
  const { publisher, open } = await published();
  for (let i = 1; i < 64; i++) publisher.delta(`file ${i}`);
  answers(await open(), 64, { name: "file 63" });
});

test("a runtime whose fetch refuses the option cache works without it", async () => {
  const { site, open } = await published();
  for (const message of [
    "The 'cache' field on 'RequestInitializerDict' is not implemented.",
    "Unsupported cache mode: no-cache",
  ]) {
    const fetch = (url, options) => {
      if ("cache" in options) throw new TypeError(message);
      return globalThis.fetch(url, options);
    };
    answers(await open({ fetch }), 1);
    site.fault = (path, response) => path !== "feed.json" && (response.end("damaged"), true);
    await fails("integrity", open({ fetch }));
    site.fault = undefined;
  }
  site.asked();
  const fetch = () => Promise.reject(new TypeError("fetch failed"));
  await fails("network", open({ fetch }));
});

test("a feed in a folder, by a file: URL", async () => {
  const publisher = new Publisher(bases.a).delta("second");
  const home = join(folder, "feed folder");
  mkdirSync(home, { recursive: true });
  for (const [name, bytes] of publisher.files) writeFileSync(join(home, name), bytes);
  const write = () => writeFileSync(join(home, "feed.json"), publisher.manifest);
  write();
  const { publicKey } = publisher.key;
  const feed = await openFeed(pathToFileURL(join(home, "feed.json")), { publicKey });
  answers(feed, 2, { name: "second" });
  publisher.publish();
  write();
  assert.equal(await feed.update(), true);
  writeFileSync(join(home, publisher.listed[1].sha256), "damaged");
  await fails("integrity", openFeed(pathToFileURL(join(home, "feed.json")), { publicKey }));
});
