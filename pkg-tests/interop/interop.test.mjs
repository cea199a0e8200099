/**
 * Filters of other software, made and answered by that software itself (`tests/interop/`, whose README says how): how
 * keys and options of JavaScript reach them. tests/suite/interop.rs asks for all answers, and makes these bytes.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { installed } from "../helpers/installed.mjs";

const full = await installed();
const { BloomFilter, decode, Filter, FilterError, ForeignFilter, load, RibbonFilter } = full;

const root = fileURLToPath(new URL("../../tests/interop", import.meta.url));
/** All formats: `tests/suite/interop.rs` compares this type with the crate's. */
const types = readFileSync(new URL("../../js/boundary/info.ts", import.meta.url), "utf8");
const FORMATS = /type ForeignFormat =([^;]+);/.exec(types)[1].match(/[\w-]+/g);
const WRITTEN = ["go-bloom", "guava", "spark", "redis-bitmap", "redisbloom"];
const encode = (text) => new TextEncoder().encode(text);

/** Throws unless `run` throws a FilterError with this code. */
const refuses = (code, run, message = String(run)) =>
  assert.throws(run, (error) => error instanceof FilterError && error.code === code, `${message} isn't ${code}`);

const cases = readdirSync(root).flatMap((name) => {
  if (name.startsWith("_") || name.endsWith(".md")) return [];
  // A rule's numbers may be above 2^53, where JSON.parse rounds.
  const text = readFileSync(join(root, name, "manifest.json"), "utf8");
  const { system, cases } = JSON.parse(text.replace(/("(?:mul|add)": *)(-?\d+)/g, '$1"$2"'));
  return cases.map((value) => ({ ...value, system, folder: join(root, name), name: `${system}/${value.id}` }));
});

const FUNNELS = {
  "stringFunnel(UTF_8)": "utf8",
  unencodedCharsFunnel: "unencoded-chars",
  byteArrayFunnel: "bytes",
  integerFunnel: "int",
  longFunnel: "long",
};
const COLUMNS = { BYTE_ARRAY: "string", INT32: "int32", INT64: "int64" };
const PYTHON = { "int64-decimal-per-line": "int", "hex-per-line": "bytes" };

/** How a case's files are read: what the bytes don't say. */
function optionsOf({ system, params, blob_format, key_encoding }) {
  switch (system) {
    case "guava":
      return { format: system, funnel: FUNNELS[params.funnel] };
    case "spark":
      return { format: system, keys: params.item_type === "binary" ? "bytes" : params.item_type };
    case "bloom-filter2":
      return { format: system, keys: PYTHON[key_encoding] ?? "string", bits: params.bits, hashes: params.hashes };
    case "redis-bitmap":
      return { format: system, bits: params.size_bits, hashes: params.k };
    case "npm-bloomfilter": {
      const hashes = blob_format === "npm-bloomfilter-bucket-array" ? params.k : undefined;
      return { format: system, generation: params.hash_generation, hashes };
    }
    case "parquet-sbbf":
      return { format: system, keys: COLUMNS[params.physical_type] };
    case "xor-singleheader":
    case "xorf":
      return { format: params.kind.startsWith("xor") ? "xor" : "binary-fuse" };
    case "pybloomfiltermmap3":
      return { format: system, keys: PYTHON[key_encoding] ?? "string" };
    default:
      return { format: system };
  }
}

const read = ({ folder }, file) => new Uint8Array(readFileSync(join(folder, file)));

const PARQUET = "bloom-header-and-bitset-rg0.bin";

