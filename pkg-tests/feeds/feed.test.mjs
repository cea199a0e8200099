/** Feeds: what a client accepts, refuses and keeps, against a publisher and a server that misbehave in every way. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { mock, test } from "node:test";
import { pathToFileURL } from "node:url";
import { fails, noNetwork, served, turns } from "../helpers/following.mjs";
import { CATCH_MEMORY, folder, installed } from "../helpers/installed.mjs";
import {
  base64url,
  keyPair,
  manifest,
  memoryCache,
  Publisher,
  sha256,
  signature,
  webLocks,
  without,
} from "../helpers/publisher.mjs";

/** The entry that follows feeds here, if it isn't the usual one: `feeds/nano-feed.test.mjs` sets it. */
const { FOLLOWER } = process.env;

const { FilterError, RibbonFilter, decode } = await installed();
const { fileCache, openFeed } = await installed(FOLLOWER);

const keysOf = (which) => Array.from({ length: 3000 }, (_, i) => `${which} key ${i}`);
const bases = Object.fromEntries(["a", "b"].map((which) => [which, RibbonFilter.from(keysOf(which), { name: which })]));

/** A publisher on a server, and how to open its feed. */
const published = (which = "a") => served(new Publisher(bases[which]), openFeed);

/** The newest manifest as if it had been published so many milliseconds ago; more than a CDN may be behind. */
function older(publisher, age = 10 * 60_000 + 1000) {
  return manifest(publisher.payload({ createdAt: Date.now() - age }), [publisher.key]);
}

/** That a feed answers from this generation, and from the whole of it. */
function answers(feed, generation, { name, which = "a" } = {}) {
  assert.equal(feed.generation, generation);
  assert.ok(feed.filter.hasAll(keysOf(which)), "a false negative");
  if (name !== undefined) assert.equal(feed.filter.info().name, name);
}

test("a feed is opened, and then fetches only what is new", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const feed = await open();
  answers(feed, 2, { name: "second" });
  assert.deepEqual(site.asked(), ["feed.json", ...publisher.listed.map(({ sha256 }) => sha256)]);
  // As Node says it.
  assert.equal(site.headers[0]["cache-control"], "max-age=0");
  assert.equal(site.headers[1]["cache-control"], undefined);
  assert.equal(await feed.update(), false);
  assert.deepEqual(site.asked(), ["feed.json"]);

  const before = feed.filter;
  publisher.delta("third");
  assert.equal(await feed.update(), true);
  answers(feed, 3, { name: "third" });
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[2].sha256]);
  assert.equal(before.info().name, "second", "a filter that is kept goes on as it is");

  // The last two deltas become one: only that is fetched.
  publisher.delta("merged", 2);
  assert.equal(await feed.update(), true);
  answers(feed, 4, { name: "merged" });
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[1].sha256]);

  // Only signed anew.
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
  before.free();
  feed.filter.free(); // a user's mistake; the next generation doesn't mind
  publisher.delta("seventh");
  assert.equal(await feed.update(), true);
  answers(feed, 7, { name: "seventh", which: "b" });
  feed.close();
});

test("a delta of the tool changes the answers", async () => {
  const golden = (name) => new Uint8Array(readFileSync(new URL(`../../tests/golden/${name}`, import.meta.url)));
  const { publisher, open } = await published();
  publisher.base(decode(golden("ribbon.bloom")));
  const feed = await open();
  assert.ok(feed.filter.has("key-7") && !feed.filter.has("key-1049"));
  const bytes = golden("ribbon.delta");
  publisher.files.set(sha256(bytes), bytes);
  publisher.listed.push({ kind: "delta", bytes: bytes.length, sha256: sha256(bytes) });
  publisher.publish();
  assert.equal(await feed.update(), true);
  assert.ok(!feed.filter.has("key-7") && feed.filter.has("key-1049"));
  assert.deepEqual(feed.filter.toBytes(), golden("ribbon-child.bloom"));
});

test("passwords are compared as the manifest says", async () => {
  for (const options of [{}, { lowercase: true }, { sha1Hex: true }]) {
    const { publisher, open } = await published();
    const list = options.sha1Hex ? ["5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8"] : ["password"];
    publisher.base(RibbonFilter.from(list, { profile: "password", ...options }));
    const feed = await open();
    assert.ok(feed.filter.hasPassword("password"));
    const { lowercase, sha1 } = feed.filter.info();
    assert.deepEqual([lowercase, sha1], [options.lowercase ?? false, options.sha1Hex ?? false]);
    const { lowercase: saidLowercase, sha1: saidSha1 } = feed.info();
    assert.deepEqual([saidLowercase, saidSha1], [lowercase, sha1]);
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
  assert.deepEqual(feed.createdAt, new Date(createdAt));
  assert.equal(feed.stale, false);
  assert.equal(feed.cacheError, undefined);
  assert.equal(Object.prototype.toString.call(feed), "[object Feed]");
  await open({ maxBytes: total });
  await fails("too_large", open({ maxBytes: total - 1 }));
  const mine = new Error("mine");
  const onProgress = () => {
    throw mine;
  };
  await assert.rejects(open({ onProgress }), mine);
  publisher.publish({ name: undefined });
  await feed.update();
  assert.equal(feed.info().name, null);
});

test("how often it is to be watched", async () => {
  const { open } = await published();
  const feed = await open();
  assert.throws(() => feed.watch(), { code: "invalid_parameter" });
  for (const every of [undefined, "5s", null, "5000", 999, Infinity, NaN])
    assert.throws(() => feed.watch({ every }), { code: "invalid_parameter" });
  assert.throws(() => feed.watch({ every: 5000, onUpdate: 5 }), { code: "invalid_parameter" });
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

test("a manifest of 100 MB is not read", async () => {
  const { site, open } = await published();
  const chunk = Buffer.alloc(65_536, 32);
  for (const headers of [{}, { "content-length": 1e8 }]) {
    let sent = 0;
    site.fault = (_, response) => {
      response.writeHead(200, headers);
      const more = () => {
        while (sent < 1e8 && !response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
      };
      more();
      return true;
    };
    await fails("too_large", open());
    assert.ok(sent < 2e7, `${sent} bytes`);
  }
});

test("64 files are taken", async () => {
  const { publisher, open } = await published();
  for (let i = 1; i < 64; i++) publisher.delta(`file ${i}`);
  answers(await open(), 64, { name: "file 63" });
});

/** The bytes of a response, of which `at` are sent before the connection breaks. */
const cut = (response, bytes, at, length = bytes.length) => {
  response.writeHead(200, length ? { "content-length": length } : {});
  response.write(bytes.subarray(0, at), () => response.destroy());
  return true;
};

test("files and manifests that break off, are damaged, swapped, longer or shorter", async () => {
  const { publisher, site, open } = await published();
  const feed = await open();
  publisher.base(bases.b).delta("third");
  const names = ["feed.json", ...publisher.listed.map(({ sha256 }) => sha256)];
  const flipped = (bytes) => bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 1 : byte));
  const send = (code, change, chunked) => [
    code,
    (response, bytes, path) => {
      const changed = change(bytes, path);
      response.writeHead(200, chunked ? {} : { "content-length": changed.length });
      if (chunked) response.write(changed.subarray(0, 5));
      response.end(chunked ? changed.subarray(5) : changed);
      return true;
    },
  ];
  const status = (code, number) => [code, (response) => (response.writeHead(number).end("no"), true)];
  const faults = {
    "cut in the middle": ["network", (response, bytes) => cut(response, bytes, bytes.length >> 1)],
    "cut in the middle, of unknown length": ["network", (response, bytes) => cut(response, bytes, 40, null)],
    "cut after the last byte": ["network", (response, bytes) => cut(response, bytes, bytes.length, null)],
    "cut before the first byte": ["network", (response) => (response.destroy(), true)],
    missing: status("http", 404),
    "an error": status("http", 503),
    damaged: send("integrity", flipped),
    longer: send("integrity", (bytes) => Buffer.concat([bytes, Buffer.from(" ")])),
    "longer, of unknown length": send("integrity", (bytes) => Buffer.concat([bytes, Buffer.from(" ")]), true),
    shorter: send("integrity", (bytes) => bytes.subarray(0, -1)),
    "shorter, of unknown length": send("integrity", (bytes) => bytes.subarray(0, -1), true),
    empty: send("integrity", () => Buffer.alloc(0)),
    "another file": send("integrity", (_, path) =>
      publisher.files.get(names.find((name) => name.length > 9 && name !== path)),
    ),
    "a captive portal": send("integrity", () => Buffer.from("<title>Sign in</title>")),
  };
  for (const path of names) {
    for (const [what, [expected, fault]] of Object.entries(faults)) {
      site.fault = (asked, response, bytes) => asked === path && fault(response, Buffer.from(bytes), path);
      const mended = path === "feed.json" && /^longer/.test(what);
      if (mended) continue; // spaces after a manifest are no fault
      const code =
        path === "feed.json" && expected === "integrity" ? /signature|not_a_feed/ : new RegExp(`^${expected}$`);
      for (const attempt of [() => feed.update(), () => open()]) {
        const error = await attempt().then(
          () => assert.fail(`${what} ${path}`),
          (error) => error,
        );
        assert.ok(error instanceof FilterError && code.test(error.code), `${what} ${path}: ${error.stack}`);
        assert.ok(error.message.includes(`${site.address}/${path}`), error.message);
        answers(feed, 1, { name: "a" });
      }
    }
  }
  site.fault = undefined;
  assert.equal(await feed.update(), true);
  answers(feed, 3, { name: "third", which: "b" });
  site.close();
  await fails("network", feed.update());
  answers(feed, 3, { name: "third", which: "b" });
});

test("a transport that tells the length and ends early is `truncated`", async () => {
  const { publisher, open } = await published();
  const feed = await open();
  publisher.delta();
  for (const short of ["feed.json", publisher.listed[1].sha256]) {
    const fetch = async (url, options) => {
      const response = await globalThis.fetch(url, options);
      if (!url.endsWith(short)) return response;
      const bytes = new Uint8Array(await response.arrayBuffer());
      return new Response(bytes.subarray(0, -1), { headers: { "content-length": bytes.length } });
    };
    await fails("truncated", open({ fetch }));
  }
  await feed.update();
});

test("a file that is longer than signed is read no further", async () => {
  const { publisher, site, open } = await published();
  const { sha256: name, bytes: length } = publisher.listed[0];
  let sent = 0;
  site.fault = (path, response, bytes) => {
    if (path !== name) return false;
    response.writeHead(200).write(bytes);
    const more = () => {
      while (sent < 1e8 && !response.destroyed) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536))) return void response.once("drain", more);
      }
    };
    more();
    return true;
  };
  await fails("integrity", open());
  assert.ok(sent < 4e7 && length > 1000, `${sent} bytes`);
});

