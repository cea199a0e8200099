/** Hostile bytes through decode and load: each gives a FilterError, never a trap. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { engines, full, golden, outcome, reader, requireAlike, SECRET, seal, testEach } from "../helpers/engines.mjs";
import { CATCH_MEMORY, printed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter } = full;

const filter = BloomFilter.from(["a", "b", "c"], { name: "n", createdAt: 1 });
const blob = filter.toBytes();

/** The result of decoding by each import, which must be alike: an error code, or "ok". */
function decoded(bytes, options, what) {
  const [inWasm, inJavaScript] = Object.values(engines).map(({ decode }) =>
    outcome(() => decode(bytes, options).free()),
  );
  requireAlike(inJavaScript, inWasm, what);
  return inWasm;
}

/** The result of decoding by one. */
function decodedBy({ decode }, bytes) {
  return outcome(() => decode(bytes).free());
}

test("every truncation, and every changed byte, in a blob of each sort", () => {
  for (const name of ["bloom-child", "ribbon-small", "slots-one", "layers", "keyed-cuckoo", "tags"]) {
    const blob = golden(`${name}.bloom`);
    const options = name.startsWith("keyed") ? { secret: SECRET } : undefined;
    const refused = (bytes, what) =>
      assert.notEqual(decoded(bytes, options, `${name} ${what}`), "ok", `${name} ${what}`);
    for (let length = 0; length < blob.length; length += length < 200 ? 1 : 17)
      refused(blob.slice(0, length), `${length} bytes`);
    for (let at = 0; at < blob.length; at += at < 120 ? 1 : 23)
      for (const flip of at < 120 ? [1, 2, 128, 255] : [1, 128]) refused(blob.with(at, blob[at] ^ flip), `byte ${at}`);
  }
});

// tests/vectors/damage.json has the others.
testEach("codes that the vectors don't tell apart, and damage anywhere in a long blob", (engine) => {
  const code = (bytes) => decodedBy(engine, bytes);
  assert.equal(code(new Uint8Array(0)), "truncated");
  assert.equal(code(blob.with(4, 2)), "unsupported_version");
  assert.equal(code(blob.with(21, 0)), "invalid_parameter");
  assert.equal(code(blob.with(20, 255)), "truncated"); // 4 billion bits
  assert.equal(code(new Uint8Array([...blob, 0])), "trailing_bytes");
  // WebAssembly takes a long one in several pieces.
  const long = BloomFilter.withCapacity(200_000, 0.001).toBytes();
  for (const at of [65_535, 65_536, 131_072, long.length - 5]) {
    const damaged = long.with(at, long[at] ^ 1);
    assert.equal(code(damaged), "checksum_mismatch", `byte ${at}`);
    assert.equal(code(new Uint8Array([...damaged, 0])), "checksum_mismatch", `byte ${at} and one more`);
    assert.equal(code(long.slice(0, at)), "truncated", `${at} bytes`);
  }
});

// `FAILURES` is their number. They run in their own process.
test("thousands of failures leave nothing behind in WebAssembly's memory", () => {
  const script = `
    ${CATCH_MEMORY}
    const { FilterError, decode } = await import("./node_modules/bloom-wasm/dist/bloom.inline.js");
    const big = new Uint8Array(100_000);
    big.set(${JSON.stringify([...blob.slice(0, 22)])});
    const fail = () => {
      try {
        decode(big);
      } catch (error) {
        if (error instanceof FilterError) return error.code;
        throw error;
      }
    };
    for (let i = 0; i < 100; i++) fail();
    const before = memory.buffer.byteLength;
    for (let i = 0; i < ${given("FAILURES", 5000)}; i++) fail();
    console.log(fail(), memory.buffer.byteLength - before);
  `;
  assert.equal(printed(script), `${decoded(Object.assign(new Uint8Array(100_000), blob.slice(0, 22)))} 0\n`);
});

/** Mutations of each kind: 1000, or as many as `MUTATIONS` says. */
const mutations = given("MUTATIONS", 1000);

