/** Tags: on which lists a member is, in both imports. The oracle is a map from keys to the names of their lists. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { engines, fails, golden as file, full, seal } from "../helpers/engines.mjs";
import { feedOf, without } from "../helpers/publisher.mjs";

const { RibbonFilter, openFeed } = full;

/** Keys by list, and the names of each key, for lists of skewed sizes that overlap. */
function made(count) {
  const lists = { rare: [], common: [], odd: [] };
  const names = new Map();
  for (let i = 0; i < count; i++) {
    const key = `key ${i}`;
    const its = [i % 50 === 0 && "rare", i % 50 !== 1 && "common", i % 7 === 3 && "odd"].filter(Boolean);
    for (const name of its) lists[name].push(key);
    if (its.length > 0) names.set(key, its);
  }
  return { lists, names };
}

test("the tags of members are exact, and those of non-members are a set that occurs", () => {
  for (const count of [0, 5, 20_000]) {
    const { lists, names } = made(count);
    const filter = RibbonFilter.fromTagged(lists, { seed: 5n, fpr: 0.01 });
    const sets = new Set([...names.values()].map(String));
    for (const [entry, { decode }] of Object.entries(engines)) {
      const read = decode(filter.toBytes());
      for (const [key, expected] of names) assert.deepEqual(read.tags(key), expected, `${entry}: ${key}`);
      let met = 0;
      for (let i = 0; i < 5000; i++) {
        const found = read.tags(`stranger ${i}`);
        if (read.has(`stranger ${i}`)) met += assert.ok(sets.has(String(found)), `${entry}: ${found}`) ?? 1;
        else assert.deepEqual(found, []);
      }
      if (count === 20_000) assert.ok(met > 20, `${entry}: ${met} non-members were there`);
      const counts = Object.entries(lists).map(([name, { length }]) => ({ name, count: length }));
      assert.deepEqual(read.info().tags, counts, entry);
      assert.deepEqual(read.info(), filter.info(), entry);
      if (count === 0) continue;
      // No caller can change the answers of others.
      const found = read.tags("key 0");
      if (Object.isFrozen(found)) assert.throws(() => found.push("more"), TypeError);
      else found.push("more");
      assert.deepEqual(read.tags("key 0"), names.get("key 0"));
    }
  }
});

test("a URL has the tags of all its keys, in every reading", () => {
  const filter = RibbonFilter.fromTagged(
    {
      hosts: ["evil.example", "xn--.a.b", "http://\u{1df40}x.example/"],
      pages: ["https://www.evil.example/a/b?c"],
      others: ["||other.example^"],
    },
    { profile: "url", fpr: 1e-6 },
  );
  for (const [entry, { decode }] of Object.entries(engines)) {
    const read = decode(filter.toBytes());
    assert.deepEqual(read.urlTags("http://www.evil.example/a/b?c"), ["hosts", "pages"], entry);
    assert.deepEqual(read.urlTags("http://EVIL.example:80/x#y"), ["hosts"], entry);
    assert.deepEqual(read.urlTags(new URL("https://a.other.example/")), ["others"], entry);
    assert.deepEqual(read.urlTags("https://good.example/"), [], entry);
    assert.deepEqual(read.urlTags("mailto:a@b.example"), [], entry);
    // A second reading alone has the host of the list; the other's character is newer than the parser's tables.
    for (const url of ["http://xn--.a.b\\@c.d/", "http://\u{1df40}x.example/"])
      assert.deepEqual([read.hasUrl(url), ...read.urlTags(url)], [true, "hosts"], `${entry}: ${url}`);
    for (const key of ["evil.example", "https://evil.example/"]) fails("invalid_key", () => read.tags(key), /urlTags/);
    assert.deepEqual(read.tags("evil.example/"), ["hosts"]);
  }
});

test("an allowlist, a secret, and keys that are in both lists", () => {
  const secret = crypto.getRandomValues(new Uint8Array(16));
  const { lists, names } = made(500);
  const conflicts = [];
  const allow = ["key 3", ...Array.from({ length: 2000 }, (_, i) => `good ${i}`)];
  const onConflict = (conflict) => conflicts.push(conflict);
  const filter = RibbonFilter.fromTagged(lists, { fpr: 0.1, secret, allow, allowWins: true, onConflict });
  assert.deepEqual(conflicts, [{ key: "key 3", removed: true }]);
  names.delete("key 3");
  for (const [entry, { decode }] of Object.entries(engines)) {
    const read = decode(filter.toBytes(), { secret });
    for (const [key, expected] of names) assert.deepEqual(read.tags(key), expected, `${entry}: ${key}`);
    for (const key of allow) assert.deepEqual(read.tags(key), [], `${entry}: ${key}`);
  }
});

test("a feed brings new tags", async () => {
  const blobs = [file("tags.bloom"), file("tags.delta")];
  let host = feedOf(blobs.slice(0, 1));
  const fetch = (url) => without(host)(url);
  const feed = await openFeed("https://host.example/feed.json", { publicKey: null, cache: null, fetch });
  assert.deepEqual(feed.filter.tags("key-101"), ["phishing"]);
  host = feedOf(blobs, 2);
  assert.equal(await feed.update(), true);
  const child = file("tags-child.bloom");
  assert.deepEqual(feed.filter.toBytes(), child);
  for (const read of [feed.filter, ...Object.values(engines).map(({ decode }) => decode(child))]) {
    assert.deepEqual(read.tags("key-101"), ["phishing", "spam"]);
    assert.deepEqual(read.tags("key-1009"), ["phishing", "malware", "spam"]);
    assert.deepEqual(read.tags("key-200"), []);
    assert.deepEqual(
      read.info().tags.map(({ name }) => name),
      ["phishing", "malware", "spam"],
    );
    assert.equal(read.info().tags[2].count, 70);
    const nonmembers = readFileSync(new URL("../../tests/golden/tags-child.tags", import.meta.url), "utf8");
    for (const line of nonmembers.trim().split("\n")) {
      const [i, ...expected] = line.trim().split(" ");
      assert.deepEqual(read.tags(`key-${i}`), expected, line);
    }
  }
  feed.close();
});

