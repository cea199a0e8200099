/** Hostile bytes through decode and load: each gives a FilterError, and none a trap. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import xxhash from "xxhash-wasm";
import { CATCH_MEMORY, folder, forPages, installed } from "../helpers/installed.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, FilterError, RibbonFilter, ScalableBloomFilter, decode, load } =
  await installed();
const pages = await forPages();
const { h32Raw } = await xxhash();

const filter = BloomFilter.from(["a", "b", "c"], { name: "n", createdAt: 1 });
const blob = filter.toBytes();

/** The result of decoding: an error code, or "ok". Anything but a FilterError is rethrown. */
function outcome(bytes) {
  try {
    decode(bytes).free();
    return "ok";
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return error.code;
  }
}

function changed(at, value) {
  const bytes = blob.slice();
  bytes[at] = value;
  return bytes;
}

test("every truncation, every changed byte", () => {
  for (let length = 0; length < blob.length; length++) assert.equal(outcome(blob.slice(0, length)), "truncated");
  for (let at = 0; at < blob.length; at++) {
    for (let flip = 1; flip < 256; flip++) assert.notEqual(outcome(changed(at, blob[at] ^ flip)), "ok", `byte ${at}`);
  }
});

test("each code has its bytes", () => {
  assert.equal(outcome(new Uint8Array(0)), "truncated");
  assert.equal(outcome(changed(0, 0)), "not_a_filter");
  assert.equal(outcome(changed(7, 32)), "secret_required");
  assert.equal(outcome(changed(4, 2)), "unsupported_version");
  assert.equal(outcome(changed(5, 99)), "unsupported_kind");
  assert.equal(outcome(changed(21, 0)), "invalid_parameter");
  assert.equal(outcome(changed(20, 255)), "truncated"); // 4 billion bits
  assert.equal(outcome(changed(blob.length - 1, blob.at(-1) ^ 1)), "checksum_mismatch");
  assert.equal(outcome(new Uint8Array([...blob, 0])), "trailing_bytes");
});

test("a blob that crosses in several pieces: every fault is found in each of them", () => {
  const whole = BloomFilter.from(Array.from({ length: 200_000 }, (_, i) => `key ${i}`)).toBytes();
  assert.ok(whole.length > 3 * 65536);
  const flipped = (at) => whole.map((byte, i) => (i === at ? byte ^ 1 : byte));
  for (const at of [100, 65535, 65536, 131_071, 131_072, whole.length - 5, whole.length - 1]) {
    assert.equal(outcome(flipped(at)), "checksum_mismatch", `byte ${at}`);
    assert.equal(outcome(whole.slice(0, at)), "truncated", `${at} bytes`);
    assert.equal(outcome(new Uint8Array([...flipped(at), 0])), "checksum_mismatch", `byte ${at} and one more`);
  }
  for (const more of [1, 7, 8, 9, 31, 32, 33, 100_000]) {
    const longer = new Uint8Array(whole.length + more);
    longer.set(whole);
    assert.equal(outcome(longer), "trailing_bytes", `${more} more`);
  }
});

test("ten megabytes of noise", () => {
  const noise = new Uint8Array(10_000_000);
  for (let at = 0, x = 1; at < noise.length; at++) noise[at] = x = (Math.imul(x, 1664525) + 1013904223) >>> 24;
  assert.equal(outcome(noise), "not_a_filter");
  noise.set(blob.slice(0, 17));
  assert.ok(!["ok"].includes(outcome(noise)));
});

