/**
 * Two programs: one uses every export of "bloom-wasm", the other every export of "bloom-wasm/reader". Each is given the
 * entry and returns what it would print, which must be the same in every runtime.
 */

const encode = (text) => new TextEncoder().encode(text);

/** The entry, and the names of the exports that were not used. */
function watched(entry) {
  const unused = new Set(Object.keys(entry));
  const api = new Proxy(entry, {
    get(target, name) {
      unused.delete(name);
      return target[name];
    },
  });
  return [api, unused];
}

function codeOf(run) {
  try {
    return run() ?? "nothing was thrown";
  } catch (error) {
    return `${error.name} ${error.code}: ${error.message}`;
  }
}

/** Asks a filter every question. */
function ask(filter, line) {
  const keys = Array.from({ length: 300 }, (_, i) => `key-${i * 7}`);
  const { profile } = filter.info();
  line("info", filter.kind, filter.info(), filter.toJSON(), filter.estimatedFpr, filter.estimatedCount, String(filter));
  // These can't be keys of a filter of URLs, which says so.
  for (const run of [
    () => filter.has("key-1"),
    () => filter.hasAny(keys),
    () => filter.hasAll(keys),
    () => filter.hasMany(keys),
    () => filter.hasLines(encode(keys.join("\r\n"))),
  ])
    line("answer", codeOf(run));
  line(
    "url",
    codeOf(() => filter.hasUrl("http://user@www.EVIL.example:80/%61?b#c")),
    codeOf(() => filter.matchUrl("b\u00fccher.example/\u00e9")),
  );
  line(
    "password",
    codeOf(() => filter.hasPassword("Passwo\u0308rd")),
    profile,
  );
  const copy = filter.clone();
  line("copy", copy.equals(filter), copy.toBytes());
  copy.free();
  line(
    "freed",
    codeOf(() => copy.has("a")),
  );
}

/** Lines of output, and a function that prints one, with numbers rounded to `digits` digits. */
function printer(digits = 17) {
  const lines = [];
  const plain = (_, value) => {
    if (typeof value === "number") return Number(value.toPrecision(digits));
    return value instanceof Uint8Array ? [...value] : value;
  };
  const print = (...values) => lines.push(JSON.stringify(values, plain));
  return [lines, print];
}

/** The last digits of logarithms in JavaScript are the runtime's own. */
const DIGITS = 9;

