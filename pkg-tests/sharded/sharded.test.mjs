/** Sharded filters: what a client fetches, accepts and refuses, from a server that misbehaves in every way. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mock, test } from "node:test";
import { fails, noNetwork, served, turns, workerRequests } from "../helpers/following.mjs";
import { installed } from "../helpers/installed.mjs";
import { keyPair, manifest, memoryCache, ShardsPublisher, sha256, without } from "../helpers/publisher.mjs";

const { RibbonFilter, ShardedFilter, openSharded } = await installed();

const members = Array.from({ length: 20_000 }, (_, i) => `member ${i}`);
const strangers = Array.from({ length: 20_000 }, (_, i) => `stranger ${i}`);

/** A sharded filter on a server, and how to open it. */
const published = (shards = 512, keys = members) =>
  served(new ShardsPublisher(RibbonFilter, shards, keys), openSharded);

/** Another key in the shard of the first. */
const neighbour = (publisher, key, keys = members) =>
  keys.find((other) => other !== key && publisher.shardOf(other) === publisher.shardOf(key));

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
  const other = members.find((key) => publisher.filesOf(key)[0] === publisher.filesOf(members[0])[0]);
  await filter.has(other);
  assert.ok(!site.asked().includes(publisher.filesOf(members[0])[0]));
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
    const expected = strangers.map((key) => Number(blobs[publisher.shardOf(key)].has(key)));
    const keys = strangers.map((key, i) => (i % 2 ? key : Buffer.from(key)));
    assert.deepEqual([...(await filter.hasMany(keys))], expected);
    const hits = expected.filter(Boolean).length;
    assert.ok(hits > 0 && hits < 50, `${hits} of 20,000 at 0.001`);
    for (const key of strangers.slice(0, 100)) {
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
    generation: 1,
    createdAt,
    expires,
    profile: "raw",
    lowercase: false,
    sha1: false,
    keyed: false,
    fpr: 0.001,
    count: 20_000,
    shards: 512,
    byteLength: publisher.blobs.reduce((sum, { length }) => sum + length, 0),
    tags: null,
  });
  assert.equal(filter.generation, 1);
  assert.deepEqual(filter.createdAt, new Date(createdAt));
  assert.equal(filter.stale, false);
  assert.equal(filter.cacheError, undefined);
  assert.equal(Object.prototype.toString.call(filter), "[object ShardedFilter]");
  assert.throws(() => new ShardedFilter(), { code: "invalid_parameter" });
  publisher.publish({ name: undefined, expires: Date.now() + 3 });
  await filter.update().catch(({ code }) => assert.equal(code, "expired"));
});

test("folders of the tool, by their files", async () => {
  const golden = new URL("../../tests/golden/shards/", import.meta.url);
  const open = (name) => openSharded(new URL(`${name}/shards.json`, golden), { publicKey: null, cache: null });
  const urls = await open("url");
  assert.equal(urls.info().profile, "url");
  for (const [url, expected] of [
    ["https://user@www.EVIL.example:8443/x?y#z", "evil.example/"],
    ["http://bad.example/%61/b", "bad.example/a/"],
    ["http://bad.example/b/", null],
    ["mailto:a@b.example", null],
    ["http://10.0.1.5/login", "10.0.1.5/"],
  ]) {
    assert.equal(await urls.matchUrl(url), expected, url);
    assert.equal(await urls.hasUrl(new URL(url)), expected !== null, url);
  }
  await fails("wrong_profile", urls.hasPassword("hunter2"));
  for (const [name, password, expected] of [
    ["password", "Hunter2", true],
    ["password", "hUNTER2", true],
    ["password", "stranger's", false],
    ["sha1", "hunter2", true],
    ["sha1", "Hunter2", false],
    ["sha1", "gr\u00f6\u00dfer", true],
    ["sha1", "gro\u0308\u00dfer", true],
  ]) {
    const filter = await open(name);
    assert.equal(await filter.hasPassword(password), expected, `${name} ${password}`);
    await fails("wrong_profile", filter.hasUrl("https://evil.example/"));
  }
});

/** The golden folder with tags, with other members in its manifest. */
function goldenTags(changes = {}) {
  const folder = new URL("../../tests/golden/shards/tags/", import.meta.url);
  const read = (name) => readFileSync(new URL(name, folder));
  const payload = JSON.parse(Buffer.from(JSON.parse(read("shards.json")).payload, "base64url"));
  const site = { payload: { ...payload, ...changes }, asked: [] };
  const fetch = async (url) => {
    const name = new URL(url).pathname.slice(1);
    site.asked.push(name);
    return new Response(name === "shards.json" ? manifest(site.payload) : read(name));
  };
  site.opening = openSharded("https://lists.example/shards.json", { publicKey: null, cache: null, fetch });
  return site;
}

