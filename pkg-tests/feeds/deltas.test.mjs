/** Feeds: what a delta makes of a filter, and which deltas are refused. FORMAT.md section 6.7. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { engines, full, golden, reader, SECRET, seal } from "../helpers/engines.mjs";
import { fails } from "../helpers/following.mjs";
import { feedOf, idOf, without } from "../helpers/publisher.mjs";

const { BloomFilter, RibbonFilter, openFeed } = full;

/** An open feed of these blobs, and what publishes others and updates the feed. */
async function opened(blobs, options) {
  let [generation, host] = [1, feedOf(blobs)];
  const fetch = (url) => without(host)(url);
  const feed = await openFeed("https://host.example/feed.json", { publicKey: null, cache: null, fetch, ...options });
  const put = (...blobs) => {
    host = feedOf(blobs, ++generation);
    return feed.update();
  };
  return { feed, put };
}

/** Parents and children among the golden files, by the names of their deltas. */
const GOLDEN = {
  bloom: ["bloom", "bloom-child"],
  keyed: ["keyed-ribbon", "keyed-child", { secret: SECRET }],
  ribbon: ["ribbon", "ribbon-child"],
  slots: ["slots-one", "slots-child"],
  tags: ["tags", "tags-child"],
};

for (const [name, [from, to, options]] of Object.entries(GOLDEN)) {
  test(`${name}.delta makes the child of its parent, and leaves that as it was`, async () => {
    const [parent, child] = [from, to].map((file) => golden(`${file}.bloom`));
    const delta = golden(`${name}.delta`);
    const { feed, put } = await opened([parent], options);
    const before = feed.filter;
    assert.equal(await put(parent, delta), true);
    assert.deepEqual(feed.filter.toBytes(), child);
    const read = reader.decode(child, options);
    assert.ok(feed.filter.equals(read) && read.equals(feed.filter) && !feed.filter.equals(before));
    assert.deepEqual(feed.filter.info(), read.info());
    assert.deepEqual(before.toBytes(), parent);
    await fails("wrong_base", put(parent, delta, delta));
    await fails("wrong_base", put(child, delta));
    assert.deepEqual(feed.filter.toBytes(), child);
    feed.close();
  });
}

/** A delta that says that it is for this blob. */
function forged(delta, parent) {
  const bytes = delta.slice();
  bytes.set(idOf(parent), delta[7] & 32 ? 25 : 17);
  return seal(bytes);
}

/** A change of one byte, with a checksum that fits. */
function changed(bytes, at, to) {
  const other = bytes.slice();
  other[at] = to;
  return seal(other);
}

test("deltas that don't go with their parent, or are damaged, are refused, and the filter stays", async () => {
  const [ribbon, delta] = [golden("ribbon.bloom"), golden("ribbon.delta")];
  const keyed = RibbonFilter.from(["a"], { secret: SECRET.toReversed(), seed: 42n }).toBytes();
  const urls = BloomFilter.from(["a.example"], { profile: "url", seed: 42n }).toBytes();
  for (const [code, parent, wrong, options] of [
    ["incompatible", ribbon, changed(delta, 6, 2)], // the profile
    ["incompatible", ribbon, changed(delta, 9, 41)], // the seed
    ["incompatible", ribbon, forged(golden("tags.delta"), ribbon)],
    ["incompatible", golden("tags.bloom"), forged(delta, golden("tags.bloom"))],
    ["incompatible", urls, forged(golden("slots.delta"), urls)],
    ["incompatible", ribbon, forged(golden("keyed.delta"), ribbon)],
    ["incompatible", keyed, forged(golden("keyed.delta"), keyed), { secret: SECRET.toReversed() }],
    ["incompatible", keyed, forged(delta, keyed), { secret: SECRET.toReversed() }],
    ["wrong_base", golden("bloom.bloom"), delta],
    ["wrong_base", ribbon, golden("keyed.delta")],
    ["wrong_kind", ribbon, ribbon],
    ["truncated", ribbon, delta.slice(0, 99)],
    ["checksum_mismatch", ribbon, delta.map((byte, i) => byte ^ (i === 60))],
  ]) {
    const { feed, put } = await opened([parent], options);
    await fails(code, put(parent, wrong));
    assert.deepEqual(feed.filter.toBytes(), parent);
    feed.close();
  }
});

