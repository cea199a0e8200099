/**
 * What must hold in every runtime, in plain JavaScript without a test runner: `run` gets the entries and the golden
 * files, and returns how many cases passed and what failed.
 */
const encode = (text) => new TextEncoder().encode(text);

function ascii(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function check(holds, message) {
  if (!holds) throw new Error(message);
}

function equal(found, expected, what = "") {
  const areBytes = found instanceof Uint8Array && expected instanceof Uint8Array;
  if (areBytes && found.length === expected.length && found.every((byte, i) => byte === expected[i])) return;
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

/** A key of URLs in slot i mod 30, as in tests/golden/README.md. */
function urlKey(i) {
  const labels = Math.floor(i / 6) % 5;
  const host = labels === 4 ? `10.0.${i >> 8}.${i & 255}` : `${"w.".repeat(labels)}host${i}.example`;
  return host + ["/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q"][i % 6];
}

/** A golden file as `golden.mjs` hands it over: its bytes, and the i for which key-i is maybe present, from..to. */
const bytesOf = (file) => {
  if (!decoded.has(file)) decoded.set(file, ascii(atob(file.base64)));
  return decoded.get(file).slice();
};
const decoded = new Map();
const secretOf = ({ secret }) => secret && { secret: Uint8Array.from(secret) };

const SHA1 = "E38AD214943DAAD1D64C102FAEC29DE4AFE9DA3D:5"; // of password1

/** Filters to ask: entries with builders must make exactly these, and the others decode them. */
const filters = {
  urls: {
    make: ({ RibbonFilter }) =>
      RibbonFilter.from(["evil.example", "||worse.example^", "195.127.0.11"], { profile: "url", fpr: 1e-6 }),
    base64: "tUJMTQEFAUAAAAAAAAAAAAADAAAASK+8mvLXqj4AAQgAAAABAAABie4AAIgAAAABAAAAfAAAABIDEBIT5DpUJg==",
  },
  passwords: {
    make: ({ RibbonFilter }) =>
      RibbonFilter.from(["Passw\u00f6rd"], { profile: "password", lowercase: true, fpr: 1e-6 }),
    base64: "tUJMTQEFAgQAAAAAAAAAAAABAAAAje21oPfGsD4AAQgAAAAyAAAAAAAAANEAAAAAAAAAAQAAAd+7YsM=",
  },
  hashes: {
    make: ({ RibbonFilter }) => RibbonFilter.from([SHA1], { profile: "password", sha1: true, fpr: 1e-6 }),
    base64: "tUJMTQEFAggAAAAAAAAAAAABAAAAje21oPfGsD4AAQgAAABAAAAAAAAAALQAAAAAAAAAAQEAAKs4JsQ=",
  },
};

/** What both entries export, and what "bloom-wasm" adds. */
const exported = [
  ...["Feed", "Filter", "FilterError", "ShardedFilter"],
  ...["canonicalizeUrl", "decode", "fileCache", "load", "openFeed", "openSharded", "urlExpressions"],
];
const added = [
  ...["BloomFilter", "CountingBloomFilter", "CuckooFilter", "ForeignFilter", "RibbonFilter", "ScalableBloomFilter"],
  ...["countFor", "fprFor", "optimal"],
];

/** What every entry must answer: `its` is the entry, `name` its name. */
const asking = {
  "golden files answer as they must, and are written again to the byte"({ its, name, golden }) {
    check(golden.length >= 21, "golden files are missing");
    for (const file of golden) {
      const key = file.name.includes("slots") ? urlKey : (i) => `key-${i}`;
      const keys = (file.keys ??= Array.from({ length: file.to - file.from }, (_, i) => key(file.from + i)));
      if (name === "reader" && file.name.startsWith("foreign-")) {
        equal(
          codeOf(its, () => its.decode(bytesOf(file))),
          "unsupported_kind",
          file.name,
        );
        continue;
      }
      const filter = its.decode(bytesOf(file), secretOf(file));
      check(filter instanceof its.Filter, `${file.name}: another class`);
      equal(filter.toBytes(), bytesOf(file), file.name);
      const { profile, sha1 } = filter.info();
      if (sha1 || (profile === "url" && !file.name.includes("slots"))) {
        // Its keys can't be keys of URLs, or aren't hashes, so only Rust can look them up: tests/suite/golden.rs.
        equal(
          codeOf(its, () => filter.hasMany(keys)),
          "invalid_key",
          file.name,
        );
        continue;
      }
      const hits = [];
      filter.hasMany(keys).forEach((hit, i) => hit && hits.push(file.from + i));
      equal(hits, file.hits, file.name);
      filter.free();
    }
  },

  async "a feed's deltas make the filters that they must"({ its, golden }) {
    const children = golden.filter(({ feed }) => feed);
    check(children.length >= 5, "deltas are missing");
    for (const child of children) {
      const fetch = async (url) => new Response(ascii(atob(child.feed[url.split("/").pop()])));
      const options = { publicKey: null, cache: null, fetch, ...secretOf(child) };
      const feed = await its.openFeed("https://lists.example/feed.json", options);
      equal(feed.filter.toBytes(), bytesOf(child), child.name);
      feed.close();
    }
  },

  "URLs go where a browser goes"({ its }) {
    const filter = its.decode(bytesOf(filters.urls));
    const spellings = [
      "https://user@www.EVIL.example:8443/x?y#z",
      "http://evil.example\\@good.example/",
      "https:///evil.example/",
      "http://3279880203/",
      "http://worse.example./",
      "worse.example",
      "http://\uff25vil.example/",
    ];
    for (const url of spellings) check(filter.hasUrl(url), url);
    for (const url of ["https://good.example/evil.example", "mailto:a@evil.example", ""])
      equal(filter.matchUrl(url), null, url);
    equal(filter.matchUrl(new URL("http://a.evil.example/")), "evil.example/");
    equal(its.canonicalizeUrl("http://B\u00fccher.example/%2e%2e/%2561?#x"), "http://xn--bcher-kva.example/a?");
    equal(its.urlExpressions("http://a.b.c/1?2"), ["a.b.c/1?2", "a.b.c/1", "a.b.c/", "b.c/1?2", "b.c/1", "b.c/"]);
    // Hosts that parsers refuse or read by their own rules and tables.
    for (const [host, ...names] of [
      ["b\u05d0.b", "xn--b-0hc.b"],
      ["\u0661.shop", "xn--9hb.shop"],
      ["\uff58n--aaxn--.example", "xn--aaxn--.example"],
      ["xn--a\uff0541xn--.example", "xn--aaxn--.example"],
      ["fa\u1e9e.example", "xn--fa-hia.example", "fass.example"],
    ]) {
      const keys = names.map((name) => `${name}/`);
      equal(its.urlExpressions(`http://${host}/`), keys);
    }
    for (const [host, name] of [
      ["\xe9\u0323.example", "xn--lsa503l.example"],
      ["\u1e9b\u0323.example", "xn--1ig.example"],
    ])
      equal(its.canonicalizeUrl(`http://${host}/`), `http://${name}/`);
  },

  "URLs that are canonical need no parser"({ its }) {
    const filter = its.decode(bytesOf(filters.urls));
    equal(filter.matchUrl("http://www.worse.example/x"), "worse.example/");
    equal(filter.matchUrl("https://good.example/evil.example"), null);
    equal(its.canonicalizeUrl("https://a.example/b?c"), "https://a.example/b?c");
  },

  "passwords, plain and hashed"({ its }) {
    const plain = its.decode(bytesOf(filters.passwords));
    equal(
      ["PASSWO\u0308RD", "passw\u00f6rd", "password"].map((password) => plain.hasPassword(password)),
      [true, true, false],
    );
    const hashed = its.decode(bytesOf(filters.hashes));
    equal(
      ["password1", "Password1"].map((password) => hashed.hasPassword(password)),
      [true, false],
    );
  },

  "failures are FilterErrors, and the next call works"({ its, golden }) {
    const blob = bytesOf(golden.find(({ name }) => name === "ribbon"));
    const filter = its.decode(blob);
    for (const [run, code] of [
      [() => its.decode(blob.subarray(0, -1)), "truncated"],
      [() => filter.has({}), "invalid_key"],
    ])
      equal(codeOf(its, run), code);
    check(filter.has("key-1") && its.decode(blob).has("key-1"), "a key is lost");
    filter.free();
    equal(
      codeOf(its, () => filter.has("a")),
      "freed",
    );
  },

  "a cache in files, or the error that there are none"({ its }) {
    const code = codeOf(its, () => its.fileCache("kept"));
    check(["cache", "nothing was thrown"].includes(code), code);
  },

  async "loading, from a response, a blob and bytes, with progress and an abort"({ its, golden }) {
    const blob = bytesOf(golden.find(({ name }) => name === "ribbon-stages"));
    const progress = [];
    const sources = [new Response(blob), Promise.resolve(new Response(blob)), new Blob([blob]), blob, blob.buffer];
    for (const source of sources) {
      const filter = await its.load(source, { onProgress: ({ loaded }) => progress.push(loaded) });
      check(filter.has("key-19999") && progress.at(-1) === blob.length, "not all of it");
    }
    const reason = new Error("enough");
    const never = new Response(new ReadableStream({}));
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 1);
    equal(await its.load(never, { signal: stop.signal }).catch((error) => error === reason), true, "abort");
    equal(await its.load(new Response("", { status: 404 })).catch((error) => error.code), "http");
  },
};

/** Cases for the other entries that only WebAssembly can do, and for all entries together. */
const making = {
  "every kind is built, and asked by either entry"({ full, reader: ask }) {
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
      check(!read.has("a non-member"), `${name}: a non-member`);
      equal([read.info().name, read.info().kind], [name, filter.kind]);
    }
  },

  "filters of other software are read and given back"({ full }) {
    const filter = full.ForeignFilter.from(["a", "lone \ud800"], { format: "guava", fpr: 1e-6 });
    const again = full.decode(filter.toForeign(), { format: "guava", funnel: "utf8" });
    check(again.equals(filter) && again.has("lone ?") && !again.has("b"), "another answer");
  },

  "unusual keys"({ full }) {
    const million = "x".repeat(1_000_000);
    const filter = full.BloomFilter.from(["", "\0", "\ud800", "👍", million], { fpr: 1e-6 });
    for (const key of ["", "\0", "\ufffd", encode("👍"), encode(million)]) check(filter.has(key), "a key is lost");
    check(!filter.has(`${million}x`), "a non-member");
  },

  "both entries have one Filter, one FilterError, and the same feeds"({ full, reader: ask }) {
    equal(Object.keys(ask).sort(), exported);
    equal(Object.keys(full).sort(), [...exported, ...added].sort());
    for (const name of exported)
      check((full[name] === ask[name]) === !["decode", "load"].includes(name), `${name}: the same, or not`);
  },

  "what is asked here is made again to the byte"({ full }) {
    for (const [name, { make, base64 }] of Object.entries(filters))
      equal(btoa(String.fromCharCode(...make(full).toBytes())), base64, name);
  },

  async "a stream becomes a filter"({ full }) {
    const streamed = await full.RibbonFilter.fromStream(new Blob(["a\nb\r\n\nc"]).stream());
    check(streamed.hasAll(["a", "b", "c"]) && streamed.info().count === 3, "a line is lost");
  },
};