test("tags of a sharded filter", async () => {
  const site = goldenTags();
  const filter = await site.opening;
  const tags = [
    { name: "phishing", count: 300 },
    { name: "malware", count: 143 },
  ];
  assert.deepEqual(filter.info().tags, tags);
  filter.info().tags[0].name = "changed";
  assert.deepEqual(filter.info().tags, tags);
  const names = (i) => (i % 7 ? ["phishing"] : ["phishing", "malware"]);
  for (let i = 0; i < 300; i++) {
    const key = `host${i}.example/`;
    assert.deepEqual(await filter.tags(i % 2 ? key : Buffer.from(key)), names(i), key);
    if (i % 3 === 0) assert.deepEqual(await filter.tags(`www.host${i}.example/a/b`), ["malware"]);
    const expected = i % 3 && i % 7 ? ["phishing"] : ["phishing", "malware"];
    assert.deepEqual(await filter.urlTags(`http://user@www.host${i}.example:8080/a/b?c`), expected, key);
  }
  for (let i = 0; i < 60; i++) {
    assert.equal(await filter.has(`plain${i}.example/`), true);
    assert.deepEqual(await filter.tags(`plain${i}.example/`), []);
    assert.deepEqual(await filter.urlTags(new URL(`https://plain${i}.example/`)), []);
  }
  let found = 0;
  for (let i = 0; i < 3000; i++) {
    const key = `stranger${i}.example/`;
    const its = await filter.tags(key);
    assert.ok(["", "phishing", "malware", "phishing,malware"].includes(its.join()));
    if (!(await filter.has(key))) assert.deepEqual(its, []);
    else found++;
  }
  assert.ok(found > 0 && found < 20, `${found} of 3,000`);
  assert.deepEqual(await filter.urlTags("mailto:a@b.example"), []);
  await fails("invalid_key", filter.tags("host1.example"));
  await fails("invalid_key", filter.tags(5));
  const signal = AbortSignal.abort(new Error("no"));
  await assert.rejects(filter.tags("host1.example/", { signal }), /no/);
  await assert.rejects(filter.urlTags("http://host1.example/", { signal }), /no/);
  filter.close();
  await fails("freed", filter.tags("host1.example/"));

  // A filter without tags says so before anything is fetched.
  const { publisher, site: other, open } = await published(1);
  const plain = await open();
  other.asked();
  await fails("wrong_kind", plain.tags(members[0]));
  await fails("wrong_profile", plain.urlTags("http://host1.example/"));
  publisher.publish({ profile: "url" });
  await plain.update();
  other.asked();
  await fails("wrong_kind", plain.urlTags("http://host1.example/"));
  assert.deepEqual(other.asked(), []);
});

test("tags are those that the manifest in place says, also of shards that stay the same", async () => {
  const site = goldenTags();
  const filter = await site.opening;
  assert.deepEqual(await filter.tags("host7.example/"), ["phishing", "malware"]);
  const tags = ["a", "b", "c"].map((name) => ({ name, count: 1 }));
  Object.assign(site.payload, { generation: 2, tags });
  assert.equal(await filter.update(), true);
  assert.deepEqual(await filter.tags("host7.example/"), ["a", "b"]);
  assert.deepEqual(await filter.urlTags("http://host7.example/"), ["a", "b"]);
  assert.deepEqual(filter.info().tags, tags);
});

test("shards whose tags aren't those of the manifest are refused", async () => {
  const key = "host7.example/";
  // A set has a number without a name.
  const few = await goldenTags({ tags: [{ name: "a", count: 1 }] }).opening;
  for (const asked of [few.has(key), few.tags(key), few.hasUrl(key), few.urlTags(key)]) {
    await fails("invalid_parameter", asked);
  }
  const none = await goldenTags({ tags: undefined }).opening;
  await fails("invalid_parameter", none.has(key));

  const { publisher, open } = await published(1);
  publisher.publish({ tags: [{ name: "a", count: 1 }] });
  await fails("not_a_feed", (await open()).has(members[0]));
  // Names of its own.
  publisher.blobs = [RibbonFilter.fromTagged({ a: members }, { fpr: 0.001 }).toBytes()];
  const many = Array.from({ length: 255 }, (_, i) => ({ name: `tag ${i}`, count: 1 }));
  for (const tags of [undefined, [{ name: "b", count: 1 }], [{ name: "a", count: 20_000 }], many]) {
    publisher.publish({ tags });
    for (const asked of ["has", "tags"]) {
      if (asked === "tags" && tags === undefined) continue;
      await fails("not_a_feed", (await open())[asked](members[0]), JSON.stringify(tags)?.slice(0, 40));
    }
  }
});