test("mutations of each kind and of layers, half of them sealed, in both imports", () => {
  const keys = Array.from({ length: 40 }, (_, i) => `key/${i}`);
  const made = [
    BloomFilter.from(keys, { fpr: 0.01, name: "größer", createdAt: 1 }),
    CountingBloomFilter.from(keys, { fpr: 0.1 }),
    ScalableBloomFilter.from(keys, { fpr: 0.1, initialCapacity: 5 }),
    CuckooFilter.from(keys, { fpr: 0.01 }),
    RibbonFilter.from(keys, { fpr: 0.01 }),
    ...["layers", "tags", "tags-default", "tags-child", "tags-slots"].map((name) =>
      full.decode(golden(`${name}.bloom`)),
    ),
  ];
  let random = 1;
  const below = (limit) => (((random = (Math.imul(random, 1664525) + 1013904223) >>> 0) / 2 ** 32) * limit) | 0;
  for (const filter of made) {
    let survived = 0;
    const good = filter.toBytes();
    for (let round = 0; round < mutations; round++) {
      let bytes = good.slice();
      for (let edit = below(4); edit >= 0; edit--) bytes[below(3) ? below(bytes.length) : below(90)] = below(256);
      if (below(10) === 0) bytes = bytes.slice(0, below(bytes.length + 1));
      if (round % 2) seal(bytes);
      const filters = [];
      const codes = [reader, full].map(({ decode }) => outcome(() => filters.push(decode(bytes))));
      requireAlike(...codes, filter.kind);
      if (filters.length === 0) continue;
      survived++;
      for (const read of filters) {
        read.hasMany(keys);
        if (read.info().tags) read.tags("key/1");
        assert.deepEqual(read.toBytes(), bytes, "a blob that can be read has one form only");
      }
      const read = filters.at(-1);
      try {
        read.add?.("new");
        const found = {
          raw: () => read.has("new"),
          url: () => read.hasUrl("new"),
          password: () => read.hasPassword("new"),
        };
        assert.ok(!read.add || found[read.info().profile]());
        read.remove?.("key 1");
        read.addMany?.(keys);
        read.clear?.();
      } catch (error) {
        assert.ok(["filter_full", "layered", "invalid_key"].includes(error.code), error.stack);
      }
      read.free();
    }
    assert.ok(survived > mutations / 100, `too few of ${filter.kind} got through: ${survived}`);
  }
});

