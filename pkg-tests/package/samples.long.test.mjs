/**
 * Every code sample in the documentation runs: here, unchanged, or in the test that ELSEWHERE names. For samples that
 * can't run, CANNOT says why.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { root } from "../../scripts/setup.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { shell } from "../interop/docs.mjs";

const { BloomFilter, ForeignFilter, RibbonFilter, ScalableBloomFilter, decode } = await installed();

const pages = (at) => readdirSync(join(root, at)).filter((name) => name.endsWith(".md"));

/** All samples, by file, the heading above, and language; several of one language under a heading are in order. */
const samples = [
  ...pages("."),
  ...pages("docs").map((name) => `docs/${name}`),
  ...["extension", "lists", "signup", "spark", "worker"].map((name) => `examples/${name}/README.md`),
].flatMap((file) => {
  let heading;
  const parts = readFileSync(join(root, file), "utf8").matchAll(/^```(\w*)\n([\s\S]*?)^```$|^#+ (.*)$/gm);
  return [...parts].flatMap(([, language, code, title]) => {
    if (code !== undefined) return { file, heading, language, code, taken: false };
    heading = title;
    return [];
  });
});

/** The next sample of a language under a heading. */
function take(file, heading, language) {
  const found = samples.find(
    (it) => !it.taken && it.file === file && it.heading === heading && it.language === language,
  );
  assert.ok(found, `${file} has no (further) ${language} under "${heading}"`);
  found.taken = true;
  return found.code;
}

/** Where other samples run. */
const ELSEWHERE = [
  [/^README\.md: In Rust/, "src/lib.rs"],
  [/^README\.md: Try it from a clone/, "pkg-tests/package/start.test.mjs"],
  [/^README\.md: (In a page without|With a bundler)/, "pkg-tests/package/readme.long.test.mjs"],
  [/^CONTRIBUTING\.md: Before the first/, "pkg-tests/package/releasable.test.mjs"],
  [/^docs\/skip-what-was-seen\.md/, "pkg-tests/package/seen.long.test.mjs"],
  [/^docs\/refuse-passwords\.md/, "pkg-tests/runtimes/passwords.long.test.mjs"],
  [/^docs\/block-pages\.md/, "pkg-tests/runtimes/block-pages.long.test.mjs"],
  [/^docs\/edge\.md: A thousand redirects/, "pkg-tests/runtimes/next.long.test.mjs"],
  [/^docs\/edge\.md: A feed/, "pkg-tests/runtimes/worker.long.test.mjs"],
  [/^docs\/screen-links\.md: In a Worker/, "pkg-tests/runtimes/edge.long.test.mjs"],
  [/^docs\/bring-a-filter\.md: (Spark|Redis)/, "pkg-tests/interop/bring-a-filter.long.test.mjs"],
  [/^docs\/javascript\.md: From a CDN/, "pkg-tests/runtimes/cdn.long.test.mjs"],
  [/^docs\/hosting\.md: S3 and R2: yaml/, "pkg-tests/feeds/hosting.long.test.mjs"],
  [/^examples\/extension\/README\.md: Stop the next/, "pkg-tests/runtimes/rules.long.test.mjs"],
  [/^examples\/extension\/README\.md: Try it/, "pkg-tests/runtimes/extension.long.test.mjs"],
  [/^examples\/lists\/README\.md/, "pkg-tests/feeds/lists-example.long.test.mjs"],
  [/^examples\/signup\/README\.md/, "pkg-tests/runtimes/signup.long.test.mjs"],
  [/^examples\/spark\/README\.md: A sharded/, "pkg-tests/sharded/spark.long.test.mjs"],
  [/^examples\/worker\/README\.md: (How it follows|Try it: sh: curl)/, "pkg-tests/runtimes/worker.long.test.mjs"],
];

/** Samples that can't run in a test, and why. */
const CANNOT = [
  [/^FEED-FORMAT\.md: The manifest/, "it shows a form, with `...` instead of the data"],
  [/^examples\/extension\/README\.md: Use your own list: sh: npm/, "it installs from npm"],
  [/^examples\/worker\/README\.md: Try it: sh: npm/, "it installs Wrangler from npm; the test runs Miniflare"],
];

/** A new folder beside the installed package, with these files: texts, bytes, or the lines of a list. */
function work(name, files = {}) {
  const cwd = mkdtempSync(join(folder, `${name}-`));
  for (const [path, its] of Object.entries(files))
    writeFileSync(join(cwd, path), Array.isArray(its) ? its.map((line) => `${line}\n`).join("") : its);
  return cwd;
}

const README = "README.md";
const [BRINGING, HOSTING, JAVASCRIPT, KEYED, LISTS, PUBLISH, REFUSE, TOOL] = [
  ...["bring-a-filter", "hosting", "javascript", "keyed", "lists", "publish-a-list", "refuse-passwords", "tool"],
].map((name) => `docs/${name}.md`);

let modules = 0;

/** Runs JavaScript as a module, with some global names, and maybe with further exports. */
async function js(code, cwd, given = {}, after = "") {
  globalThis.given = given;
  const file = join(cwd, `sample-${modules++}.mjs`);
  writeFileSync(file, `const { ${Object.keys(given).join(", ")} } = globalThis.given;\n${code}\n${after}\n`);
  return import(pathToFileURL(file).href);
}

/** The values of a sample that is a list of expressions. */
async function valuesOf(code, given) {
  const { values } = await js(`export const values = [${code.replace(/;.*$/gm, ",")}];`, work("values"), given);
  return values;
}

/** Serves every fetch from a folder, by the last part of its URL. */
function serve(context, cwd) {
  return context.mock.method(globalThis, "fetch", async (input) => {
    const name = basename(new URL(input.url ?? input).pathname);
    return new Response(readFileSync(join(cwd, name)));
  });
}

const opened = (cwd, name, options) => decode(readFileSync(join(cwd, name)), options);
const sha1 = (password) => createHash("sha1").update(password).digest("hex").toUpperCase();

test("README: the first example", async (context) => {
  const [ask, build] = [take(README, "bloom-wasm", "js"), take(README, "bloom-wasm", "sh")];
  const cwd = work("first", { "urls.txt": ["evil.example", "bad.example/page"] });
  serve(context, cwd);
  shell(build, cwd);
  for (const [href, expected] of [
    ["https://www.evil.example/login", 1],
    ["https://good.example/", 0],
    ["https://bad.example/page?query", 1],
    ["https://bad.example/page/below", 0],
  ]) {
    const warn = context.mock.fn();
    await js(ask, cwd, { location: { href }, warn });
    assert.equal(warn.mock.callCount(), expected, href);
  }
});

test("README: from a list to an answer", () => {
  const [install, ...commands] = take(README, "From a list to an answer", "sh").trim().split("\n");
  assert.equal(install, "npm install bloom-wasm"); // a version is on npm only once it is released
  assert.match(shell(commands.join("\n"), work("answer", { "list.txt": ["id-4710", "id-4711"] })), /^id-4711$/m);
});

test("docs/tool.md: the first command", () => {
  const [npx, cargo] = take(TOOL, "The command line tool", "sh").trim().split("\n");
  assert.match(cargo, /^cargo install bloom-wasm-cli/);
  const cwd = work("tool", { "list.txt": ["a"] });
  shell(npx, cwd);
  assert.ok(opened(cwd, "list.bloom").has("a"));
});

test("building, by the tool and in JavaScript", async () => {
  const many = Array.from({ length: 1000 }, (_, i) => `id-${i}`);
  const cwd = work("building", {
    "bad.txt": ["id-4711", ...many],
    "more.txt.gz": gzipSync("id-5000\nid-4711\n"),
    "huge.gz": gzipSync(many.join("\n")),
  });
  const printed = shell(take(TOOL, "Build a filter", "sh"), cwd);
  assert.ok(opened(cwd, "bad.bloom").hasAll([...many, "id-4711", "id-5000"]));
  assert.equal(opened(cwd, "huge.bloom").info().count, 1000);
  // The output of info, check and verify.
  for (const said of [/bad ids/, /^id-4711$/m, /1,001 keys, 0 false negatives/]) assert.match(printed, said);

  const told = [];
  const given = {
    urls: ["https://evil.example/", "mailto:nobody", "both.example"],
    popularHosts: ["good.example", "both.example"],
    writeFile: (name, bytes) => writeFileSync(join(cwd, name), bytes),
    response: new Response(many.join("\n")),
    signal: AbortSignal.timeout(600_000),
    onProgress() {},
    id: "new",
    handle: (id) => told.push(id),
    console: { warn: (...words) => told.push(words.join(" ")) },
  };
  const { filter, large } = await js(take(JAVASCRIPT, "Build", "js"), cwd, given, "export { filter, large };");
  assert.deepEqual([filter.hasUrl("http://evil.example/x"), filter.hasUrl("http://good.example/")], [true, false]);
  assert.ok(opened(cwd, "phishing.bloom").equals(filter));
  assert.ok(large.hasAll(many));
  const expected = ["not a key: mailto:nobody not_checkable", "listed and allowed: both.example/ false", "new"];
  assert.deepEqual(told.sort(), expected.sort());
});

test("docs/tool.md: filtering lines, and parts", () => {
  const cwd = work("lines", { "urls.txt": ["a", "new", "b"], "north.txt": ["n", "m"], "south.txt": ["m", "s"] });
  shell(`printf 'a\\nb\\n' | bloom-wasm build -o seen.bloom\n${take(TOOL, "Filter lines", "sh")}`, cwd);
  assert.equal(readFileSync(join(cwd, "new.txt"), "utf8"), "new\n");
  shell(take(TOOL, "Memory, and filters built in parts", "sh"), cwd);
  assert.ok(opened(cwd, "whole.bloom").hasAll(["n", "m", "s"]));
});

test("docs/lists.md: lists of URLs, of passwords, and with tags", async () => {
  const cwd = work("list", {
    "urls.txt": ["evil.example", "*.worse.example"],
    "popular.txt": ["a.example"],
    "common.txt": ["password1", "123456"],
    "pwned-passwords.txt": [`${sha1("hunter2")}:10`, `${sha1("rare")}:9`],
    "phishing.txt": ["evil.example"],
    "malware.txt": ["worse.example", "evil.example/a/"],
  });
  shell(take(LISTS, "Lists of URLs", "sh"), cwd);
  const urls = ["http://evil.example/", "http://worse.example/", "http://a.example/"];
  assert.deepEqual(
    urls.map((url) => opened(cwd, "urls.bloom").hasUrl(url)),
    [true, true, false],
  );
  const commands = take(LISTS, "Lists of passwords", "sh").trim().split("\n");
  for (const [at, passwords] of [
    ["password1", "123456"],
    ["hunter2", "rare"],
  ].entries()) {
    shell(commands[at], cwd);
    const filter = opened(cwd, "passwords.bloom");
    assert.deepEqual(
      passwords.map((password) => filter.hasPassword(password)),
      [true, false],
    );
  }
  assert.equal(commands.length, 2);
  const heading = "Tags: which list it is on";
  assert.match(shell(take(LISTS, heading, "sh"), cwd), /^http:\/\/evil\.example\/\tphishing$/m);
  const tags = [
    { name: "phishing", count: 1 },
    { name: "malware", count: 2 },
  ];
  const filter = opened(cwd, "dangers.bloom");
  assert.deepEqual(await valuesOf(take(LISTS, heading, "js"), { filter }), [["phishing"], ["phishing"], tags]);
});

test("docs/lists.md: checking URLs and passwords", async (context) => {
  const filter = RibbonFilter.from(["evil.example"], { profile: "url" });
  assert.deepEqual(await valuesOf(take(LISTS, "Check URLs", "js"), { filter }), [true, true, "evil.example/"]);
  const code = take(LISTS, "Check passwords", "js");
  for (const [value, refusals] of Object.entries({ password1: 1, "correct horse battery staple": 0 })) {
    const refuse = context.mock.fn();
    const filter = RibbonFilter.from(["password1"], { profile: "password" });
    await js(code, work("checking"), { filter, input: { value }, refuse });
    assert.equal(refuse.mock.callCount(), refusals, value);
  }
});

test("docs/javascript.md: loading, and asking for keys", async (context) => {
  const [loading, growing, retrying] = [1, 2, 3].map(() => take(JAVASCRIPT, "Load", "js"));
  const keys = ["a", "b"];
  const bytes = BloomFilter.from(keys).toBytes();
  const cwd = work("asking", { "keys.bloom": bytes });
  serve(context, cwd);
  const hash = createHash("sha256").update(bytes).digest("base64");
  const import_ = 'import { load } from "bloom-wasm/reader";\n';
  const url = "https://example.com/keys.bloom";
  const given = { url, signal: AbortSignal.timeout(600_000), show: context.mock.fn() };
  const withHash = (hash) => import_ + loading.replace("sha256-...", `sha256-${hash}`);
  const { filter } = await js(withHash(hash), cwd, given, "export { filter };");
  assert.deepEqual([...filter.hasMany(["a", "b", "c"])], [1, 1, 0]);
  assert.ok(given.show.mock.callCount() > 0);
  await assert.rejects(js(withHash(hash.replace(/^./, "!")), cwd, given));
  await js(take(JAVASCRIPT, "Ask", "js"), cwd, { filter, key: "a", keys, text: new TextEncoder().encode("a\nx\nb") });

  const { isListed } = await js(import_ + retrying, cwd);
  await assert.rejects(isListed("https://evil.example/"));
  writeFileSync(join(cwd, "phishing.bloom"), RibbonFilter.from(["evil.example"], { profile: "url" }).toBytes());
  assert.deepEqual(await Promise.all(["https://evil.example/", "https://a.example/"].map(isListed)), [true, false]);
  writeFileSync(join(cwd, "keys.bloom"), new ScalableBloomFilter().toBytes());
  const { seen } = await js(growing, cwd, { ScalableBloomFilter, url, key: "new" }, "export { seen };");
  assert.ok(seen.has("new"));
});

test("docs/screen-links.md: asking the full list", async () => {
  const list = ["evil.example", "bad.example/a/", "worse.example/x?y"];
  const filter = RibbonFilter.from(list, { profile: "url", fpr: 0.01 });
  const code = take("docs/screen-links.md", "Ask the full list after a maybe", "js");
  const { readList, isBad } = await js(code, work("full"));
  const full = readList(filter, list);
  for (const line of ["0.0.0.0 evil.example", "||evil.example^", "*.evil.example", "evil.example # comment", ""])
    assert.throws(() => readList(filter, [...list, line]), /no URL or host of the filter/, line);
  for (const url of ["https://www.evil.example/login", "http://bad.example/a/b.html", "http://worse.example/x?y"])
    assert.equal(isBad(filter, full, url), true, url);
  const others = Array.from({ length: 1000 }, (_, i) => `https://good-${i}.example/`);
  assert.ok(others.some((url) => filter.hasUrl(url)));
  assert.ok(!others.some((url) => isBad(filter, full, url)));
});

for (const [page, publish, follow, warnings] of [
  [README, "A list that changes", "A list that changes", 1],
  [PUBLISH, "Publish it", "Follow it", 0],
])
  test(`${page}: a feed is published and followed`, async (context) => {
    const cwd = work("feed", { "list.txt": ["evil.example"], "malicious.txt": ["evil.example"] });
    const [publicKey] = /[\w-]{43}/.exec(shell(take(page, publish, "sh"), cwd));
    serve(context, join(cwd, "public"));
    const warn = context.mock.fn();
    const code = take(page, follow, "js").replace(/publicKey: "[\w-]{43}"/, `publicKey: "${publicKey}"`);
    const given = { publicKey, warn, location: { href: "https://www.evil.example/" } };
    const { feed } = await js(code, cwd, given, "export { feed };");
    context.after(() => feed.close());
    assert.equal(feed.filter.hasUrl("https://evil.example/login"), true);
    assert.equal(warn.mock.callCount(), warnings);
  });

test("feeds of several lists: docs/publish-a-list.md and the extension", () => {
  const files = { "phishing.txt": ["bad.example"], "popular.txt": ["good.example"], "list.txt": ["evil.example"] };
  const malware = Array.from({ length: 1000 }, (_, i) => `evil${i}.example`);
  const cwd = work("described", { ...files, "malware.txt": malware, "feed.toml": take(PUBLISH, "Publish it", "toml") });
  shell("bloom-wasm feed keygen -o feed.key\nbloom-wasm feed publish", cwd);
  assert.equal(shell("bloom-wasm check public http://bad.example/", cwd), "http://bad.example/\tphishing\n");
});

test("docs/hosting.md: the CORS rules are JSON", () => {
  assert.deepEqual(JSON.parse(take(HOSTING, "S3 and R2", "json")).CORSRules[0].AllowedOrigins, ["*"]);
});

test("docs/refuse-passwords.md: a sharded filter is built and asked", async (context) => {
  const pwned = ["password", "123456", "correct horse battery staple"].map((password) => `${sha1(password)}:9`);
  const cwd = work("sharded", { "pwned.txt": pwned, "feed.toml": take(REFUSE, "All leaked passwords", "toml") });
  const verify = "bloom-wasm verify public --members pwned.txt";
  const printed = shell(`${take(REFUSE, "All leaked passwords", "sh")}\n${verify}`, cwd);
  assert.match(printed, /^members +3 keys, 0 false negatives$/m);
  const refuse = context.mock.fn();
  serve(context, join(cwd, "public"));
  await js(take(HOSTING, "Asking it", "js"), cwd, { publicKey: /[\w-]{43}/.exec(printed)[0], refuse });
  assert.equal(refuse.mock.callCount(), 1);
});

test("docs/hosting.md: a sharded filter that was built elsewhere", () => {
  // A digest whose first six bits are 42.
  const digest = Buffer.alloc(8);
  digest.writeBigUInt64LE((42n << 58n) | 4711n);
  // The page's sample builds one shard of 8,192; here are the others, without keys.
  const [described, commands] = ["toml", "sh"].map((language) =>
    take(HOSTING, "Built elsewhere", language).replace("8192", "64"),
  );
  const cwd = work("elsewhere", { "digests-of-shard-42": digest, "feed.toml": described });
  const [one, publish] = commands.trim().split("\n");
  const others = one.replace(/--index 42/, '--index "$shard"').replace(/<.*/, "< /dev/null");
  const loop = `for shard in $(seq 0 63); do [ "$shard" = 42 ] || ${others}; done`;
  const init = `bloom-wasm feed init\nmkdir parts\n${one}`;
  const printed = shell(`${init}\n${loop}\n${publish}\nbloom-wasm info public`, cwd);
  assert.match(printed, /^keys +1$/m);
  assert.match(printed, /^shards +64$/m);
});

test("docs/errors.md: catching one", async (context) => {
  const [code, cwd, warn] = [take("docs/errors.md", "Errors", "js"), work("errors"), context.mock.fn()];
  context.mock.method(globalThis, "fetch", async () => new Response("", { status: 404 }));
  await js(code, cwd, { console: { warn } });
  assert.equal(warn.mock.calls[0].arguments[0], "http");
  context.mock.method(globalThis, "fetch", async () => {
    throw new DOMException("stopped", "AbortError");
  });
  await assert.rejects(js(code, cwd, { console: { warn } }), { name: "AbortError" });
});

test("docs/keyed.md: publishing, and a Worker", async (context) => {
  const described = take(KEYED, "Publish the list", "toml");
  const cwd = work("keyed", { "revoked.txt": ["token-4711", "token-1"], "feed.toml": described });
  const publish = take(KEYED, "Make the secret", "sh") + take(KEYED, "Publish the list", "sh");
  const [publicKey] = /[\w-]{43}/.exec(shell(publish, cwd));
  const digits = readFileSync(join(cwd, "revoked.secret"), "utf8");
  writeFileSync(join(cwd, "public/origin"), "");
  serve(context, join(cwd, "public"));
  const worker = take(KEYED, "Ask it in a Worker", "js");
  const ask = async (its, authorization, REVOKED_SECRET = digits) => {
    const waiting = [];
    const request = new Request("https://a.example/origin", { headers: { authorization } });
    const env = { FEED_URL: "https://host.example/feed.json", PUBLIC_KEY: publicKey, REVOKED_SECRET };
    const response = await its.fetch(request, env, { waitUntil: (promise) => waiting.push(promise) });
    await Promise.all(waiting);
    return response.status;
  };
  const { default: its } = await js(worker, cwd);
  for (const [token, status] of [
    ["Bearer token-4711", 403],
    ["BEARER \t token-1", 403],
    ["Bearer token-4712", 200],
    ["Bearer", 401],
  ])
    assert.equal(await ask(its, token), status, token);
  const { default: without } = await js(worker, cwd);
  const told = context.mock.method(console, "error", () => {});
  assert.equal(await ask(without, "Bearer token-4711", "00".repeat(16)), 503);
  assert.equal(told.mock.calls[0].arguments[0], "wrong_secret");
  assert.equal(await ask(without, "Bearer token-4711"), 403, "the next request tries again");
});

test("docs/bring-a-filter.md: reading and wrapping other software's bytes, and building them", async (context) => {
  const keys = ["evil.example", "id-4711"];
  const original = ForeignFilter.from(keys, { format: "go-bloom" }).toForeign();
  const guava = ForeignFilter.from(keys, { format: "guava" }).toForeign();
  const cwd = work("wrapping", { "seen.go": original, "list.guava": guava, "list.txt": keys });
  serve(context, cwd);
  const log = context.mock.fn();
  await js(take(BRINGING, "Two ways", "js"), cwd, { bytes: original, console: { log } });
  assert.deepEqual(log.mock.calls[0].arguments, [true, true]);
  shell(take(BRINGING, "Two ways", "sh"), cwd);
  assert.ok(readFileSync(join(cwd, "seen.go")).equals(original));
  assert.ok(opened(cwd, "seen.bloom").hasAll(keys));
  const making = take(BRINGING, "And back", "js").replace('"keys.guava"', JSON.stringify(join(cwd, "keys.guava")));
  await js(making, cwd, { keys });
  assert.ok(opened(cwd, "keys.guava", { format: "guava", funnel: "utf8" }).hasAll(keys));
});

test("every other sample runs in another test, or has a reason why it can't", () => {
  const used = new Set();
  for (const { file, heading, language, code } of samples.filter(({ taken }) => !taken)) {
    const name = `${file}: ${heading}: ${language}: ${code.split("\n")[0]}`;
    const where = [...ELSEWHERE, ...CANNOT].find(([pattern]) => pattern.test(name));
    assert.ok(where, `${name} runs nowhere`);
    used.add(where);
    if (CANNOT.includes(where)) console.log(`samples: ${name} doesn't run: ${where[1]}`);
    else assert.ok(existsSync(join(root, where[1])), where[1]);
  }
  for (const it of [...ELSEWHERE, ...CANNOT]) assert.ok(used.has(it), `no sample is ${it[0]}`);
  assert.ok(samples.length > 50, `${samples.length} samples`);
});