/** Every export of "bloom-wasm/reader", over blobs. */
export async function reader(entry, blobs) {
  const [api, unused] = watched(entry);
  const [lines, line] = printer(DIGITS);
  await read(api, blobs, line);
  line("unused", [...unused]);
  return lines;
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/** A `fetch` for a host of files. It damages a file that is named by its hash at the first request. */
function host(payload, files) {
  const times = { createdAt: 1.7e12, expires: 8.64e15 };
  const head = { version: 1, feedId: "0".repeat(32), generation: 1, ...times, profile: "raw", fpr: 0.01, seed: "0" };
  const encoded = btoa(JSON.stringify({ ...head, count: 1, ...payload })).replace(/=+$/, "");
  const manifest = JSON.stringify({ payload: encoded, signatures: [] });
  const sent = new Set();
  return async (url) => {
    const name = url.split("/").at(-1);
    if (name.endsWith(".json")) return new Response(manifest);
    const answer = sent.has(name) ? files[name] : files[name].map((byte) => byte ^ 1);
    sent.add(name);
    return new Response(answer);
  };
}

/** An unsigned feed of one file. */
function feed() {
  const sha256 = "8933652fb4ed8b461005a29ced79aad50628f1274ba8c3a5e2c74059d78f2871";
  const bytes = bytesOf("tUJMTQEBAAAAAAAAAAAAAAARAAAACvCIAAIJYGI=");
  return host({ files: [{ kind: "base", bytes: bytes.length, sha256 }] }, { [sha256]: bytes });
}

/** An unsigned sharded filter of one shard. */
function shards() {
  const [page, shard] = [
    "05a8a16b5fefa45d27c8ef7baec9515c10bb47ae8fdaf873c7f51eef4639b3cc",
    "4314d516edc55e43b5c4d89bef90df6fc787e1cd027c190172a07d1155be8c43",
  ];
  return host(
    { shards: 1, bytes: 46, pages: [page] },
    {
      [page]: bytesOf("QxTVFu3FXkO1xNib75Dfb8eH4c0CfBkBcqB9EVW+jEMuAAAAAQAAAA=="),
      [shard]: bytesOf("tUJMTQEFAAAAAAAAAAAAAAABAAAAexSuR+F6hD8AAQgAAAAAAAAAAAEAKxspBw=="),
    },
  );
}

async function read(api, blobs, line) {
  const { Feed, Filter, FilterError, ShardedFilter, canonicalizeUrl, decode, load, openFeed, openSharded } = api;
  const { fileCache, urlExpressions } = api;
  for (const bytes of blobs) {
    const refused = codeOf(() => void decode(bytes));
    if (refused !== "nothing was thrown") {
      line("refused", refused);
      continue;
    }
    ask(decode(bytes), line);
    const loaded = await load(new Response(bytes));
    line("loaded", loaded instanceof Filter, decode(bytes).equals(loaded), loaded.toBytes());
  }
  const url = "https://lists.example/feed.json";
  const opened = await openFeed(url, { publicKey: null, cache: null, fetch: feed() });
  const { estimatedFpr, ...info } = opened.info();
  line("feed", opened instanceof Feed, opened.filter instanceof Filter, opened.filter.hasMany(["a", "b"]), info);
  // Feeds are in plain JavaScript, whichever the entry.
  line(Number(estimatedFpr.toPrecision(DIGITS)), await opened.update());
  opened.close();
  line("closed", opened.filter.has("a"), await opened.update().catch(({ code }) => code));
  // Some runtimes have files, and others report that they don't.
  line("files", /^(function|FilterError cache: .*)$/.test(codeOf(() => typeof fileCache("kept").get)));
  await openShards(openSharded, ShardedFilter, line);
  line(
    "errors",
    codeOf(() => decode(encode("<!doctype html>"))),
    codeOf(() => decode(5)),
    new FilterError("http", "mine").code,
  );
  for (const url of [
    "HTTP://B\u00fccher.example/%2e%2e/%2561?#x",
    "//a.b.c/1?2",
    "http://3279880203/",
    "mailto:a@b.c",
    "a b.example",
  ]) {
    line("canonical", canonicalizeUrl(url), urlExpressions(url));
  }
}

async function openShards(openSharded, ShardedFilter, line) {
  const manifest = "https://lists.example/shards.json";
  const sharded = await openSharded(manifest, { publicKey: null, cache: null, fetch: shards() });
  line("sharded", sharded instanceof ShardedFilter, await sharded.has("a"), await sharded.hasMany(["a", "b"]));
  line(sharded.info(), await sharded.update(), await sharded.hasUrl("a.b").catch(({ code }) => code));
  sharded.close();
  line("closed", await sharded.has("a").catch(({ code }) => code));
}

/** Every export of "bloom-wasm". */
export async function everything(entry) {
  const [api, unused] = watched(entry);
  const { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter } = api;
  const [lines, line] = printer();
  const keys = Array.from({ length: 500 }, (_, i) => (i % 9 ? `key-${i}` : encode(`\u043a\u043b\u044e\u0447-${i}`)));
  const blobs = [];
  for (const Class of [BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter]) {
    const filter = Class.from(keys, { fpr: 0.01, seed: 7n, name: "gr\u00f6\u00dfer", createdAt: new Date(1.7e12) });
    const streamed = await Class.fromStream(new Blob(["a\nb\r\n\nc"]).stream(), { fpr: 1e-4 });
    line(
      "class",
      streamed.hasAll(["a", "b", "c"]),
      streamed instanceof api.Filter,
      Class.decode(filter.toBytes()).equals(filter),
    );
    blobs.push(filter.toBytes(), streamed.toBytes());
    if (filter.add)
      line(
        "add",
        filter.add("new"),
        filter.add("new"),
        filter.addMany(["new", "b", "c"]),
        filter.addLines(encode("c\n\nd")),
      );
    if (filter.remove) line("remove", filter.remove("b"), filter.remove("b"), filter.has("b"));
    if (filter.count) line("count", filter.count("c"), filter.count("e"), filter.toBloom().toBytes());
    if (filter.locations) line("locations", filter.locations("a"));
    if (filter.union) {
      const other = filter.clone();
      other.addMany(["x", "y"]);
      filter.union(other);
      line("union", filter.has("x"), (filter.intersect(other), filter.equals(other)));
    }
    blobs.push(filter.toBytes());
    if (filter.clear) line("clear", (filter.clear(), filter.estimatedCount));
  }
  line(
    "empty",
    new BloomFilter(100, 3).toBytes(),
    BloomFilter.withCapacity(9, 0.1).info(),
    CountingBloomFilter.withCapacity(9, 0.1, { counterBits: 8 }).info(),
  );
  line(
    "empty",
    new ScalableBloomFilter({ initialCapacity: 9 }).info(),
    CuckooFilter.withCapacity(9, 0.1).info(),
    new CountingBloomFilter(9, 2).info(),
  );
  const told = [];
  const onSkip = (skipped) => told.push(skipped);
  const onConflict = (conflict) => told.push(conflict);
  const bad = [
    "EVIL.example",
    "||worse.example^",
    "0.0.0.0 a.example localhost",
    "# none",
    "*.b",
    "http://b\u00fccher.example/\u00e9",
    "b.example/c?d",
  ];
  const url = RibbonFilter.from(bad, {
    profile: "url",
    fpr: 0.5,
    allow: ["good.example", "sub.a.example", "evil.example"],
    allowWins: true,
    onSkip,
    onConflict,
  });
  const password = RibbonFilter.from(["Passw\u00f6rd", "short"], {
    profile: "password",
    lowercase: true,
    minLength: 6,
    onSkip,
  });
  const hashes = ["E38AD214943DAAD1D64C102FAEC29DE4AFE9DA3D:5", "E38AD214943DAAD1D64C102FAEC29DE4AFE9DA3E:1", "no"];
  const hashed = RibbonFilter.from(hashes, { profile: "password", sha1: true, minCount: 2, onSkip });
  blobs.push(url.toBytes(), password.toBytes(), hashed.toBytes());
  const foreign = api.ForeignFilter.from(["a", "\ud800"], { format: "guava", funnel: "unencoded-chars" });
  line("foreign", foreign.toForeign(), api.decode(foreign.toForeign(), { format: "guava" }).info().foreign);
  const numbers = api.ForeignFilter.from([1, -(2n ** 63n)], { format: "spark", keys: "long" });
  line("numbers", numbers.has(-(2n ** 63n)), numbers.hasMany([1n, 2]), numbers.hasLines(encode("1\n\n2")));
  blobs.push(foreign.toBytes());
  line("told", told);
  line(
    "formulas",
    api.optimal(1_000_000, 0.01),
    api.fprFor(100, 200, 1),
    api.countFor(9_585_059, 0.01),
    codeOf(() => api.optimal(1, 2)),
  );
  line(
    "misuse",
    codeOf(() => BloomFilter.from([5])),
    codeOf(() => new CuckooFilter()),
    codeOf(() => RibbonFilter.from([], { profile: "urls" })),
  );
  await read(api, blobs, line);
  line("unused", [...unused]);
  return { lines, blobs };
}