test("what a filter of URLs can't hold is refused before anything is fetched", async () => {
  const golden = new URL("../../tests/golden/shards/", import.meta.url);
  const urls = await openSharded(new URL("url/shards.json", golden), {
    publicKey: null,
    cache: null,
    fetch: noNetwork,
  });
  const text = (key) => new TextEncoder().encode(key);
  for (const key of ["evil.example", "https://evil.example/", "", "/a", text("evil.example")]) {
    const shown = typeof key === "string" ? JSON.stringify(key) : "this Uint8Array";
    for (const asked of [urls.has(key), urls.hasMany(["evil.example/", key])]) {
      const { message } = await fails("invalid_key", asked);
      assert.ok(message.startsWith(`${shown} is no key of a filter of URLs; ask hasUrl`), message);
    }
  }
  await fails("invalid_key", urls.has(5));
  assert.equal(await urls.has("evil.example/"), true);
  assert.deepEqual([...(await urls.hasMany(["evil.example/", text("evil.example/"), "good.example/"]))], [1, 1, 0]);
  urls.close();

  const { publisher, site, open } = await published(1);
  publisher.publish({ profile: "url" });
  const filter = await open();
  site.asked();
  await fails("invalid_key", filter.has("evil.example"));
  await fails("invalid_key", filter.hasMany(["evil.example/", "evil.example"]));
  assert.deepEqual(site.asked(), []);
  filter.close();
});

test("what a filter of passwords can't hold is refused before anything is fetched", async () => {
  const golden = new URL("../../tests/golden/shards/", import.meta.url);
  const options = { publicKey: null, cache: null, fetch: noNetwork };
  const encode = (text) => new TextEncoder().encode(text);
  const hash = Uint8Array.from(Buffer.from("f3bbbd66a63d4bf1747940578ec3d0103530e21d", "hex")); // of hunter2
  for (const [name, held, ...refused] of [
    ["password", "hunter2", "Hunter2", encode("Hunter2"), "gro\u0308\u00dfer"],
    ["sha1", hash, "hunter2", encode("hunter2"), "x".repeat(20), Buffer.from(hash).toString("hex"), ""],
  ]) {
    const filter = await openSharded(new URL(`${name}/shards.json`, golden), options);
    for (const key of refused) {
      const what = typeof key === "string" ? "string" : "Uint8Array";
      for (const asked of [filter.has(key), filter.hasMany([held, key])]) {
        const { message } = await fails("invalid_key", asked);
        assert.equal(message, `this ${what} is no key of a filter of passwords; ask hasPassword`);
      }
    }
    assert.equal(await filter.has(held), true);
    assert.deepEqual([...(await filter.hasMany([held, held]))], [1, 1]);
    assert.equal(await filter.hasPassword("hunter2"), true);
    filter.close();
  }

  const { publisher, site, open } = await published(1);
  publisher.publish({ profile: "password", sha1: true });
  const filter = await open();
  site.asked();
  await fails("invalid_key", filter.has("hunter2"));
  await fails("invalid_key", filter.tags("hunter2"));
  assert.deepEqual(site.asked(), []);
  filter.close();
});

test("a page or shard that another request of a Worker has asked for is asked for once more", async (context) => {
  const { publisher, site, open } = await published(16);
  const files = publisher.filesOf(members[0]);
  const requests = workerRequests(context);
  for (const which of files) {
    requests.at = 1;
    const filter = await open();
    const hung = [];
    site.fault = (path, response, bytes) => path === which && hung.push(() => response.end(bytes));
    const lost = filter.has(members[0]);
    while (hung.length === 0) await turns();

    site.fault = undefined;
    requests.at = 2;
    site.asked();
    assert.equal(await filter.has(neighbour(publisher, members[0])), true);
    assert.deepEqual(site.asked(), files.slice(files.indexOf(which)));

    requests.at = 1;
    hung.pop()();
    assert.equal(await lost, true, "if it isn't over, it has its answer, too");
    requests.at = 3;
    site.asked();
    assert.equal(await filter.has(members[0]), true);
    assert.deepEqual(site.asked(), [], "from memory");
    filter.close();
  }
});

