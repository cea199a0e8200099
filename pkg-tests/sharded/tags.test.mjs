/** Sharded filters with tags: the lists that a member is on. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fails } from "../helpers/following.mjs";
import { manifest } from "../helpers/publisher.mjs";
import { members, openSharded, published, RibbonFilter } from "../helpers/sharded.mjs";

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
    // Where the host is malware, too, it covers the page.
    const ofPage = i % 3 === 0 && i % 7 ? ["malware"] : [];
    assert.deepEqual(await filter.tags(`www.host${i}.example/a/b`), ofPage);
    const expected = i % 3 && i % 7 ? ["phishing"] : ["phishing", "malware"];
    assert.deepEqual(await filter.urlTags(`http://user@www.host${i}.example:8080/a/b?c`), expected, key);
    // A key without tags.
    const plain = `plain${i % 60}.example/`;
    assert.deepEqual([await filter.has(plain), await filter.tags(plain)], [true, []]);
    const other = `stranger${i}.example/`;
    if (!(await filter.has(other))) assert.deepEqual(await filter.tags(other), []);
  }
  assert.deepEqual(await filter.urlTags("mailto:a@b.example"), []);
  await fails("invalid_key", filter.tags("host1.example"));
  const signal = AbortSignal.abort(new Error("no"));
  await assert.rejects(filter.tags("host1.example/", { signal }), /no/);
  await assert.rejects(filter.urlTags("http://host1.example/", { signal }), /no/);

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

test("tags are those of the manifest in place, also for shards that stay the same", async () => {
  const site = goldenTags();
  const filter = await site.opening;
  assert.deepEqual(await filter.tags("host7.example/"), ["phishing", "malware"]);
  const tags = ["a", "b", "c"].map((name) => ({ name, count: 1 }));
  Object.assign(site.payload, { generation: site.payload.generation + 1, tags });
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