/** The bytes of a case and its options. */
function fileOf(its) {
  const options = optionsOf(its);
  if (its.system !== "redisbloom") {
    // That of a Parquet file's rows is beside it.
    if (its.system === "parquet-sbbf") return { bytes: read(its, `${its.id}/${PARQUET}`), options };
    if (its.system === "xorf") options.layout = its.blob.endsWith(".bincode") ? "xorf-bincode" : "xorf-dma";
    return { bytes: read(its, its.blob), options };
  }
  const chunks = its.chunks.flatMap(({ file, iter }) => {
    const bytes = read(its, file);
    const head = new DataView(new ArrayBuffer(12));
    head.setBigUint64(0, BigInt(iter), true);
    head.setUint32(8, bytes.length, true);
    return [new Uint8Array(head.buffer), bytes];
  });
  return { bytes: new Uint8Array(Buffer.concat(chunks)), options };
}

/** A key in a line of a file. */
function keyIn(line, encoding) {
  const unhex = () => new Uint8Array(Buffer.from(line, "hex"));
  switch (encoding) {
    case "json-string-per-line":
      return JSON.parse(line);
    case "utf16be-hex-per-line":
      return Buffer.from(line, "hex").swap16().toString("utf16le");
    case "hex-per-line":
      return unhex();
    default:
      return BigInt(line);
  }
}

/** The key in one place of a rule. */
function keyOf({ type, formats, from, mul, add }, at) {
  const value = BigInt(from + at) * BigInt(mul) + BigInt(add);
  if (type === "int") return BigInt.asIntN(64, value);
  if (type === "u64") return BigInt.asUintN(64, value);
  return formats[(from + at) % formats.length].replace("%d", value);
}

/** The places to ask for in a list of this length: at most 100, evenly spread, and these. */
function places(length, always = []) {
  const step = Math.max(1, Math.floor(length / 100));
  const some = Array.from({ length: Math.ceil(length / step) }, (_, i) => i * step);
  return [...new Set([...always, ...some])];
}

const lines = (its, file) => new TextDecoder().decode(read(its, file)).split(/\r?\n/).slice(0, -1);

/** Some keys of a case, and what its own software answered. */
function recorded(its) {
  const found = [];
  for (const { file, rule } of its.members) {
    const all = file && lines(its, file);
    for (const at of places(file ? all.length : rule.to - rule.from))
      found.push([file ? keyIn(all[at], its.key_encoding) : keyOf(rule, at), 1]);
  }
  const probes = lines(its, its.probes);
  for (const at of places(probes.length))
    found.push([keyIn(probes[at].slice(2), its.key_encoding), Number(probes[at][0])]);
  // Few keys of a range are present, and all of these are asked for.
  for (const { rule, true_indices: hits } of its.probe_ranges)
    for (const at of places(rule.to - rule.from, hits)) found.push([keyOf(rule, at), Number(hits.includes(at))]);
  return found;
}

const isUnsupported = ({ blob_format }) => blob_format === "npm-bloom-filters-json-v1-array";
/** What rbloom stores depends on the user's hash, and SHA-256 isn't supported here. */
const hasOtherHash = ({ system, params }) => system === "rbloom" && params.hash_func.includes("SHA-256");

test("recorded answers, of the files and of the blobs that wrap them", () => {
  const formats = new Set();
  let asked = 0;
  for (const its of cases) {
    // Some files of Parquet have a filter for each group of rows.
    if (hasOtherHash(its) || Object.keys(its.alternate ?? {}).filter((name) => name.includes("-rg")).length > 1)
      continue;
    const { bytes, options } = fileOf(its);
    if (isUnsupported(its)) {
      refuses("unsupported_format", () => decode(bytes, options));
      continue;
    }
    const filter = decode(bytes, options);
    const wrapped = decode(filter.toBytes());
    formats.add(filter.kind);
    assert.ok(filter instanceof ForeignFilter && wrapped instanceof ForeignFilter, its.name);
    assert.deepEqual([filter.kind, wrapped.kind, wrapped.info()], [options.format, options.format, filter.info()]);
    const keys = recorded(its);
    asked += keys.length;
    for (const [key, answer] of keys) assert.equal(Number(filter.has(key)), answer, `${its.name}: ${key}`);
    assert.deepEqual(
      [...wrapped.hasMany(keys.map(([key]) => key))],
      keys.map(([, answer]) => answer),
      its.name,
    );
    if (WRITTEN.includes(options.format)) assert.ok(decode(filter.toForeign(), options).equals(filter), its.name);
    else refuses("unsupported_format", () => filter.toForeign(), its.name);
    for (const one of [filter, wrapped]) one.free();
  }
  assert.ok(asked > 20_000, `${asked} keys`);
  assert.deepEqual([...formats].sort(), FORMATS.toSorted(), "the formats with files in tests/interop");
});