test("what an HTTP cache has damaged is fetched past it, once", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  for (const { sha256: path } of publisher.listed) {
    const asked = [];
    site.fault = (at, response, bytes, { headers }) => {
      if (at !== path) return false;
      asked.push(headers["cache-control"]);
      if (headers["cache-control"] === "no-cache") return false;
      response.writeHead(200).end(bytes.map((byte) => byte ^ 1));
      return true;
    };
    answers(await open(), 2, { name: "second" });
    assert.deepEqual(asked, [undefined, "no-cache"]);
  }
});

test("files that aren't what the manifest says: a delta as base, a base as delta, a delta for another parent", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const feed = await open();
  const [base, first] = publisher.listed;
  publisher.delta("third");
  const [, , second] = publisher.listed;
  const cases = [
    ["wrong_kind", [{ ...first, kind: "base" }]],
    ["wrong_kind", [base, { ...base, kind: "delta" }]],
    ["wrong_base", [base, second]],
    ["wrong_base", [base, first, first]],
    ["wrong_base", [base, first, second, first]],
    // A length that was signed, and is wrong.
    ["integrity", [base, { ...first, bytes: first.bytes + 1 }]],
    ["integrity", [base, { ...first, bytes: first.bytes - 1 }]],
  ];
  for (const [code, files] of cases) {
    publisher.publish({ files });
    await fails(code, feed.update(), JSON.stringify(files));
    await fails(code, open());
    answers(feed, 2, { name: "second" });
  }
  const text = Buffer.from("no filter at all");
  publisher.files.set(sha256(text), text);
  publisher.publish({ files: [{ kind: "base", bytes: text.length, sha256: sha256(text) }] });
  const { message } = await fails("not_a_filter", feed.update());
  assert.ok(message.startsWith(`${site.address}/${sha256(text)}: `), message);
  publisher.publish();
  assert.equal(await feed.update(), true);
  answers(feed, publisher.generation, { name: "third" });
});

test("replayed and swapped manifests, another feed's, and one of a stolen key", async () => {
  const { publisher, site, open } = await published();
  const first = older(publisher);
  publisher.delta("second");
  const cache = memoryCache();
  const feed = await open({ cache });
  publisher.manifest = first;
  await fails("rollback", feed.update());
  answers(feed, 2, { name: "second" });

  // Another feed under the same key.
  const other = new Publisher(bases.b);
  Object.assign(other, { key: publisher.key, signers: [publisher.key], generation: 9 });
  other.publish();
  site.publisher = other;
  await fails("wrong_feed", feed.update());
  answers(feed, 2, { name: "second" });
  site.publisher = publisher;

  // Whoever stole the key signs the highest generation.
  publisher.manifest = manifest(publisher.payload({ generation: 2 ** 53 - 1 }), [publisher.key]);
  assert.equal(await feed.update(), true);
  const next = keyPair();
  publisher.signers = [next];
  publisher.delta("honest");
  await fails("signature", feed.update());
  const both = [publisher.key.publicKey, next.publicKey];
  await fails(
    "rollback",
    open({ cache, publicKey: publisher.key.publicKey })
      .then((feed) => feed.update())
      .catch((error) => {
        // The old key's client has the thief's generation, and doesn't know the new key.
        assert.equal(error.code, "signature");
        throw new FilterError("rollback", "as expected");
      }),
  );
  const moved = await open({ cache, publicKey: next.publicKey });
  answers(moved, 3, { name: "honest" });
  // With both keys it is a third set.
  answers(await open({ cache, publicKey: both }), 3, { name: "honest" });
});

test("a place of a CDN that is a little behind another is no rollback", async () => {
  const { publisher, open } = await published();
  const [second, first, third] = [9, 11, -1].map((minutes) => older(publisher, minutes * 60_000));
  const again = manifest(publisher.payload({ name: "again", generation: 2 }), [publisher.key]);
  const over = manifest(publisher.payload({ createdAt: Date.now() - 9 * 60_000, expires: Date.now() - 1 }), [
    publisher.key,
  ]);
  publisher.delta("second");
  const cache = memoryCache();
  const feed = await open({ cache });
  const errors = [];
  feed.watch({ every: 1e6, onError: (error) => errors.push(error) });
  publisher.manifest = second;
  assert.equal(await feed.update(), false);
  answers(feed, 2, { name: "second" });
  assert.equal(feed.cacheError, undefined);
  // An older one, one that is newer by its time, one that has expired, and another of the same generation.
  for (const manifest of [first, third, over, again]) {
    publisher.manifest = manifest;
    await fails("rollback", feed.update());
  }
  // Nobody knows what the generation in place is worth that nobody has.
  publisher.manifest = second;
  for (const { sha256: name } of publisher.listed) cache.entries.delete(publisher.kept(name));
  await fails("rollback", open({ cache }));
  // The floor of another tab counts, too.
  publisher.delta("third");
  const behind = older(publisher, 60_000);
  publisher.delta("fourth");
  const tab = await open({ cache });
  assert.equal(tab.generation, 4);
  publisher.manifest = behind;
  assert.equal(await feed.update(), false);
  answers(feed, 2, { name: "second" });
  // What has expired doesn't look as if all were well.
  mock.timers.enable({ apis: ["Date"], now: Date.now() + 3_600_000 - 1000 });
  try {
    publisher.publish({ createdAt: Date.now() - 1000, expires: Date.now() + 60_000 });
    const older = publisher.manifest;
    publisher.publish({ createdAt: Date.now(), expires: Date.now() + 2000 });
    assert.equal(await feed.update(), true);
    publisher.manifest = older;
    assert.equal(await feed.update(), false);
    mock.timers.tick(2000);
    assert.equal(feed.stale, true);
    await fails("rollback", feed.update());
  } finally {
    mock.timers.reset();
  }
  assert.deepEqual(errors, []);
  feed.close();
});

test("several keys and their rotation", async () => {
  const { publisher, open } = await published();
  const [old, next] = [publisher.key, keyPair()];
  const feed = await open({ publicKey: [next.publicKey, old.publicKey, old.publicKey] });
  publisher.signers = [old, next];
  publisher.publish();
  await open({ publicKey: next.publicKey });
  await open({ publicKey: [old.publicKey] });
  publisher.signers = [next];
  publisher.publish();
  assert.equal(await feed.update(), true);
  const { message } = await fails("signature", open());
  assert.match(message, /: none of the public keys has signed the manifest; is publicKey that of this feed\?$/);
  // The order of the keys, and keys that come twice, make no other set.
  const cache = memoryCache();
  await open({ cache, publicKey: [next.publicKey, old.publicKey] });
  const names = [...cache.entries.keys()];
  await open({ cache, publicKey: [old.publicKey, next.publicKey, old.publicKey] });
  assert.deepEqual([...cache.entries.keys()], names);
});

test("an unsigned feed, for those who say so", async () => {
  const { publisher, site, open } = await published();
  publisher.signers = [];
  publisher.publish();
  const feed = await open({ publicKey: null });
  answers(feed, 2);
  await fails("signature", open());
  publisher.signers = [keyPair()];
  publisher.publish();
  assert.equal(await feed.update(), true);
  // One that is older by its time, too, could come from an edge that is behind.
  publisher.manifest = manifest(publisher.payload({ generation: 2, createdAt: Date.now() + 1000 }));
  await fails("rollback", feed.update());
  publisher.manifest = manifest(publisher.payload({ generation: 5, fpr: 2 }));
  const { message } = await fails("not_a_feed", feed.update());
  assert.equal(message, `${site.url}: this is no manifest of a feed: fpr is wrong`);
});

test("where signatures can't be checked, that is said", async () => {
  const { open } = await published();
  const { subtle } = crypto;
  const without = async (value, run) => {
    Object.defineProperty(crypto, "subtle", { value, configurable: true });
    try {
      await run();
    } finally {
      delete crypto.subtle;
    }
  };
  await without(undefined, async () => {
    assert.match((await fails("signature", open())).message, /https/);
    answers(await open({ publicKey: null }), 1);
  });
  const importKey = async () => {
    throw new DOMException("Unrecognized name.", "NotSupportedError");
  };
  await without({ importKey }, async () => assert.match((await fails("signature", open())).message, /Ed25519/));
  assert.equal(crypto.subtle, subtle);
});

