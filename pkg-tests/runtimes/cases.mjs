/**
 * What must hold in every runtime, in plain JavaScript without a test runner: `run` gets the two entry points and the
 * golden files, and returns how many cases passed and what failed.
 */
import { everything, reader } from "./programs.mjs";

const encode = (text) => new TextEncoder().encode(text);

function check(holds, message) {
  if (!holds) throw new Error(message);
}

function equal(found, expected, what = "") {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value instanceof Uint8Array ? [...value] : value));
  check(a === b, `${what}: ${a?.slice(0, 200)} and not ${b?.slice(0, 200)}`);
}

/** The code of what a call throws, which must be this entry's FilterError. */
function codeOf({ FilterError }, run) {
  try {
    run();
  } catch (error) {
    check(error instanceof FilterError && error instanceof Error, `no FilterError: ${error}`);
    return error.code;
  }
  return "nothing was thrown";
}

/** A key of URLs in slot i mod 30. FORMAT.md section 11. */
function urlKey(i) {
  const labels = Math.floor(i / 6) % 5;
  const host = labels === 4 ? `10.0.${i >> 8}.${i & 255}` : `${"w.".repeat(labels)}host${i}.example`;
  return host + ["/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q"][i % 6];
}

/** A golden file as `golden.mjs` hands it over: its bytes, and the i for which key-i is maybe present, from..to. */
const bytesOf = ({ base64 }) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
const secretOf = ({ secret }) => secret && { secret: Uint8Array.from(secret) };