test("a new filter is for its capacity and rate, or for the number of distinct keys", () => {
  const keys = Array.from({ length: 300 }, (_, at) => `key ${at % 100}`);
  const nonmembers = Array.from({ length: 5000 }, (_, at) => `stranger ${at}`);
  for (const format of WRITTEN) {
    const made = (options) => ForeignFilter.from(keys, { format, ...options });
    const filter = made({ fpr: 0.01 });
    assert.ok(filter.equals(made({ fpr: 0.01, capacity: 100 })) && filter.hasAll(keys));
    assert.ok(made({}).equals(made({ fpr: 0.001 })) && made({}).info().bits > filter.info().bits);
    assert.ok(made({ fpr: 0.01, capacity: 1000 }).info().bits > 5 * filter.info().bits);
    assert.ok(Math.abs(filter.estimatedCount - 100) < 15, `${format}: ${filter.estimatedCount}`);
    const rate = filter.hasMany(nonmembers).reduce((sum, hit) => sum + hit, 0) / nonmembers.length;
    assert.ok(Math.abs(rate - filter.info().fpr) < 0.01, `${format}: ${rate}`);
    assert.equal(ForeignFilter.from([], { format }).has("a"), false);
  }
  const { bits, hashes } = ForeignFilter.from(keys, { format: "redis-bitmap", bits: 640, hashes: 3 }).info().foreign;
  assert.deepEqual([bits, hashes], [640, 3]);
  for (const filter of [BloomFilter.from(["a"]), RibbonFilter.from(["a"])]) assert.ok(!("toForeign" in filter));
});

test("options that a format doesn't have, lacks or can't accept", () => {
  const bytes = ForeignFilter.from(["a"], { format: "guava" }).toForeign();
  const wrong = {
    unsupported_format: [{ format: "java" }, { format: "" }, { format: "bloom" }],
    invalid_parameter: [
      ...[5, ["guava"]].map((format) => ({ format })),
      ...["utf-8", 8].map((funnel) => ({ format: "guava", funnel })),
      { format: "guava", keys: "utf8" },
      { format: "guava", profile: "urls" },
      { format: "guava", funnel: "int", profile: "url" },
      { format: "redis-bitmap", bits: 64 },
      ...["64", 64.5, -64, 2 ** 60, Number.NaN].map((bits) => ({ format: "redis-bitmap", bits, hashes: 1 })),
      { format: "redis-bitmap", bits: 64, hashes: 2 ** 32 + 1 },
    ],
  };
  for (const [code, all] of Object.entries(wrong)) {
    for (const options of all) refuses(code, () => decode(bytes, options), JSON.stringify(options));
  }
  const unmade = {
    unsupported_format: [{ format: "java" }, { format: "xor" }, { format: "npm-bloomfilter" }],
    invalid_parameter: [
      ...[undefined, null, {}, { from: "guava" }],
      ...[0, 1, "0.1"].map((fpr) => ({ format: "guava", fpr })),
      ...[-1, 1.5].map((capacity) => ({ format: "guava", capacity })),
      { format: "guava", bits: 64 },
      { format: "guava", layout: "mitz" },
      { format: "spark", layout: "v2", seed: 2 ** 31 },
      { format: "redisbloom", bits: 64, hashes: 1 },
    ],
    too_large: ["guava", "redisbloom"].map((format) => ({ format, capacity: 2 ** 35 })),
  };
  for (const [code, all] of Object.entries(unmade)) {
    for (const options of all) refuses(code, () => ForeignFilter.from(["a"], options), JSON.stringify(options));
  }
  for (const keys of [undefined, "a", new Uint8Array(1), 5])
    refuses("invalid_key", () => ForeignFilter.from(keys, { format: "guava" }));
  refuses("invalid_parameter", () => new ForeignFilter());
  refuses("filter_full", () =>
    ForeignFilter.from(["a", "b", "c"], { format: "redisbloom", capacity: 1, expansion: 0, fpr: 1e-6 }),
  );
});

