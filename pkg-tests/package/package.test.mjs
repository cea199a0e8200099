/** The tarball as a package: its imports and its types. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { LIMITS } from "../../scripts/limits.mjs";
import { grow, weigh } from "../../scripts/weight.mjs";
import { folder } from "../helpers/installed.mjs";
import { listen } from "../helpers/server.mjs";
import { turn } from "../helpers/turn.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = (name) => join(root, "node_modules/.bin", name);
const node = (file, source) => {
  writeFileSync(join(folder, file), source);
  return execFileSync(process.execPath, [file], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
};

const USE = `
const filter = BloomFilter.from(["a", "b"]);
console.log(filter.has("a"), filter.has("c"), decode(filter.toBytes()).has("b"));
`;

test("works from import and from require, and so do the files for browsers", () => {
  const from = (file) => `"./node_modules/bloom-wasm/dist/${file}.js"`;
  for (const [file, names] of [
    ["use.mjs", 'import { BloomFilter, decode } from "bloom-wasm";'],
    ["use.cjs", 'const { BloomFilter, decode } = require("bloom-wasm");'],
    ["inline.mjs", `import { BloomFilter, decode } from ${from("bloom.inline")};`],
    ["reader.mjs", `import { BloomFilter } from ${from("bloom.inline")}; import { decode } from ${from("reader")};`],
  ])
    assert.equal(node(file, names + USE), "true false true\n", file);
});

test("the package has five paths, and no other file of it can be imported", () => {
  const home = join(folder, "node_modules/bloom-wasm");
  const { exports } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const paths = [".", "./slim", "./reader", "./bloom.wasm", "./package.json"];
  assert.deepEqual(Object.keys(exports), paths);
  const files = Object.values(exports).flatMap((its) => (typeof its === "string" ? [its] : Object.values(its)));
  for (const file of files) assert.ok(existsSync(join(home, file)), file);
  const resolved = `for (const path of ${JSON.stringify([...paths, "./dist/core.js", "./nano", "./reader/slim"])})
    try { console.log(import.meta.resolve("bloom-wasm" + path.slice(1)).split("/").at(-1)); } catch ({ code }) { console.log(code); }`;
  assert.deepEqual(node("paths.mjs", resolved).trim().split("\n"), [
    ...["bloom.node.js", "bloom.slim.js", "reader.js", "bloom.wasm", "package.json"],
    ...Array(3).fill("ERR_PACKAGE_PATH_NOT_EXPORTED"),
  ]);
});

const BOTH = `
import * as full from "bloom-wasm";
import * as reader from "bloom-wasm/reader";
const built = full.RibbonFilter.from(["a"]);
const [its, other] = [full.decode(built.toBytes()), reader.decode(built.toBytes())];
const thrown = [full, reader].map(({ decode }) => { try { decode(new Uint8Array(9)); } catch (error) { return error; } });
const isClass = [built, its, other].every((filter) => [full, reader].every(({ Filter }) => filter instanceof Filter));
const isError = thrown.every((error) => [full, reader].every(({ FilterError }) => error instanceof FilterError));
const ofBuilder = [built, its, other].map((filter) => filter instanceof full.RibbonFilter);
console.log(isClass, isError, ofBuilder.join(), other.has("a"));
`;

test("a filter and an error of either import are of the classes of both, in Node and in one bundle", async () => {
  const expected = "true true true,true,false true\n";
  assert.equal(node("both.mjs", BOTH), expected);
  const required = BOTH.replace(/import \* as (\w+) from (".*?")/g, "const $1 = require($2)");
  assert.equal(node("both.cjs", required), expected);
  const options = { bundle: true, format: "esm", platform: "browser", minify: true, logLevel: "error" };
  await build({ ...options, entryPoints: [join(folder, "both.mjs")], outfile: join(folder, "bundle.mjs") });
  assert.equal(node("bundled.mjs", 'import "./bundle.mjs";'), expected);
});

test("each relative link in the package's pages leads to a file of the package, and to a heading that exists", () => {
  const home = join(folder, "node_modules/bloom-wasm");
  const pages = readdirSync(home, { recursive: true }).filter((name) => name.endsWith(".md"));
  const prose = (page) => readFileSync(join(home, page), "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  // The anchors that GitHub and npm make for headings.
  const anchors = (page) =>
    [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );
  let links = 0;
  for (const page of pages) {
    for (const [, href] of prose(page).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)) {
      if (href === undefined || /^https?:/.test(href)) continue;
      const [path, anchor] = href.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      assert.ok(existsSync(join(home, target)), `${page}: ${href}`);
      const file = target.endsWith(".md") ? target : join(target, "README.md");
      if (anchor) assert.ok(anchors(file).includes(anchor), `${page}: ${href}`);
      links++;
    }
  }
  assert.ok(pages.length > 15 && links > 100, `${pages.length} pages, ${links} links`);
});

test("bloom-wasm/slim starts when told to, from the file beside it, a file, bytes or a module, and shares what has started", () => {
  const use = (how) => `
    import { decode, init, initSync } from "bloom-wasm/slim";
    import { readFileSync } from "node:fs";
    const file = new URL(import.meta.resolve("bloom-wasm/bloom.wasm"));
    const blob = readFileSync(${JSON.stringify(join(root, "tests/golden/ribbon.bloom"))});
    const code = (run) => { try { run(); } catch (error) { return error.code; } };
    console.log(code(() => decode(new Uint8Array(9))));
    console.log(await init(new Uint8Array(9)).catch((error) => error.code));
    ${how};
    await init();
    console.log(decode(blob).has("key-1"));
  `;
  const ways = [
    "await init()",
    "await init(file)",
    "await init(file.href)",
    "await init(readFileSync(file))",
    "initSync(readFileSync(file))",
    "initSync(new WebAssembly.Module(readFileSync(file)))",
  ];
  for (const way of ways.filter((_, i) => turn(i, 2)))
    assert.equal(node("slim.mjs", use(way)), "wasm_load\nwasm_load\ntrue\n", way);
  const wrong = `
    import { BloomFilter, init, initSync } from "bloom-wasm/slim";
    import { readFileSync } from "node:fs";
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
    try { initSync(bytes); } catch ({ code, message }) { console.log(code, message.includes("this is not bloom.wasm")); }
    try { BloomFilter.from(["a"]); } catch ({ code, message }) { console.log(code, message.includes("call init()")); }
    initSync(readFileSync(new URL(import.meta.resolve("bloom-wasm/bloom.wasm"))));
    console.log(BloomFilter.from(["a"]).has("a"));
  `;
  assert.equal(node("wrong.mjs", wrong), "wasm_load true\nwasm_load true\ntrue\n");
  const shared =
    'import { RibbonFilter } from "bloom-wasm"; import * as slim from "bloom-wasm/slim"; console.log(RibbonFilter === slim.RibbonFilter && slim.decode(RibbonFilter.from(["a"]).toBytes()).has("a"));';
  assert.equal(node("shared.mjs", shared), "true\n");
});

test("tsc --strict accepts the types from import and from require", () => {
  const source = `
    const filter: BloomFilter = BloomFilter.from(["a", new Uint8Array(2)], { fpr: 0.01, seed: 1n, createdAt: new Date(0) });
    const answers: Uint8Array = filter.hasMany(new Set(["a"]));
    const info: FilterInfo = filter.info();
    // @ts-expect-error: a number isn't a key
    filter.has(42);
    // @ts-expect-error: its kind is another
    if (filter.kind === "ribbon") throw new Error();
    load("a").then((some) => {
      // @ts-expect-error: it may be of any kind
      some.add("a");
      if (some.kind === "scalable") some.add("a");
    });
    const grows: Promise<ScalableBloomFilter> = ScalableBloomFilter.load(new Blob([filter.toBytes()]), { maxBytes: 9 });
    // @ts-expect-error: it may be of any kind
    const unsure: Promise<ScalableBloomFilter> = load("a");
    class Seen extends BloomFilter { twice() { return 2 * this.estimatedCount; } }
    const twice: [number, Promise<number>, "bloom"] =
      [Seen.decode(answers).twice(), Seen.load("a").then((seen) => seen.twice()), Seen.decode(answers).kind];
    // @ts-expect-error: read-only
    RibbonFilter.decode(answers).add("a");
    const counting = CountingBloomFilter.from(["a"], { counterBits: 8 });
    // @ts-expect-error: 4 or 8
    CountingBloomFilter.withCapacity(1, 0.1, { counterBits: 5 });
    const scalable = new ScalableBloomFilter({ initialCapacity: 10, fpr: 0.1, tightening: 0.8 });
    const left: boolean = counting.remove("a") && scalable.add("b") && counting.toBloom().has("c");
    // @ts-expect-error: only withCapacity makes one
    new CuckooFilter();
    const streaming: Promise<CuckooFilter> =
      CuckooFilter.fromStream(new Blob(["a"]).stream(), { signal: AbortSignal.timeout(1) });
    // As wrappers of load and decode are written.
    let once: ReturnType<typeof load> | undefined;
    const loadOnce = (url: string, options?: Parameters<typeof load>[1]) => (once ??= load(url, options));
    const decodeWith = (bytes: Uint8Array, options?: DecodeOptions) => decode(bytes, options);

    const some: AnyFilter = decode(answers);
    const kind: "bloom" | "counting" | "scalable" | "cuckoo" | "ribbon" | ForeignFormat = some.kind;
    const classes: AnyFilter["kind"] = some.info().kind; // each kind has a class
    switch (some.kind) {
      case "bloom": void (some satisfies BloomFilter); break;
      case "counting": void (some satisfies CountingBloomFilter); break;
      case "scalable": void (some satisfies ScalableBloomFilter); break;
      case "cuckoo": void (some satisfies CuckooFilter); break;
      case "ribbon": void (some satisfies RibbonFilter); break;
      // @ts-expect-error: no such kind
      case "blooms": break;
      default: void (some satisfies ForeignFilter);
    }
    if (some instanceof ScalableBloomFilter) some.add("a");
    else void (some.kind satisfies Exclude<typeof kind, "scalable">);
    // @ts-expect-error: only some filters of other software have keys that are numbers
    some.hasAny([1, "a"]);
    void (some instanceof ForeignFilter && some.has(42) && some.hasMany([1, 2n, new Uint8Array(1)]));
    const narrow: Filter = some;
    // @ts-expect-error: not here either
    narrow.has(42);
    const any: Filter<AnyKey> = some;
    const number: boolean = any.has(42n);
    const match: string | null = some.hasUrl("a.b") ? some.matchUrl(new URL("http://a.b")) : canonicalizeUrl("a.b");
    // @ts-expect-error: a password is typed
    some.hasPassword(new Uint8Array(1));
    const reasons: SkipReason[] = [];
    const profile: BuildOptions = { profile: "url", allow: ["a.b"], onSkip: ({ key, reason }) => { reasons.push(reason); }, onConflict: ({ key, removed }) => { if (removed) some.has(key); } };
    const passwords: boolean = RibbonFilter.from(urlExpressions("a.b"), { ...profile, profile: "password", lowercase: true }).hasPassword(match ?? "");
    // @ts-expect-error: no such profile
    RibbonFilter.from([], { profile: "urls" });
    const loading: Promise<Filter> = load(new URL("https://example.com"), { onProgress: ({ loaded, total }) => void [loaded, total] });
    { using scoped = filter.clone(); scoped.add("b"); }
    try { filter.union(filter); } catch (error) {
      if (error instanceof FilterError && error.code === "incompatible") throw new Error(String(loading));
      // @ts-expect-error: no such code
      if (error instanceof FilterError && error.code === "no_such_code") throw error;
    }

    const foreign: ForeignFilter<NumberKey> = ForeignFilter.from([5, 5n, new Uint8Array(8)], { format: "spark", keys: "long", layout: "v2", seed: 1, fpr: 0.01 });
    // @ts-expect-error: the keys are numbers
    ForeignFilter.from(["a"], { format: "spark", keys: "long" });
    // @ts-expect-error: its keys aren't numbers
    ForeignFilter.from([5], { format: "go-bloom" });
    const numbers: ForeignFilter<NumberKey>[] = [
      decode(answers, { format: "guava", funnel: "long" }), decode(answers, { format: "spark", keys: "long" }),
      decode(answers, { format: "parquet-sbbf", keys: "double", profile: "raw" }), decode(answers, { format: "pybloomfiltermmap3", keys: "int" }),
      decode(answers, { format: "xor", width: 8 }), ForeignFilter.decode(answers, { format: "binary-fuse" }),
    ];
    // @ts-expect-error: they are numbers
    numbers[0]!.has("5");
    const texts: ForeignFilter<Key>[] = [
      decode(answers, { format: "guava" }), decode(answers, { format: "spark", keys: "bytes" }), decode(answers, { format: "parquet-sbbf" }),
      decode(answers, { format: "flor" }), decode(answers, { format: "redis-bitmap", bits: 64, hashes: 3 }),
      decode("[]", { format: "npm-bloomfilter", hashes: 5 }), ForeignFilter.decode({}, { format: "npm-bloom-filters" }),
    ];
    // @ts-expect-error: the default is strings
    decode(answers, { format: "guava" }).has(5);
    load("a", { format: "xor", timeout: 5 }).then((its) => its.has(5n));
    // Only running tells.
    const either = (funnel: "utf8" | "int"): ForeignFilter<AnyKey> => decode(answers, { format: "guava", funnel });
    // @ts-expect-error: only JSON may be a text
    decode("[]", { format: "flor" });
    const original: Uint8Array = foreign.clone().toForeign();
    const parameters: string | number | undefined = foreign.info().foreign?.["width"];
    const filters: Filter[] = [original].map(decode);
    const given: [ForeignSource, ForeignOptions] = [{ format: "spark", keys: "bytes" }, { format: "redisbloom", expansion: 0, capacity: 10 }];
    void [decode(original, given[0]), ForeignFilter.from([], given[1])];
    // @ts-expect-error: no such format
    decode(original, { format: "java" });
    // @ts-expect-error: Guava's option is funnel
    decode(original, { format: "guava", keys: "bytes" });
    // @ts-expect-error: a bitmap doesn't say how many bits it has
    decode(original, { format: "redis-bitmap", hashes: 3 });
    // @ts-expect-error: not without a format
    load("a", { funnel: "utf8" });
    // @ts-expect-error: only ForeignFilter reads the bytes of other software
    BloomFilter.load("a", { format: "guava" });
    // @ts-expect-error: a format that can only be read
    ForeignFilter.from(["a"], { format: "xor" });
    // @ts-expect-error: it can't be changed
    foreign.add("a");
    // @ts-expect-error: the class has no public constructor
    new Filter();

    const cache: FeedCache = { get: async (name) => new Uint8Array(name.length), put: async () => {}, delete: async () => {} };
    const opening: Promise<Feed> = openFeed(new URL("https://a.b/feed.json"), { publicKey: ["a"], cache, maxAge: 5, onProgress: ({ loaded, total }) => void (loaded < total) });
    opening.then(async (feed) => {
      const newer: boolean = await feed.update({ signal: AbortSignal.timeout(1) });
      const stop: () => void = feed.watch({ every: 5000, onUpdate: ({ filter }) => void filter.hasUrl("a.b"), onError: console.error });
      const its: [Filter, number, Date, boolean, FeedInfo, FilterError | undefined] = [feed.filter, feed.generation, feed.createdAt, feed.stale, feed.info(), feed.cacheError];
      { using scoped = feed; void [scoped, newer, its, stop()]; }
      // @ts-expect-error: it is replaced, not set
      feed.filter = some;
    });
    // @ts-expect-error: null says that it is unsigned
    openFeed("a", {});
    // @ts-expect-error: openFeed opens one
    new Feed();
    const sharded: Promise<ShardedFilter> = openSharded("https://a.b/shards.json", { publicKey: null, cache, maxMemory: 1e6 });
    sharded.then(async (filter) => {
      const { signal } = new AbortController();
      const answers: [boolean, string | null, boolean] =
        [await filter.has(new Uint8Array(2), { signal }), await filter.matchUrl("a.b"), await filter.hasPassword("a", { signal })];
      const many: Uint8Array[] = [await filter.hasMany(["a"], { concurrency: 2 }), await filter.hasPasswords(new Set(["a"]), { signal })];
      // @ts-expect-error: passwords are strings
      filter.hasPasswords([new Uint8Array(1)]);
      const its: [boolean, ShardedInfo, number, Date, boolean, FilterError | undefined] =
        [await filter.update(), filter.info(), filter.generation, filter.createdAt, filter.stale, filter.cacheError];
      { using scoped = filter; void [scoped, answers, many, its]; }
      // @ts-expect-error: its keys are those of our own filters
      filter.has(5n);
    });
    // @ts-expect-error: openSharded opens one
    new ShardedFilter();
  `;
  const names =
    "BloomFilter, CountingBloomFilter, CuckooFilter, Feed, Filter, FilterError, ForeignFilter, RibbonFilter, ScalableBloomFilter, ShardedFilter, canonicalizeUrl, decode, load, openFeed, openSharded, urlExpressions";
  const imports = `
    import { ${names}, type AnyFilter, type AnyKey, type BuildOptions, type DecodeOptions, type FeedCache, type FeedInfo, type FilterInfo, type ForeignFormat, type ForeignOptions, type ForeignSource, type Key, type NumberKey, type ShardedInfo, type SkipReason } from "bloom-wasm";
    import * as reader from "bloom-wasm/reader";
    import wasm from "bloom-wasm/bloom.wasm";
    import { init, initSync, decode as slim, BloomFilter as SlimBloomFilter } from "bloom-wasm/slim";
    const starting: Promise<void> = init(new URL("http://a.b"));
    const same: [typeof decode, typeof FilterError, typeof Filter, typeof openFeed, typeof openSharded, typeof BloomFilter] =
      [slim, reader.FilterError, reader.Filter, reader.openFeed, reader.openSharded, SlimBloomFilter];
    initSync(wasm satisfies WebAssembly.Module);
    // @ts-expect-error: it is compiled
    wasm.byteLength;
    // A program that only asks accepts filters of both entries.
    const ask = (its: reader.Filter): boolean => its.has("a") && its.hasUrl("a.b") && its.info().keyed && its.estimatedFpr > 0;
    const asked: reader.Filter = reader.decode(new Uint8Array(1), { secret: new Uint8Array(16) }).clone();
    const asks: boolean[] = [asked, BloomFilter.from(["a"]), decode(new Uint8Array(1))].map(ask);
    const loaded: Promise<Filter> = reader.load("a", { maxBytes: 5 });
    // @ts-expect-error: its kind tells no class here
    if (asked.kind === "scalable") asked.add("a");
    // @ts-expect-error: the reader has no builders
    reader.BloomFilter.from(["a"]);
    // @ts-expect-error: they have no keys that are numbers
    asked.has(42n);
    // @ts-expect-error: it reads no bytes of other software
    reader.decode(new Uint8Array(1), { format: "guava" });
    // @ts-expect-error: it doesn't have the formulas either
    reader.optimal(1, 0.1);
    // @ts-expect-error: it makes no filters
    new reader.Filter();
  `;
  for (const file of ["types.mts", "types.cts"]) writeFileSync(join(folder, file), imports + source);
  // With module node16, CommonJS can't import ESM.
  const ways = [
    ["nodenext", "types.mts", "types.cts"],
    ["node16", "types.mts"],
    ["esnext", "types.mts"],
  ];
  for (const [module, ...files] of ways.filter((_, i) => turn(i, 3))) {
    const resolution = module === "esnext" ? ["--moduleResolution", "bundler"] : [];
    const args = [
      "--strict",
      "--noEmit",
      "--target",
      "es2022",
      "--lib",
      "es2022,dom",
      "--types",
      "",
      "--module",
      module,
      ...resolution,
      ...files,
    ];
    const { status, stdout } = spawnSync(bin("tsc"), args, { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, `${module} ${files}: ${stdout}`);
  }
});

test("each source map leads to the source, also after an import", () => {
  const dist = join(folder, "node_modules/bloom-wasm/dist");
  const scripts = readdirSync(dist).filter((name) => name.endsWith(".js") && name !== "tool.js");
  let found = 0;
  for (const script of scripts) {
    const payload = JSON.parse(readFileSync(join(dist, `${script}.map`), "utf8"));
    const lines = readFileSync(join(dist, script), "utf8").trimEnd().split("\n");
    assert.equal(lines.pop(), `//# sourceMappingURL=${script}.map`);
    const map = new SourceMap(payload);
    const sources = new Map(payload.sources.map((path, i) => [path, payload.sourcesContent[i].split("\n")]));
    // No path of the machine that built it. The build itself writes `start:`.
    for (const path of sources.keys()) assert.match(path, /^(\.\.\/(js|target\/npm\/bloom)\/[\w./-]+|start:\w+)$/);
    for (const [at, line] of lines.entries()) {
      for (const { 0: all, 1: word, index } of line.matchAll(/\b(?:function\*?|var|let|const) (\w+)/g)) {
        if (word === "bloom_wasm_bg_default") continue; // the wasm in base64, which has no source
        const { originalSource, originalLine, originalColumn } = map.findEntry(at, index + all.length - word.length);
        const text = sources.get(originalSource)?.[originalLine].slice(originalColumn);
        // esbuild adds a number to a name that two files have.
        assert.ok(text?.startsWith(word.replace(/\d+$/, "")), `${script}: ${word} is ${text} of ${originalSource}`);
        found++;
      }
    }
  }
  assert.ok(found > 900, `${found} names`);
  assert.deepEqual(
    readdirSync(dist).filter((name) => name.endsWith(".map")),
    scripts.map((name) => `${name}.map`),
  );

  writeFileSync(join(folder, "mapped.mjs"), 'import { decode } from "bloom-wasm/reader"; decode(new Uint8Array(3));');
  const options = { cwd: folder, encoding: "utf8" };
  const { stderr } = spawnSync(process.execPath, ["--enable-source-maps", "mapped.mjs"], options);
  const [, line] = /at readFilter .*\bblob\.ts:(\d+):/.exec(stderr);
  assert.match(readFileSync(join(root, "js/plain/blob.ts"), "utf8").split("\n")[line - 1], /\breadBlob\(/);
});

test("an uncaught error takes at most 30 lines, with the user's own among them", async (context) => {
  const server = await listen((_, response) => response.writeHead(404, { "x-one": "1" }).end("not here"));
  context.after(server.close);
  const url = server.at("list.bloom");
  const all = 'import * as all from "bloom-wasm"; const { RibbonFilter, decode } = all;\n';
  const sources = [
    ...["bloom-wasm", "bloom-wasm/reader"].map((entry) => `import { load } from "${entry}";\nawait load("${url}");`),
    `${all}RibbonFilter.from(["a"], { fpr: 2 });`,
    `${all}decode(new Uint8Array(9));`,
  ];
  for (const source of sources.filter((_, i) => turn(i + 1, 2))) {
    const script = join(folder, "uncaught.mjs");
    writeFileSync(script, source);
    const child = spawn(process.execPath, [script], { stdio: ["ignore", "ignore", "pipe"] });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    assert.equal(code, 1);
    assert.match(stderr, /^FilterError: (http:.* answered with status 404|fpr must be|this is not a bloom-wasm blob)/m);
    assert.ok(stderr.split("\n").length <= 30 && stderr.length < 3000, stderr);
    assert.match(stderr, /^ +at .*uncaught\.mjs:2/m);
  }
});

test("Vite gives the address of bloom-wasm/bloom.wasm", async () => {
  const script = 'import url from "bloom-wasm/bloom.wasm?url"; document.title = url;';
  const { files } = await grow(join(folder, "address"), script);
  const { fileName } = files.find(({ fileName }) => fileName.endsWith(".wasm"));
  assert.ok(files.some(({ file }) => typeof file === "string" && file.includes(`/${fileName}`)));
});

test("an export of bloom-wasm that needs no WebAssembly brings none, with esbuild and Vite", async () => {
  const list = (entry) =>
    node("list.mjs", `console.log(Object.keys(await import("${entry}")).join());`).trim().split(",");
  const ofReader = list("bloom-wasm/reader");
  const bundled = async (entry, name) => {
    const contents = `import { ${name} } from "${entry}"; console.log(${name});`;
    const stdin = { contents, resolveDir: folder };
    const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", write: false });
    return outputFiles[0].text;
  };
  const size = (text) => gzipSync(text, { level: 9 }).length;
  const plain = [];
  for (const name of list("bloom-wasm")) {
    const text = await bundled("bloom-wasm", name);
    if (/AGFzbQ/.test(text)) continue;
    plain.push(name);
    const most = size(await bundled("bloom-wasm/reader", name));
    assert.ok(size(text) <= 1.03 * most, `${name}: ${size(text)} bytes, and ${most} from the reader`);
  }
  // `load` and `decode` read filters of other software, too.
  assert.deepEqual(
    plain,
    ofReader.filter((name) => !["decode", "load"].includes(name)),
  );
  for (const name of ["FilterError", "canonicalizeUrl"]) {
    const script = `import { ${name} } from "bloom-wasm"; document.title = ${name}.name;`;
    const { grown } = await grow(join(folder, "one"), script);
    assert.ok(grown < 8000, `${name}: ${grown} bytes`);
  }
});

test("a Vite build of a small app grows by the documented size, and only by what it imports", async () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const said = (entry) => Number(new RegExp(`^\\| \`${entry}\` \\|.*?\\b([0-9]+) kB`, "m").exec(readme)?.[1]);
  for (const [entry, most] of Object.entries(LIMITS.vite)) {
    const { grown, scripts, wasm } = await weigh(join(folder, "small"), entry);
    console.log(`a Vite build grows by ${grown} bytes with ${entry}, gzipped, of ${most} allowed`);
    assert.ok(grown <= most, `${entry}: ${grown} bytes`);
    if (!entry.endsWith("slim")) assert.ok(Math.abs(said(entry) - grown / 1000) < 1, `${entry} in README.md`);
    // Neither the formulas nor feeds nor sharded filters are imported.
    assert.doesNotMatch(scripts, /countFor|openFeed|openSharded|EdDSA|signatures/);
    // The reader brings no WebAssembly, neither in a script nor in a file.
    assert.equal(/WebAssembly\.|AGFzbQ/.test(scripts) || wasm > 0, entry !== "bloom-wasm/reader", entry);
  }
});
