/**
 * "bloom-wasm/nano", the reader in plain JavaScript: it behaves like the reader in WebAssembly, in answers, errors and
 * descriptions. `api/nano.long.test.mjs` compares the two on many more questions.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import xxhash from "xxhash-wasm";
import { folder, installed } from "../helpers/installed.mjs";
import { turn } from "../helpers/turn.mjs";
import { UNITS } from "../helpers/units.mjs";
import { golden } from "../runtimes/golden.mjs";

const full = await installed();
const nano = await installed("bloom-wasm/nano");
const { FilterError, canonicalizeUrl, decode, Filter, load, urlExpressions } = nano;
const { h32Raw } = await xxhash();

const file = (name) => new Uint8Array(readFileSync(new URL(`../../tests/golden/${name}`, import.meta.url)));
const SECRET = Uint8Array.from({ length: 16 }, (_, i) => i);
const keys = (count, from = 0) => Array.from({ length: count }, (_, i) => `key ${from + i}`);

function fails(code, run, words = /./) {
  assert.throws(run, (error) => {
    assert.ok(error instanceof FilterError, inspect(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    return true;
  });
}

/** The code with which something fails, or "ok". Anything but a FilterError is rethrown. */
function outcome(run) {
  try {
    run();
    return "ok";
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return error.code;
  }
}

/** What the golden files are made of, as their README says. */
function goldenKey(name, i) {
  if (!name.includes("slots")) return `key-${i}`;
  const labels = Math.floor(i / 6) % 5;
  const host = labels === 4 ? `10.0.${i >> 8}.${i & 255}` : `${"w.".repeat(labels)}host${i}.example`;
  return host + ["/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q"][i % 6];
}

test("the golden files: the answers, the descriptions and the bytes are those of WebAssembly", () => {
  let count = 0;
  for (const { name, from, to, hits, secret, base64 } of golden) {
    const bytes = new Uint8Array(Buffer.from(base64, "base64"));
    const options = secret && { secret: Uint8Array.from(secret) };
    if (name.startsWith("foreign-")) {
      fails("unsupported_kind", () => decode(bytes, options), /bloom-wasm\/reader/);
      continue;
    }
    const filter = decode(bytes, options);
    const reader = full.decode(bytes, options);
    sameInfo(filter, reader, name);
    assert.deepEqual(filter.toBytes(), bytes, name);
    count++;
    const { profile, sha1 } = filter.info();
    if (sha1 || (profile === "url" && !name.includes("slots"))) {
      // Its keys are none of URLs, or no hashes, so only Rust can still be asked for them: tests/suite/golden.rs.
      const asks = sha1 ? /hasPassword/ : /hasUrl/;
      for (const its of [filter, reader]) fails("invalid_key", () => its.has(goldenKey(name, from)), asks);
      continue;
    }
    const found = [];
    for (let i = from; i < to; i++) if (filter.has(goldenKey(name, i))) found.push(i);
    assert.deepEqual(found, hits, name);
    for (let i = 0; i < 2000; i++)
      assert.equal(filter.has(goldenKey(name, i)), reader.has(goldenKey(name, i)), `${name} ${i}`);
  }
  assert.ok(count >= 30, `${count} files`);
});

/** Numbers may differ in their last digits: rates are computed in another order. */
function sameInfo(filter, reader, what) {
  const near = (one, other) => one === other || Math.abs(one - other) <= 1e-5 * Math.abs(other);
  const [info, other] = [filter.info(), reader.info()];
  assert.deepEqual(Object.keys(info).sort(), Object.keys(other).sort());
  for (const [name, value] of Object.entries(other)) {
    if (typeof value === "number") assert.ok(near(info[name], value), `${what}, ${name}: ${info[name]}, not ${value}`);
    else assert.deepEqual(info[name], value, `${what}, ${name}`);
  }
  assert.deepEqual(filter.toJSON(), info);
  assert.equal(filter.kind, reader.kind);
  for (const name of ["estimatedFpr", "estimatedCount"])
    assert.ok(near(filter[name], reader[name]), `${what}, ${name}: ${filter[name]}, not ${reader[name]}`);
}

