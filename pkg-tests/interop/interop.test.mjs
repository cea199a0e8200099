/**
 * Filters of other software, made and answered by that software itself (`tests/interop/`, whose README says how).
 * `decode` reads each file, which is asked for every recorded key, and so is the blob that wraps it.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { installed } from "../helpers/installed.mjs";
import { given, turn } from "../helpers/turn.mjs";

const full = await installed();
const reader = await installed("bloom-wasm/reader");
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

/** Each file of a case: its name, its bytes and its options. */
function filesOf(its) {
  const options = optionsOf(its);
  if (its.system === "redisbloom") {
    const chunks = its.chunks.flatMap(({ file, iter }) => {
      const bytes = read(its, file);
      const head = new DataView(new ArrayBuffer(12));
      head.setBigUint64(0, BigInt(iter), true);
      head.setUint32(8, bytes.length, true);
      return [new Uint8Array(head.buffer), bytes];
    });
    return [{ name: its.name, bytes: new Uint8Array(Buffer.concat(chunks)), options }];
  }
  const home = its.blob.replace(/[^/]*$/, "");
  const names = new Set([its.blob, ...Object.keys(its.alternate ?? {}).map((name) => home + name)]);
  // No reader accepts whole Parquet files, or packed or hexadecimal forms.
  const wanted = [...names].filter((name) => !/\.parquet$|\.base64\.txt$|\.hex\.txt$/.test(name));
  return wanted.map((name) => {
    const its_own = { ...options };
    if (its.system === "xorf") {
      const json = name.endsWith(".json");
      its_own.layout = json ? "xorf-json" : name.endsWith(".bincode") ? "xorf-bincode" : "xorf-dma";
      if (json) its_own.width = Number(/\d+$/.exec(its.params.kind)[0]);
    }
    return { name: `${its.name}: ${name}`, bytes: read(its, name), options: its_own };
  });
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

/** How many keys of each list and range are asked for at most, evenly spread from one end to the other. */
const PROBES = given("PROBES", 250);

/** The places to ask for in a list of this length, including `always`. */
function places(length, always = []) {
  const all = new Set(always);
  const count = Math.min(PROBES, length);
  for (let i = 0; i < count; i++) all.add(count > 1 ? Math.round((i * (length - 1)) / (count - 1)) : 0);
  return [...all].sort((a, b) => a - b);
}

const lines = (its, file) => new TextDecoder().decode(read(its, file)).split(/\r?\n/).slice(0, -1);

/**
 * The members of a case at the places that `chosen` returns for a length, by default all, and the number of all
 * members.
 */
function membersOf(its, chosen = (length) => Array.from({ length }, (_, at) => at)) {
  let count = 0;
  const members = its.members.flatMap(({ file, rule }) => {
    const all = file && lines(its, file);
    const length = file ? all.length : rule.to - rule.from;
    count += length;
    return chosen(length).map((at) => (file ? keyIn(all[at], its.key_encoding) : keyOf(rule, at)));
  });
  return { members, count };
}

/** What a case's own software answered, for PROBES keys. */
function recorded(its) {
  const { members, count } = membersOf(its, places);
  assert.equal(count, its.member_count);
  const all = lines(its, its.probes);
  assert.equal(all.length, its.probe_count);
  const probes = places(all.length).map((at) => all[at]);
  return {
    members,
    probes: probes.map((line) => keyIn(line.slice(2), its.key_encoding)),
    answers: probes.map((line) => Number(line[0])),
    // Few keys of a range are present, and all of these are asked for.
    ranges: its.probe_ranges.map(({ rule, true_indices: hits }) => {
      const asked = places(rule.to - rule.from, hits);
      return { asked, keys: asked.map((at) => keyOf(rule, at)), hits };
    }),
  };
}

/** Every recorded answer holds; `ask` answers for many keys. */
function check(name, { members, probes, answers, ranges }, ask) {
  assert.ok(
    ask(members).every((answer) => answer === 1),
    `${name}: a member is absent`,
  );
  assert.deepEqual([...ask(probes)], answers, name);
  ranges.forEach(({ asked, keys, hits }, at) => {
    const found = [...ask(keys)].flatMap((answer, i) => (answer ? [asked[i]] : []));
    assert.deepEqual(found, hits, `${name}: range ${at}`);
  });
}

const isUnsupported = ({ blob_format }) => blob_format === "npm-bloom-filters-json-v1-array";
/** What rbloom stores depends on the user's hash, and SHA-256 isn't supported here. */
const hasOtherHash = ({ system, params }) => system === "rbloom" && params.hash_func.includes("SHA-256");
const readable = cases.filter((its) => !isUnsupported(its) && !hasOtherHash(its));

test("every recorded answer, of the files and of the blobs that wrap them", () => {
  let files = 0;
  const formats = new Set();
  for (const its of cases) {
    if (hasOtherHash(its)) {
      console.log(`skipped, hashed by SHA-256: ${its.name}`);
      continue;
    }
    const read = filesOf(its);
    if (isUnsupported(its)) {
      for (const { bytes, options } of read) refuses("unsupported_format", () => decode(bytes, options));
      continue;
    }
    const pairs = read.map(({ name, bytes, options }) => {
      const filter = decode(bytes, options);
      const wrapped = decode(filter.toBytes());
      formats.add(filter.kind);
      assert.ok(filter instanceof ForeignFilter && wrapped instanceof ForeignFilter, name);
      refuses("unsupported_kind", () => reader.decode(filter.toBytes()), name);
      assert.deepEqual([filter.kind, wrapped.kind], [options.format, options.format]);
      const info = filter.info();
      assert.deepEqual(wrapped.info(), info);
      for (const option of ["funnel", "keys", "generation", "width", "bits", "hashes"]) {
        const { [option]: given } = options;
        const { [option]: told = given } = info.foreign;
        if (given !== undefined) assert.equal(told, given, `${name}: ${option}`);
      }
      return [filter, wrapped];
    });
    files += pairs.length;
    // Those of Parquet are parts: a key is present if any has it.
    const groups = its.system === "parquet-sbbf" ? [pairs] : pairs.map((pair) => [pair]);
    const all = recorded(its);
    for (const group of groups) {
      check(its.name, all, (keys) => Uint8Array.from(keys, (key) => Number(group.some(([filter]) => filter.has(key)))));
      check(its.name, all, (keys) => {
        const found = group.map(([, wrapped]) => wrapped.hasMany(keys));
        return found[0].map((_, at) => Number(found.some((answers) => answers[at])));
      });
    }
    for (const filter of pairs.flat()) filter.free();
  }
  assert.ok(files >= 140, `${files} files`);
  assert.deepEqual([...formats].sort(), FORMATS.toSorted(), "the formats with files in tests/interop");
});

test("toForeign returns the original, or says that the format can only be read", () => {
  let same = 0;
  for (const its of readable) {
    for (const { name, bytes, options } of filesOf(its)) {
      const filter = ForeignFilter.decode(decode(bytes, options).toBytes());
      if (!WRITTEN.includes(options.format)) {
        refuses("unsupported_format", () => filter.toForeign(), name);
      } else if (its.params.header_layout === "nogrowth+u32entries") {
        assert.ok(decode(filter.toForeign(), options).equals(filter), name);
      } else {
        assert.ok(Buffer.compare(filter.toForeign(), bytes) === 0, `${name}: other bytes`);
        same++;
      }
    }
  }
  assert.ok(same > 65, `${same} files`);
  for (const filter of [BloomFilter.from(["a"]), RibbonFilter.from(["a"])]) assert.ok(!("toForeign" in filter));
});

/**
 * The options with which ForeignFilter.from makes what its own software made; undefined if that is sized differently.
 */
function making(its) {
  const { params, member_count: capacity } = its;
  const made = { ...optionsOf(its), capacity, fpr: 0.01 };
  switch (made.format) {
    case "go-bloom": {
      const [by, count, fpr] = params.created_with;
      return by === "est" ? { ...made, capacity: count, fpr } : { ...made, bits: params.m, hashes: params.k };
    }
    case "guava": {
      const layout = params.strategy === "MURMUR128_MITZ_32" ? "mitz-32" : "mitz-64";
      return { ...made, layout, capacity: params.expected_insertions, fpr: params.fpp };
    }
    case "spark": {
      const [by, value] = params.sized_by.split("=");
      const sizes =
        by === "fpp"
          ? { capacity: params.expected_items, fpr: Number(value) }
          : { bits: Number(value), hashes: params.num_hash_functions };
      return { ...made, layout: `v${params.format_version}`, seed: params.seed, ...sizes };
    }
    case "redis-bitmap":
      return made;
    case "redisbloom": {
      if (params.header_layout !== "growth+u64entries" || (params.options & 1) === 0) return undefined;
      if (!Array.isArray(its.created_with)) return { ...made, capacity: 100, fpr: 0.01 };
      const [, fpr, count, how, by] = its.created_with;
      const expansion = how === "NONSCALING" ? 0 : by === undefined ? undefined : Number(by);
      return { ...made, capacity: Number(count), fpr: Number(fpr), expansion };
    }
  }
}

test("ForeignFilter.from makes the same bytes from the same keys", () => {
  let made = 0;
  for (const its of readable) {
    const options = making(its);
    if (!options) {
      const { format } = optionsOf(its);
      if (WRITTEN.includes(format)) console.log(`skipped, because an old release sized it: ${its.name}`);
      else refuses("unsupported_format", () => ForeignFilter.from([], { format }), its.name);
      continue;
    }
    // Made with an unusual order of bytes.
    if (its.params.bitset_byte_order === "little") continue;
    const filter = ForeignFilter.from(membersOf(its).members, options);
    const original = filesOf(its).find(({ bytes }) => bytes[0] !== 0x7b);
    assert.ok(Buffer.compare(filter.toForeign(), original.bytes) === 0, `${its.name}: other bytes`);
    // The JSON was made from the same filter as the bytes.
    if (options.format === "go-bloom") {
      const json = ForeignFilter.from(membersOf(its).members, { ...options, layout: "json" }).toForeign();
      assert.deepEqual(JSON.parse(new TextDecoder().decode(json)), JSON.parse(Buffer.from(filesOf(its)[1].bytes)));
    }
    made++;
  }
  assert.ok(made > 50, `${made} files`);
});

test("without a capacity, a filter is for the number of distinct keys", () => {
  const keys = Array.from({ length: 300 }, (_, at) => `key ${at % 100}`);
  for (const format of WRITTEN) {
    const size = format === "redisbloom" ? 100 : undefined;
    const filter = ForeignFilter.from(keys, { format, fpr: 0.01 });
    assert.deepEqual(filter.toForeign(), ForeignFilter.from(keys, { format, fpr: 0.01, capacity: 100 }).toForeign());
    assert.ok(filter.hasAll(keys) && !filter.hasAll(Array.from({ length: 50 }, (_, at) => `stranger ${at}`)), size);
    assert.ok(Math.abs(filter.estimatedCount - 100) < 15, `${format}: ${filter.estimatedCount}`);
    assert.notEqual(ForeignFilter.from(keys, { format }).info().bits, filter.info().bits);
    assert.equal(ForeignFilter.from([], { format }).has("a"), false);
  }
});

test("the rates of new filters are those that `info` tells, for few keys, too", () => {
  const nonmembers = Array.from({ length: 6_000 }, (_, at) => `stranger ${at}`);
  const cases = WRITTEN.flatMap((format) => [0.5, 0.01, 0.001].map((fpr) => ({ format, fpr })));
  for (const [row, { format, fpr }] of cases.entries()) {
    // One of the three rates of each format, or all.
    if (!turn(row + Math.floor(row / 3), 3)) continue;
    for (const [at, count] of [2, 10, 100, 1000].entries()) {
      const times = [16, 12, 3, 1][at];
      let [measured, told] = [0, 0];
      for (let time = 0; time < times; time++) {
        const members = Array.from({ length: count }, (_, member) => `member ${time} ${member}`);
        const filter = ForeignFilter.from(members, { format, fpr });
        measured += filter.hasMany(nonmembers).reduce((sum, hit) => sum + hit, 0) / nonmembers.length / times;
        told += filter.info().fpr / times;
        filter.free();
      }
      const what = `${format}, ${count} keys at ${fpr}: ${measured}, told ${told}`;
      // Five standard deviations of the asked keys, and a tenth of the rate: few filters vary more.
      const spread = 5 * Math.sqrt(told / nonmembers.length / times);
      assert.ok(Math.abs(measured - told) < spread + 0.1 * told, what);
      // With this many keys, it is near the rate that was asked for: RedisBloom makes its first part for half of it.
      if (count === 1000) assert.ok(told > 0.4 * fpr && told < 1.25 * fpr, what);
    }
  }
});

test("cut files give typed errors", () => {
  const smallest = new Map();
  for (const its of readable) {
    for (const file of filesOf(its)) {
      // Without it, half a filter would be one with fingerprints half as wide.
      if (/^(xor|binary-fuse)$/.test(file.options.format)) file.options.width = Number(/\d+$/.exec(its.params.kind)[0]);
      const kind = `${file.options.format} ${file.options.layout} ${its.params.kind}`;
      if (!(smallest.get(kind)?.bytes.length <= file.bytes.length)) smallest.set(kind, file);
    }
  }
  assert.ok(smallest.size > 20, `${smallest.size} kinds`);
  const codes = new Set();
  for (const { name, bytes, options } of smallest.values()) {
    // flor's users may put anything after the bits.
    const words = () => Math.ceil(Number(new DataView(bytes.buffer).getBigUint64(32, true)) / 64);
    const needed = options.format === "flor" ? 48 + 8 * words() : bytes.length;
    for (let length = 0; length < needed; length++) {
      try {
        const filter = decode(bytes.subarray(0, length), options);
        // A cut bitmap is a shorter bitmap; half a Parquet filter may be one with fewer blocks; and for a binary fuse
        // filter of 16 bits, C writes 4 bytes more than it has.
        const enough = ["redis-bitmap", "rbloom", "parquet-sbbf"].includes(filter.kind);
        const more = filter.kind === "binary-fuse" && length === bytes.length - 4;
        assert.ok(enough || more, `${name}: ${length} bytes are enough`);
        filter.free();
      } catch (error) {
        assert.ok(error instanceof FilterError, `${name}: ${length} bytes: ${error}`);
        codes.add(error.code);
      }
    }
  }
  assert.deepEqual([...codes].sort(), ["invalid_parameter", "truncated"]);
});

test("options that a format doesn't have, lacks or can't accept", () => {
  const bytes = ForeignFilter.from(["a"], { format: "guava" }).toForeign();
  const wrong = {
    unsupported_format: [{ format: "java" }, { format: "" }, { format: "bloom" }],
    invalid_parameter: [
      { format: 5 },
      { format: null },
      { format: ["guava"] },
      { format: "guava", keys: "utf8" },
      { format: "guava", funnel: "utf-8" },
      { format: "guava", funnel: 8 },
      { format: "guava", profile: "urls" },
      { format: "guava", funnel: "int", profile: "url" },
      { format: "redis-bitmap" },
      { format: "redis-bitmap", bits: 64 },
      { format: "redis-bitmap", bits: "64", hashes: 1 },
      { format: "redis-bitmap", bits: 64.5, hashes: 1 },
      { format: "redis-bitmap", bits: -64, hashes: 1 },
      { format: "redis-bitmap", bits: 2 ** 60, hashes: 1 },
      { format: "redis-bitmap", bits: Number.NaN, hashes: 1 },
      { format: "redis-bitmap", bits: 64, hashes: 2 ** 32 + 1 },
      { format: "xor", width: 9 },
      { format: "xor", layout: "rust" },
    ],
  };
  for (const [code, all] of Object.entries(wrong)) {
    for (const options of all) refuses(code, () => decode(bytes, options), JSON.stringify(options));
  }
  const unmade = {
    unsupported_format: [{ format: "java" }, { format: "xor" }, { format: "npm-bloomfilter" }],
    invalid_parameter: [
      undefined,
      null,
      {},
      { format: 5 },
      { from: "guava" },
      { format: "guava", fpr: 0 },
      { format: "guava", fpr: 1 },
      { format: "guava", fpr: "0.1" },
      { format: "guava", capacity: -1 },
      { format: "guava", capacity: 1.5 },
      { format: "guava", keys: "bytes" },
      { format: "guava", bits: 64 },
      { format: "guava", profile: "url" },
      { format: "guava", generation: "fnv64" },
      { format: "guava", layout: "mitz" },
      { format: "spark", layout: "v2", seed: 2 ** 31 },
      { format: "redisbloom", bits: 64, hashes: 1 },
    ],
    too_large: [
      { format: "guava", capacity: 2 ** 35 },
      { format: "redisbloom", capacity: 2 ** 35 },
    ],
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
  refuses("freed", () => copy.has("a"));
  refuses("freed", () => copy.hasMany([]));
  refuses("freed", () => copy.toForeign());

  const [blob, bytes] = [filter.toBytes(), filter.toForeign()];
  assert.ok(decode(blob) instanceof ForeignFilter);
  for (const read of [ForeignFilter.decode(blob), ForeignFilter.decode(bytes, { format: "spark" })])
    assert.ok(read instanceof ForeignFilter && read.equals(filter) && read.clone() instanceof ForeignFilter);
  // A subclass isn't instantiated by `from`.
  class Mine extends ForeignFilter {}
  assert.equal(Mine.decode(blob).constructor, ForeignFilter);
  refuses("wrong_kind", () => ForeignFilter.decode(BloomFilter.from(["a"]).toBytes()));
  refuses("wrong_kind", () => BloomFilter.decode(blob));
  refuses("invalid_parameter", () => BloomFilter.decode(bytes, { format: "spark" }));
  assert.deepEqual(
    [blob, blob].map(decode).map(({ kind }) => kind),
    ["spark", "spark"],
  );
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
  await rejects("invalid_parameter", load(bytes, { format: "guava", keys: "bytes" }));
  await assert.rejects(
    load(pieces(), { format: "guava", signal: AbortSignal.abort("stop") }),
    (error) => error === "stop",
  );
  await rejects("invalid_parameter", reader.load(bytes, { format: "guava" }));
  refuses("invalid_parameter", () => reader.decode(bytes, { format: "guava" }));
  await rejects("unsupported_kind", reader.load(filter.toBytes()));
  assert.ok((await load(filter.toBytes())).has("a"));
});

test("a JSON object is read like its text and its bytes", () => {
  for (const format of ["npm-bloom-filters", "npm-bloomfilter"]) {
    const own = cases.filter((its) => its.system === format && !isUnsupported(its));
    let objects = 0;
    for (const its of own) {
      for (const { bytes, options } of filesOf(its).filter(({ options }) => options.format === format)) {
        const text = new TextDecoder().decode(bytes);
        const read = decode(bytes, options).toBytes();
        assert.deepEqual(decode(text, options).toBytes(), read, its.name);
        assert.deepEqual(decode(JSON.parse(text), options).toBytes(), read, its.name);
        objects++;
      }
    }
    assert.ok(objects > 2, `${objects} of ${format}`);
    refuses("invalid_parameter", () => decode("{", { format }));
    refuses(format === "npm-bloomfilter" ? "invalid_parameter" : "unsupported_format", () => decode({}, { format }));
    const circle = {};
    circle.circle = circle;
    refuses("invalid_parameter", () => decode(circle, { format }));
    refuses("invalid_parameter", () => decode(null, { format }));
    refuses("invalid_parameter", () => decode(undefined, { format }));
  }
  refuses("invalid_parameter", () => decode("text", { format: "go-bloom" }));
  refuses("invalid_parameter", () => decode({}, { format: "guava" }));
  refuses("invalid_parameter", () => decode("text"));
});

test("the error for an unknown format names the known ones", () => {
  for (const run of [
    () => decode(new Uint8Array(9), { format: "java" }),
    () => ForeignFilter.from([], { format: "x" }),
  ]) {
    const { code, message } = caught(run);
    assert.equal(code, "unsupported_format");
    for (const format of FORMATS) assert.match(message, new RegExp(`[ ,]${format}(,|$)`));
  }
});

function caught(run) {
  try {
    run();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
}