test("what was used longest ago leaves the memory", async () => {
  const { publisher, site, open } = await published(16);
  // A part takes 2 kB besides its bytes.
  const room = (publisher.blobs[0].length + 2048) * 5;
  const filter = await open({ maxMemory: room });
  const one = (shard) => members.find((key) => publisher.shardOf(key) === shard);
  for (const shard of [0, 1, 2]) assert.equal(await filter.has(one(shard)), true);
  site.asked();
  assert.equal(await filter.has(one(0)), true);
  for (const shard of [3, 4, 5]) assert.equal(await filter.has(one(shard)), true);
  assert.equal(site.asked().length, 3);
  assert.equal(await filter.has(one(0)), true);
  assert.deepEqual(site.asked(), [], "it was used lately");
  assert.equal(await filter.has(one(1)), true);
  assert.deepEqual(site.asked(), publisher.filesOf(one(1)).slice(1), "it had to go");

  const none = await open({ maxMemory: 0 });
  site.asked();
  for (let i = 0; i < 3; i++) assert.ok((await none.hasMany(members)).every((answer) => answer === 1));
  assert.ok(site.asked().length >= 3 * 16);
});

test("each fault of a page or a shard is an error, and never an answer", async () => {
  const { publisher, site, open } = await published();
  const key = members[7];
  const names = publisher.filesOf(key);
  const other = publisher.filesOf(members.find((one) => publisher.shardOf(one) >> 8 !== publisher.shardOf(key) >> 8));
  const changed = (bytes, at) => Buffer.from(bytes).fill(bytes[at] ^ 1, at, at + 1);
  for (const which of [0, 1]) {
    const spoiled = {
      missing: ["http", (response) => response.writeHead(404).end("not found")],
      denied: ["http", (response) => response.writeHead(403).end()],
      broken: ["http", (response) => response.writeHead(503).end()],
      empty: ["integrity", (response) => response.end()],
      truncated: ["integrity", (response, bytes) => response.end(bytes.subarray(0, -1))],
      "shorter than promised": [
        "network",
        (response, bytes) => {
          response.writeHead(200, { "content-length": bytes.length });
          response.write(bytes.subarray(0, 9), () => response.destroy());
        },
      ],
      longer: ["integrity", (response, bytes) => response.end(Buffer.concat([bytes, bytes]))],
      altered: ["integrity", (response, bytes) => response.end(changed(bytes, bytes.length >> 1))],
      swapped: ["integrity", (response) => response.end(publisher.files.get(other[which]))],
      "another kind": ["integrity", (response) => response.end(publisher.files.get(names[1 - which]))],
      cut: ["network", (response) => response.destroy()],
    };
    for (const [what, [code, answer]] of Object.entries(spoiled)) {
      for (const ask of [
        (filter) => filter.has(key),
        async (filter) => (await filter.hasMany([members[0], key, members[1]]))[1] === 1,
      ]) {
        const filter = await open();
        site.fault = (path, response, bytes) => path === names[which] && (answer(response, bytes), true);
        await fails(code, ask(filter), what);
        await fails(code, ask(filter), `${what}, again`);
        site.fault = undefined;
        assert.equal(await ask(filter), true, what);
        filter.close();
      }
    }
  }
});

test("what is signed but wrong", async () => {
  const cases = {
    "another seed": (publisher) => RibbonFilter.from(publisher.its, { seed: 1n }),
    "another profile": (publisher) => RibbonFilter.from(publisher.its, { profile: "password" }),
    "another count": (publisher) => RibbonFilter.from([...publisher.its, "one more"]),
  };
  for (const [what, make] of Object.entries(cases)) {
    const { publisher, open } = await published(2);
    publisher.its = members.filter((key) => publisher.shardOf(key) === 0);
    publisher.blobs[0] = make(publisher).toBytes();
    publisher.publish();
    const filter = await open();
    await fails("not_a_feed", filter.has(publisher.its[0]), what);
    assert.equal(await filter.has(members.find((key) => publisher.shardOf(key) === 1)), true, what);
  }
  const { publisher, site, open } = await published(2);
  publisher.blobs[0] = Buffer.from("no blob");
  publisher.publish();
  const { message } = await fails(
    "not_a_filter",
    (await open()).has(members.find((key) => publisher.shardOf(key) === 0)),
  );
  assert.ok(message.startsWith(`${new URL(sha256(publisher.blobs[0]), site.url)}: `), message);
  for (const bytes of [0, 2 ** 24 + 1]) {
    const page = Buffer.from(publisher.files.get(publisher.pages[0]));
    page.writeUInt32LE(bytes, 32);
    publisher.files.set(sha256(page), page);
    publisher.publish({ pages: [sha256(page)] });
    await fails("not_a_feed", (await open()).has(members.find((key) => publisher.shardOf(key) === 0)));
  }
});