test("one FilterError for all entries", () => {
  assert.equal(FilterError, full.FilterError);
  assert.notEqual(Filter, full.Filter);
  assert.equal(decode(file("bloom.bloom")) instanceof Filter, true);
});

test("questions of every type, as the reader answers them", () => {
  const list = ["", "a", "größe", "\ud800", "😀", "x".repeat(31), "y".repeat(32), "z".repeat(200), "é".repeat(20_000)];
  const bytes = full.RibbonFilter.from(list, { fpr: 1e-6 }).toBytes();
  const filter = decode(bytes);
  const encoder = new TextEncoder();
  for (const key of list) {
    assert.ok(filter.has(key) && filter.has(encoder.encode(key)) && filter.has(Buffer.from(key)), key.slice(0, 9));
    assert.ok(!filter.has(`${key}!`));
  }
  assert.ok(filter.has(new Uint8Array(encoder.encode("..a..").buffer, 2, 1)), "a part of a buffer");
  assert.deepEqual(filter.hasMany(["a", "b", encoder.encode("")]), Uint8Array.of(1, 0, 1));
  assert.deepEqual(filter.hasMany([]), new Uint8Array(0));
  assert.ok(filter.hasAny(["b", "a"]) && !filter.hasAny([]) && !filter.hasAny(["b"]));
  assert.ok(filter.hasAll(["a", "größe"]) && filter.hasAll([]) && !filter.hasAll(["a", "b"]));
  const text = encoder.encode("a\r\n\nb\n\rgröße\ngröße\r");
  assert.deepEqual(filter.hasLines(text), full.decode(bytes).hasLines(text));
  assert.deepEqual(filter.hasLines(new Uint8Array(0)), new Uint8Array(0));
  for (const key of [1, 1n, null, undefined, {}, [], new ArrayBuffer(1), new Uint16Array(1), Symbol("a")])
    fails("invalid_key", () => filter.has(key));
  for (const keys of ["a", new Uint8Array(1), 5, null, undefined, {}]) {
    for (const method of ["hasAny", "hasAll", "hasMany"]) fails("invalid_key", () => filter[method](keys));
  }
  fails("invalid_key", () => filter.hasLines("a"));
  // In the same words as in WebAssembly.
  const same = (code, run) => {
    let words;
    fails(code, () => {
      try {
        run(full);
      } catch (error) {
        words = error.message;
        throw error;
      }
    });
    fails(code, () => run(nano), new RegExp(`^${words.replace(/[.?]/g, "\\$&")}$`));
    return words;
  };
  const raw = "the filter was built with the profile raw, not";
  for (const ask of ["hasUrl", "matchUrl"])
    assert.equal(
      same("wrong_profile", (its) => its.decode(bytes)[ask]("https://a.example/")),
      `${raw} url; build it with --profile url, or profile: "url"`,
    );
  assert.equal(
    same("wrong_profile", (its) => its.decode(bytes).hasPassword("a")),
    `${raw} password; build it with --profile password, or profile: "password"`,
  );
  const foreign = same("not_a_filter", (its) => its.decode(gzipSync(bytes)));
  assert.match(foreign, /^this is not a bloom-wasm blob; is it .* a feed's manifest, gzipped, .* other software\?$/);
  for (const [given, words] of [
    [undefined, "not undefined"],
    [{}, "not object"],
    ["list.bloom", "not string; read a file without an encoding, and give a URL to load"],
    [Promise.resolve(bytes), "not a promise; await it"],
    [new Proxy(new ArrayBuffer(1), {}), "not object; is it a Proxy, or transferred?"],
  ])
    assert.equal(
      same("invalid_parameter", (its) => its.decode(given)),
      `bytes must be an ArrayBuffer or a Uint8Array, ${words}`,
    );
  fails("invalid_key", () => filter.hasUrl(5));
  fails("invalid_key", () => filter.hasPassword(new Uint8Array(1)));
  assert.ok(filter.has("a"), "after all these errors");
});

test("a freed filter, a copy, a Proxy, and no filter at all", () => {
  const filter = decode(file("bloom.bloom"));
  const asks = [
    () => filter.has("a"),
    () => filter.hasAny([]),
    () => filter.hasAll([]),
    () => filter.hasMany([]),
    () => filter.hasLines(new Uint8Array(0)),
    () => filter.hasUrl("a.b"),
    () => filter.matchUrl("a.b"),
    () => filter.hasPassword("a"),
    () => filter.info(),
    () => filter.kind,
    () => filter.estimatedFpr,
    () => filter.estimatedCount,
    () => filter.toBytes(),
    () => JSON.stringify(filter),
  ];
  for (const other of [new Proxy(filter, {}), Object.create(filter), structuredClone({}), undefined])
    fails("invalid_parameter", () => Filter.prototype.has.call(other, "a"));
  fails("invalid_parameter", () => ["a"].map(filter.has), /no filter; call it as filter\.has\(key\)/);
  filter.free();
  filter.free();
  for (const ask of asks) fails("freed", ask);
  fails("invalid_parameter", () => new Filter({}), /load or decode/);
  // A key that frees its filter while it is read.
  const other = decode(file("bloom.bloom"));
  const evil = (function* () {
    yield "a";
    other.free();
    yield "b";
  })();
  fails("freed", () => other.hasMany(evil));
  if (Symbol.dispose) assert.equal(Filter.prototype[Symbol.dispose], Filter.prototype.free);
  assert.equal(Object.prototype.toString.call(decode(file("bloom.bloom"))), "[object Filter]");
  assert.equal(Filter.name, "Filter");
});

test("options, as the reader takes them", async () => {
  const bytes = file("keyed-ribbon.bloom");
  assert.ok(decode(bytes, { secret: SECRET }).has("key-1"));
  assert.ok((await load(bytes, { secret: SECRET })).has("key-1"));
  fails("secret_required", () => decode(bytes));
  fails("wrong_secret", () => decode(bytes, { secret: new Uint8Array(16) }));
  fails("wrong_secret", () => decode(file("ribbon.bloom"), { secret: SECRET }));
  for (const secret of [SECRET.slice(1), "0123456789abcdef", null, [...SECRET]])
    fails("invalid_parameter", () => decode(bytes, { secret }));
  fails("invalid_parameter", () => decode(bytes, { secrets: SECRET }), /secrets/);
  fails("invalid_parameter", () => decode(bytes, { from: "guava" }), /"bloom-wasm"/);
  fails("invalid_parameter", () => decode("bytes"));
  assert.ok([file("ribbon.bloom")].map(decode)[0].has("key-1"));
  assert.ok(decode(file("ribbon.bloom").buffer).has("key-1"));
});

/** How many bytes come at once. */
const CHUNK = Number(process.env.CHUNK ?? 13);

test("load: sources, progress, limits, integrity, and streams that end early", async () => {
  const blob = file("ribbon-stages.bloom");
  const drip = () =>
    new Response(
      ReadableStream.from(
        Array.from({ length: Math.ceil(blob.length / 99) }, (_, i) => blob.subarray(i * 99, i * 99 + 99)),
      ),
    );
  const url = new URL("../../tests/golden/ribbon-stages.bloom", import.meta.url);
  for (const source of [
    blob,
    blob.buffer,
    new Blob([blob]),
    new Response(blob),
    Promise.resolve(drip()),
    drip(),
    url,
    url.href,
  ])
    assert.ok((await load(source)).has("key-19999"));
  const seen = [];
  await load(new Blob([blob]), { onProgress: ({ loaded, total }) => seen.push([loaded, total]) });
  assert.deepEqual(seen.at(-1), [blob.length, blob.length]);
  const fetched = [];
  const fetch = async (its) => {
    fetched.push(its);
    return new Response(blob);
  };
  assert.ok((await load("https://a.example/b", { fetch })).has("key-1"));
  assert.deepEqual(fetched, ["https://a.example/b"]);
  await assert.rejects(load(blob, { maxBytes: 99 }), { code: "too_large" });
  await assert.rejects(load(drip(), { maxBytes: 999 }), { code: "too_large" });
  await assert.rejects(load(new Response("", { status: 404 })), { code: "http" });
  await assert.rejects(load("https://a.example/", { fetch: () => Promise.reject(new TypeError("no")) }), {
    code: "network",
  });
  await assert.rejects(load(blob, { integrity: `sha256-${"A".repeat(43)}=` }), { code: "integrity" });
  const hash = Buffer.from(await crypto.subtle.digest("SHA-384", blob)).toString("base64");
  assert.ok((await load(drip(), { integrity: `sha384-${hash}` })).has("key-1"));
  await assert.rejects(load(blob, { from: "guava" }), { code: "invalid_parameter" });
  await assert.rejects(load(blob, { integrety: "" }), { code: "invalid_parameter" });
  const stop = new AbortController();
  stop.abort(new Error("enough"));
  await assert.rejects(load(blob, { signal: stop.signal }), /enough/);
  for (const [bytes, code] of [
    [new Uint8Array(0), "truncated"],
    [blob.slice(0, -1), "truncated"],
    [new Uint8Array([...blob, 0]), "trailing_bytes"],
    [blob.with(0, 1), "not_a_filter"],
    [blob.with(4, 9), "unsupported_version"],
    [blob.with(900, blob[900] ^ 1), "checksum_mismatch"],
    [file("ribbon.delta"), "wrong_kind"],
    [file("foreign-guava.bloom"), "unsupported_kind"],
  ]) {
    await assert.rejects(load(bytes), { code });
    const pieces = Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, i) =>
      Uint8Array.from(bytes.subarray(i * CHUNK, (i + 1) * CHUNK)),
    );
    await assert.rejects(load(new Response(ReadableStream.from(pieces))), { code });
  }
});