const cases = {
  "golden files answer as they must in both entries, and are written again to the byte"({ ask, full, golden }) {
    check(golden.length >= 21, "golden files are missing");
    for (const file of golden) {
      const key = file.name.includes("slots") ? urlKey : (i) => `key-${i}`;
      const keys = Array.from({ length: file.to - file.from }, (_, i) => key(file.from + i));
      for (const { decode } of [ask, full]) {
        const filter = decode(bytesOf(file), secretOf(file));
        const hits = [...filter.hasMany(keys)].flatMap((hit, i) => (hit ? [file.from + i] : []));
        equal(hits, file.hits, file.name);
        equal(filter.toBytes(), bytesOf(file), file.name);
        filter.free();
      }
    }
  },

  "every kind is built, and asked by either entry"({ ask, full }) {
    const keys = Array.from({ length: 1000 }, (_, i) => `key ${i} ü`);
    for (const name of ["BloomFilter", "CountingBloomFilter", "ScalableBloomFilter", "CuckooFilter", "RibbonFilter"]) {
      const filter = full[name].from(keys, { fpr: 0.001, name });
      const read = ask.decode(filter.toBytes());
      check(
        read instanceof ask.Filter && full.decode(filter.toBytes()) instanceof full[name],
        `${name}: another class`,
      );
      check(
        keys.every((key) => filter.has(key) && read.has(encode(key))),
        `${name}: a key is lost`,
      );
      check(!read.has("a stranger"), `${name}: a stranger`);
      equal([read.info().name, read.info().kind], [name, filter.kind]);
    }
  },

  "filters of other software are read, asked by either entry, and given back"({ ask, full }) {
    const keys = ["a", "lone \ud800", "\u00e9"];
    const filter = full.ForeignFilter.from(keys, { format: "guava", fpr: 1e-6 });
    const again = full.decode(filter.toForeign(), { from: "guava", funnel: "utf8" });
    const read = ask.decode(filter.toBytes());
    check(again.equals(filter) && again instanceof full.ForeignFilter && read instanceof ask.Filter, "other filters");
    for (const its of [filter, again, read])
      check(its.hasAll(keys) && its.has("lone ?") && !its.hasAny(["lone \ufffd", "b"]), "another answer");
    const numbers = full.ForeignFilter.from([1, 2n ** 62n], { format: "guava", funnel: "long", fpr: 1e-6 });
    equal([...ask.decode(numbers.toBytes()).hasMany([1n, 2, 2n ** 62n])], [1, 0, 1]);
    equal(
      codeOf(ask, () => ask.decode(filter.toForeign(), { from: "guava" })),
      "invalid_parameter",
    );
    equal(
      codeOf(full, () => full.RibbonFilter.from(keys).toForeign()),
      "incompatible",
    );
  },

  "each entry has its own classes and one FilterError"({ ask, full }) {
    const functions = ["canonicalizeUrl", "decode", "load", "openFeed", "openSharded", "urlExpressions"];
    equal(Object.keys(ask).sort(), ["Feed", "Filter", "FilterError", "ShardedFilter", ...functions]);
    check(ask.FilterError === full.FilterError, "two classes of errors");
    const filter = ask.decode(full.CountingBloomFilter.from(["a"]).toBytes());
    for (const method of ["add", "addMany", "addLines", "clear", "remove", "count", "union"])
      check(!(method in filter), `a reader with ${method}`);
  },

  "keys are added and counted"({ full }) {
    const seen = full.BloomFilter.withCapacity(1000, 1e-6);
    equal(
      [seen.add("a"), seen.add("a"), seen.addMany(["a", "b"]), seen.addLines(encode("b\nc\r\n\nd"))],
      [true, false, 1, 2],
    );
    equal([...seen.hasLines(encode("a\nx\nd"))], [1, 0, 1]);
    equal(full.optimal(1_000_000, 0.01), { bits: 9_585_059, hashes: 7, bytes: 1_198_133 });
  },

  "URLs go where a browser goes"({ ask, full }) {
    const blob = full.RibbonFilter.from(["evil.example", "||worse.example^", "195.127.0.11"], {
      profile: "url",
      fpr: 1e-6,
    }).toBytes();
    const filter = ask.decode(blob);
    const spellings = [
      "https://user@www.EVIL.example:8443/x?y#z",
      "http://evil.example\\@good.example/",
      "https:///evil.example/",
      "http://3279880203/",
      "http://worse.example./",
      "worse.example",
    ];
    for (const url of spellings) check(filter.hasUrl(url), url);
    for (const url of ["https://good.example/evil.example", "mailto:a@evil.example", ""])
      equal(filter.matchUrl(url), null, url);
    equal(filter.matchUrl(new URL("http://a.evil.example/")), "evil.example/");
    equal(ask.canonicalizeUrl("http://B\u00fccher.example/%2e%2e/%2561?#x"), "http://xn--bcher-kva.example/a?");
    equal(ask.urlExpressions("http://a.b.c/1?2"), ["a.b.c/1?2", "a.b.c/1", "a.b.c/", "b.c/1?2", "b.c/1", "b.c/"]);
  },

  "passwords, plain and hashed"({ ask, full }) {
    const plain = ask.decode(
      full.RibbonFilter.from(["Passw\u00f6rd"], { profile: "password", lowercase: true, fpr: 1e-6 }).toBytes(),
    );
    equal(
      ["PASSWO\u0308RD", "passw\u00f6rd", "password"].map((password) => plain.hasPassword(password)),
      [true, true, false],
    );
    const sha1 = "E38AD214943DAAD1D64C102FAEC29DE4AFE9DA3D:5"; // of password1
    const hashed = ask.decode(
      full.RibbonFilter.from([sha1], { profile: "password", sha1Hex: true, fpr: 1e-6 }).toBytes(),
    );
    equal(
      ["password1", "Password1"].map((password) => hashed.hasPassword(password)),
      [true, false],
    );
  },

  "an allowlist is a layer"({ ask, full }) {
    const bad = Array.from({ length: 2000 }, (_, i) => `bad${i}.example`);
    const good = Array.from({ length: 2000 }, (_, i) => `good${i}.example`);
    const filter = ask.decode(full.RibbonFilter.from(bad, { profile: "url", fpr: 0.5, allow: good }).toBytes());
    equal(filter.info().layers, 1);
    check(
      bad.every((host) => filter.hasUrl(host)) && !good.some((host) => filter.hasUrl(host)),
      "the lists are mixed up",
    );
  },

  "unusual keys"({ full }) {
    const million = "x".repeat(1_000_000);
    const filter = full.BloomFilter.from(["", "\0", "\ud800", "👍", million], { fpr: 1e-6 });
    for (const key of ["", "\0", "\ufffd", encode("👍"), encode(million)]) check(filter.has(key), "a key is lost");
    check(!filter.has(`${million}x`), "a stranger");
  },

  "failures are FilterErrors, and the next call works"({ ask, full }) {
    const filter = full.RibbonFilter.from(["a"]);
    const blob = filter.toBytes();
    equal(
      codeOf(ask, () => ask.decode(encode("<!doctype html>"))),
      "not_a_filter",
    );
    equal(
      codeOf(ask, () => ask.decode(blob.subarray(0, -1))),
      "truncated",
    );
    equal(
      codeOf(ask, () => ask.decode(blob.map((byte, at) => (at === blob.length - 9 ? byte ^ 1 : byte)))),
      "checksum_mismatch",
    );
    equal(
      codeOf(full, () => filter.has(1)),
      "invalid_key",
    );
    equal(
      codeOf(full, () => filter.hasUrl("a")),
      "wrong_profile",
    );
    equal(
      codeOf(full, () => full.optimal(1, 2)),
      "invalid_parameter",
    );
    check(ask.decode(blob).has("a"), "a key is lost");
    filter.free();
    equal(
      codeOf(full, () => filter.has("a")),
      "freed",
    );
  },

  async "loading, from a response, a blob and bytes, with progress and an abort"({ ask, full }) {
    const blob = full.RibbonFilter.from(Array.from({ length: 10_000 }, (_, i) => `${i}`)).toBytes();
    const progress = [];
    const sources = [new Response(blob), Promise.resolve(new Response(blob)), new Blob([blob]), blob, blob.buffer];
    for (const source of sources) {
      const filter = await ask.load(source, { onProgress: ({ loaded }) => progress.push(loaded) });
      check(filter.has("9999") && progress.at(-1) === blob.length, "not all of it");
    }
    const reason = new Error("enough");
    const never = new Response(new ReadableStream({}));
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 1);
    equal(await ask.load(never, { signal: stop.signal }).catch((error) => error === reason), true, "abort");
    equal(await ask.load(new Response("", { status: 404 })).catch((error) => error.code), "http");
    const streamed = await full.RibbonFilter.fromStream(new Blob(["a\nb\r\n\nc"]).stream());
    check(streamed.hasAll(["a", "b", "c"]) && streamed.info().count === 3, "a line is lost");
  },
};

/** Runs all cases; `first` is when the caller began to import, by `performance.now`. */
export async function run(entries, first) {
  entries.ask.decode(bytesOf(entries.golden[0])).has("key-0");
  const ms = performance.now() - first;
  const failed = [];
  for (const [name, test] of Object.entries(cases)) {
    try {
      await test(entries);
    } catch (error) {
      failed.push(`${name}: ${error?.stack ?? error}`);
    }
  }
  const { lines, blobs } = await everything(entries.full);
  const output = [...lines, ...(await reader(entries.ask, blobs))];
  return { passed: Object.keys(cases).length - failed.length, failed, ms, output };
}
