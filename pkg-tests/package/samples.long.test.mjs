/**
 * Every code sample in the documentation runs: those of README, SECURITY.md and docs/feeds.md here, unchanged, and all
 * others where ELSEWHERE says. For samples that can't run, it says why.
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
import { bloomFilters } from "../interop/systems.mjs";
import { skipped } from "../runtimes/table.mjs";

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
  [/^docs\/recipes\.md/, "pkg-tests/package/recipes.long.test.mjs", '"docs/recipes.md"'],
  [/^docs\/frameworks\.md/, "pkg-tests/runtimes/frameworks.long.test.mjs", 'page("frameworks.md")'],
  [/^docs\/edge\.md: A thousand redirects/, "pkg-tests/runtimes/next.long.test.mjs", 'docs("edge.md")'],
  [/^docs\/edge\.md: (A blob|A feed)/, "pkg-tests/runtimes/edge.long.test.mjs", 'page("edge.md")'],
  [/^docs\/moving\.md/, "pkg-tests/interop/moving.long.test.mjs", 'page("moving.md")'],
  [/^docs\/scale\.md/, "pkg-tests/sharded/scale.long.test.mjs", 'page("scale.md")'],
  [/^README\.md: In Rust/, "src/lib.rs", 'include_str!("../README.md")'],
  [/^README\.md: Try it from a clone/, "pkg-tests/package/start.test.mjs", "npm start"],
  [/^docs\/releasing\.md/, "pkg-tests/package/releasable.test.mjs", '"docs/releasing.md"'],
  [/^README\.md: In an extension/, "pkg-tests/package/readme.long.test.mjs", 'sample("In an extension"'],
  [/^README\.md: In a Cloudflare Worker/, "pkg-tests/package/readme.long.test.mjs", 'sample("In a Cloudflare Worker"'],
  [/^README\.md: In a page without/, "pkg-tests/package/readme.long.test.mjs", 'sample("In a page without a bundler"'],
  [/^README\.md: With a bundler/, "pkg-tests/package/readme.long.test.mjs", 'sample("With a bundler, and in Node"'],
  [/^docs\/javascript\.md: From a CDN/, "pkg-tests/runtimes/cdn.long.test.mjs", 'split("\\n## From a CDN\\n")'],
  [
    /^examples\/extension\/README\.md: Stop the next/,
    "pkg-tests/runtimes/rules.long.test.mjs",
    "## Stop the next request",
  ],
  [/^docs\/feeds\.md: Where a client keeps it: js/, "pkg-tests/feeds/runtimes.long.test.mjs", '["indexedDb", "kv"]'],
  [/^docs\/feeds\.md: S3 and R2: yaml/, "pkg-tests/feeds/hosting.long.test.mjs", "workflows()"],
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
  [/^docs\/pwned\.md: Build it: sh: dotnet/, "it downloads 40 GB"],
  [
    /^docs\/pwned\.md: Build it: sh: aws/,
    "feeds/hosting.long.test.mjs runs a similar one for feeds; a sync needs a bucket",
  ],
  [/^examples\/spark\/README\.md: With another engine/, "there is no ClickHouse here"],
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

const [JAVASCRIPT, LISTS, MOVING, TOOL] = ["javascript", "lists", "moving", "tool"].map((name) => `docs/${name}.md`);

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
  const [filter, completions] = [take(TOOL, "Filter lines", "sh"), take(TOOL, "Completions", "sh")];
  test("docs/tool.md: filtering lines, and completions", () => {
    const cwd = work("lines", {
      "urls.txt": lines("a", "new", "b"),
    });
    shell(`printf 'a\\nb\\n' | bloom-wasm build -o seen.bloom\n${filter}`, cwd);
    assert.equal(readFileSync(join(cwd, "new.txt"), "utf8"), "new\n");
    const folder = join(cwd, ".local/share/bash-completion/completions");
    shell(`mkdir -p ${folder}\n${completions}`, cwd, { HOME: cwd });
    assert.match(readFileSync(join(folder, "bloom-wasm"), "utf8"), /^ *complete -F /m);
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
  const [loading, narrowing, growing, retrying] = [1, 2, 3, 4].map(() => take(JAVASCRIPT, "Load", "js"));
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
    const { ForeignFilter, RibbonFilter, ScalableBloomFilter, load } = await installed();
    const foreign = ForeignFilter.from(keys, { format: "go-bloom" });
    const writeFile = context.mock.fn();
    const narrow = () =>
      js(narrowing, cwd, { ForeignFilter, load, url: given.url, key: "new", writeFile }, "export { list };");
    writeFileSync(join(cwd, "keys.bloom"), foreign.toBytes());
    assert.ok(!(await narrow()).list.has("new"));
    assert.deepEqual(writeFile.mock.calls[0].arguments, ["original", foreign.toForeign()]);
    writeFileSync(join(cwd, "keys.bloom"), new ScalableBloomFilter().toBytes());
    assert.ok((await narrow()).list.has("new"));
    assert.equal(writeFile.mock.callCount(), 1);
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
    ["warn, or ask the full list", "1e-3"],
    ["skip what was seen", "1e-2"],
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
  const feeds = "docs/feeds.md";
  const publishing = take(feeds, "Publishing", "sh");
  feed("docs/feeds.md: a feed", publishing, take(feeds, "Following", "js"), { warnings: 0 });
  const packing = `${publishing}\ncp -r public feed`;
  feed("docs/feeds.md: a packaged feed", packing, take(feeds, "Packaged with an app", "js"), { warnings: 0 });
  const described = take(feeds, "Publishing", "toml");
  test("docs/feeds.md: a feed of several lists", () => {
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
  const kept = take(feeds, "Where a client keeps it", "js").replace('"feeds"', 'new URL("feeds", import.meta.url)');
  feed("docs/feeds.md: a feed that is kept in files", publishing, kept, { warnings: 0 });
}

{
  const code = take("docs/feeds.md", "S3 and R2", "json");
  test("docs/feeds.md: the CORS rules are JSON", () => {
    assert.deepEqual(JSON.parse(code).CORSRules[0].AllowedOrigins, ["*"]);
  });
}

{
  const [described, build] = ["toml", "sh"].map((language) => take("docs/feeds.md", "Sharded filters", language));
  const [parts, elsewhere] = ["toml", "sh"].map((language) => take("docs/feeds.md", "Built elsewhere", language));
  const hash = (password) => createHash("sha1").update(password).digest("hex").toUpperCase();
  const pwned = lines(
    ...["password", "123456", "correct horse battery staple"].map((password) => `${hash(password)}:9`),
  );
  test("docs/feeds.md: a sharded filter", () => {
    const cwd = work("sharded", { "pwned.txt": pwned, "feed.toml": described });
    const printed = shell(build, cwd);
    assert.match(printed, /^password$/m);
    assert.match(printed, /^members +3 keys, 0 false negatives$/m);
  });
  const heading = "A list too large to download";
  const pages = { README: [README, heading], "docs/feeds.md": ["docs/feeds.md", "Asking it"] };
  for (const [name, [file, title]] of Object.entries(pages)) {
    const code = take(file, title, "js");
    // README says what to add to the file that it begins.
    const added = "sed -i 's/^sign/sha1 = true\\nshards = 8192\\nsign/' feed.toml\n";
    const commands = file === README ? take(README, heading, "sh").replace("\n", `\n${added}`) : build;
    const files = { "pwned.txt": pwned, ...(file !== README && { "feed.toml": described }) };
    test(`${name}: a sharded filter is asked`, async (context) => {
      const cwd = work(`asked-${name.replace("/", "-")}`, files);
      const [publicKey] = /[\w-]{43}/.exec(shell(commands, cwd));
      const refuse = context.mock.fn();
      serve(context, join(cwd, "public"));
      await js(code, cwd, { publicKey, refuse, password: "123456" });
      assert.equal(refuse.mock.callCount(), 1);
    });
  }
  test("docs/feeds.md: a sharded filter that was built elsewhere", () => {
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
  const [secret, described, publish, build, both, worker] = [
    take(page, "Make the secret", "sh"),
    take(page, "Publish the list", "toml"),
    take(page, "Publish the list", "sh"),
    take(page, "Publish the list", "sh"),
    take(page, "Publish the list", "js"),
    take(page, "Ask it in a Worker", "js"),
  ];
  test("docs/keyed.md: publishing, a blob, and a Worker", async (context) => {
    const cwd = work("keyed-worker", { "revoked.txt": lines("token-4711", "token-1"), "feed.toml": described });
    const [publicKey] = /[\w-]{43}/.exec(shell(`${secret}${publish}`, cwd));
    assert.match(shell(build, cwd), /^token-4711$/m);
    await js(both, cwd);
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
  const page = "docs/pwned.md";
  // The first one downloads the list.
  const [build] = samples.filter((it) => it.file === page && it.code.includes("bloom-wasm feed publish"));
  build.taken = true;
  const described = take(page, "Build it", "toml");
  const [form, worker] = [take(page, "Ask it from a form", "js"), take(page, "Ask it from a Worker", "js")];
  const hash = (password) => createHash("sha1").update(password).digest("hex").toUpperCase();
  const pwned = lines(`${hash("password1")}:9`, `${hash("123456")}:3`);
  test("docs/pwned.md: building, a form, and a Worker", async (context) => {
    const cwd = work("pwned", { "pwned.txt": pwned, "feed.toml": described });
    const [publicKey] = /[\w-]{43}/.exec(shell(build.code, cwd));
    const host = serve(context, join(cwd, "public"));
    const silent = (_, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    // When the form appears, and when it is first sent.
    for (const call of [0, 1]) host.mock.mockImplementationOnce(silent, call);

    const password = { value: "", setCustomValidity: (text) => (password.text = text), text: "" };
    const listeners = {};
    const element = {
      elements: { password },
      addEventListener: (type, listener) => (listeners[type] = listener),
      reportValidity: () => password.text === "",
      submit: context.mock.fn(),
    };
    await js(form, cwd, { publicKey, document: { querySelector: () => element } });
    const { timeout } = AbortSignal;
    const limit = context.mock.method(AbortSignal, "timeout");
    context.mock.method(console, "warn", () => {});
    limit.mock.mockImplementationOnce(() => timeout.call(AbortSignal, 1));
    // A page stays open; Node would end if only such a time limit is pending.
    const stays = setInterval(() => {}, 1000);
    context.after(() => clearInterval(stays));
    for (const [value, sent] of [
      ["password1", 1], // the host didn't answer
      ["password1", 1],
      ["correct horse battery staple", 2],
    ]) {
      password.value = value;
      listeners.input();
      await listeners.submit({ preventDefault() {} });
      assert.equal(element.submit.mock.callCount(), sent, value);
    }

    const { default: its } = await js(worker, cwd);
    const env = { PWNED_URL: "https://pwned.example/shards.json", PUBLIC_KEY: publicKey };
    const send = async (body) => {
      const waiting = [];
      const request = new Request("https://a.example", { method: "POST", body });
      const response = await its.fetch(request, env, { waitUntil: (promise) => waiting.push(promise) });
      await Promise.all(waiting);
      return response;
    };
    const ask = async (value) => (await send(JSON.stringify({ password: value }))).json();
    for (const body of ["{", "{}", "null", '{ "password": 1 }', undefined])
      assert.equal((await send(body)).status, 400, body);
    assert.deepEqual(await ask("123456"), { pwned: true });
    assert.deepEqual(await ask("correct horse battery staple"), { pwned: false });
  });
}

{
  const [described, code] = ["toml", "sh"].map((it) => take("examples/extension/README.md", "Use your own list", it));
  test("the extension: publishing your own list", () => {
    const files = { "list.txt": lines("evil.example"), "popular.txt": lines("good.example"), "feed.toml": described };
    const cwd = work("extension", files);
    shell(code, cwd);
    assert.equal(JSON.parse(readFileSync(join(cwd, "public/feed.json"), "utf8")).signatures.length, 1);
  });
}

{
  const [wrapping, making] = [take(MOVING, "Two ways", "sh"), take(MOVING, "And back", "js")];
  test("docs/moving.md: wrapping other software's bytes, and building them", async () => {
    const { ForeignFilter } = await installed();
    const keys = ["evil.example", "bad.example"];
    const original = ForeignFilter.from(keys, { format: "go-bloom" }).toForeign();
    const cwd = work("wrapping", { "seen.go": original });
    shell(wrapping, cwd);
    assert.ok(readFileSync(join(cwd, "seen.go")).equals(original));
    const has = (name, options) => decode(readFileSync(join(cwd, name)), options).has("evil.example");
    assert.ok(has("seen.bloom"));
    await js(`import { ForeignFilter } from "bloom-wasm";\n${making}`, cwd, {
      keys,
      writeFile: (name, bytes) => writeFileSync(join(cwd, name), bytes),
    });
    assert.ok(has("keys.guava", { format: "guava", funnel: "utf8" }));
  });
}

{
  const code = take(MOVING, "From the npm package bloom-filters", "js");
  const { missing, path } = bloomFilters();
  test("docs/moving.md: from the npm package bloom-filters", {
    skip: missing && skipped("docs/moving.md, bloom-filters", missing),
  }, async () => {
    // Imported unchanged, but from where it is installed.
    const theirs = pathToFileURL(path).href;
    const there = code.replace('"bloom-filters"', JSON.stringify(theirs));
    const { list } = await js(there, work("bloom-filters"), {}, "export { list };");
    assert.deepEqual([list.has("evil.example"), list.has("good.example")], [true, false]);
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
  assert.ok(samples.length > 60, `${samples.length} samples`);
});
