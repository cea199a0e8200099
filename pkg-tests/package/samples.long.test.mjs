/**
 * Every code sample in the documentation runs: those of README, SECURITY.md and docs/hosting.md here, unchanged, and
 * all others where ELSEWHERE says. For samples that can't run, it says why.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { LISTS as LISTS_OF_PACKAGES, text } from "../../scripts/lists.mjs";
import { root } from "../../scripts/setup.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { shell } from "../interop/docs.mjs";

const { BloomFilter, decode } = await installed();

/** All samples, by file, the heading above, and language; several of one language under a heading are in order. */
const samples = [
  ...[
    "README.md",
    "FORMAT.md",
    "FORMAT-FOREIGN.md",
    "FORMAT-URLS.md",
    "FEED-FORMAT.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
  ],
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
  ...["extension", "lists", "signup", "spark", "worker"].map((name) => `examples/${name}/README.md`),
].flatMap((file) => {
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(({ index, 1: language, 2: code }) => {
    const heading = [
      ...text
        .slice(0, index)
        .replace(/^```\w*\n[\s\S]*?^```$/gm, "")
        .matchAll(/^#+ (.*)$/gm),
    ].at(-1)[1];
    return { file, heading, language, code, taken: false };
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

/** Samples that other tests run, and words in those tests that show it. */
const ELSEWHERE = [
  [/^docs\/skip-what-was-seen\.md/, "pkg-tests/package/seen.long.test.mjs", 'page("skip-what-was-seen.md")'],
  [/^docs\/refuse-passwords\.md/, "pkg-tests/runtimes/passwords.long.test.mjs", 'page("refuse-passwords.md")'],
  [/^docs\/edge\.md: A thousand redirects/, "pkg-tests/runtimes/next.long.test.mjs", 'docs("edge.md")'],
  [/^docs\/edge\.md: A feed/, "pkg-tests/runtimes/edge.long.test.mjs", 'page("edge.md")'],
  [/^docs\/screen-links\.md: In a Worker/, "pkg-tests/runtimes/edge.long.test.mjs", 'page("screen-links.md")'],
  [/^docs\/block-pages\.md/, "pkg-tests/runtimes/block-pages.long.test.mjs", 'docs("block-pages.md")'],
  [
    /^docs\/bring-a-filter\.md: (Spark|Redis)/,
    "pkg-tests/interop/bring-a-filter.long.test.mjs",
    'page("bring-a-filter.md")',
  ],
  [/^README\.md: In Rust/, "src/lib.rs", 'include_str!("../README.md")'],
  [/^README\.md: Try it from a clone/, "pkg-tests/package/start.test.mjs", "npm start"],
  [/^CONTRIBUTING\.md: Before the first/, "pkg-tests/package/releasable.test.mjs", '"CONTRIBUTING.md"'],
  [/^README\.md: In a page without/, "pkg-tests/package/readme.long.test.mjs", 'sample("In a page without a bundler"'],
  [/^README\.md: With a bundler/, "pkg-tests/package/readme.long.test.mjs", 'sample("With a bundler, and in Node"'],
  [/^docs\/javascript\.md: From a CDN/, "pkg-tests/runtimes/cdn.long.test.mjs", 'split("\\n## From a CDN\\n")'],
  [
    /^examples\/extension\/README\.md: Stop the next/,
    "pkg-tests/runtimes/rules.long.test.mjs",
    "## Stop the next request",
  ],
  [/^docs\/hosting\.md: S3 and R2: yaml/, "pkg-tests/feeds/hosting.long.test.mjs", "workflows()"],
  [/^examples\/lists\/README\.md: (Begin|Ask it)/, "pkg-tests/feeds/lists-example.long.test.mjs", 'sample("Begin"'],
  [/^examples\/spark\/README\.md: A sharded/, "pkg-tests/sharded/spark.long.test.mjs", "examples/spark/sharded.py"],
  [/^examples\/signup\/README\.md/, "pkg-tests/runtimes/signup.long.test.mjs", "npx (bloom-wasm build"],
  [/^examples\/extension\/README\.md: Try it/, "pkg-tests/runtimes/extension.long.test.mjs", '"build.mjs", "--feed"'],
  [
    /^examples\/worker\/README\.md: How it follows the feed/,
    "pkg-tests/runtimes/worker.long.test.mjs",
    "/^opening .*/m",
  ],
  [/^examples\/lists\/README\.md: Serve it/, "pkg-tests/feeds/lists-example.long.test.mjs", 'sample("Serve it"'],
  [/^examples\/worker\/README\.md: Try it: sh: curl/, "pkg-tests/runtimes/worker.long.test.mjs", "maybe on the list"],
];

/** Samples that can't run in a test, and why. */
const CANNOT = [
  [/^FEED-FORMAT\.md: The manifest/, "it shows a form, with `...` instead of the data"],
  [/^examples\/extension\/README\.md: Use your own list: sh: npm/, "it installs from npm"],
  [
    /^examples\/worker\/README\.md: Try it: sh: npm/,
    "it installs Wrangler from npm; the test of the Worker runs Miniflare",
  ],
];

/** A new folder beside the installed package, with these files. */
function work(name, files = {}) {
  const cwd = mkdtempSync(join(folder, `${name}-`));
  for (const [path, content] of Object.entries(files)) writeFileSync(join(cwd, path), content);
  return cwd;
}

const [BRINGING, JAVASCRIPT, LISTS, TOOL] = ["bring-a-filter", "javascript", "lists", "tool"].map(
  (name) => `docs/${name}.md`,
);

const lines = (...keys) => keys.map((key) => `${key}\n`).join("");

let modules = 0;

/** Runs JavaScript as a module, with some global names, and maybe with further exports. */
async function js(code, cwd, given = {}, after = "") {
  globalThis.given = given;
  const file = join(cwd, `sample-${modules++}.mjs`);
  writeFileSync(file, `const { ${Object.keys(given).join(", ")} } = globalThis.given;\n${code}\n${after}\n`);
  return import(pathToFileURL(file).href);
}

/** Serves every fetch from a folder, by the last part of its URL. */
function serve(context, cwd) {
  return context.mock.method(globalThis, "fetch", async (input) => {
    const name = basename(new URL(input.url ?? input).pathname);
    return new Response(readFileSync(join(cwd, name)));
  });
}

const README = "README.md";

{
  const [ask, build] = [take(README, "bloom-wasm", "js"), take(README, "bloom-wasm", "sh")];
  test("README: the first example", async (context) => {
    const cwd = work("first", { "urls.txt": lines("evil.example", "bad.example/path/", "bad.example/page") });
    serve(context, cwd);
    shell(build, cwd);
    for (const [href, expected] of [
      ["https://www.evil.example/login", 1],
      ["https://good.example/", 0],
      // As "From a list to an answer" says.
      ["https://bad.example/path/below/it", 1],
      ["https://bad.example/page?query", 1],
      ["https://bad.example/page/below", 0],
    ]) {
      const warn = context.mock.fn();
      await js(ask, cwd, { location: { href }, warn });
      assert.equal(warn.mock.callCount(), expected, href);
    }
  });
}

{
  const code = take(README, "From a list to an answer", "sh");
  const [install, ...commands] = code.trim().split("\n");
  test("README: from a list to an answer", () => {
    // A version is on npm only once it is released.
    assert.equal(install, "npm install bloom-wasm");
    const cwd = work("answer", { "list.txt": lines("id-4710", "id-4711") });
    assert.match(shell(commands.join("\n"), cwd), /^id-4711$/m);
  });
}

{
  const [npx, cargo] = take(TOOL, "The command line tool", "sh").trim().split("\n");
  test("docs/tool.md: the first command", () => {
    assert.match(cargo, /^cargo install bloom-wasm-cli/);
    const cwd = work("tool", { "list.txt": lines("a") });
    shell(npx, cwd);
    assert.equal(decode(readFileSync(join(cwd, "list.bloom"))).has("a"), true);
  });
}

{
  const [tool, script] = [take(TOOL, "Build a filter", "sh"), take(JAVASCRIPT, "Build", "js")];
  test("building, by the tool and in JavaScript", async () => {
    const many = Array.from({ length: 1000 }, (_, i) => `id-${i}`);
    const cwd = work("building", {
      "bad.txt": lines("id-4711", ...many),
      "more.txt.gz": gzipSync(lines("id-5000", "id-4711")),
      "huge.gz": gzipSync(lines(...many)),
    });
    const printed = shell(tool, cwd);
    const bad = decode(readFileSync(join(cwd, "bad.bloom")));
    assert.ok([...many, "id-4711", "id-5000"].every((key) => bad.has(key)));
    assert.equal(bad.info().name, "bad ids");
    assert.equal(bad.info().createdAt, Date.UTC(2026, 10, 21, 9));
    assert.equal(decode(readFileSync(join(cwd, "huge.bloom"))).info().count, 1000);
    // The output of info, check and verify.
    for (const said of [/bad ids/, /^id-4711$/m, /1,001 keys, 0 false negatives/]) assert.match(printed, said);

    const processed = [];
    const progress = [];
    const given = {
      urls: ["https://evil.example/", "mailto:nobody", "both.example"],
      popularHosts: ["good.example", "both.example"],
      writeFile: (name, bytes) => writeFileSync(join(cwd, name), bytes),
      response: new Response(lines(...many)),
      signal: AbortSignal.timeout(600_000),
      onProgress: ({ loaded }) => progress.push(loaded),
      id: "new",
      process: (id) => processed.push(id),
      console: { warn: (...words) => progress.push(words.join(" ")) },
    };
    const { filter, large } = await js(script, cwd, given, "export { filter, large };");
    assert.deepEqual([filter.hasUrl("http://evil.example/x"), filter.hasUrl("http://good.example/")], [true, false]);
    assert.ok(decode(readFileSync(join(cwd, "phishing.bloom"))).equals(filter));
    assert.ok(many.every((key) => large.has(key)));
    assert.deepEqual(processed, ["new"]);
    assert.ok(progress.includes("not a key: mailto:nobody not_checkable"), progress.join());
    assert.ok(progress.includes("listed and allowed: both.example/ false"), progress.join());
  });
}

{
  const filter = take(TOOL, "Filter lines", "sh");
  test("docs/tool.md: filtering lines", () => {
    const cwd = work("lines", {
      "urls.txt": lines("a", "new", "b"),
    });
    shell(`printf 'a\\nb\\n' | bloom-wasm build -o seen.bloom\n${filter}`, cwd);
    assert.equal(readFileSync(join(cwd, "new.txt"), "utf8"), "new\n");
  });
}

{
  const code = take(LISTS, "Lists of URLs", "sh");
  test("docs/lists.md: a list of URLs", () => {
    const cwd = work("list", {
      "urls.txt": lines("evil.example", "*.worse.example"),
      "popular.txt": lines("a.example"),
    });
    shell(code, cwd);
    const filter = decode(readFileSync(join(cwd, "urls.bloom")));
    const answers = ["http://evil.example/", "http://worse.example/", "http://a.example/"].map((url) =>
      filter.hasUrl(url),
    );
    assert.deepEqual(answers, [true, true, false]);
  });
}

{
  const [common, pwned] = take(LISTS, "Lists of passwords", "sh").trim().split("\n");
  test("docs/lists.md: lists of passwords", () => {
    const hash = (password) => createHash("sha1").update(password).digest("hex").toUpperCase();
    const cwd = work("passwords", {
      "common.txt": lines("password1", "123456"),
      "pwned-passwords.txt": lines(`${hash("hunter2")}:10`, `${hash("rare")}:9`),
    });
    const asked = (line, ...passwords) => {
      shell(line, cwd);
      const filter = decode(readFileSync(join(cwd, "passwords.bloom")));
      return passwords.map((password) => filter.hasPassword(password));
    };
    assert.deepEqual(asked(common, "password1", "123456"), [true, false]);
    assert.deepEqual(asked(pwned, "hunter2", "rare"), [true, false]);
  });
}

{
  const [loading, growing, retrying] = [1, 2, 3].map(() => take(JAVASCRIPT, "Load", "js"));
  const asking = take(JAVASCRIPT, "Ask", "js");
  test("docs/javascript.md: loading, and asking for keys", async (context) => {
    const keys = ["a", "b"];
    const bytes = BloomFilter.from(keys).toBytes();
    const cwd = work("asking", { "keys.bloom": bytes });
    serve(context, cwd);
    const hash = createHash("sha256").update(bytes).digest("base64");
    const show = context.mock.fn();
    const import_ = 'import { load } from "bloom-wasm/reader";\n';
    const given = { url: "https://example.com/keys.bloom", signal: AbortSignal.timeout(600_000), show };
    const withHash = (hash) => import_ + loading.replace("sha256-...", `sha256-${hash}`);
    const { filter } = await js(withHash(hash), cwd, given, "export { filter };");
    assert.deepEqual([...filter.hasMany(["a", "b", "c"])], [1, 1, 0]);
    assert.ok(show.mock.calls.some(({ arguments: [loaded] }) => loaded === bytes.length));
    await assert.rejects(js(withHash(hash.replace(/^./, "!")), cwd, given));
    const text = new TextEncoder().encode("a\nx\nb");
    await js(asking, cwd, { filter, key: "a", keys, text });

    const { isListed } = await js(import_ + retrying, cwd);
    await assert.rejects(isListed("https://evil.example/"));
    const { RibbonFilter, ScalableBloomFilter } = await installed();
    writeFileSync(join(cwd, "keys.bloom"), new ScalableBloomFilter().toBytes());
    const { seen } = await js(growing, cwd, { ScalableBloomFilter, url: given.url, key: "new" }, "export { seen };");
    assert.ok(seen.has("new"));
    writeFileSync(join(cwd, "phishing.bloom"), RibbonFilter.from(["evil.example"], { profile: "url" }).toBytes());
    assert.equal(await isListed("https://www.evil.example/login"), true);
    assert.equal(await isListed("https://good.example/"), false);
  });
}

{
  const heading = "Tags: which list it is on";
  const [build, ask] = [take(LISTS, heading, "sh"), take(LISTS, heading, "js")];
  test("docs/lists.md: tags", async () => {
    const cwd = work("tags", {
      "phishing.txt": lines("evil.example"),
      "malware.txt": lines("worse.example", "evil.example/a/"),
    });
    assert.match(shell(build, cwd), /^http:\/\/evil\.example\/\tphishing$/m);
    const filter = decode(readFileSync(join(cwd, "dangers.bloom")));
    const { answers } = await js(`export const answers = [${ask.replace(/;.*$/gm, ",")}];`, cwd, { filter });
    assert.deepEqual(answers, [
      ["phishing"],
      ["phishing"],
      [
        { name: "phishing", count: 1 },
        { name: "malware", count: 2 },
      ],
    ]);
    assert.deepEqual(filter.urlTags("http://evil.example/a/b"), ["phishing", "malware"]);
  });
}

test("how large lists become: README, docs/lists.md, docs/benchmarks.md and the example of an extension agree", async () => {
  const texts = Object.fromEntries(
    [README, LISTS, "docs/benchmarks.md", "examples/extension/README.md"].map((file) => [
      file,
      readFileSync(join(root, file), "utf8"),
    ]),
  );
  const short = (bytes) => {
    const [number, unit] = bytes < 1e6 ? [bytes / 1e3, "kB"] : [bytes / 1e6, "MB"];
    return `${number < 10 ? number.toFixed(1) : Math.round(number)} ${unit}`;
  };
  const row = (file, name) => {
    const [found, ...more] = texts[file].split("\n").filter((line) => line.startsWith(`| ${name}`));
    assert.deepEqual(more, [], `${file}: ${name}`);
    return found.slice(2, -2).split(" | ");
  };
  const bytes = (name) =>
    row("docs/benchmarks.md", name)
      .slice(1)
      .map((cell) => Number(/[\d,]+/.exec(cell)[0].replaceAll(",", "")));
  const rates = ["1e-2", "1e-3", "1e-4", "1e-6"];
  const lists = {
    phishing: { measured: "13,752 phishing hosts (eth", said: "13,752 phishing hosts |" },
    malicious: { measured: "1,109,726 malicious hosts (", said: "1.1 million malicious hosts |" },
    passwords: { measured: "999,999 common passwords (", said: "1 million common passwords |" },
  };
  for (const its of Object.values(lists)) {
    its.bytes = bytes(its.measured);
    const [text, gzipped, , warning, , blocking] = its.bytes;
    assert.deepEqual(row(README, its.said).slice(1), [text, gzipped, warning, blocking].map(short));
  }
  // maltrail's list isn't in any package.
  for (const [name, its] of Object.entries(lists).filter(([name]) => name in LISTS_OF_PACKAGES)) {
    const { keys, profile } = LISTS_OF_PACKAGES[name]();
    const cwd = work("sizes", { "list.txt": text(keys) });
    const blobs = rates.map((rate) => {
      shell(`bloom-wasm build list.txt -o list.bloom --profile ${profile} --fpr ${rate}`, cwd);
      return statSync(join(cwd, "list.bloom")).size;
    });
    const list = readFileSync(join(cwd, "list.txt"));
    const { length } = gzipSync(list, { level: 9 });
    assert.ok(Math.abs(length / its.bytes[1] - 1) < 0.01, "another zlib may be a little better");
    assert.deepEqual([list.length, ...blobs], [its.bytes[0], ...its.bytes.slice(2)], name);
  }

  const { phishing, malicious } = lists;
  const at = (its, rate) => short(its.bytes[2 + rates.indexOf(rate)]);
  const help = shell("bloom-wasm help build", root).replace(/\s+/g, " ");
  for (const [what, rate] of [
    ["block the page", "1e-6"],
    ["warn", "1e-3"],
    ["ask the full list", "1e-2"],
  ]) {
    const [, said, ...sizes] = row(LISTS, what);
    assert.match(said, new RegExp(`--fpr ${rate}\``));
    assert.deepEqual(sizes, [at(phishing, rate), at(malicious, rate)], what);
    assert.match(help, new RegExp(`${rate} to ${what.split(/[ ,]/)[0]}`));
  }
  const said = [phishing, malicious].map((its) => `${at(its, "1e-6")} instead of ${at(its, "1e-3")}`);
  const extension = texts["examples/extension/README.md"].replace(/\s+/g, " ");
  for (const words of said) assert.ok(extension.includes(words), words);
});

{
  const [urls, passwords] = [take(LISTS, "Check URLs", "js"), take(LISTS, "Check passwords", "js")];
  test("docs/lists.md: checking URLs and passwords", async (context) => {
    const { RibbonFilter } = await installed();
    const filter = RibbonFilter.from(["evil.example"], { profile: "url" });
    const asked = urls.replace(/;.*$/gm, ",");
    const { answers } = await js(`export const answers = [${asked}];`, work("urls"), { filter });
    assert.deepEqual(answers, [true, true, "evil.example/"]);

    const common = RibbonFilter.from(["password1"], { profile: "password" });
    for (const [value, refusals] of [
      ["password1", 1],
      ["correct horse battery staple", 0],
    ]) {
      const refuse = context.mock.fn();
      await js(passwords, work("checking"), { filter: common, input: { value }, refuse });
      assert.equal(refuse.mock.callCount(), refusals, value);
    }
  });
}

{
  const code = take("docs/screen-links.md", "Ask the full list after a maybe", "js");
  test("docs/screen-links.md: asking the full list", async () => {
    const { RibbonFilter } = await installed();
    const list = ["evil.example", "bad.example/a/", "worse.example/x?y"];
    const filter = RibbonFilter.from(list, { profile: "url", fpr: 0.01 });
    const { readList, isBad } = await js(code, work("full"));
    const full = readList(list);
    for (const url of ["https://www.evil.example/login", "http://bad.example/a/b.html", "http://worse.example/x?y"])
      assert.equal(isBad(filter, full, url), true, url);
    const others = Array.from({ length: 1000 }, (_, i) => `https://good-${i}.example/`);
    assert.ok(others.some((url) => filter.hasUrl(url)));
    assert.ok(!others.some((url) => isBad(filter, full, url)));
  });
}

/** Publishes a feed and follows it, by the samples of a page. */
function feed(title, publishing, following, ends) {
  test(title, async (context) => {
    const cwd = work("feed");
    for (const name of ["list.txt", "malicious.txt"]) writeFileSync(join(cwd, name), lines("evil.example"));
    const publicKey = /[\w-]{43}/.exec(shell(publishing, cwd))[0];
    shell(`bloom-wasm feed verify public --public-key ${publicKey}`, cwd);
    serve(context, join(cwd, "public"));
    const warn = context.mock.fn();
    const code = following.replace(/publicKey: "[\w-]{43}"/, `publicKey: "${publicKey}"`);
    const given = { publicKey, warn, location: { href: "https://www.evil.example/" } };
    const { feed } = await js(code, cwd, given, "export { feed };");
    try {
      assert.equal(feed.filter.hasUrl("https://evil.example/login"), true);
      assert.equal(warn.mock.callCount(), ends.warnings);
      assert.equal(feed.packagedError, undefined);
    } finally {
      feed.close();
    }
  });
}
{
  const heading = "A list that changes";
  feed("README: a feed", take(README, heading, "sh"), take(README, heading, "js"), { warnings: 1 });
  const page = "docs/publish-a-list.md";
  const publishing = take(page, "Publish it", "sh");
  const following = take(page, "Follow it", "js");
  feed(`${page}: a feed`, publishing, following, { warnings: 0 });
  const [, option] = /openFeed\(url, \{ publicKey, (packaged: .*) \}\)/.exec(
    readFileSync(join(root, "docs/hosting.md"), "utf8"),
  );
  const packaged = following.replace("publicKey:", `${option},\n  publicKey:`);
  feed("docs/hosting.md: a packaged feed", `${publishing}\ncp -r public feed`, packaged, { warnings: 0 });
  const described = take(page, "Publish it", "toml");
  test(`${page}: a feed of several lists`, () => {
    const malware = lines(...Array.from({ length: 1000 }, (_, i) => `evil${i}.example`));
    const files = {
      "phishing.txt": lines("bad.example"),
      "malware.txt": malware,
      "popular.txt": lines("good.example"),
    };
    const cwd = work("described", { "feed.toml": described, ...files });
    shell("bloom-wasm feed keygen -o feed.key\nbloom-wasm feed publish", cwd);
    assert.equal(shell("bloom-wasm check public http://bad.example/", cwd), "http://bad.example/\tphishing\n");
  });
  // In a folder of the test, not of the user who runs it.
  const kept = following
    .replace("{ openFeed }", "{ fileCache, openFeed }")
    .replace("publicKey:", 'cache: fileCache(new URL("feeds", import.meta.url)),\n  publicKey:');
  feed(`${page}: a feed that is kept in files`, publishing, kept, { warnings: 0 });
}

{
  const code = take("docs/hosting.md", "S3 and R2", "json");
  test("docs/hosting.md: the CORS rules are JSON", () => {
    assert.deepEqual(JSON.parse(code).CORSRules[0].AllowedOrigins, ["*"]);
  });
}

{
  const [described, publishing] = ["toml", "sh"].map((language) =>
    take("docs/refuse-passwords.md", "All leaked passwords", language),
  );
  const build = `${publishing}bloom-wasm check public password\nbloom-wasm verify public --members pwned.txt\n`;
  const [parts, elsewhere] = ["toml", "sh"].map((language) => take("docs/hosting.md", "Built elsewhere", language));
  const hash = (password) => createHash("sha1").update(password).digest("hex").toUpperCase();
  const pwned = lines(
    ...["password", "123456", "correct horse battery staple"].map((password) => `${hash(password)}:9`),
  );
  test("docs/refuse-passwords.md: a sharded filter", () => {
    const cwd = work("sharded", { "pwned.txt": pwned, "feed.toml": described });
    const printed = shell(build, cwd);
    assert.match(printed, /^password$/m);
    assert.match(printed, /^members +3 keys, 0 false negatives$/m);
  });
  const asking = take("docs/hosting.md", "Asking it", "js");
  test("docs/hosting.md: a sharded filter is asked", async (context) => {
    const cwd = work("asked", { "pwned.txt": pwned, "feed.toml": described });
    const [publicKey] = /[\w-]{43}/.exec(shell(build, cwd));
    const refuse = context.mock.fn();
    serve(context, join(cwd, "public"));
    await js(asking, cwd, { publicKey, refuse });
    assert.equal(refuse.mock.callCount(), 1);
  });
  test("docs/hosting.md: a sharded filter that was built elsewhere", () => {
    // A digest whose first six bits are 42.
    const digest = Buffer.alloc(8);
    digest.writeBigUInt64LE((42n << 58n) | 4711n);
    // The page's sample builds one shard of 8,192; here are the others, without keys.
    const fewer = (text) => text.replace("8192", "64");
    const cwd = work("elsewhere", { "digests-of-shard-42": digest, "feed.toml": fewer(parts) });
    const [one, publish] = fewer(elsewhere).trim().split("\n");
    shell(`bloom-wasm feed init\nmkdir parts\n${one}`, cwd);
    const others = one.replace(/--index 42/, '--index "$shard"').replace(/<.*/, "< /dev/null");
    const loop = `for shard in $(seq 0 63); do [ "$shard" = 42 ] || ${others}; done`;
    const printed = shell(`${loop}\n${publish}\nbloom-wasm info public`, cwd);
    assert.match(printed, /^keys +1$/m);
    assert.match(printed, /^shards +64$/m);
  });
}

{
  const code = take("docs/errors.md", "Errors", "js");
  test("docs/errors.md: catching one", async (context) => {
    const cwd = work("errors");
    const warn = context.mock.fn();
    const given = { console: { warn } };
    context.mock.method(globalThis, "fetch", async () => new Response("", { status: 404 }));
    await js(code, cwd, given);
    assert.equal(warn.mock.calls[0].arguments[0], "http");
    context.mock.method(globalThis, "fetch", async () => {
      throw new DOMException("stopped", "AbortError");
    });
    await assert.rejects(js(code, cwd, given), { name: "AbortError" });
  });
}

{
  const page = "docs/keyed.md";
  const [secret, described, publish, worker] = [
    take(page, "Make the secret", "sh"),
    take(page, "Publish the list", "toml"),
    take(page, "Publish the list", "sh"),
    take(page, "Ask it in a Worker", "js"),
  ];
  test("docs/keyed.md: publishing, and a Worker", async (context) => {
    const cwd = work("keyed-worker", { "revoked.txt": lines("token-4711", "token-1"), "feed.toml": described });
    const [publicKey] = /[\w-]{43}/.exec(shell(`${secret}${publish}`, cwd));
    const digits = readFileSync(join(cwd, "revoked.secret"), "utf8");
    writeFileSync(join(cwd, "public/origin"), "");
    serve(context, join(cwd, "public"));
    const ask = async (its, authorization, REVOKED_SECRET = digits) => {
      const waiting = [];
      const request = new Request("https://a.example/origin", { headers: { authorization } });
      const env = { FEED_URL: "https://host.example/feed.json", PUBLIC_KEY: publicKey, REVOKED_SECRET };
      const response = await its.fetch(request, env, { waitUntil: (promise) => waiting.push(promise) });
      await Promise.all(waiting);
      return response.status;
    };
    const { default: its } = await js(worker, cwd);
    for (const token of ["Bearer token-4711", "bearer token-4711", "BEARER \t token-1"])
      assert.equal(await ask(its, token), 403, token);
    assert.deepEqual(
      [await ask(its, "Bearer token-4712"), await ask(its, "Bearer"), await ask(its, "")],
      [200, 401, 401],
    );
    const { default: without } = await js(worker, cwd);
    const told = context.mock.method(console, "error", () => {});
    assert.equal(await ask(without, "Bearer token-4711", "00".repeat(16)), 503);
    assert.equal(told.mock.calls[0].arguments[0], "wrong_secret");
    assert.equal(await ask(without, "Bearer token-4711"), 403, "the next request tries again");
  });
}

{
  const [reading, wrapping] = ["js", "sh"].map((language) => take(BRINGING, "Two ways", language));
  const making = take(BRINGING, "And back", "js");
  test("docs/bring-a-filter.md: reading and wrapping other software's bytes, and building them", async (context) => {
    const { ForeignFilter } = await installed();
    const keys = ["evil.example", "id-4711"];
    const original = ForeignFilter.from(keys, { format: "go-bloom" }).toForeign();
    const guava = ForeignFilter.from(keys, { format: "guava" }).toForeign();
    const cwd = work("wrapping", { "seen.go": original, "list.guava": guava, "list.txt": lines(...keys) });
    serve(context, cwd);
    const log = context.mock.fn();
    const there = reading.replace("list.guava", "https://lists.example/list.guava");
    await js(there, cwd, { bytes: original, console: { log } });
    assert.deepEqual(log.mock.calls[0].arguments, [true, true]);
    shell(wrapping, cwd);
    assert.ok(readFileSync(join(cwd, "seen.go")).equals(original));
    const has = (name, options) => decode(readFileSync(join(cwd, name)), options).hasAll(keys);
    assert.ok(has("seen.bloom"));
    await js(`import { ForeignFilter } from "bloom-wasm";\n${making}`, cwd, {
      keys,
      writeFile: (name, bytes) => writeFileSync(join(cwd, name), bytes),
    });
    assert.ok(has("keys.guava", { format: "guava", funnel: "utf8" }));
  });
}

{
  const code = take(TOOL, "Memory, and filters built in parts", "sh");
  test("docs/tool.md: parts merge into the filter of the whole list, byte for byte", () => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `key-é-${i}`);
    const [north, south] = [keys.slice(0, 60_000), keys.slice(50_000)];
    const files = { "north.txt": lines(...north), "south.txt": lines(...south), "all.txt": lines(...keys.reverse()) };
    const cwd = work("parts", files);
    shell(code, cwd);
    shell("bloom-wasm build all.txt --kind bloom --capacity 1000000 --fpr 0.001 -o at-once.bloom", cwd);
    const merged = readFileSync(join(cwd, "whole.bloom"));
    assert.ok(merged.equals(readFileSync(join(cwd, "at-once.bloom"))));
    assert.ok(merged.length > 1_797_198 && merged.length < 1_797_198 + 100);
  });
}

test("every other sample runs in another test, or has a reason why it can't", () => {
  const used = new Set();
  const unknown = [];
  for (const { file, heading, language, code } of samples.filter(({ taken }) => !taken)) {
    const name = `${file}: ${heading}: ${language}: ${code.split("\n")[0]}`;
    const where = [...ELSEWHERE, ...CANNOT].find(([pattern]) => pattern.test(name));
    if (!where) unknown.push(name);
    else used.add(where);
    const [, why, words] = where ?? [];
    if (words) assert.ok(readFileSync(join(root, why), "utf8").includes(words), `${why} doesn't say ${words}`);
    else if (why) console.log(`samples: ${name} doesn't run: ${why}`);
  }
  assert.deepEqual(unknown, []);
  assert.deepEqual(
    [...ELSEWHERE, ...CANNOT].filter((it) => !used.has(it)).map(([pattern]) => pattern.source),
    [],
  );
  assert.ok(samples.length > 50, `${samples.length} samples`);
});