test("numbers that JavaScript can't hold exactly are reported as the nearest one that it can", () => {
  const bytes = BloomFilter.from(["a"], { createdAt: 1 }).toBytes();
  const at = 22; // after the bits and the hashes
  for (const time of [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
    new DataView(bytes.buffer).setBigUint64(at, time, true);
    seal(bytes);
    for (const { decode } of Object.values(engines)) assert.equal(decode(bytes).info().createdAt, Number(time));
  }
});

test("headers that lie: typed errors at once, and no memory", () => {
  const head = (kind, ...numbers) => {
    const bytes = new Uint8Array(4096);
    bytes.set([0xb5, 0x42, 0x4c, 0x4d, 1, kind]);
    numbers.forEach(([at, value, size = 4]) => {
      const view = new DataView(bytes.buffer);
      if (size === 8) view.setFloat64(at, value, true);
      else if (size === 1) view.setUint8(at, value);
      else view.setUint32(at, value, true);
    });
    return seal(bytes);
  };
  const cases = {
    "a Bloom filter of 2^32 - 1 bits": head(1, [17, 2 ** 32 - 1], [21, 7, 1]),
    "a ribbon filter of 64 GiB": head(
      5,
      [17, 1],
      [21, 2 ** -32, 8],
      [30, 4, 1],
      [31, 2 ** 32 - 8],
      [35, 2 ** 32 - 8],
      [39, 2 ** 32 - 8],
      [43, 2 ** 32 - 8],
    ),
    "a scalable one of 2^63 keys": head(3, [17, 2 ** 32 - 1], [21, 16, 1], [22, 0.5, 8], [30, 0.999, 8], [42, 2 ** 31]),
    "no growth, and no end": head(3, [17, 1], [21, 1, 1], [22, 0.9, 8], [30, 0.999, 8], [42, 1]),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    const code = decoded(bytes, undefined, name);
    assert.ok(["truncated", "too_large", "invalid_parameter"].includes(code), `${name}: ${code}`);
  }
  // The memory of WebAssembly, and of the reader, in a process of their own.
  const inBase64 = Object.values(cases).map((bytes) => Buffer.from(bytes).toString("base64"));
  const script = `
    ${CATCH_MEMORY}
    const { decode } = started(await import("./node_modules/bloom-wasm/dist/bloom.inline.js"));
    const reader = await import("./node_modules/bloom-wasm/dist/reader.js");
    const used = () => memory.buffer.byteLength + process.memoryUsage().arrayBuffers;
    const most = [decode, reader.decode].map((decode) =>
      ${JSON.stringify(inBase64)}.map((text) => {
        const bytes = Buffer.from(text, "base64");
        const before = used();
        try {
          decode(bytes);
        } catch {}
        return used() - before;
      }),
    );
    console.log(JSON.stringify(most));
  `;
  for (const each of JSON.parse(printed(script))) {
    assert.equal(each.length, inBase64.length);
    each.forEach((bytes, i) => assert.ok(bytes < 1 << 20, `${Object.keys(cases)[i]}: ${bytes}`));
  }
});

test("a buffer that a 32-bit memory has no room for is too_large", () => {
  // It takes no memory as long as nobody reads it.
  const buffer = new ArrayBuffer(2 ** 31);
  new Uint8Array(buffer).set(filter.toBytes());
  for (const bytes of [buffer, new Uint8Array(buffer)])
    for (const engine of Object.values(engines)) assert.equal(decodedBy(engine, bytes), "too_large");
});

/** How many bytes come at once. */
const CHUNK = given("CHUNK", 13);

testEach("load refuses the same bytes, streamed or not", async ({ load }) => {
  const drip = (bytes, size) => {
    const count = Math.ceil(bytes.length / size);
    const pieces = Array.from({ length: count }, (_, i) => Uint8Array.from(bytes.subarray(i * size, (i + 1) * size)));
    return new Response(ReadableStream.from(pieces));
  };
  for (const [blob, size] of [
    [filter.toBytes(), 1],
    [golden("ribbon-stages.bloom"), CHUNK],
  ]) {
    const cases = [
      [blob.slice(0, -1), "truncated"],
      [blob.with(0, 0), "not_a_filter"],
      [blob.with(5, 99), "unsupported_kind"],
      [blob.with(-9, blob.at(-9) ^ 1), "checksum_mismatch"],
      [new Uint8Array([...blob, 0]), "trailing_bytes"],
      [golden("ribbon.delta"), "wrong_kind"],
      ...(load === reader.load ? [[golden("foreign-guava.bloom"), "unsupported_kind"]] : []),
    ];
    for (const [bytes, code] of cases) {
      await assert.rejects(load(bytes), { code });
      await assert.rejects(load(drip(bytes, size)), { code });
    }
    assert.deepEqual((await load(drip(blob, size))).toBytes(), blob);
  }
});

const inBase64 = (name) => Buffer.from(golden(`${name}.bloom`)).toString("base64");

// An import that throws could leak a slot of the table of references, which has ten million at most. The table grows by
// 128 slots, so a slot leaked in each of `ROUNDS` shows.
test("questions, refused or not, leave nothing in the table of references", () => {
  const script = `
    const { Instance } = WebAssembly;
    let references;
    WebAssembly.Instance = class extends Instance {
      constructor(...args) {
        super(...args);
        references = Object.values(this.exports).find((it) => it instanceof WebAssembly.Table && it.length > 100);
      }
    };
    const { RibbonFilter, decode } = await import("bloom-wasm");
    const url = decode(Buffer.from("${inBase64("url")}", "base64"));
    const tagged = RibbonFilter.fromTagged({ a: ["a.b", "example"] }, { profile: "url" });
    const password = decode(Buffer.from("${inBase64("password-lowercase")}", "base64"));
    const urls = ["http://a.b/", "http://exa mple/", "http://[::1", "http://xn--a/", "http://b\u00fc.example/", "mailto:a@b"];
    urls.push("http://\u{1df40}x.example/", "a.b:80/x", "http://a.b/%41/../x#y", "http://\ud800/", "");
    const failing = (run) => {
      try {
        run();
      } catch (error) {
        if (!error.code) throw error;
      }
    };
    const ask = () => {
      for (const it of urls) url.hasUrl(it), url.matchUrl(it), tagged.urlTags(it), failing(() => password.hasUrl(it));
      password.hasPassword("stra\u00dfe"), url.info(), url.hasMany(["a.b/", "a.b/x"]), failing(() => url.hasMany(urls));
      failing(() => decode(new Uint8Array(50)));
      decode(url.toBytes()).free();
    };
    ask();
    const before = references.length;
    for (let i = 0; i < ${given("ROUNDS", 200)}; i++) ask();
    console.log(before, references.length);
  `;
  const [before, after] = printed(script).split(" ").map(Number);
  assert.ok(before > 100 && after === before, `${before}, then ${after}`);
});