/** Makes the checksum match again. */
function seal(bytes) {
  const end = bytes.byteLength - 4;
  if (end >= 0) new DataView(bytes.buffer, bytes.byteOffset).setUint32(end, h32Raw(bytes.subarray(0, end)), true);
  return bytes;
}

test("every truncation and every changed byte is refused, with the reader's code", () => {
  for (const name of ["ribbon-small.bloom", "slots-one.bloom", "layers.bloom", "keyed-cuckoo.bloom"]) {
    const blob = file(name).slice(0);
    const options = name.startsWith("keyed") ? { secret: SECRET } : undefined;
    const both = (bytes, what) => {
      const [mine, theirs] = [outcome(() => decode(bytes, options)), outcome(() => full.decode(bytes, options))];
      assert.notEqual(mine, "ok", `${name} ${what}`);
      requireAlike(mine, theirs, `${name} ${what}`);
    };
    for (let length = 0; length < blob.length; length += length < 200 ? 1 : 17)
      both(blob.slice(0, length), `${length} bytes`);
    for (let at = 0; at < blob.length; at += at < 120 ? 1 : 23)
      for (const flip of at < 120 ? [1, 2, 4, 8, 16, 32, 64, 128, 255] : [1, 128])
        both(blob.with(at, blob[at] ^ flip), `byte ${at}`);
  }
});