test("the host goes on while a client asks", async () => {
  const { publisher, site, open } = await published();
  const [old, more] = [members.slice(0, 10_000), members];
  publisher.put(old);
  const filter = await open();
  assert.equal(await filter.has(old[0]), true);
  // Another number of shards, and nothing of the old generation left.
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
  // A missing file that no newer manifest explains; and one that can't be believed.
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

test("a cache makes requests unnecessary, and lasts", async () => {
  const { publisher, site, open } = await published(16);
  const cache = memoryCache();
  const first = await open({ cache });
  await first.hasMany(members);
  first.close();
  site.asked();
  const again = await open({ cache });
  assert.ok((await again.hasMany(members)).every((answer) => answer === 1));
  assert.equal(await again.update(), false);
  assert.ok(site.asked().every((path) => path === "shards.json"));
  assert.equal(cache.entries.size, 2 + 1 + 16);
  again.close();
  // Without a network.
  const offline = await open({ cache, fetch: noNetwork });
  assert.equal(await offline.has(members[0]), true);
  await fails("network", offline.update());
  offline.close();
  // The next generation takes the place of this one.
  publisher.put(members.slice(0, 15_000));
  const next = await open({ cache });
  await next.update();
  assert.ok((await next.hasMany(members.slice(0, 15_000))).every((answer) => answer === 1));
  assert.equal(cache.entries.size, 2 + 1 + 16);
  // Those who trust other keys begin anew.
  await fails("signature", open({ cache, publicKey: keyPair().publicKey }));
  // The floor.
  next.close();
  publisher.generation = 0;
  publisher.publish();
  await fails("rollback", (await open({ cache })).update());
});

test("a cache that is damaged, full, slow or mad", async () => {
  const { publisher, site, open } = await published(4);
  const cache = memoryCache();
  const first = await open({ cache });
  await first.hasMany(members);
  first.close();
  for (const spoil of [
    (bytes) => bytes.map((byte) => byte ^ 255),
    (bytes) => bytes.slice(1),
    () => new Uint8Array(0),
    () => undefined,
    () => "text",
  ]) {
    for (const name of [...cache.entries.keys()].filter((name) => /^(page|shard)-/.test(name)))
      cache.entries.set(name, spoil(cache.entries.get(name)));
    const filter = await open({ cache });
    assert.ok((await filter.hasMany(members)).every((answer) => answer === 1));
    filter.close();
  }
  cache.entries.clear();
  cache.fault = (method) => {
    if (method === "put") throw new Error("full");
  };
  const full = await open({ cache });
  assert.equal(full.cacheError?.code, "cache");
  assert.ok((await full.hasMany(members)).every((answer) => answer === 1));
  assert.equal(full.cacheError?.code, "cache");
  cache.fault = undefined;
  publisher.put(strangers);
  assert.equal(await full.update(), true);
  await full.has(strangers[0]);
  assert.equal(full.cacheError, undefined);
  // Parts that are put for ever hold nobody up.
  cache.fault = (method, name) => method === "put" && /^(page|shard)-/.test(name) && new Promise(() => {});
  const slow = await open({ cache });
  assert.equal(await slow.has(strangers[0]), true);
  assert.equal(await slow.has(members[0]), false);
  assert.ok(site.asked().length > 0);
});

test("an abort ends one wait, and the transfer when nobody waits", async () => {
  const { publisher, site, open } = await published(2);
  const filter = await open();
  const [, shard] = publisher.filesOf(members[0]);
  const hanging = [];
  let reached;
  let gone;
  const hang = () => {
    const [started, ended] = [
      new Promise((resolve) => (reached = resolve)),
      new Promise((resolve) => (gone = resolve)),
    ];
    site.fault = (path, response, bytes) => {
      if (path !== shard) return false;
      response.on("close", gone);
      response.write(bytes.subarray(0, 5));
      hanging.push([response, bytes]);
      reached();
      return true;
    };
    return [started, ended];
  };
  const [started] = hang();
  const stop = new AbortController();
  const [one, two] = [filter.has(members[0], { signal: stop.signal }), filter.has(members[0])];
  await started;
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(one, reason);
  const [[response, bytes]] = hanging;
  response.end(bytes.subarray(5));
  assert.equal(await two, true);

  const fresh = await open();
  const [again, ended] = hang();
  const alone = new AbortController();
  const waiting = fresh.hasMany([members[0]], { signal: alone.signal });
  await again;
  alone.abort(reason);
  await assert.rejects(waiting, reason);
  await ended; // the request is over
  site.fault = undefined;
  assert.equal(await fresh.has(members[0]), true, "the next call works");
  await assert.rejects(fresh.has("x", { signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(open({ signal: AbortSignal.abort(reason) }), reason);

  const closing = await open();
  const [last] = hang();
  const pending = closing.has(members[0]);
  await last;
  closing.close();
  await fails("freed", pending);
  await fails("freed", closing.has(members[0]));
  await fails("freed", closing.update());
  closing.close();
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
  assert.match(message, /raw, not url; build it with --profile url, or profile: "url"$/);
  await fails("wrong_profile", filter.hasUrl("mailto:"));
  await fails("wrong_profile", filter.hasPassword("x"));
  await fails("invalid_key", filter.hasPassword(5));
  await fails("invalid_key", filter.hasUrl(5));
  // A key that its owner changes meanwhile.
  const key = Buffer.from(members[0]);
  const asked = filter.has(key);
  const [askedToo, all] = [filter.hasMany([key]), filter.hasMany([Buffer.from(members[1]), key])];
  key.fill(0);
  assert.equal(await asked, true);
  assert.deepEqual([...(await askedToo), ...(await all)], [1, 1, 1]);
  assert.equal(await filter.has(""), await filter.has(new Uint8Array(0)));
  assert.equal(await filter.has("\ud800"), await filter.has("\ufffd"));
});

test("what is in memory is checked anew for each manifest", async () => {
  // A page that lists another page as its shard, and the other way round.
  const { publisher, open } = await published();
  const [first, second] = [
    members.find((key) => publisher.shardOf(key) < 256),
    members.find((key) => publisher.shardOf(key) > 255),
  ];
  const page = Buffer.from(publisher.files.get(publisher.pages[1]));
  const other = publisher.files.get(publisher.pages[0]);
  page.set(Buffer.from(publisher.pages[0], "hex"), (publisher.shardOf(second) - 256) * 40);
  page.writeUInt32LE(other.length, (publisher.shardOf(second) - 256) * 40 + 32);
  publisher.files.set(sha256(page), page);
  publisher.publish({ pages: [publisher.pages[0], sha256(page)] });
  const mixed = await open();
  assert.equal(await mixed.has(first), true);
  await fails("not_a_filter", mixed.has(second));
  assert.equal(await mixed.has(first), true, "and WebAssembly goes on");

  // The next generation says otherwise of the same files.
  for (const changes of [{ seed: "1" }, { profile: "password" }, { profile: "password", sha1: true }]) {
    const { publisher, open } = await published(2);
    const filter = await open();
    assert.equal(await filter.has(members[0]), true);
    publisher.publish(changes);
    await filter.update();
    const asked = changes.sha1 ? filter.hasPassword(members[0]) : filter.has(members[0]);
    await fails("not_a_feed", asked, JSON.stringify(changes));
  }
  const small = await published(64);
  const filter = await small.open();
  await filter.hasMany(members);
  small.publisher.publish({ shards: 128 });
  await filter.update();
  for (const key of members.slice(0, 50)) await fails("integrity", filter.has(key));
});

test("a cache that uses one buffer for all is believed no more than another", async () => {
  const { open } = await published(16);
  const cache = memoryCache();
  await (await open({ cache })).hasMany(members);
  const buffer = new Uint8Array(1 << 16);
  const get = async (name) => {
    const bytes = cache.entries.get(name);
    if (!/^(page|shard)-/.test(name) || bytes === undefined) return bytes;
    buffer.set(bytes);
    return buffer.subarray(0, bytes.length);
  };
  const filter = await open({ cache: { get, put: async () => {}, delete: async () => {} } });
  for (let wait = 0; wait < 12; wait++) {
    const asked = [];
    for (const key of members.slice(0, 32)) {
      asked.push(filter.has(key));
      for (let i = 0; i < wait; i++) await undefined;
    }
    assert.ok((await Promise.all(asked)).every(Boolean), `${wait}`);
  }
});

test("an abort and a closing while a newer manifest is looked for", async () => {
  const { publisher, site, open } = await published(2);
  const reason = new Error("enough");
  for (const end of ["abort", "close"]) {
    const filter = await open();
    const [, shard] = publisher.filesOf(members[0]);
    const looked = new Promise((resolve) => {
      site.fault = (path, response) => {
        if (path === shard) return response.writeHead(404).end(), true;
        return path === "shards.json" && (resolve(), true);
      };
    });
    const stop = new AbortController();
    const asked = filter.has(members[0], { signal: stop.signal });
    await looked;
    if (end === "abort") {
      stop.abort(reason);
      await assert.rejects(asked, reason);
    } else {
      filter.close();
      await fails("freed", asked);
    }
    site.fault = undefined;
  }
});

test("the files of an old generation may be gone in any way", async () => {
  const gone = {
    "200 and a page": (response) => response.end("<!doctype html>"),
    "no answer that a page may read": (response) => response.destroy(),
  };
  for (const [what, answer] of Object.entries(gone)) {
    const { publisher, site, open } = await published(16);
    const filter = await open();
    publisher.files.clear();
    publisher.put(strangers);
    site.fault = (_path, response, bytes) => bytes === undefined && (answer(response), true);
    assert.ok(
      (await filter.hasMany(strangers)).every((one) => one === 1),
      what,
    );
  }
});

test("a manifest that is put slowly doesn't take the place of a newer one, and holds up no question", async () => {
  const { publisher, site, open } = await published(4);
  const cache = memoryCache();
  const filter = await open({ cache });
  let release;
  const slow = new Promise((resolve) => (release = resolve));
  cache.fault = (method, name) => method === "put" && name.startsWith("manifest-") && slow;
  publisher.put(members.slice(1));
  const stop = new AbortController();
  const update = filter.update({ signal: stop.signal });
  while (filter.generation < 2) await new Promise(setImmediate);
  stop.abort();
  await assert.rejects(update, { name: "AbortError" });
  assert.equal(filter.generation, 2, "it is in place");
  publisher.files.clear();
  publisher.put(strangers);
  assert.equal(await filter.has(strangers[0]), true);
  assert.equal(filter.generation, 3);
  release();
  cache.fault = undefined;
  assert.equal(await filter.update(), false);
  const again = await open({ cache, fetch: () => new Promise(() => {}) });
  assert.equal(again.generation, 3);
  assert.ok(site.asked().length > 0);
});

test("what a cache holds of a sharded filter is forgotten, for its own keys or others", async () => {
  const { publisher, open } = await published(16);
  const [old, next] = [publisher.key, keyPair()];
  publisher.signers = [old, next];
  publisher.publish();
  const other = await published(4);
  const cache = memoryCache();
  await (await other.open({ cache })).hasMany(members);
  await new Promise((resolve) => setImmediate(resolve));
  const others = new Map(cache.entries);
  const before = await open({ cache });
  await before.hasMany(members);
  const filter = await open({ cache, publicKey: next.publicKey });
  await before.forget();
  assert.equal(cache.entries.size, others.size + 2);
  await fails("freed", before.has(members[0]));
  await (await open({ cache })).hasMany(members);
  await filter.forget({ publicKey: old.publicKey });
  assert.equal(cache.entries.size, others.size + 2);
  assert.equal(await filter.has(members[0]), true);
  await fails("invalid_parameter", filter.forget({ publicKey: 5 }));
  // Also what is being put.
  const asked = filter.hasMany(members).catch(() => {});
  await Promise.all([asked, filter.forget()]);
  assert.deepEqual(cache.entries, others);
});

test("parts that no generation has any more go, with the update or with all", async () => {
  const { publisher, open } = await published(512);
  const cache = memoryCache();
  const filter = await open({ cache });
  await filter.hasMany(members);
  await filter.hasMany([]); // what is being put has no other way to tell
  publisher.put(members, 4);
  assert.equal(await filter.update(), true);
  await filter.hasMany(members);
  assert.equal(filter.cacheError, undefined);
  // The id, the manifest, a page and four shards.
  assert.equal(cache.entries.size, 2 + 1 + 4);
  // The manifest of more shards can't be kept, but what is asked can.
  cache.fault = (method, name) => {
    if (method === "put" && name.startsWith("manifest-")) throw new Error("full");
  };
  publisher.put(strangers, 512);
  assert.equal(await filter.update(), true);
  await filter.hasMany(strangers);
  assert.equal(filter.cacheError?.code, "cache");
  assert.equal(cache.entries.size, 2 + 2 + 512);
  await filter.forget();
  assert.deepEqual([...cache.entries.keys()], []);
});

test("parts that the cache doesn't put don't pile up", async () => {
  const { publisher, open } = await published(512);
  const cache = memoryCache();
  const hung = [];
  cache.fault = (method, name) => {
    if (method === "put" && name.startsWith("shard-")) return new Promise((resolve) => hung.push(resolve));
  };
  const filter = await open({ cache, fetch: without(publisher) });
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    await filter.hasMany(members.slice(0, 10));
    const before = hung.length;
    mock.timers.tick(10_000);
    await turns();
    assert.equal(filter.cacheError.code, "cache");
    assert.ok((await filter.hasMany(members.slice(10))).every((answer) => answer === 1));
    assert.equal(hung.length, before);
  } finally {
    mock.timers.reset();
  }
  cache.fault = undefined;
  for (const resolve of hung) resolve();
  await turns();
  publisher.put(strangers);
  await filter.update();
  await filter.hasMany(strangers);
  assert.equal(filter.cacheError, undefined);
  assert.equal(cache.entries.size, 2 + 2 + 512);
});

test("memory is given back also if the first caller has left", async () => {
  const { publisher, site, open } = await published(2);
  const filter = await open({ maxMemory: 0 });
  const [, shard] = publisher.filesOf(members[0]);
  let answer;
  const asked = new Promise((resolve) => {
    site.fault = (path, response, bytes) => path === shard && ((answer = () => response.end(bytes)), resolve(), true);
  });
  const stop = new AbortController();
  const first = filter.has(members[0], { signal: stop.signal });
  const second = filter.has(members[0]);
  await asked;
  stop.abort();
  await assert.rejects(first, { name: "AbortError" });
  site.fault = undefined;
  answer();
  assert.equal(await second, true);
  site.asked();
  assert.equal(await filter.has(members[0]), true);
  assert.deepEqual(site.asked(), publisher.filesOf(members[0]), "nothing was held");
});

test("hasMany leaves no transfer behind when it fails", async () => {
  const { publisher, site, open } = await published(16);
  const filter = await open();
  const ends = [];
  const [, missing] = publisher.filesOf(members[0]);
  await new Promise((resolve) => {
    site.fault = (path, response) => {
      if (path === missing) setTimeout(() => response.writeHead(404).end(), 50);
      else if (publisher.pages.includes(path) || path === "shards.json") return false;
      else ends.push(new Promise((ended) => response.on("close", ended)));
      return true;
    };
    fails("http", filter.hasMany(members)).then(resolve);
  });
  assert.equal(ends.length, 7);
  await Promise.all(ends);
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

test("an update that hangs behind a cached manifest is left by whoever gives up", async () => {
  const { open } = await published(2);
  const cache = memoryCache();
  (await open({ cache })).close();
  let asked = 0;
  const fetch = () => (asked++, new Promise(() => {}));
  const filter = await open({ cache, fetch });
  for (let i = 1; i < 4; i++) {
    await assert.rejects(filter.update({ signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
    assert.equal(asked, i);
  }
});

test("a fetch with limits of its own, and one that comes back", async () => {
  const { publisher, open } = await published(2);
  const limited = (url, init) => fetch(url, { ...init, signal: AbortSignal.abort() });
  await fails("network", open({ fetch: limited }));
  let filter;
  let inside;
  const reentrant = (url, init) => {
    inside ??= filter?.update();
    return fetch(url, init);
  };
  filter = await open({ fetch: reentrant });
  publisher.put(strangers);
  const outside = filter.update();
  assert.equal(await outside, true);
  assert.equal(await inside, true);
});

test("the bodies of errors are let go", async () => {
  const { open } = await published(2);
  const cancelled = [];
  const body = () => new ReadableStream({ cancel: () => void cancelled.push(1) });
  const filter = await open();
  const failing = (url, init) => (url.endsWith(".json") ? fetch(url, init) : new Response(body(), { status: 503 }));
  await fails("http", (await open({ fetch: failing })).has("x"));
  assert.equal(cancelled.length, 1);
  filter.close();
});

test("a question whose files are gone asks for a manifest itself, whatever an update that is under way has heard", async () => {
  const { publisher, site, open } = await published(2);
  const filter = await open();
  const held = [];
  // The manifest that the host has now, later.
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
  // It has met the first 404, and waits for the update.
  while (!site.log.some((path) => gone.includes(path))) await turns();
  await turns();
  held[0]();
  assert.equal(await updating, false);
  assert.ok((await asked).every((answer) => answer === 1));
  assert.equal(filter.generation, 2);
});

test("what can't be read in a cache isn't written over, and a part that can be read again is no error any more", async () => {
  const { publisher, open } = await published(2);
  const [cache, fetch] = [memoryCache(), without(publisher)];
  await (await open({ cache, fetch })).hasMany(members);
  await turns();
  const whole = new Map(cache.entries);
  cache.fault = (method) => method === "get" && assert.fail("the cache fails");
  const filter = await open({ cache, fetch });
  assert.ok((await filter.hasMany(members)).every((answer) => answer === 1));
  await turns();
  assert.equal(filter.cacheError.code, "cache");
  assert.deepEqual(cache.entries, whole);

  cache.fault = undefined;
  const offline = await open({ cache, fetch: noNetwork });
  cache.fault = (method, name) => method === "get" && name.startsWith("page-") && assert.fail("the cache fails");
  await fails("network", offline.has(members[0]));
  assert.equal(offline.cacheError.code, "cache");
  cache.fault = undefined;
  assert.equal(await offline.has(members[0]), true);
  assert.equal(offline.cacheError, undefined);
});