test("numbers are keys only for formats whose keys are numbers", () => {
  const both = (keys, options) => {
    const filter = ForeignFilter.from(keys, options);
    return [filter, decode(filter.toBytes())];
  };
  const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)];
  const ints = [0, -1, 7n, 2 ** 31 - 1, -(2 ** 31)];
  const kinds = [
    [{ format: "guava", funnel: "long" }, [...ints, most, least, 2 ** 53 - 1], [most + 1n, least - 1n, 2 ** 53]],
    [{ format: "spark", keys: "long" }, [...ints, most, least], [most + 1n, 1e300]],
    [{ format: "guava", funnel: "int" }, ints, [2 ** 31, -(2n ** 31n) - 1n]],
  ];
  for (const [options, keys, outside] of kinds) {
    for (const filter of both(keys, { ...options, fpr: 1e-6 })) {
      assert.ok(filter.hasAll(keys) && filter.hasAny([12_345, ...keys]) && !filter.hasAny([12_345, 8n]));
      // A number and a bigint are the same key, and so are its bytes.
      assert.ok(filter.has(7) && filter.has(0n) && filter.has(-0));
      const bytes = new Uint8Array(options.funnel === "int" ? 4 : 8);
      bytes[0] = 7;
      assert.ok(filter.has(bytes));
      assert.deepEqual([...filter.hasMany(new Set([7, 8, -1n, bytes]))], [1, 0, 1, 1]);
      assert.deepEqual([...filter.hasLines(encode("7\r\n\n8\n-1\n+7\n007"))], [1, 0, 0, 1, 1, 1]);
      assert.deepEqual([...filter.hasLines(encode("7\n"))], [1]);
      assert.deepEqual([...filter.hasLines(encode(""))], []);
      for (const line of ["x", "7 ", "0x7", "7.0", "1e1", "\r\r", `${2n ** 63n}`])
        refuses("invalid_key", () => filter.hasLines(encode(`7\n${line}\n`)), line);
      for (const key of [...outside, "7", 1.5, Number.NaN, Infinity, null, undefined, true, {}, bytes.subarray(1)]) {
        refuses("invalid_key", () => filter.has(key), String(key));
        refuses("invalid_key", () => filter.hasMany([7, key]), String(key));
        refuses("invalid_key", () => filter.hasAll([key]), String(key));
        refuses("invalid_key", () => ForeignFilter.from([key], options), String(key));
      }
    }
  }
  const texts = [BloomFilter.from(["7"]), ...both(["7"], { format: "guava" }), ...both(["7"], { format: "go-bloom" })];
  for (const filter of texts) {
    for (const key of [7, 7n]) {
      refuses("invalid_key", () => filter.has(key));
      refuses("invalid_key", () => filter.hasMany([key]));
    }
    assert.deepEqual([...filter.hasLines(encode("7\n8"))], [1, 0]);
  }
  refuses("invalid_key", () => ForeignFilter.from([7], { format: "guava" }));
});