// `FAILURES` says how many, in a process of their own.
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
    for (let i = 0; i < ${Number(process.env.FAILURES ?? 5000)}; i++) fail();
    console.log(fail(), memory.buffer.byteLength - before);
  `;
  const args = ["--input-type=module", "-e", script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  assert.equal(stdout, `${outcome(Object.assign(new Uint8Array(100_000), blob.slice(0, 22)))} 0\n`, stderr);
});

/** Makes the checksum match again, so that the checks after it are tested as well. */
function seal(bytes) {
  const end = bytes.byteLength - 4;
  if (end >= 0) new DataView(bytes.buffer, bytes.byteOffset).setUint32(end, h32Raw(bytes.subarray(0, end)), true);
}

/** Mutations of each kind: 3000, or as many as `MUTATIONS` says. */
const mutations = Number(process.env.MUTATIONS ?? 3000);

test("mutations of each kind and of layers, half of them sealed, in both entries", () => {
  const keys = Array.from({ length: 40 }, (_, i) => `key/${i}`);
  const made = [
    BloomFilter.from(keys, { fpr: 0.01, name: "größer", createdAt: 1 }),
    CountingBloomFilter.from(keys, { fpr: 0.1 }),
    ScalableBloomFilter.from(keys, { fpr: 0.1, initialCapacity: 5 }),
    CuckooFilter.from(keys, { fpr: 0.01 }),
    RibbonFilter.from(keys, { fpr: 0.01 }),
    decode(readFileSync(new URL("../../tests/golden/layers.bloom", import.meta.url))),
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
      const entry = round % 4 < 2 ? { decode, FilterError } : pages;
      let read;
      try {
        read = entry.decode(bytes);
      } catch (error) {
        if (error instanceof entry.FilterError) continue;
        throw error;
      }
      survived++;
      read.has("key/1");
      read.hasMany(keys);
      read.info();
      assert.deepEqual(read.toBytes(), bytes, "a blob that can be read has one form only");
      if (entry !== pages) {
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
          assert.ok(["filter_full", "layered", "invalid_key"].includes(error.code), error.message);
        }
      }
      read.free();
    }
    assert.ok(survived > mutations / 100, `too few of ${filter.kind} got through: ${survived}`);
  }
  assert.ok(made.slice(0, -1).every((filter) => filter.hasAll(keys)));
});

test("numbers that JavaScript doesn't hold exactly are told as the nearest that it does", () => {
  const bytes = BloomFilter.from(["a"], { createdAt: 1 }).toBytes();
  const at = 22; // after the bits and the hashes
  for (const time of [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
    new DataView(bytes.buffer).setBigUint64(at, time, true);
    seal(bytes);
    for (const entry of [{ decode }, pages]) assert.equal(entry.decode(bytes).info().createdAt, Number(time));
  }
});

test("lengths that wrap around in 32 bits", () => {
  // A ribbon filter of 2^-32 whose first stage ends 31 bytes before 4 GiB, and whose whole then seems to have 61,778.
  const bytes = new Uint8Array(61_778);
  bytes.set([0xb5, 0x42, 0x4c, 0x4d, 1, 5]);
  const view = new DataView(bytes.buffer);
  view.setUint32(17, 1, true);
  view.setFloat64(21, 2 ** -32, true);
  bytes[30] = 3;
  [1_073_217_784, 15_424, 8].forEach((rows, i) => view.setUint32(31 + 4 * i, rows, true));
  seal(bytes);
  for (const entry of [{ decode, FilterError }, pages]) {
    assert.throws(
      () => entry.decode(bytes),
      (error) => error instanceof entry.FilterError && ["too_large", "truncated"].includes(error.code),
    );
  }
  assert.ok(filter.has("a"));
});

test("load refuses the same bytes, streamed or not", async () => {
  const cases = [
    [new Uint8Array(0), "truncated"],
    [blob.slice(0, -1), "truncated"],
    [changed(0, 0), "not_a_filter"],
    [changed(4, 9), "unsupported_version"],
    [changed(30, 1), "checksum_mismatch"],
    [new Uint8Array([...blob, 0]), "trailing_bytes"],
  ];
  for (const [bytes, code] of cases) {
    await assert.rejects(load(bytes), { code });
    const drip = ReadableStream.from(Array.from(bytes, (byte) => new Uint8Array([byte])));
    await assert.rejects(load(new Response(drip)), { code });
  }
  assert.ok(
    (await load(new Response(ReadableStream.from(Array.from(blob, (byte) => new Uint8Array([byte])))))).equals(filter),
  );
});

const golden = (name) => readFileSync(new URL(`../../tests/golden/${name}.bloom`, import.meta.url), "base64");

// An import that threw left a slot of the table of references behind, and a table has ten million at most. It grows by
// 128 slots, so a slot lost in each of `ROUNDS` shows.
test("questions, refused or not, leave nothing in the table of references", () => {
  for (const entry of ["bloom-wasm", "bloom-wasm/reader"]) {
    const script = join(folder, "references.mjs");
    writeFileSync(
      script,
      `
        const { Instance } = WebAssembly;
        let references;
        WebAssembly.Instance = class extends Instance {
          constructor(...args) {
            super(...args);
            references = Object.values(this.exports).find((it) => it instanceof WebAssembly.Table && it.length > 100);
          }
        };
        const { canonicalizeUrl, decode, urlExpressions } = await import("${entry}");
        const url = decode(Buffer.from("${golden("url")}", "base64"));
        const password = decode(Buffer.from("${golden("password-lowercase")}", "base64"));
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
          for (const it of urls) for (const run of [canonicalizeUrl, urlExpressions]) run(it);
          for (const it of urls) url.hasUrl(it), url.matchUrl(it), failing(() => password.hasUrl(it));
          password.hasPassword("stra\u00dfe"), url.info(), url.hasMany(["a.b/", "a.b/x"]), failing(() => url.hasMany(urls));
          failing(() => decode(new Uint8Array(50)));
          decode(url.toBytes()).free();
        };
        ask();
        const before = references.length;
        for (let i = 0; i < ${Number(process.env.ROUNDS ?? 200)}; i++) ask();
        console.log(before, references.length);
      `,
    );
    const { stdout, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
    const [before, after] = stdout.split(" ").map(Number);
    assert.ok(before > 100 && after === before, `${entry}: ${stdout}${stderr}`);
  }
});