/** Which cases need something that a runtime may lack. */
const NEEDS = {
  URL: ["URLs go where a browser goes"],
  Response: [
    "loading, from a response, a blob and bytes, with progress and an abort",
    "a feed's deltas make the filters that they must",
  ],
  TextDecoder: [],
  TextEncoder: ["passwords, plain and hashed"],
  crypto: [],
};

/**
 * Runs all cases of the given entries: `full` builds filters, and `reader` only asks. `first` is when the caller began
 * to import, by `performance.now`. `lacks` lists what the runtime is known to lack.
 */
export async function run({ golden, ...entries }, first, lacks = []) {
  entries.reader.decode(bytesOf(golden[0])).has("key-0");
  const ms = first === undefined ? undefined : performance.now() - first;
  for (const name of lacks) check(globalThis[name] === undefined, `there is ${name} after all`);
  const left = lacks.flatMap((name) => NEEDS[name]);
  const cases = Object.entries(entries).flatMap(([name, its]) =>
    Object.entries(asking)
      .filter(([what]) => !left.includes(what))
      .map(([what, test]) => [`${name}: ${what}`, () => test({ its, name, golden })]),
  );
  if (entries.full) for (const [what, test] of Object.entries(making)) cases.push([what, () => test(entries)]);
  const failed = [];
  for (const [name, test] of cases) {
    try {
      await test();
    } catch (error) {
      failed.push(`${name}: ${error?.stack ?? error}`);
    }
  }
  return { passed: cases.length - failed.length, failed, ms };
}