test("floating-point keys of Parquet", () => {
  // A block with all bits set holds every key, and one with none holds no key.
  for (const keys of ["float", "double"]) {
    const [all, none] = [255, 0].map((byte) => decode(new Uint8Array(32).fill(byte), { format: "parquet-sbbf", keys }));
    for (const key of [0.1, -0, Number.NaN, Infinity, 5]) assert.ok(all.has(key) && !none.has(key));
    assert.deepEqual([...all.hasLines(encode("0.1\n-2e5\n.5\n\n3"))], [1, 1, 1, 0, 1]);
    for (const key of [5n, "0.1", new Uint8Array(3)]) refuses("invalid_key", () => all.has(key));
    for (const line of ["x", "0x1", "1e", "Infinity"]) refuses("invalid_key", () => all.hasLines(encode(line)), line);
    if (keys === "float") refuses("invalid_key", () => all.has(1e300));
    else assert.ok(all.has(1e300));
  }
});

test("a lone surrogate counts if the software's strings are UTF-16", () => {
  const lone = ["\ud800", "a\udc00b", "\ud83d\ude00\ud83d", "é\ud800\ud800"];
  for (const options of [
    { format: "guava", funnel: "unencoded-chars" },
    { format: "guava", funnel: "utf8" },
    { format: "go-bloom" },
  ]) {
    const filter = ForeignFilter.from(lone, { ...options, fpr: 1e-9 });
    for (const asked of [filter, decode(filter.toBytes())]) {
      assert.ok(asked.hasAll(lone) && asked.hasMany(lone).every(Boolean));
      const replaced = lone.map((text) => text.toWellFormed?.() ?? text.replaceAll(/\p{Surrogate}/gu, "\ufffd"));
      const questions = lone.map((text) => text.replaceAll(/\p{Surrogate}/gu, "?"));
      const sames = { "unencoded-chars": lone, utf8: questions, undefined: replaced }[options.funnel];
      for (const others of [replaced, questions]) assert.equal(asked.hasAll(others), others === sames);
    }
  }
});

test("the class", () => {
  const filter = ForeignFilter.from(["a", "b"], { format: "spark", fpr: 0.01 });
  assert.ok(filter instanceof Filter && Object.prototype.toString.call(filter) === "[object Filter]");
  assert.equal(filter.info().foreign.keys, "string");
  assert.equal(BloomFilter.from(["a"]).info().foreign, null);
  assert.deepEqual(JSON.parse(JSON.stringify(filter)), filter.info());
  for (const method of ["add", "addMany", "addLines", "clear", "remove", "count", "union", "intersect", "toBloom"])
    assert.ok(!(method in filter), method);
  const copy = filter.clone();
  assert.ok(copy instanceof ForeignFilter && copy.equals(filter) && copy.has("a"));
  assert.ok(!copy.equals(ForeignFilter.from(["a"], { format: "spark", fpr: 0.01 })));
  copy.free();
  for (const use of [() => copy.has("a"), () => copy.hasMany([]), () => copy.toForeign()]) refuses("freed", use);

  const [blob, bytes] = [filter.toBytes(), filter.toForeign()];
  assert.ok(decode(blob) instanceof ForeignFilter);
  for (const read of [ForeignFilter.decode(blob), ForeignFilter.decode(bytes, { format: "spark" })])
    assert.ok(read instanceof ForeignFilter && read.equals(filter) && read.clone() instanceof ForeignFilter);
  // A subclass isn't instantiated by `from`.
  class Mine extends ForeignFilter {}
  assert.equal(Mine.decode(blob).constructor, ForeignFilter);
  refuses("wrong_kind", () => ForeignFilter.decode(BloomFilter.from(["a"]).toBytes()));
  refuses("wrong_kind", () => BloomFilter.decode(blob));
  assert.deepEqual([blob].map(decode)[0].kind, "spark");
});