/** Runs with a clock that is some milliseconds off. */
const off = (milliseconds, run) => during(Date.now() + milliseconds, run);

/** Runs with a clock that stands still. */
async function during(now, run) {
  mock.timers.enable({ apis: ["Date"], now });
  try {
    return await run();
  } finally {
    mock.timers.reset();
  }
}

const HOUR = 3_600_000;

test("expiry: a clock that is an hour off, and maxAge", async () => {
  const { publisher, open } = await published();
  const expires = Date.now() + 2 * HOUR;
  publisher.publish({ expires });
  const feed = await open();
  const kept = memoryCache();
  await open({ cache: kept });
  for (const hours of [-1, 1]) {
    await off(hours * HOUR, async () => {
      assert.equal(feed.stale, false);
      assert.equal(await feed.update(), false);
      answers(await open(), 2);
    });
  }
  // To the millisecond.
  await during(expires - 1, async () => {
    assert.equal(feed.stale, false);
    await open();
  });
  await during(expires, async () => {
    assert.equal(feed.stale, true);
    // There is nothing newer, but nobody can say that all is well.
    await fails("expired", feed.update());
    answers(feed, 2);
    await fails("expired", open());
    const cached = await open({ cache: kept });
    assert.equal(cached.stale, true);
    answers(cached, 2);
    await fails("expired", cached.update());
    publisher.publish();
    assert.equal(await cached.update(), true);
    assert.equal(cached.stale, false);
  });
  // maxAge only tightens.
  publisher.publish({ expires: Date.now() + 8 * HOUR });
  const strict = await open({ maxAge: HOUR });
  await off(2 * HOUR, async () => {
    assert.equal(strict.stale, true);
    await fails("expired", strict.update());
    await fails("expired", open({ maxAge: HOUR }));
    await open({ maxAge: 9 * HOUR });
  });
  await off(9 * HOUR, () => fails("expired", open({ maxAge: 90 * HOUR })));
});

test("with a cache it starts at once, offline too, and updates behind", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const cache = memoryCache();
  await open({ cache });
  for (const name of cache.entries.keys()) assert.match(name, /^[a-z0-9.-]+$/);
  for (const { sha256: name } of publisher.listed) assert.equal(sha256(cache.entries.get(publisher.kept(name))), name);
  assert.equal(cache.entries.size, 4);
  site.asked();

  publisher.delta("third");
  const feed = await open({ cache });
  answers(feed, 2, { name: "second" });
  assert.equal(await feed.update(), true); // joins the one behind
  answers(feed, 3, { name: "third" });
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[2].sha256]);

  publisher.base(bases.b);
  assert.equal(await feed.update(), true);
  // What no manifest names any more is gone.
  assert.equal(cache.entries.size, 3);
  site.fault = (_, response) => (response.destroy(), true);
  const offline = await open({ cache });
  answers(offline, 4, { name: "b", which: "b" });
  await fails("network", offline.update());
  answers(offline, 4, { name: "b", which: "b" });
  assert.deepEqual(site.asked().slice(-1), ["feed.json"]);
});

test("what a cache remembers: the highest generation of a feed, and the feed of a URL", async () => {
  const { publisher, site, open } = await published();
  const first = older(publisher);
  publisher.delta("second");
  const cache = memoryCache();
  await open({ cache });
  publisher.manifest = first;
  const restarted = await open({ cache });
  await fails("rollback", restarted.update());
  answers(restarted, 2, { name: "second" });
  // At another URL too, and without the files.
  for (const { sha256: name } of publisher.listed) assert.ok(cache.entries.delete(publisher.kept(name)));
  await fails("rollback", open({ cache }));
  const elsewhere = (options) =>
    openFeed(`${site.url}?elsewhere`, { publicKey: publisher.key.publicKey, cache, ...options });
  await fails("rollback", elsewhere());
  // The hash of a URL belongs to nobody.
  await fails("rollback", openFeed(`${site.url}#part`, { publicKey: publisher.key.publicKey, cache }));
  // Without the cache nobody knows.
  answers(await open(), 1);
  const other = new Publisher(bases.b);
  Object.assign(other, { key: publisher.key, signers: [publisher.key], generation: 9 });
  other.publish();
  site.publisher = other;
  await fails("wrong_feed", open({ cache }));
  answers(await elsewhere(), 10, { which: "b" });
  await fails("wrong_feed", open({ cache }));
  // For other keys it is another URL.
  await open({ cache, publicKey: [publisher.key.publicKey, keyPair().publicKey] });
});

test("another tab goes on: its generation is a floor here, and its cache is not set back", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const [one, two] = [await open({ cache }), await open({ cache })];
  await two.update();
  publisher.delta("second");
  const second = older(publisher);
  publisher.delta("third");
  await one.update();
  const newer = publisher.manifest;
  publisher.manifest = second;
  await fails("rollback", two.update());
  answers(two, 1);
  publisher.manifest = newer;
  site.asked();
  assert.equal(await two.update(), true);
  answers(two, 3, { name: "third" });
  assert.deepEqual(site.asked(), ["feed.json"]);
});

test("a cache that is full at any moment keeps its old generation, and says so", async () => {
  const { publisher, open } = await published();
  publisher.delta("second");
  for (const start of ["empty", "filled"]) {
    for (let full = 0; ; full++) {
      const cache = memoryCache();
      const errors = [];
      let old;
      if (start === "filled") {
        old = await open({ cache });
        await old.update();
      }
      const before = new Map(cache.entries);
      publisher.base(bases[full % 2 ? "a" : "b"]).delta(`full ${full}`);
      let puts = 0;
      cache.fault = (method) => {
        if (method === "put" && puts++ >= full) throw new DOMException("no room", "QuotaExceededError");
      };
      const feed = old ?? (await open({ cache }));
      const stop = feed.watch({ every: 1e6, onError: (error) => errors.push(error) });
      if (old) assert.equal(await feed.update(), true);
      assert.equal(feed.generation, publisher.generation);
      stop();
      if (puts <= full) {
        assert.equal(feed.cacheError, undefined);
        assert.ok(full >= 3, "nothing was put");
        break;
      }
      assert.ok(feed.cacheError instanceof FilterError);
      assert.equal(feed.cacheError.code, "cache");
      assert.equal(feed.cacheError.cause.name, "QuotaExceededError");
      if (old) assert.deepEqual(errors, [feed.cacheError]);
      // The name of the manifest is put back too.
      assert.deepEqual(new Map([...cache.entries].sort()), new Map([...before].sort()), `${start}, full after ${full}`);
      // There is room again: it is all put, also what was fetched before.
      cache.fault = undefined;
      publisher.delta(`room ${full}`);
      assert.equal(await feed.update(), true);
      assert.equal(feed.cacheError, undefined);
      const offline = await open({ cache, fetch: noNetwork });
      assert.equal(offline.filter.info().name, `room ${full}`);
      await fails("network", offline.update());
    }
  }
});

test("a cache that is damaged, forgetful, slow to answer or of another kind is worth what it still has", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const good = memoryCache();
  await open({ cache: good });
  const flipped = (bytes) => bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 1 : byte));
  const damages = {
    flipped,
    shorter: (bytes) => bytes.subarray(1),
    longer: (bytes) => new Uint8Array([...bytes, 0]),
    empty: () => new Uint8Array(0),
    another: (_, name) => [...good.entries].find(([other]) => other !== name)[1],
    missing: () => undefined,
    null: () => null,
    false: () => false,
    text: () => "text",
    array: () => [1, 2],
    buffer: (bytes) => bytes.slice().buffer,
    proxy: (bytes) => new Proxy(bytes, {}),
    transferred(bytes) {
      const copy = bytes.slice();
      structuredClone(copy, { transfer: [copy.buffer] });
      return copy;
    },
    throws() {
      throw new Error("no");
    },
  };
  for (const [what, damage] of Object.entries(damages)) {
    for (const damaged of [...good.entries.keys(), ...[/^file-/, /./].map((names) => names)]) {
      const hit = (name) => (typeof damaged === "string" ? name === damaged : damaged.test(name));
      const cache = memoryCache();
      for (const [name, bytes] of good.entries) cache.entries.set(name, bytes);
      // Not even a promise.
      const get = (name) =>
        hit(name) ? damage(good.entries.get(name) ?? new Uint8Array(9), name) : cache.entries.get(name);
      site.asked();
      const feed = await open({
        cache: { get, put: cache.put.bind(cache), delete: (name) => cache.entries.delete(name) },
      });
      await feed.update();
      answers(feed, 2, { name: "second" });
      const files = site.asked().filter((path) => path !== "feed.json");
      const expected = publisher.listed.map(({ sha256 }) => sha256).filter((name) => hit(publisher.kept(name)));
      assert.deepEqual(files, expected, `${what} ${damaged}`);
    }
  }
});

test("feeds that share a cache keep apart what they have", async () => {
  const [one, two] = [await published(), await published()];
  const cache = memoryCache();
  const [first, second] = [await one.open({ cache }), await two.open({ cache })];
  assert.deepEqual(one.publisher.listed, two.publisher.listed);
  one.publisher.base(bases.b);
  assert.equal(await first.update(), true);
  two.publisher.delta("second");
  assert.equal(await second.update(), true);
  assert.equal(second.cacheError, undefined);
  const offline = { cache, fetch: noNetwork };
  answers(await two.open(offline), 2, { name: "second" });
  answers(await one.open(offline), 2, { name: "b", which: "b" });
});