test("keys without a tag have the empty set, exactly", () => {
  const { lists, names } = made(3000);
  const untagged = Array.from({ length: 500 }, (_, i) => `plain ${i}`);
  // A key that is on a list after all has that list's tag.
  const filter = RibbonFilter.fromTagged(lists, { fpr: 0.01, untagged: new Set([...untagged, "key 0", ...untagged]) });
  for (const [entry, { decode }] of Object.entries(engines)) {
    const read = decode(filter.toBytes());
    for (const key of untagged) assert.deepEqual([read.has(key), read.tags(key)], [true, []], `${entry}: ${key}`);
    for (const [key, expected] of names) assert.deepEqual(read.tags(key), expected, `${entry}: ${key}`);
    assert.equal(read.info().count, names.size + untagged.length);
    assert.deepEqual(
      read.info().tags.map(({ count }) => count),
      Object.values(lists).map(({ length }) => length),
    );
  }
  // Without any list there are no tags, but `tags` answers.
  const none = RibbonFilter.fromTagged({}, { untagged });
  assert.deepEqual([none.has("plain 7"), none.tags("plain 7"), none.info().tags], [true, [], []]);
  fails("invalid_key", () => RibbonFilter.fromTagged({ a: ["key"] }, { untagged: "plain" }), /iterable/);
  fails("invalid_key", () => RibbonFilter.fromTagged({ a: ["key"] }, { untagged: [7] }));
  fails("invalid_parameter", () => RibbonFilter.from(["key"], { untagged }), /untagged/);
});

test("a Map keeps the order of its names, and an object puts whole numbers first", () => {
  const order = (lists) => RibbonFilter.fromTagged(lists).tags("key");
  const lists = ["b", "10", "9", "a"].map((name) => [name, ["key"]]);
  assert.deepEqual(order(new Map(lists)), ["b", "10", "9", "a"]);
  assert.deepEqual(order(Object.fromEntries(lists)), ["9", "10", "b", "a"]);
  fails("invalid_parameter", () => order(new Map([[7, ["key"]]])), /string/);
  fails("invalid_parameter", () => order(new Set(["key"])), /Map/);
});

test("bad input", () => {
  const from = (lists, options) => () => RibbonFilter.fromTagged(lists, options);
  const many = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`tag ${i}`, ["key"]]));
  fails("invalid_parameter", from(many(256)), /255/);
  assert.equal(from(many(255))().tags("key").length, 255);
  fails("invalid_parameter", from({ "": ["key"] }));
  fails("invalid_parameter", from({ ["x".repeat(256)]: ["key"] }));
  fails("invalid_parameter", from({ "half a \ud83d": ["key"] }), /text/);
  for (const c of ",\0\x9f\u061c\u200f\u2028\u2069") {
    fails("invalid_parameter", from({ [`one${c}two`]: ["key"] }), /one.*two/s);
    // In a blob, too, which other software may have written.
    const blob = from({ "one   two": ["key"] })().toBytes();
    const name = new TextEncoder().encode(`one${c}two__`);
    const at = Buffer.from(blob).indexOf("one   two");
    blob.set(name.subarray(0, 9), at);
    for (const { decode } of Object.values(engines)) fails("invalid_parameter", () => decode(seal(blob)));
  }
  // Sets out of order, each with its length.
  const sets = from({ a: ["1"], b: ["2"] })().toBytes();
  sets.set([1, 1, 1, 0], Buffer.from(sets).indexOf(Uint8Array.of(1, 0, 1, 1)));
  for (const { decode } of Object.values(engines)) fails("invalid_parameter", () => decode(seal(sets)));
  assert.deepEqual(from({ "größe א\u200b": ["key"] })().tags("key"), ["größe א\u200b"]);
  for (const lists of [[["a"]], "a", undefined, new Proxy(new Map(), {}), Object.create(Map.prototype)])
    fails("invalid_parameter", from(lists));
  fails("invalid_key", from({ a: 7 }), /iterable/);
  fails("invalid_key", from({ a: [7] }));
  assert.deepEqual(from({ empty: [], a: ["key"] })().info().tags[0], { name: "empty", count: 0 });
  const [ribbon, bloom] = [full.RibbonFilter.from(["a"]), full.BloomFilter.from(["a"])].map((its) => its.toBytes());
  const urls = full.RibbonFilter.from(["a.example"], { profile: "url" }).toBytes();
  for (const { decode } of Object.values(engines)) {
    for (const blob of [ribbon, bloom]) {
      for (const key of ["a", "b"]) fails("wrong_kind", () => decode(blob).tags(key));
      assert.equal(decode(blob).info().tags, null);
    }
    for (const host of ["a", "b"]) fails("wrong_kind", () => decode(urls).urlTags(`https://${host}.example`));
    fails("wrong_profile", () => decode(file("tags.bloom")).urlTags("https://a.example"));
    fails("invalid_key", () => decode(file("tags.bloom")).tags(7));
  }
});