/** FORMAT.md section 8 lets a reader say either where several rules are broken, or a filter is too large. */
function requireAlike(mine, theirs, what) {
  // Nano knows no filters of other software.
  if (mine === theirs || mine === "unsupported_kind") return;
  const either = new Set(["invalid_parameter", "truncated", "too_large"]);
  assert.ok(either.has(mine) && either.has(theirs), `${what}: ${mine}, and WebAssembly says ${theirs}`);
}

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
    "a counting one of 4 GiB": head(2, [17, 2 ** 32 - 1], [21, 7, 1], [22, 8, 1]),
    "a cuckoo filter of 2 GiB": head(4, [17, 2 ** 32 - 2], [21, 32, 1]),
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
    const before = process.memoryUsage().arrayBuffers;
    const mine = outcome(() => decode(bytes));
    requireAlike(
      mine,
      outcome(() => full.decode(bytes)),
      name,
    );
    assert.ok(["truncated", "too_large", "invalid_parameter"].includes(mine), `${name}: ${mine}`);
    assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20, name);
  }
});

test("a deep stack: 255 layers, and errors while the stack runs out leave the rest working", () => {
  const filter = decode(file("ribbon.bloom"));
  const url = decode(file("url.bloom"));
  const deep = () => {
    try {
      deep();
    } catch (error) {
      try {
        filter.has("key-1");
        url.hasUrl("http://größe.example/%41");
      } catch (error) {
        assert.ok(error instanceof RangeError || error instanceof FilterError);
      }
      throw error;
    }
  };
  assert.throws(deep, RangeError);
  assert.ok(filter.has("key-1") && !url.hasUrl("http://größe.example/%41"));
});