test("fileCache: files are whole or not there, and what fails is told", async () => {
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
  const names = publisher.listed.map(({ sha256 }) => sha256);
  const kept = readdirSync(home);
  assert.equal(kept.length, 4);
  for (const name of kept) assert.match(name, /^(feed|manifest|file)-[0-9a-f]{64}$/);
  for (const name of names) assert.equal(sha256(readFileSync(join(home, publisher.kept(name)))), name);
  // A folder that is none.
  site.fault = undefined;
  const file = join(home, publisher.kept(names[0]));
  const broken = await open({ cache: fileCache(file) });
  answers(broken, 3, { name: "kept", which: "b" });
  assert.equal(broken.cacheError.code, "cache");
  assert.match(broken.cacheError.message, /^the cache could not be read: ENOTDIR: /);
  // A file that can't be read is not one that is absent.
  await assert.rejects(fileCache(file).get("a"), { code: "ENOTDIR" });
  mkdirSync(join(home, "taken"));
  await assert.rejects(cache.get("taken"), { code: "EISDIR" });
  await assert.rejects(cache.put("taken", new Uint8Array(9)));
  assert.deepEqual(readdirSync(home).sort(), [...kept, "taken"].sort(), "a half-written file is left");
  assert.equal(await cache.get("absent"), undefined);
  await cache.delete("absent");
});

test("fileCache: what killed runs left goes, and what another writes stays", async () => {
  const home = join(folder, "left");
  mkdirSync(home);
  const [old, young] = ["a", "b"].map((name) => join(home, `${name}.${randomUUID()}.tmp`));
  for (const file of [old, young, join(home, "c.tmp")]) writeFileSync(file, "half");
  utimesSync(old, new Date(0), new Date(0));
  utimesSync(join(home, "c.tmp"), new Date(0), new Date(0));
  const caches = [fileCache(home), fileCache(home)];
  const bytes = Array.from({ length: 20 }, (_, i) => new Uint8Array(100_000).fill(i));
  await Promise.all(bytes.map((some, i) => caches[i % 2].put("same", some)));
  assert.deepEqual(readdirSync(home).sort(), [basename(young), "c.tmp", "same"].sort());
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

test("Cache Storage is the default where there is one that may be used", async () => {
  const { publisher, site, open } = await published();
  const stored = new Map();
  const cache = {
    match: async (url) => stored.get(url)?.clone(),
    put: async (url, response) => void stored.set(url, response),
    delete: async (url) => stored.delete(url),
  };
  const withCaches = async (value, run) => {
    const before = Object.getOwnPropertyDescriptor(globalThis, "caches");
    Object.defineProperty(globalThis, "caches", { ...value, configurable: true });
    try {
      return await run();
    } finally {
      if (before) Object.defineProperty(globalThis, "caches", before);
      else delete globalThis.caches;
    }
  };
  const opened = [];
  const caches = { open: async (name) => (opened.push(name), cache) };
  await withCaches({ value: caches }, async () => {
    await open({ cache: undefined });
    assert.deepEqual(opened, ["bloom-wasm"]);
    assert.equal(stored.size, 3);
    for (const [url, response] of stored) {
      assert.match(url, /^https:\/\/bloom-wasm\.invalid\/[a-z0-9.-]+$/);
      assert.equal(response.headers.get("cache-control"), "max-age=31536000");
    }
    publisher.base(bases.b);
    const feed = await open({ cache: undefined });
    answers(feed, 1);
    await feed.update();
    assert.equal(stored.size, 3);
    await open({ cache: null });
    assert.equal(opened.length, 2);
  });
  const forbidden = () => {
    throw new DOMException("not here", "SecurityError");
  };
  for (const value of [{ get: forbidden }, { value: { open: forbidden } }, { value: undefined }]) {
    await withCaches(value, async () => answers(await open({ cache: undefined }), 2, { which: "b" }));
  }
  assert.ok(site.asked().length > 0);
});

test("a runtime whose fetch refuses the option cache gets on without it", async () => {
  const { publisher, site, open } = await published();
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
  assert.ok(publisher);
});

test("updates at once are one; each caller's signal ends its own wait, and the last one's the transfer", async () => {
  const { publisher, site, open } = await published();
  const feed = await open();
  publisher.delta("second");
  site.asked();
  assert.deepEqual(await Promise.all([feed.update(), feed.update(), feed.update()]), [true, true, true]);
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed[1].sha256]);

  publisher.delta("third");
  const reason = new Error("enough");
  await assert.rejects(feed.update({ signal: AbortSignal.abort(reason) }), reason);
  assert.deepEqual(site.asked(), []);
  let closed;
  const hang = () =>
    new Promise((asked) => {
      site.fault = (path, response) => {
        if (path !== publisher.listed[2].sha256) return false;
        closed = new Promise((done) => response.on("close", done));
        response.writeHead(200).write("x", asked);
        return true;
      };
    });
  const stops = [new AbortController(), new AbortController()];
  let asked = hang();
  const both = stops.map(({ signal }) => feed.update({ signal }));
  await asked;
  stops[0].abort(reason);
  await assert.rejects(both[0], reason);
  let gone = false;
  closed.then(() => (gone = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(gone, false, "the other one still waits");
  stops[1].abort(reason);
  await assert.rejects(both[1], reason);
  await closed;
  answers(feed, 2, { name: "second" });
  // One who comes after that begins anew.
  site.fault = undefined;
  assert.equal(await feed.update(), true);
  answers(feed, 3, { name: "third" });

  publisher.delta("fourth");
  asked = hang();
  site.fault = (
    (fault) =>
    (path, ...rest) =>
      path === publisher.listed[3].sha256 && fault(publisher.listed[2].sha256, ...rest)
  )(site.fault);
  const updating = feed.update();
  await asked;
  feed.close();
  await fails("freed", updating);
  await closed;
  answers(feed, 3, { name: "third" });
});

/** A publisher for all that follow. */
let stage;

/**
 * Opens or updates a feed of two new files, and calls `strike` at the n-th of all its steps: fetches, chunks, and calls
 * of the cache. Returns whether there were so many.
 */
async function struck(n, { opening, strike }) {
  stage ??= published();
  const { publisher, site } = await stage;
  publisher.base(bases.a).delta("before");
  const cache = memoryCache();
  let steps = -1;
  let feed;
  const stop = new AbortController();
  const reason = new Error("enough");
  const step = () => {
    if (steps >= 0 && steps++ === n) strike({ feed, stop, reason });
  };
  cache.fault = step;
  const fetch = async (url, options) => {
    step();
    const response = await globalThis.fetch(url, options);
    step();
    const through = new TransformStream({
      transform(chunk, controller) {
        step();
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(through));
  };
  const { publicKey } = publisher.key;
  const open = (signal) => openFeed(site.url, { publicKey, cache, fetch, signal });
  if (!opening) {
    feed = await open();
    publisher.base(bases.b).delta("after");
  }
  steps = 0;
  const result = await (opening ? open(stop.signal) : feed.update({ signal: stop.signal })).catch((error) => error);
  const reached = steps > n;
  steps = -1;
  return { publisher, cache, feed: opening ? undefined : feed, result, reached, reason, open };
}

test("an abort at every step leaves one whole generation, and the next update gets through", async () => {
  let ended = 0;
  for (let n = 0; ; n++) {
    const { publisher, cache, feed, result, reached, reason, open } = await struck(n, {
      strike: ({ stop, reason }) => stop.abort(reason),
    });
    if (!reached) break;
    assert.ok(result === reason, `step ${n}: ${result?.stack ?? result}`);
    const { name } = feed.filter.info();
    if (name === "before") answers(feed, publisher.generation - 2, { which: "a" });
    else answers(feed, publisher.generation, { name: "after", which: "b" });
    assert.equal(await feed.update(), name === "before");
    answers(feed, publisher.generation, { name: "after", which: "b" });
    assert.equal(cache.entries.size, 4);
    assert.equal((await open()).filter.info().name, "after");
    ended++;
  }
  assert.ok(ended > 15, `only ${ended} steps`);
  ended = 0;
  for (let n = 0; ; n++) {
    const { result, reached, reason, open } = await struck(n, {
      opening: true,
      strike: ({ stop, reason }) => stop.abort(reason),
    });
    if (!reached) break;
    assert.ok(result === reason, `step ${n} of opening: ${result?.stack ?? result}`);
    assert.equal((await open()).filter.info().name, "before");
    ended++;
  }
  assert.ok(ended > 15, `only ${ended} steps`);
});

test("closing at every step: the filter answers on", async () => {
  let freed = 0;
  let whole = 0;
  for (let n = 0; ; n++) {
    const { publisher, feed, result, reached, open } = await struck(n, { strike: ({ feed }) => feed.close() });
    if (!reached) break;
    const { name } = feed.filter.info();
    if (result === true) answers(feed, publisher.generation, { name: "after", which: "b" });
    else {
      assert.equal(result.code, "freed", result.stack);
      answers(feed, publisher.generation - 2, { name: "before", which: "a" });
    }
    if (result === true) whole++;
    else freed++;
    await fails("freed", feed.update());
    assert.throws(() => feed.watch({ every: 1000 }), { code: "freed" });
    feed.close();
    answers(feed, feed.generation, { name, which: name === "after" ? "b" : "a" });
    assert.equal(feed.info().generation, feed.generation);
    const next = await open();
    await next.update();
    assert.equal(next.filter.info().name, "after");
  }
  assert.ok(freed > 10 && whole > 3, `${freed} and ${whole}`);
});

test("a fetch or a cache that hangs is left behind", async () => {
  const { open } = await published();
  const reason = new Error("enough");
  const never = () => new Promise(() => {});
  const cache = memoryCache();
  cache.fault = (method) => (method === "get" ? never() : undefined);
  for (const options of [{ fetch: never }, { cache }]) {
    const stop = new AbortController();
    const opening = open({ ...options, signal: stop.signal });
    setImmediate(() => stop.abort(reason));
    await assert.rejects(opening, reason);
  }
  // The next update doesn't wait for what will never come.
  for (const hanging of ["manifest-", /^[0-9a-f]{64}$/, "feed.json"]) {
    const { publisher, open } = await published();
    const cache = memoryCache();
    const hung = new Promise((resolve) => {
      cache.hang = (name) => {
        if (!name.match(hanging)) return undefined;
        setImmediate(resolve);
        return never();
      };
    });
    let hangs = false;
    cache.fault = (method, name) => (hangs && method === "get" ? cache.hang(name) : undefined);
    const fetch = (url, options) =>
      (hangs ? cache.hang(url.split("/").at(-1)) : undefined) ?? globalThis.fetch(url, options);
    const feed = await open({ cache, fetch });
    await feed.update();
    publisher.delta("after");
    hangs = true;
    const stop = new AbortController();
    const updating = feed.update({ signal: stop.signal });
    await hung;
    stop.abort(reason);
    await assert.rejects(updating, reason);
    hangs = false;
    assert.equal(await feed.update(), true);
    answers(feed, 2, { name: "after" });
  }
});

test("a put that hangs holds up nothing but the cache", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const feed = await open({ cache });
  await feed.update();
  publisher.base(bases.b).delta("third");
  let goOn;
  const hung = new Promise((resolve) => {
    cache.fault = (method) => {
      if (method !== "put") return undefined;
      resolve();
      return new Promise((resolve) => (goOn = resolve));
    };
  });
  const stop = new AbortController();
  const reason = new Error("enough");
  const isThird = new Promise((resolve) => feed.watch({ every: 1e6, onUpdate: resolve }));
  const updating = feed.update({ signal: stop.signal });
  await Promise.all([hung, isThird]);
  stop.abort(reason);
  await assert.rejects(updating, reason);
  answers(feed, 3, { name: "third", which: "b" });

  // It goes on when the filters that it writes are no longer in place.
  cache.fault = undefined;
  publisher.base(bases.a).delta("fifth");
  const inPlace = new Promise((resolve) => feed.watch({ every: 1e6, onUpdate: resolve }));
  const next = feed.update();
  await inPlace;
  answers(feed, 5, { name: "fifth" });
  goOn();
  assert.equal(await next, true);
  assert.equal(feed.cacheError, undefined);
  const offline = await open({ cache, fetch: noNetwork });
  answers(offline, 5, { name: "fifth" });
  feed.close();
  assert.equal(cache.entries.size, 4);
});

test("a cache that never answers is left after ten seconds, and asked again once it does", async () => {
  const { publisher, open } = await published();
  for (const silent of ["put manifest-", "put file-", "put next-", "get manifest-", "delete file-"]) {
    const cache = memoryCache();
    const fetch = without(publisher);
    const feed = await open({ cache, fetch });
    await feed.update();
    const before = floorOf(cache);
    const errors = [];
    feed.watch({ every: 1e6, onError: (error) => errors.push(error) });
    const hung = gate();
    const speaks = gate();
    let asked = 0;
    cache.fault = async (method, name) => {
      asked++;
      if (!`${method} ${name}`.startsWith(silent)) return;
      hung.open();
      await speaks.opened;
    };
    publisher.base(bases.a).delta(silent);
    const generation = publisher.generation;
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const updating = feed.update();
      await hung.opened;
      mock.timers.tick(9999);
      await turns();
      assert.deepEqual(errors, [], silent);
      // One that asks twice is waited for twice.
      for (let i = 0; i < 4; i++) {
        mock.timers.tick(10_000);
        await turns();
      }
      assert.equal(await updating, true, silent);
      answers(feed, generation, { name: silent });
      if (silent !== "delete file-") {
        assert.equal(feed.cacheError?.code, "cache", silent);
        assert.equal(floorOf(cache), before, silent);
      }
      // Nothing piles up, and nobody is told again.
      const told = errors.length;
      for (let i = 0; i < 5; i++) {
        const before = asked;
        publisher.delta(`${silent} ${i}`);
        const updating = feed.update();
        for (let i = 0; i < 30 && (await turns()), i < 30; i++) mock.timers.tick(10_000);
        assert.equal(await updating, true, silent);
        assert.ok(asked - before < 8, `${silent}: ${asked - before} calls`);
      }
      if (silent.startsWith("put")) assert.equal(errors.length, told, silent);
      // Neither does this wait for it.
      const second = open({ cache, fetch: noNetwork }).catch(({ code }) => code);
      for (let i = 0; i < 4; i++) {
        await turns();
        mock.timers.tick(10_000);
      }
      await second;
    } finally {
      mock.timers.reset();
    }
    // Once it answers, the newest generation is kept, and no older one instead.
    cache.fault = undefined;
    speaks.open();
    for (let i = 0; i < 10; i++) {
      await turns();
      await feed.update();
    }
    assert.equal(feed.cacheError, undefined, silent);
    assert.equal(floorOf(cache), publisher.generation, silent);
    const offline = await open({ cache, fetch: noNetwork });
    answers(offline, publisher.generation, { name: `${silent} 4` });
    assert.equal(cache.entries.size, 2 + publisher.listed.length, [silent, ...cache.entries.keys()].join());
    offline.close();
    // forget, too, says so.
    cache.fault = () => new Promise(() => {});
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const forgetting = fails("cache", feed.forget());
      for (let i = 0; i < 3; i++) {
        await turns();
        mock.timers.tick(10_000);
      }
      await forgetting;
    } finally {
      mock.timers.reset();
    }
  }
});

test("of two tabs that update at once, the slower one doesn't set the cache back", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  let goOn;
  let hold;
  const slow = async (url, options) => {
    if (!url.endsWith("feed.json")) await hold?.();
    return fetch(url, options);
  };
  const [one, two] = [await open({ cache, fetch: slow }), await open({ cache })];
  await Promise.all([one.update(), two.update()]);
  publisher.delta("second");
  const held = new Promise((resolve) => {
    hold = () => (resolve(), new Promise((resolve) => (goOn = resolve)));
  });
  const updating = one.update();
  await held;
  publisher.delta("third");
  await two.update();
  const after = new Map(cache.entries);
  goOn();
  assert.equal(await updating, true);
  answers(one, 2, { name: "second" });
  assert.deepEqual(cache.entries, after);
});

