/** Sharded filters: pages, shards and manifests that are wrong, gone, endless or swapped in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, served } from "../helpers/following.mjs";
import { memoryCache, ShardsPublisher, sha256 } from "../helpers/publisher.mjs";
import { members, nonmembers, openSharded, published, RibbonFilter } from "../helpers/sharded.mjs";

test("each fault of a page or a shard is an error, and never an answer", async () => {
  const { publisher, site, open } = await published();
  const key = members[7];
  const names = publisher.filesOf(key);
  const other = publisher.filesOf(members.find((one) => publisher.shardOf(one) >> 8 !== publisher.shardOf(key) >> 8));
  const changed = (bytes, at) => Buffer.from(bytes).fill(bytes[at] ^ 1, at, at + 1);
  for (const which of [0, 1]) {
    const spoiled = {
      missing: ["http", (response) => response.writeHead(404).end("not found")],
      cut: ["network", (response) => response.destroy()],
      shorter: ["integrity", (response, bytes) => response.end(bytes.subarray(0, -1))],
      longer: ["integrity", (response, bytes) => response.end(Buffer.concat([bytes, bytes]))],
      altered: ["integrity", (response, bytes) => response.end(changed(bytes, bytes.length >> 1))],
      swapped: ["integrity", (response) => response.end(publisher.files.get(other[which]))],
      "another kind": ["integrity", (response) => response.end(publisher.files.get(names[1 - which]))],
    };
    for (const [what, [code, answer]] of Object.entries(spoiled)) {
      const filter = await open();
      site.fault = (path, response, bytes) => path === names[which] && (answer(response, bytes), true);
      await fails(code, filter.has(key), what);
      await fails(code, filter.hasMany([members[0], key]), `${what}, again`);
      site.fault = undefined;
      assert.equal(await filter.has(key), true, what);
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
  const from = (keys, options) => RibbonFilter.from(keys, { ...options, profile: "password" });
  const passwords = await served(new ShardsPublisher({ from }, 1, members), openSharded);
  passwords.publisher.publish({ profile: "password", lowercase: true });
  await fails("not_a_feed", (await passwords.open()).hasPassword(members[0]));
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

test("parts in memory are checked again for each manifest", async () => {
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

  // The next generation describes the same files differently.
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

test("a cache that uses one buffer for all is trusted no more than others", async () => {
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

test("a fetch with its own limits, and one that calls the filter", async () => {
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
  publisher.put(nonmembers);
  const outside = filter.update();
  assert.equal(await outside, true);
  assert.equal(await inside, true);
});