// `LENGTH` says how long, in characters. That the time is linear is shown by nano-linear.long.test.mjs.
test("long URLs take no stack, and are read as the reader does", () => {
  const length = Number(process.env.LENGTH ?? 100_000);
  const filter = decode(file("url.bloom"));
  const reader = full.decode(file("url.bloom"));
  for (const unit of UNITS) {
    for (const before of ["http://a.example/", "http://", "", "http://a.example/?", "x:", "http://[", "http://é"]) {
      const text = (length) => before + unit.repeat(length / unit.length);
      assert.equal(filter.matchUrl(text(5000)), reader.matchUrl(text(5000)), JSON.stringify(before + unit));
      assert.equal(canonicalizeUrl(text(5000)), full.canonicalizeUrl(text(5000)), JSON.stringify(before + unit));
    }
    const long = `http://a.example/${unit.repeat(length / unit.length)}`;
    assert.equal(filter.matchUrl(long), reader.matchUrl(long), unit);
  }
  const long = `http://a.example/${"a%41/../".repeat(length)}`;
  assert.equal(filter.matchUrl(long), null);
  assert.equal(canonicalizeUrl(long), "http://a.example/");
});

test("URLs: canonical forms, keys and matches of the vectors", () => {
  const vectors = JSON.parse(readFileSync(new URL("../../tests/url_vectors.json", import.meta.url), "utf8"));
  const list = full.RibbonFilter.from(
    vectors.flatMap(({ expressions }) => expressions.slice(-1)),
    { profile: "url" },
  );
  const filter = decode(list.toBytes());
  for (const { input, canonical, expressions } of vectors) {
    assert.equal(canonicalizeUrl(input), canonical, input);
    assert.deepEqual(urlExpressions(input), expressions, input);
    assert.equal(filter.hasUrl(input), list.hasUrl(input), input);
    assert.equal(filter.matchUrl(input), list.matchUrl(input), input);
  }
  assert.ok(filter.hasUrl(new URL(vectors[0].input)));
  assert.equal(canonicalizeUrl("mailto:a@b.c"), null);
  assert.deepEqual(urlExpressions("data:,"), []);
  fails("invalid_key", () => canonicalizeUrl({}));
  fails("invalid_key", () => urlExpressions(new Proxy(new URL("http://a.b"), {})));
});

test("passwords in all options", () => {
  const list = ["hunter2", "Größer", "A\u030angstro\u0308m", "ΑΣ", "İstanbul", "\ud800\u0301a", " spaces ", "", "😀"];
  const others = ["Hunter2", "größer", "Ångström", "ας", "i\u0307stanbul", "\ufffd\u0301a", "spaces"];
  for (const lowercase of [false, true]) {
    const reader = full.BloomFilter.from(list, { profile: "password", lowercase, fpr: 1e-9 });
    const filter = decode(reader.toBytes());
    for (const password of [...list, ...others])
      assert.equal(filter.hasPassword(password), reader.hasPassword(password), JSON.stringify(password));
    assert.ok(list.every((password) => filter.hasPassword(password)));
  }
  // Its keys are hashes, which the builders of JavaScript don't make of passwords.
  for (const name of ["password-sha1-layers.bloom", "password-lowercase.bloom"]) {
    const [filter, reader] = [decode(file(name)), full.decode(file(name))];
    for (const password of [
      ...list,
      ...others,
      ...keys(3000),
      "x".repeat(55),
      "x".repeat(56),
      "x".repeat(64),
      "x".repeat(1000),
    ])
      assert.equal(filter.hasPassword(password), reader.hasPassword(password), password);
  }
});