test("a getter of the options that transfers or shrinks the bytes", () => {
  const original = ForeignFilter.from(["a"], { format: "guava" }).toForeign();
  for (const option of ["funnel", "profile", "secret"]) {
    const gone = original.slice();
    const buffer = new ArrayBuffer(original.length, { maxByteLength: 1000 });
    const shrinks = new Uint8Array(buffer);
    shrinks.set(original);
    const takes = [() => structuredClone(gone.buffer, { transfer: [gone.buffer] }), () => buffer.resize(0)];
    for (const [i, bytes] of [gone, shrinks].entries()) {
      const options = {
        format: "guava",
        get [option]() {
          takes[i]();
          return undefined;
        },
      };
      assert.throws(() => decode(bytes, options), FilterError);
      assert.ok(decode(original, { format: "guava" }).has("a"));
    }
  }
});

test("load with a format, whole or in pieces, and its other options", async () => {
  const filter = ForeignFilter.from(["a"], { format: "guava", capacity: 100_000 });
  const bytes = filter.toForeign();
  const pieces = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += 1000) controller.enqueue(bytes.slice(at, at + 1000));
          controller.close();
        },
      }),
    );
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("base64");
  let last;
  const onProgress = ({ loaded }) => (last = loaded);
  for (const source of [bytes, pieces(), new Blob([bytes])]) {
    const loaded = await load(source, { format: "guava", integrity: `sha256-${digest}`, onProgress });
    assert.ok(loaded instanceof ForeignFilter && loaded.equals(filter));
    assert.equal(last, bytes.length);
  }
  const url = await load(bytes, { format: "guava", profile: "url" });
  assert.equal(url.info().profile, "url");
  assert.equal(url.hasUrl("http://a.example/"), false);
  const rejects = (code, loading) => assert.rejects(loading, (error) => error.code === code);
  await rejects("integrity", load(bytes, { format: "guava", integrity: `sha256-${digest.replace(/^./, "_")}` }));
  await rejects("too_large", load(pieces(), { format: "guava", maxBytes: 5000 }));
  await rejects("truncated", load(bytes.subarray(0, 5000), { format: "guava" }));
  await rejects("unsupported_format", load(bytes, { format: "java" }));
  await rejects("not_a_filter", load(bytes));
  await assert.rejects(
    load(pieces(), { format: "guava", signal: AbortSignal.abort("stop") }),
    (error) => error === "stop",
  );
  assert.ok((await load(filter.toBytes())).has("a"));
});

test("a JSON object is read like its text and its bytes", () => {
  for (const format of ["npm-bloom-filters", "npm-bloomfilter"]) {
    const own = cases.filter((its) => its.system === format && !isUnsupported(its));
    let objects = 0;
    for (const its of own) {
      const { bytes, options } = fileOf(its);
      const text = new TextDecoder().decode(bytes);
      const read = decode(bytes, options).toBytes();
      assert.deepEqual(decode(text, options).toBytes(), read, its.name);
      assert.deepEqual(decode(JSON.parse(text), options).toBytes(), read, its.name);
      objects++;
    }
    assert.ok(objects > 2, `${objects} of ${format}`);
    refuses("invalid_parameter", () => decode("{", { format }));
    refuses(format === "npm-bloomfilter" ? "invalid_parameter" : "unsupported_format", () => decode({}, { format }));
    const circle = {};
    circle.circle = circle;
    refuses("invalid_parameter", () => decode(circle, { format }));
    for (const none of [null, undefined]) refuses("invalid_parameter", () => decode(none, { format }));
  }
  refuses("invalid_parameter", () => decode("text", { format: "go-bloom" }));
  refuses("invalid_parameter", () => decode({}, { format: "guava" }));
  refuses("invalid_parameter", () => decode("text"));
});

test("the error for an unknown format names the known ones", () => {
  for (const run of [
    () => decode(new Uint8Array(9), { format: "java" }),
    () => ForeignFilter.from([], { format: "x" }),
  ])
    assert.throws(run, ({ code, message }) => {
      for (const format of FORMATS) assert.match(message, new RegExp(`[ ,]${format}(,|$)`));
      return code === "unsupported_format";
    });
});
