/** Odd arguments: odd values everywhere, objects of other realms, proxies. In pages: api/odd.long.test.mjs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { engines, full, reader, testEach } from "../helpers/engines.mjs";
import { given } from "../helpers/turn.mjs";
import { sweep } from "../runtimes/odd.mjs";

const { BloomFilter, RibbonFilter } = full;

const context = vm.createContext();
const foreign = (source) => vm.runInContext(source, context);

// Every place gets every `EVERY`th value, each place beginning with a different one; with 1, all values.
const EVERY = given("EVERY", 7);

test("odd values in every place give a FilterError or an answer, in Node", { timeout: 600_000 }, async () => {
  const { count, wrong } = await sweep(full, foreign, EVERY, reader);
  console.log(`${count} calls`);
  assert.ok(count > 20_000 / EVERY);
  assert.deepEqual(wrong, []);
});

test("bytes of another realm are bytes everywhere", async () => {
  const key = foreign("new Uint8Array([97])");
  assert.ok(!(key instanceof Uint8Array));
  const filter = BloomFilter.from([key, "b"]);
  assert.ok(filter.equals(BloomFilter.from(["a", "b"])));
  assert.ok(!filter.add(key) && filter.addMany([key]) === 0 && filter.addLines(key) === 0);
  const blob = foreign(`new Uint8Array([${filter.toBytes()}])`);
  for (const { decode, load } of Object.values(engines)) {
    for (const source of [blob, blob.buffer]) {
      for (const read of [decode(source), await load(source)]) {
        assert.deepEqual(read.toBytes(), filter.toBytes());
        assert.ok(read.has(key) && read.hasAll([key]) && read.hasMany([key])[0] === 1 && read.hasLines(key)[0] === 1);
      }
    }
    const chunks = new Response(
      new ReadableStream({ start: (stream) => (stream.enqueue(new Uint8Array(blob)), stream.close()) }),
    );
    assert.deepEqual((await load(chunks)).toBytes(), filter.toBytes());
  }
  const streamed = await BloomFilter.fromStream(
    new ReadableStream({
      start: (stream) => (stream.enqueue(foreign("new Uint8Array([97, 10, 98])")), stream.close()),
    }),
  );
  assert.ok(streamed.equals(filter));
});

testEach("streams, blobs, URLs, responses and promises are recognised by their members", async ({ decode, load }) => {
  const built = RibbonFilter.from(["a", "b"]);
  const blob = built.toBytes();
  const filter = decode(blob);
  /** As from a polyfill: of no known class, and iterable, like the platform's. */
  const stream = (bytes) => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    void writer.write(bytes).then(() => writer.close());
    return {
      getReader: () => readable.getReader(),
      cancel: (reason) => readable.cancel(reason),
      [Symbol.asyncIterator]: () => readable[Symbol.asyncIterator](),
    };
  };
  assert.ok((await RibbonFilter.fromStream(stream(new TextEncoder().encode("a\nb")))).equals(built));
  const response = () => ({ ok: true, status: 200, body: stream(blob), headers: new Headers() });
  const then = (resolve) => resolve(response());
  for (const source of [
    response(),
    Promise.resolve(response()),
    { then },
    { size: blob.length, stream: () => stream(blob) },
  ])
    assert.ok((await load(source)).equals(filter));
  const fetched = [];
  const fetch = async (input) => (fetched.push(input), response());
  const request = { url: "https://a.b/" };
  for (const source of [{ href: "https://a.b/" }, request]) assert.ok((await load(source, { fetch })).equals(filter));
  assert.deepEqual(fetched, ["https://a.b/", request]);
  await assert.rejects(load(foreign("Promise.reject(new TypeError('no'))")), { code: "network", message: /no/ });
});

testEach("bytes that are shared, or that may grow and shrink", async ({ decode, load }) => {
  const blob = RibbonFilter.from(["a"]).toBytes();
  for (const buffer of [new SharedArrayBuffer(blob.length), new ArrayBuffer(blob.length, { maxByteLength: 1000 })]) {
    const bytes = new Uint8Array(buffer);
    bytes.set(blob);
    for (const source of [bytes, buffer]) assert.ok(decode(source).has("a") && (await load(source)).has("a"));
    assert.ok(
      (
        await load(new Response(new ReadableStream({ start: (stream) => (stream.enqueue(bytes), stream.close()) })))
      ).has("a"),
    );
  }
});

testEach(
  "structuredClone makes an empty object of a filter, and its bytes come through, as docs/javascript.md says",
  ({ decode }) => {
    const filter = decode(RibbonFilter.from(["a"]).toBytes());
    assert.deepEqual(structuredClone(filter), {});
    assert.equal(decode(structuredClone(filter.toBytes())).has("a"), true);
  },
);