test("without the memory for the child, an update is too_large, and the next one works", async () => {
  const [parent, delta, child] = ["ribbon.bloom", "ribbon.delta", "ribbon-child.bloom"].map(golden);
  const { feed, put } = await opened([parent]);
  const whole = globalThis.Uint8Array;
  globalThis.Uint8Array = new Proxy(whole, {
    construct(target, [first, ...rest], its) {
      if (first > parent.length) throw new RangeError("Array buffer allocation failed");
      return Reflect.construct(target, [first, ...rest], its);
    },
  });
  try {
    await fails("too_large", put(parent, delta));
  } finally {
    globalThis.Uint8Array = whole;
  }
  assert.deepEqual(feed.filter.toBytes(), parent);
  assert.equal(await feed.update(), true);
  assert.deepEqual(feed.filter.toBytes(), child);
  feed.close();
});

test("a delta is no filter, and the error says what it is", async () => {
  for (const { decode, load } of Object.values(engines)) {
    for (const run of [async () => decode(golden("ribbon.delta")), () => load(golden("ribbon.delta"))])
      assert.match((await fails("wrong_kind", run())).message, /\bdelta\b.*; open its feed/);
  }
});

/** Where the table of layers is in ribbon.delta, whose name and creation time stand before it. */
const TABLE = 17 + 8 + 1 + golden("ribbon.delta")[25] + 8;

test("a delta without layers tells the number of keys", async () => {
  const [base, whole] = [golden("ribbon.bloom"), golden("ribbon.delta")];
  const delta = seal(Uint8Array.of(...whole.subarray(0, TABLE), 0, 1, 2, 0, 0, ...new Uint8Array(4)));
  // The parent without name and time, flags 1, 2 and 16, the delta's metadata and table, and the parent's payload.
  const start = 17 + 14 + 4 * base[17 + 13];
  const metadata = whole.subarray(25, TABLE);
  const parts = [base.subarray(0, start), metadata, [0, 1, 2, 0, 0], base.subarray(start, -4), new Uint8Array(4)];
  const child = Uint8Array.from(parts.flatMap((part) => [...part]));
  child[7] |= 1 | 2 | 16;
  seal(child);
  const { feed } = await opened([base, delta]);
  for (const filter of [feed.filter, ...Object.values(engines).map(({ decode }) => decode(child))]) {
    const { count, layers, name } = filter.info();
    assert.deepEqual([count, layers, name], [513, 0, "golden"]);
    assert.deepEqual(filter.toBytes(), child);
    assert.equal(filter.has("key-7"), true);
  }
  feed.close();
});

test("a filter has at most 255 layers", async () => {
  const [base, delta] = [golden("ribbon.bloom"), golden("ribbon.delta")];
  assert.equal(delta[TABLE], 2);
  // FORMAT.md section 7.
  const ends = [TABLE + 5];
  for (let layer = 0; layer < 2; layer++) {
    let at = ends[layer] + 13;
    for (let levels = delta[at++]; levels > 0; levels--) at += 6 + 4 * delta[at + 5];
    ends.push(at);
  }
  const [start, , end] = ends;
  /** The two layers of the delta, `times` times. */
  const repeated = (times, parent) => {
    const parts = [delta.subarray(0, TABLE), [2 * times], delta.subarray(TABLE + 1, start)];
    for (const part of [delta.subarray(start, end), delta.subarray(end, -4)])
      parts.push(...Array.from({ length: times }, () => part));
    return forged(Uint8Array.from([...parts, new Uint8Array(4)].flatMap((part) => [...part])), parent);
  };
  const most = repeated(127, base);
  const { feed, put } = await opened([base, most]);
  const full = feed.filter.toBytes();
  assert.deepEqual(
    [feed.filter.info().layers, feed.filter.has("key-7"), feed.filter.has("key-1049")],
    [254, false, true],
  );
  await fails("invalid_parameter", put(base, most, repeated(1, full)));
  assert.deepEqual(feed.filter.toBytes(), full);
  feed.close();
});