test("a filter that was freed is made anew, even if the feed is only signed anew", async () => {
  const { publisher, open } = await published();
  const feed = await open();
  feed.filter.free();
  publisher.publish();
  assert.equal(await feed.update(), true);
  answers(feed, 2);
});

test("a manifest beside which no file can lie is refused", async () => {
  const { publisher } = await published();
  const data = `data:application/json,${encodeURIComponent(publisher.manifest)}`;
  for (const url of [data, "blob:https://lists.example/feed", "about:blank"]) {
    await fails("invalid_parameter", openFeed(url, { publicKey: null, cache: null }), url);
  }
});

/** A feed without a network, so that its timers can be mocked. */
async function watched() {
  const publisher = new Publisher(bases.a);
  const site = { down: false, asked: 0 };
  const fetch = async (url) => {
    if (url.endsWith("feed.json")) site.asked++;
    if (site.down) throw new TypeError("offline");
    return new Response(url.endsWith("feed.json") ? publisher.manifest : publisher.files.get(url.split("/").at(-1)));
  };
  // Without signatures, which are checked in another thread.
  const feed = await openFeed("https://lists.example/feed.json", { publicKey: null, cache: null, fetch });
  site.asked = 0;
  /** Waits until what has begun is done: only promises, in few turns. */
  const settled = async () => {
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { publisher, site, feed, settled };
}

test("watching: at its pace, with jitter, slower after failures, until it is stopped", async () => {
  const { publisher, site, feed, settled } = await watched();
  const random = mock.method(Math, "random", () => 0.5);
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const seen = [];
    const errors = [];
    const stop = feed.watch({
      every: 10_000,
      onUpdate: (its) => seen.push(its.generation),
      onError: (error) => errors.push(error.code),
    });
    const pass = async (milliseconds) => (mock.timers.tick(milliseconds), settled());
    publisher.delta();
    await pass(9_999);
    assert.equal(site.asked, 0);
    await pass(1);
    assert.equal(site.asked, 1);
    assert.deepEqual(seen, [2]);
    await pass(10_000);
    assert.deepEqual([site.asked, seen], [2, [2]]);
    // An update by somebody else is told too.
    publisher.delta();
    await feed.update();
    await settled();
    assert.deepEqual(seen, [2, 3]);
    site.down = true;
    await pass(10_000);
    assert.deepEqual(errors, ["network"]);
    for (const wait of [20_000, 40_000, 80_000, 80_000]) {
      const before = errors.length;
      await pass(wait - 1);
      assert.equal(errors.length, before, `before ${wait}`);
      await pass(1);
      assert.equal(errors.length, before + 1, `after ${wait}`);
    }
    site.down = false;
    await pass(80_000);
    const { asked } = site;
    await pass(10_000);
    assert.equal(site.asked, asked + 1);
    stop();
    stop();
    publisher.delta();
    await pass(1e6);
    assert.equal(site.asked, asked + 1);
    // Between 9 and 11 seconds.
    for (const [value, wait] of [
      [0, 9_000],
      [0.999_999_9, 11_000],
    ]) {
      random.mock.mockImplementation(() => value);
      const { asked } = site;
      const stop = feed.watch({ every: 10_000 });
      await pass(wait - 1);
      assert.equal(site.asked, asked, `${value}`);
      await pass(1);
      assert.equal(site.asked, asked + 1, `${value}`);
      stop();
    }
    // Longer than a timer can be.
    const before = site.asked;
    feed.watch({ every: 1e15 });
    await pass(2 ** 31 - 2);
    assert.equal(site.asked, before);
    feed.close();
    await pass(1e9);
    assert.equal(site.asked, before);
  } finally {
    mock.timers.reset();
    random.mock.restore();
  }
});