test("SHA-1 of a password", async () => {
  // A Bloom filter of one key, whose profile says that it is a hash.
  for (const length of [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 1000]) {
    const password = "ab".repeat(length).slice(0, length);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(password)));
    const bytes = full.BloomFilter.from([hash], { fpr: 1e-9 }).toBytes();
    bytes[6] = 2;
    bytes[7] = 8;
    const filter = decode(seal(bytes));
    assert.ok(filter.hasPassword(password) && filter.info().sha1, `${length}`);
    assert.ok(!filter.hasPassword(`${password}c`));
  }
});

test("a password of more than 2^27 characters is too large, as a URL is", () => {
  const long = "a".repeat(2 ** 27 + 1);
  fails("too_large", () => decode(file("password-lowercase.bloom")).hasPassword(long));
  fails("too_large", () => canonicalizeUrl(long));
});

test("a filter of passwords is asked for bytes of many megabytes: the answers of the reader, and little memory", () => {
  const kept = (lowercase) => full.BloomFilter.from(["a"], { profile: "password", lowercase, fpr: 1e-6 }).toBytes();
  // Characters of all lengths across every 4096th byte, the last one whole, in another form, cut short, or no UTF-8.
  let place = 0;
  for (const bytes of [kept(false), kept(true)]) {
    const [filter, reader] = [decode(bytes), full.decode(bytes)];
    const ask = (its, key) => outcome(() => assert.equal(its.has(key), false));
    for (const unit of ["a", "\u00e9", "\u20ac", "\u{1f511}", "%41", "\ufeff"]) {
      for (const shift of [0, 1, 2, 3]) {
        for (const end of ["", "A", "e\u0301", "\u212a"]
          .map((text) => Buffer.from(text))
          .concat(Buffer.of(0xe2, 0x82))) {
          if (!turn(place++, 7)) continue;
          const text = Buffer.from("x".repeat(shift) + unit.repeat(9000 / Buffer.byteLength(unit)));
          const key = new Uint8Array(Buffer.concat([text, end]));
          assert.equal(ask(filter, key), ask(reader, key), `${unit} ${shift} ${end}`);
        }
      }
    }
    for (const byte of [0x80, 0xc3, 0xff]) assert.equal(ask(filter, new Uint8Array(9000).fill(byte)), "ok");
  }
  const source = `
    const { decode } = await import("bloom-wasm/nano");
    const filter = decode(Buffer.from("${Buffer.from(kept(false)).toString("base64")}", "base64"));
    const key = new Uint8Array(8e6).fill(98);
    console.log(filter.has(key), [...filter.hasLines(key)], [...filter.hasMany([key])], filter.has(key.fill(0xff)));
  `;
  // Megabytes.
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--max-old-space-size=64", "--input-type=module", "-e", source],
    {
      cwd: folder,
      encoding: "utf8",
    },
  );
  assert.equal(stdout, "false [ 0 ] [ 0 ] false\n", stderr.slice(0, 500));
});

test("it needs no WebAssembly, and says so of a URL parser that is missing", () => {
  const source = `
    delete globalThis.WebAssembly;
    const { decode } = await import("bloom-wasm/nano");
    const { readFileSync } = await import("node:fs");
    const filter = decode(readFileSync(${JSON.stringify(new URL("../../tests/golden/url.bloom", import.meta.url).pathname)}));
    console.log(filter.has("plain.example/"), filter.hasUrl("http://plain.example/"));
    delete globalThis.URL;
    try { filter.hasUrl("http://größe.example/"); } catch (error) { console.log(error.name, error.message); }
    console.log(filter.has("plain.example/"));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(stdout, "false false\nReferenceError URL is not defined\nfalse\n", stderr);
});