test("callbacks that throw are told as uncaught, and the watching goes on", async () => {
  const source = `
    import { openFeed } from "${FOLLOWER ?? "bloom-wasm/reader"}";
    import { readFileSync } from "node:fs";
    const [publicKey, ...manifests] = JSON.parse(readFileSync("watched.json"));
    const base = readFileSync("watched.bloom");
    let next = 0;
    const fetch = async (url) => {
      if (url.endsWith("feed.json") && next === manifests.length) throw new TypeError("offline");
      return new Response(url.endsWith("feed.json") ? manifests[next++] : base);
    };
    const feed = await openFeed("https://lists.example/feed.json", { publicKey, cache: null, fetch });
    let run;
    globalThis.setTimeout = (its) => ((run = its), { unref() {} });
    process.on("uncaughtException", (error) => console.log("uncaught", error.message));
    feed.watch({
      every: 1000,
      onUpdate: ({ generation }) => { throw new Error("update " + generation); },
      onError: ({ code }) => { throw new Error(code); },
    });
    for (let i = 0; i < 3; i++) {
      await run();
      await new Promise((resolve) => setImmediate(resolve));
    }
    console.log(feed.generation);
  `;
  const publisher = new Publisher(bases.a);
  const manifests = [1, 2, 3].map(() => String(publisher.publish().manifest));
  writeFileSync(join(folder, "watched.json"), JSON.stringify([publisher.key.publicKey, ...manifests]));
  writeFileSync(join(folder, "watched.bloom"), bases.a.toBytes());
  const out = execFileSync(process.execPath, ["--input-type=module", "-e", source], { cwd: folder, encoding: "utf8" });
  assert.equal(out, "uncaught update 3\nuncaught update 4\nuncaught network\n4\n");
});

test("watching alone doesn't keep a program running", () => {
  const publisher = new Publisher(bases.a);
  writeFileSync(join(folder, "ends.json"), JSON.stringify([publisher.key.publicKey, String(publisher.manifest)]));
  writeFileSync(join(folder, "ends.bloom"), bases.a.toBytes());
  const source = `
    import { openFeed } from "${FOLLOWER ?? "bloom-wasm/reader"}";
    import { readFileSync } from "node:fs";
    const [publicKey, manifest] = JSON.parse(readFileSync("ends.json"));
    const base = readFileSync("ends.bloom");
    const fetch = async (url) => new Response(url.endsWith("feed.json") ? manifest : base);
    const feed = await openFeed("https://lists.example/feed.json", { publicKey, cache: null, fetch });
    feed.watch({ every: 600_000 });
    console.log("watching");
  `;
  const options = { cwd: folder, encoding: "utf8", timeout: 60_000 };
  assert.equal(execFileSync(process.execPath, ["--input-type=module", "-e", source], options), "watching\n");
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

/** The generation of the manifest in a cache. */
function floorOf({ entries }) {
  const [, bytes] = [...entries].find(([name]) => name.startsWith("manifest-")) ?? [];
  return bytes ? JSON.parse(Buffer.from(JSON.parse(Buffer.from(bytes)).payload, "base64url")).generation : 0;
}

/** The view of a cache that one tab has. `fault` is called as that of the cache. */
function tab(cache) {
  const view = { fault: undefined };
  for (const method of ["get", "put", "delete"]) {
    view[method] = async (name, bytes) => {
      await view.fault?.(method, name);
      return cache[method](name, bytes);
    };
  }
  return view;
}

/** Something that others wait for, and what lets them go on. */
function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { opened, open };
}

/** Runs with `navigator.locks` as given. */
async function withLocks(locks, run) {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  try {
    return await run();
  } finally {
    if (before) Object.defineProperty(globalThis, "navigator", before);
    else delete globalThis.navigator;
  }
}

for (const fails of [false, true]) {
  test(`a tab whose put is slow${fails ? " and fails" : ""} doesn't set back what another has kept meanwhile`, async () => {
    for (const start of ["empty", "filled"]) {
      for (let n = 0; ; n++) {
        const { publisher, open } = await published();
        const cache = memoryCache();
        const slow = tab(cache);
        if (start === "filled") await open({ cache: slow });
        publisher.base(bases.b).delta("slow");
        const [hung, goOn] = [gate(), gate()];
        let puts = 0;
        // While the manifest itself is being put, only a lock helps: that is the next test.
        slow.fault = async (method, name) => {
          if (method !== "put" || name.startsWith("manifest-") || puts++ !== n) return;
          hung.open();
          await goOn.opened;
          if (fails) throw new DOMException("no room", "QuotaExceededError");
        };
        const one = open({ cache: slow }).then(async (feed) => {
          if (start === "filled") await feed.update(); // the one behind
          return feed;
        });
        const ended = Symbol();
        if ((await Promise.race([hung.opened, one.then(() => ended)])) === ended) {
          assert.ok(n >= 2, "nothing was put");
          break;
        }
        publisher.base(bases.a).delta("ahead");
        const two = await open({ cache });
        await two.update();
        assert.equal(floorOf(cache), publisher.generation);
        goOn.open();
        await one;
        assert.equal(floorOf(cache), publisher.generation, `${start}, put ${n}`);
        // It is whole, and nothing else is there.
        const offline = await open({ cache, fetch: noNetwork });
        answers(offline, publisher.generation, { name: "ahead" });
        assert.equal(cache.entries.size, 4, [...cache.entries.keys()].join());
        // The slow one has its own generation, and goes on from there.
        assert.equal((await one).cacheError, undefined);
        publisher.delta("after");
        assert.equal(await (await one).update(), true);
        assert.equal(floorOf(cache), publisher.generation);
      }
    }
  });
}

test("the manifest is put under a lock, which is held for nothing else", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const locks = webLocks();
  const under = [];
  cache.fault = (method, name) => void (locks.held.size > 0 && under.push(`${method} ${name.split("-")[0]}`));
  await withLocks(locks, async () => {
    const fetched = (...args) => (assert.equal(locks.held.size, 0), fetch(...args));
    const feed = await open({ cache, fetch: fetched });
    publisher.base(bases.b).delta("second");
    under.length = 0;
    assert.equal(await feed.update(), true);
    assert.equal(under.at(-1), "put manifest");
    assert.ok(
      under.slice(0, -1).every((call) => /^get (manifest|feed)$/.test(call)),
      under.join(),
    );
    assert.equal(feed.cacheError, undefined);
  });
});

test("while one tab puts a manifest, another waits with its own", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const slow = tab(cache);
  await withLocks(webLocks(), async () => {
    const [one, two] = [await open({ cache: slow }), await open({ cache })];
    await Promise.all([one.update(), two.update()]);
    publisher.delta("slow");
    const [hung, goOn] = [gate(), gate()];
    slow.fault = async (method, name) => {
      if (method !== "put" || !name.startsWith("manifest-")) return;
      hung.open();
      await goOn.opened;
    };
    const updating = one.update();
    await hung.opened;
    publisher.delta("ahead");
    const inPlace = new Promise((resolve) => two.watch({ every: 1e6, onUpdate: resolve }));
    const going = two.update();
    await inPlace;
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    goOn.open();
    assert.deepEqual(await Promise.all([updating, going]), [true, true]);
    assert.equal(floorOf(cache), 3);
    assert.deepEqual([one.cacheError, two.cacheError], [undefined, undefined]);
    two.close();
  });
});

test("a lock that isn't free within five seconds is a cacheError, until the next update", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const locks = webLocks();
  await withLocks(locks, async () => {
    const feed = await open({ cache, fetch: without(publisher) });
    publisher.delta("second");
    const taken = gate();
    const { request } = locks;
    let name;
    locks.request = (its, ...args) => ((name = its), request(its, ...args));
    await feed.update();
    publisher.delta("third");
    const holding = request(name, { signal: new AbortController().signal }, () => taken.opened);
    const waiting = new Promise((resolve) => {
      locks.request = (...args) => (resolve(), request(...args));
    });
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const updating = feed.update();
      await waiting;
      mock.timers.tick(4999);
      await turns();
      assert.equal(feed.cacheError, undefined);
      mock.timers.tick(1);
      assert.equal(await updating, true);
    } finally {
      mock.timers.reset();
    }
    answers(feed, 3, { name: "third" });
    assert.equal(feed.cacheError.code, "cache");
    assert.match(feed.cacheError.cause.message, /lock/);
    assert.equal(floorOf(cache), 2);
    taken.open();
    await holding;
    assert.equal(await feed.update(), false);
    assert.equal(feed.cacheError, undefined);
    assert.equal(floorOf(cache), 3);
  });
  // A page without an origin has locks that it may not use.
  const request = () => Promise.reject(new DOMException("not here", "SecurityError"));
  await withLocks({ request }, async () => {
    const feed = await open({ cache });
    publisher.delta("fourth");
    assert.equal(await feed.update(), true);
    assert.equal(feed.cacheError, undefined);
    assert.equal(floorOf(cache), 4);
  });
});

test("a cache that can't be read isn't written over", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const broken = tab(cache);
  const feed = await open({ cache: broken });
  publisher.delta("second");
  const other = await open({ cache });
  await other.update();
  publisher.delta("third");
  const third = publisher.manifest;
  publisher.delta("fourth");
  assert.equal(await other.update(), true);
  // An edge that is behind, and a store whose reads fail.
  publisher.manifest = third;
  broken.fault = (method) => {
    if (method === "get") throw new Error("no");
  };
  await feed.update();
  assert.equal(feed.generation, 3);
  assert.equal(feed.cacheError.code, "cache");
  assert.equal(floorOf(cache), 4);
});

test("two payloads of one generation: what the cache has stays, and that is said", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const slow = tab(cache);
  const [hung, goOn] = [gate(), gate()];
  publisher.publish();
  slow.fault = async (method) => {
    if (method !== "put") return;
    hung.open();
    await goOn.opened;
  };
  const one = open({ cache: slow });
  await hung.opened;
  publisher.generation--;
  publisher.base(bases.b);
  await open({ cache });
  const kept = new Map(cache.entries);
  goOn.open();
  const feed = await one;
  answers(feed, 2);
  assert.equal(feed.cacheError?.code, "cache");
  assert.deepEqual(cache.entries, kept);
  await fails("rollback", feed.update());
});

test("one delta that can't be had: all other files are fetched once, with a cache or without, across restarts", async () => {
  for (const kind of ["no cache", "cache", "restarts"]) {
    const { publisher, site, open } = await published();
    const cache = kind === "no cache" ? null : memoryCache();
    let feed = await open({ cache });
    publisher.base(bases.b).delta("second").delta("third");
    const [base, second, third] = publisher.listed.map(({ sha256 }) => sha256);
    site.fault = (path, response) => path === third && (response.writeHead(404).end(), true);
    site.asked();
    for (let i = 0; i < 3; i++) {
      if (kind === "restarts") {
        feed.close();
        feed = await open({ cache });
      }
      await fails("http", feed.update());
      answers(feed, 1);
      const asked = site.asked();
      assert.deepEqual(asked, i === 0 ? ["feed.json", base, second, third] : ["feed.json", third], kind);
    }
    // The host goes on.
    site.fault = undefined;
    publisher.delta("fourth", 1);
    assert.equal(await feed.update(), true);
    answers(feed, 5, { name: "fourth", which: "b" });
    assert.deepEqual(site.asked(), ["feed.json", publisher.listed[2].sha256], kind);
    assert.equal(feed.cacheError, undefined);
    feed.close();
    if (!cache) continue;
    assert.equal(cache.entries.size, 5);
    const offline = await open({ cache, fetch: noNetwork });
    answers(offline, 5, { name: "fourth", which: "b" });
  }
});

test("a client that comes anew and ends at each fault has all files at last", async () => {
  const { publisher, site, open } = await published();
  for (let i = 2; i < 6; i++) publisher.delta(`delta ${i}`);
  const cache = memoryCache();
  const had = new Set();
  for (const { sha256: file } of publisher.listed) {
    site.fault = (path, response) => path === file && (response.destroy(), true);
    await fails("network", open({ cache }));
    const asked = site.asked().slice(1);
    assert.ok(!asked.some((path) => had.has(path)), "a file was fetched twice");
    for (const path of asked) if (path !== file) had.add(path);
  }
  site.fault = undefined;
  answers(await open({ cache }), 5);
  assert.deepEqual(site.asked(), ["feed.json", publisher.listed.at(-1).sha256]);
  assert.equal(cache.entries.size, 2 + 5);
});

test("a client whose time is up after each file has all of them at last", async () => {
  for (const cache of [null, memoryCache()]) {
    const { publisher, site, open } = await published();
    let feed = await open({ cache });
    publisher.base(bases.b).delta("second").delta("third");
    for (const { sha256: file } of publisher.listed) {
      const stop = new AbortController();
      const reason = new Error("time is up");
      site.fault = (path, response) => {
        if (path !== file) return false;
        response.writeHead(200).write("x", () => stop.abort(reason));
        return true;
      };
      site.asked();
      await assert.rejects(feed.update({ signal: stop.signal }), reason);
      const before = publisher.listed[publisher.listed.findIndex(({ sha256 }) => sha256 === file) - 1];
      assert.deepEqual(site.asked(), ["feed.json", ...(before ? [before.sha256] : []), file]);
      answers(feed, 1);
      if (!cache) continue;
      feed.close();
      // What had arrived is put all the same.
      while (before && !cache.entries.has(publisher.kept(before.sha256))) await new Promise(setImmediate);
      feed = await open({ cache });
    }
    site.fault = undefined;
    assert.equal(await feed.update(), true);
    answers(feed, 4, { name: "third", which: "b" });
    assert.deepEqual(site.asked().slice(-2), ["feed.json", publisher.listed[2].sha256]);
    feed.close();
  }
});

test("the files of a generation that never came into place leave the cache", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const feed = await open({ cache });
  for (const which of ["b", "a"]) {
    publisher.base(RibbonFilter.from(keysOf(which), { name: `lost ${which}` })).delta("lost");
    const lost = publisher.listed[1].sha256;
    site.fault = (path, response) => path === lost && (response.writeHead(404).end(), true);
    await fails("http", feed.update());
    // The base that is in place, and that which is on its way, but not the one before.
    assert.equal([...cache.entries.keys()].filter((name) => name.startsWith("file-")).length, 2);
    assert.ok(cache.entries.has(publisher.kept(publisher.listed[0].sha256)));
  }
  site.fault = undefined;
  publisher.base(bases.b);
  assert.equal(await feed.update(), true);
  assert.equal(cache.entries.size, 3);
  answers(await open({ cache }), publisher.generation, { which: "b" });
});

test("what a cache holds of a feed is forgotten, for its own keys or others", async () => {
  const { publisher, site, open } = await published();
  const [old, next] = [publisher.key, keyPair()];
  publisher.signers = [old, next];
  publisher.delta("second");
  const other = await published("b");
  const cache = memoryCache();
  await other.open({ cache });
  const others = new Map(cache.entries);
  const before = await open({ cache });
  // It has begun another generation too.
  publisher.base(bases.b).delta("third");
  site.fault = (path, response) => path === publisher.listed[1].sha256 && (response.writeHead(404).end(), true);
  await fails("http", before.update());
  before.close();
  site.fault = undefined;
  const feed = await open({ cache, publicKey: next.publicKey });
  await feed.forget({ publicKey: old.publicKey });
  const mine = [...cache.entries.keys()].filter((name) => !others.has(name));
  assert.equal(mine.length, 4);
  const offline = { cache, fetch: noNetwork };
  await fails("network", open(offline));
  answers(await open({ ...offline, publicKey: next.publicKey }), 4, { name: "third", which: "b" });
  // It stays open.
  publisher.delta("fifth");
  assert.equal(await feed.update(), true);
  assert.equal(feed.cacheError, undefined);
  for (const publicKey of ["", [], 5, "A".repeat(42)]) {
    const { message } = await fails("invalid_parameter", feed.forget({ publicKey }));
    if (publicKey.length !== 0 || publicKey === "") assert.match(message, /^publicKey must be the 43 characters/);
  }
  cache.fault = (method) => {
    if (method === "delete") throw new Error("no");
  };
  await fails("cache", feed.forget());
  cache.fault = undefined;
  await feed.forget();
  assert.deepEqual(cache.entries, others);
  await fails("freed", feed.update());
  await feed.forget();
  answers(feed, 5, { name: "fifth", which: "b" });
  const none = await open({ cache: null, publicKey: next.publicKey });
  await none.forget();
});

test("update with `every` leaves a host that fails alone for longer and longer, and says why", async () => {
  const { publisher, site, feed } = await watched();
  const now = Date.now();
  const at = (minutes, run) => during(now + minutes * 60_000, run);
  const every = 30 * 60_000;
  for (const wrong of [0, 999, "1000", NaN, Infinity, null])
    await fails("invalid_parameter", feed.update({ every: wrong }), String(wrong));
  publisher.publish({ expires: now + 100 * HOUR });
  await at(0, () => feed.update({ every }));
  site.down = true;
  let error;
  const asked = [];
  // An alarm each half hour, which comes a little early or late.
  for (let alarm = 1; alarm <= 30; alarm++) {
    const before = site.asked;
    const told = await at(30 * alarm + (alarm % 3) - 1, () => fails("network", feed.update({ every })));
    if (site.asked > before) asked.push(alarm);
    else assert.equal(told, error);
    error = told;
  }
  assert.deepEqual(asked, [1, 3, 7, 15, 23]);
  // Whoever doesn't say how often it asks is always obeyed.
  site.down = false;
  const { asked: sofar } = site;
  publisher.publish({ expires: now + 100 * HOUR });
  assert.equal(await at(901, () => feed.update()), true);
  assert.equal(site.asked, sofar + 1);
  assert.equal(await at(902, () => feed.update({ every })), false);
  // A clock that was set back holds nothing up. Any time before that of the failure will do.
  site.down = true;
  await at(903, () => fails("network", feed.update({ every })));
  site.down = false;
  assert.equal(await at(-5000, () => feed.update({ every })), false);
  feed.close();
});

/** Runs a script that has `generations`: manifests, and `files`, all of one publisher, and WebAssembly's `memory`. */
function alone(publisher, manifests, source, ...flags) {
  const files = [...publisher.files].map(([name, bytes]) => (writeFileSync(join(folder, name), bytes), name));
  writeFileSync(join(folder, "alone.json"), JSON.stringify({ files, manifests: manifests.map(String) }));
  const script = `
    ${CATCH_MEMORY}
    // What isn't freed is never collected.
    globalThis.FinalizationRegistry = class {
      register() {}
      unregister() {}
    };
    const { readFileSync } = await import("node:fs");
    const { openFeed } = await import("./node_modules/bloom-wasm/dist/reader.inline.js");
    const { files: names, manifests } = JSON.parse(readFileSync("alone.json"));
    const files = new Map(names.map((name) => [name, readFileSync(name)]));
    const publicKey = "${publisher.key.publicKey}";
    ${source}
  `;
  const args = [...flags, "--input-type=module", "-e", script];
  return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" }).trim();
}

test("300 updates, half of which fail or are aborted, leave nothing behind in WebAssembly", () => {
  const publisher = new Publisher(bases.a);
  const manifests = [publisher.manifest];
  for (let i = 0; i < 20; i++) {
    publisher.base(RibbonFilter.from(keysOf(`round ${i}`))).delta(`round ${i}`);
    manifests.push(publisher.manifest);
  }
  const out = alone(
    publisher,
    manifests,
    `
    let manifest, broken, stop;
    const fetch = async (url) => {
      const name = url.split("/").at(-1);
      if (name === "feed.json") return new Response(manifest);
      const bytes = files.get(name);
      if (bytes.length < 100) {
        if (stop) stop.abort();
        if (broken) return new Response(bytes.map((byte) => byte ^ 1));
      }
      return new Response(bytes);
    };
    const open = async (at) => ((manifest = manifests[at]), openFeed("https://a.example/feed.json", { publicKey, cache: null, fetch }));
    let size;
    const codes = {};
    for (let round = 0; round < 15; round++) {
      const feed = await open(0);
      for (let i = 1; i < manifests.length; i++) {
        manifest = manifests[i];
        broken = i % 4 === 1;
        stop = i % 4 === 2 ? new AbortController() : undefined;
        const old = feed.filter;
        const code = await feed.update({ signal: stop?.signal }).catch((error) => error.code ?? error.name);
        codes[code] = (codes[code] ?? 0) + 1;
        if (feed.filter !== old) old.free();
      }
      broken = stop = undefined;
      feed.filter.free();
      feed.close();
      if (round === 2) size = memory.buffer.byteLength;
    }
    console.log(memory.buffer.byteLength - size, JSON.stringify(codes));
    `,
  );
  const [grown, codes] = out.split(" ");
  assert.deepEqual(JSON.parse(codes), { integrity: 75, 20: 75, true: 150 });
  assert.equal(Number(grown), 0, `${grown} bytes`);
});

test("an update takes the memory of the old filter and the new one, and 512 KiB", () => {
  const large = (which) =>
    RibbonFilter.from(
      (function* () {
        for (let i = 0; i < 2_000_000; i++) yield `${which}${i}`;
      })(),
      { fpr: 1e-6 },
    );
  const publisher = new Publisher(large("a"));
  const manifests = [publisher.manifest, publisher.base(large("b")).manifest, publisher.delta().manifest];
  const sizes = [...publisher.files.values()].map((bytes) => bytes.length);
  assert.ok(sizes[0] > 4e6);
  const out = alone(
    publisher,
    manifests,
    `
    let most = 0;
    const measure = () => {
      gc();
      most = Math.max(most, memory.buffer.byteLength + process.memoryUsage().arrayBuffers);
    };
    let manifest = manifests[0];
    const fetch = async (url) => {
      const name = url.split("/").at(-1);
      if (name === "feed.json") return new Response(manifest);
      const bytes = files.get(name);
      let at = 0;
      return new Response(new ReadableStream({
        pull(controller) {
          if (at % (1 << 20) === 0) measure();
          if (at >= bytes.length) return controller.close();
          controller.enqueue(bytes.subarray(at, (at += 65536)));
        },
      }, { highWaterMark: 0 }));
    };
    for (let i = 0; i < 3; i++) {
      gc();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const before = memory.buffer.byteLength + process.memoryUsage().arrayBuffers;
    const told = [];
    const feed = await openFeed("https://a.example/feed.json", { publicKey, cache: null, fetch });
    measure();
    told.push(most - before);
    for (manifest of manifests.slice(1)) {
      await feed.update();
      measure();
      told.push(most - before);
    }
    console.log([...told, memory.buffer.byteLength].join());
    `,
    "--expose-gc",
  );
  const [opened, updated, again, memory] = out.split(",").map(Number);
  assert.ok(opened > sizes[0] && updated > sizes[0] + sizes[1], `the filters were not measured: ${out}`);
  // With each filter, WebAssembly's memory grows by a sixteenth that is not used yet.
  const beyond = [opened - sizes[0] - memory / 16, updated - sizes[0] - sizes[1] - memory / 8].map(Math.round);
  console.log(`beyond the filters and the sixteenths: ${beyond.join(" and ")} bytes`);
  for (const bytes of beyond) assert.ok(bytes <= 524_288, `${bytes} bytes more`);
  assert.ok(again - updated < 65_536, "a delta takes no more");
});

test("a cache that was emptied under a client has the whole generation again, or the client says that it hasn't", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const cache = memoryCache();
  const feed = await open({ cache });
  cache.entries.clear();
  publisher.delta("third");
  assert.equal(await feed.update(), true);
  const whole = publisher.listed.every(({ sha256 }) => cache.entries.has(publisher.kept(sha256)));
  assert.ok(whole || feed.cacheError?.code === "cache", `${[...cache.entries.keys()]}`);
  // A new base is whole in any case.
  publisher.base(bases.b);
  assert.equal(await feed.update(), true);
  assert.equal(feed.cacheError, undefined);
  site.close();
  assert.equal((await open({ cache })).generation, feed.generation);
});

test("a cache may change or transfer the bytes that it is given, and may read what it had before", async () => {
  const flip = (bytes) => bytes.forEach((byte, i) => (bytes[i] = byte ^ 0x55));
  const stores = {
    "changes them": {
      keep: (bytes) => (flip(bytes), bytes.slice()),
      give: (bytes) => (flip((bytes = bytes.slice())), bytes),
    },
    "transfers them": {
      keep: (bytes) => structuredClone(bytes, { transfer: [bytes.buffer] }),
      give: (bytes) => bytes,
    },
  };
  for (const [what, { keep, give }] of Object.entries(stores)) {
    const { publisher, site, open } = await published();
    publisher.delta("second");
    const entries = new Map();
    const cache = {
      get: async (name) => entries.has(name) && give(entries.get(name)),
      put: async (name, bytes) => void entries.set(name, keep(bytes)),
      delete: async (name) => void entries.delete(name),
    };
    const feed = await open({ cache });
    assert.equal(feed.cacheError, undefined, what);
    publisher.delta("third");
    await feed.update();
    assert.equal(feed.cacheError, undefined, what);
    site.close();
    answers(await open({ cache }), 3, { name: "third" });
  }
  // As a distributed store of keys and values, each read gives what was there one write ago.
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const [now, before] = [new Map(), new Map()];
  const cache = {
    get: async (name) => before.get(name),
    put: async (name, bytes) => {
      if (now.has(name)) before.set(name, now.get(name));
      now.set(name, bytes);
    },
    delete: async (name) => void (now.delete(name), before.delete(name)),
  };
  assert.equal((await open({ cache })).cacheError, undefined);
  for (const [name, bytes] of now) before.set(name, bytes);
  site.close();
  answers(await open({ cache }), 2, { name: "second" });
});

test("those who give up are no failure of the host, and a key that is missing by mistake forgets nothing", async () => {
  const { publisher, site, open } = await published();
  const cache = memoryCache();
  const feed = await open({ cache });
  publisher.delta("second");
  site.fault = () => true;
  const stop = new AbortController();
  const update = feed.update({ signal: stop.signal });
  stop.abort(new Error("left the page"));
  await assert.rejects(update, /left the page/);
  site.fault = undefined;
  await assert.rejects(feed.update({ every: 3_600_000, signal: AbortSignal.abort(new Error("mine")) }), /mine/);
  assert.equal(await feed.update({ every: 3_600_000 }), true);
  answers(feed, 2, { name: "second" });
  await fails("invalid_parameter", feed.forget({ publicKey: undefined }));
  assert.equal(await feed.update(), false);
  assert.ok(cache.entries.size > 0);
  await fails("invalid_parameter", openFeed(site.url, Promise.resolve({ publicKey: null })));
});
