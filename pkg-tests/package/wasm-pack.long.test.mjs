/** The crate without the npm package: what `wasm-pack build` makes of a clone, and examples/wasm-pack. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { test } from "node:test";
import { output, root, setup } from "../../scripts/setup.mjs";
import { newPage, noChromium, playwright } from "../helpers/browsers.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { createServer } from "../helpers/server.mjs";

setup();
const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const example = join(folder, "example");
cpSync(join(root, "examples/wasm-pack"), example, { recursive: true, filter: (path) => !path.includes("pkg") });
writeFileSync(join(folder, "list.txt"), "evil.example\nhttps://shop.example/login\n");
execFileSync(nativeTool(), [
  ...["build", join(folder, "list.txt"), "--profile", "url", "-o", join(example, "list.bloom")],
]);

/** What anybody runs, for a target; the first compiles the crate. */
function pack(target, out) {
  execFileSync("wasm-pack", ["build", "--target", target, "--out-dir", out], { cwd: root, stdio: "pipe" });
}

const golden = (name) => readFileSync(join(root, "tests/golden", name));

/** The classes, asked for golden files and for lists of all profiles. */
function ask({ Filter, optimal }) {
  const code = (run) => {
    try {
      return run();
    } catch ({ name, code }) {
      return `${name} ${code}`;
    }
  };
  const ribbon = Filter.decode(golden("ribbon.bloom"));
  const lines = golden("ribbon.txt").toString().trim().split("\n");
  const nonmembers = Array.from({ length: 2000 }, (_, i) => `key-${1000 + i}`);
  const found = nonmembers.filter((_, i) => ribbon.hasMany(nonmembers)[i]).map((key) => key.slice(4));
  assert.deepEqual(
    found,
    lines.filter((line) => Number(line) < 3000),
  );
  assert.ok(ribbon.has("key-1") && ribbon.has(new TextEncoder().encode("key-1")) && !ribbon.has("no key"));
  assert.deepEqual([ribbon.kind, ribbon.profile, ribbon.info().count], ["ribbon", "raw", 1000]);
  assert.deepEqual(Buffer.from(ribbon.toBytes()), golden("ribbon.bloom"));
  const foreign = Filter.decode(golden("foreign-guava.bloom")).info();
  assert.deepEqual([foreign.kind, foreign.foreign.funnel], ["guava", "utf8"]);

  const skipped = [];
  const urls = Filter.from(["evil.example", "||ads.example^", "https://evil.example/*"], {
    profile: "url",
    fpr: 1e-6,
    name: "hosts",
    createdAt: 1_700_000_000_000,
    allow: ["good.example"],
    onSkip: ({ key, reason }) => skipped.push([new TextDecoder().decode(key), reason]),
  });
  assert.deepEqual(skipped, [["https://evil.example/*", "pattern"]]);
  assert.deepEqual([urls.hasUrl("https://www.evil.example/x"), urls.hasUrl("http://good.example/")], [true, false]);
  // One that the runtime's parser has to read.
  assert.equal(urls.matchUrl("http:\\\\EVIL\u3002example\\x"), "evil.example/");
  assert.equal(urls.matchUrl("http://good.example/"), null);
  assert.deepEqual([urls.info().name, urls.info().createdAt], ["hosts", 1_700_000_000_000]);
  assert.equal(
    code(() => urls.has("evil.example")),
    "FilterError invalid_key",
  );

  const tagged = Filter.fromTagged(
    { phishing: ["evil.example"], malware: ["evil.example", "bad.example"] },
    { profile: "url" },
  );
  assert.deepEqual(tagged.urlTags("http://evil.example/a"), ["phishing", "malware"]);
  assert.deepEqual([tagged.tags("bad.example/"), tagged.tags("none.example/")], [["malware"], []]);
  assert.deepEqual(tagged.info().tags, [
    { name: "phishing", count: 1 },
    { name: "malware", count: 2 },
  ]);

  const passwords = Filter.from(["Hunter2"], { profile: "password", lowercase: true });
  assert.deepEqual([passwords.hasPassword("hunter2"), passwords.hasPassword("other")], [true, false]);
  const secret = Uint8Array.from({ length: 16 }, (_, i) => i);
  const keyed = Filter.from(["a"], { kind: "counting", seed: 2n ** 63n, secret });
  assert.deepEqual([keyed.add("b"), keyed.remove("a"), keyed.has("a"), keyed.has("b")], [true, true, false, true]);
  assert.ok(Filter.decode(keyed.toBytes(), secret).equals(keyed));
  assert.deepEqual(optimal(1000, 0.01).hashes, 7);

  // Any iterable, and what isn't one.
  const hosts = new Set(["evil.example"]);
  assert.ok(Filter.from(hosts, { profile: "url", lowercase: undefined }).hasUrl("http://evil.example/"));
  assert.deepEqual([...ribbon.hasMany(new Set(["key-1", "no key"]))], [1, 0]);
  assert.deepEqual(
    Filter.fromTagged(
      new Map([
        ["b", ["x"]],
        ["a", hosts],
      ]),
    ).tags("evil.example"),
    ["a"],
  );
  const numbers = Filter.decode(golden("foreign-spark.bloom"));
  assert.equal(numbers.profile, "raw");

  const sized = Filter.from(["a"], { kind: "cuckoo", capacity: 1000 });
  assert.ok(Array.from({ length: 1000 }, (_, i) => sized.add(`key-${i}`)).length === 1000 && sized.has("a"));

  for (const [run, wanted] of [
    [() => Filter.from(["a"], { kind: "bloom", allow: ["b"] }).add("c"), "layered"],
    [() => Filter.from(["a"], { kind: "cuckoo", allow: [] }).remove("a"), "layered"],
    [() => Filter.from(["a"], { kind: "scalable", allow: ["b"] }).clear(), "layered"],
    [() => Filter.from(["a"], { kind: "scalable", capacity: 5 }), "invalid_parameter"],
    [() => Filter.decode(golden("ribbon.bloom").subarray(1)), "not_a_filter"],
    [() => Filter.decode("a string"), "invalid_parameter"],
    [() => Filter.decode(undefined), "invalid_parameter"],
    [() => Filter.decode(keyed.toBytes(), "0123456789abcdef"), "invalid_parameter"],
    [() => ribbon.has(undefined), "invalid_key"],
    [() => ribbon.has("\ud800"), "invalid_key"],
    [() => ribbon.hasMany(undefined), "invalid_parameter"],
    [() => ribbon.hasMany("key-1"), "invalid_parameter"],
    [() => ribbon.clear(), "wrong_kind"],
    [() => Filter.from("evil.example"), "invalid_parameter"],
    [() => Filter.from(5), "invalid_parameter"],
    [() => Filter.from(["a"], { capacity: 5 }), "invalid_parameter"],
    [() => Filter.from(["a"], Object.create({ rate: 1 })), "invalid_parameter"],
    [() => Filter.fromTagged(["a"]), "invalid_parameter"],
    [() => Filter.fromTagged({}, { kind: "bloom" }), "wrong_kind"],
    [() => Filter.decode(keyed.toBytes()), "secret_required"],
    [() => ribbon.has(5), "invalid_key"],
    [() => ribbon.hasUrl("http://a.example/"), "wrong_profile"],
    [() => urls.hasUrl(5), "invalid_key"],
    [() => passwords.hasPassword(5), "invalid_key"],
    [() => ribbon.add("x"), "wrong_kind"],
    [() => ribbon.tags("x"), "wrong_kind"],
    [() => Filter.from([5]), "invalid_key"],
    [() => Filter.from(["a"], { fpr: 2 }), "invalid_parameter"],
    [() => Filter.from(["a"], { rate: 0.1 }), "invalid_parameter"],
    [() => Filter.from(["a"], { kind: "tree" }), "invalid_parameter"],
    [() => Filter.from(["a"], null), "invalid_parameter"],
    [() => Filter.from(["a"], 5), "invalid_parameter"],
    [() => Filter.from(["a"], { seed: -1n }), "invalid_parameter"],
    [() => Filter.from(["a"], { name: 5 }), "invalid_parameter"],
    [() => Filter.from(["a"], { allow: "a" }), "invalid_parameter"],
    [() => Filter.from(["a"], { secret }), "invalid_parameter"],
    [() => Filter.from(["<html>"], { profile: "url" }), "invalid_key"],
    [() => Filter.fromTagged({ "a,b": ["a"] }), "invalid_parameter"],
  ])
    assert.equal(code(run), `FilterError ${wanted}`, `${run}`);
  const stop = new Error("stop");
  const stopped = () =>
    Filter.from(["||*^"], {
      profile: "url",
      onSkip: () => {
        throw stop;
      },
    });
  assert.throws(stopped, (error) => error === stop);
  // Whatever an argument does, it ends nothing but its own call.
  const moved = new Uint8Array(8);
  structuredClone(moved.buffer, { transfer: [moved.buffer] });
  const thrower = new Proxy(new Uint8Array(8), {
    get() {
      throw stop;
    },
  });
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  const getter = {
    get fpr() {
      throw stop;
    },
  };
  const iterator = {
    *[Symbol.iterator]() {
      yield "a";
      throw stop;
    },
  };
  const growing = Filter.from(["a"], { kind: "scalable" });
  for (let i = 0; i < 3000; i++)
    for (const run of [
      () => growing.has(moved),
      () => growing.add(thrower),
      () => growing.hasMany(proxy),
      () => Filter.from(["a"], getter),
      () => Filter.from(iterator),
      () => Filter.decode(moved),
      () => Filter.fromTagged({ a: proxy }),
      () =>
        growing.hasUrl({
          toString() {
            throw stop;
          },
        }),
      stopped,
    ])
      assert.throws(run);
  assert.ok(growing.add("b") && growing.has("b"));
  growing.free();
  assert.ok(ribbon.has("key-1"));
}

test("target web, in Node and in the example's page", { skip: noChromium }, async (context) => {
  pack("web", join(example, "pkg"));
  const raw = await import(join(example, "pkg/bloom_wasm.js"));
  raw.initSync({ module: readFileSync(join(example, "pkg/bloom_wasm_bg.wasm")) });
  ask(raw);

  const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
  const server = createServer(({ url }, response) => {
    const path = join(example, url === "/" ? "index.html" : url);
    response.statusCode = existsSync(path) ? 200 : 404;
    response.setHeader("content-type", types[extname(path)] ?? "application/octet-stream");
    response.end(existsSync(path) ? readFileSync(path) : "");
  });
  await new Promise((done) => server.listen(0, done));
  const browser = await playwright();
  context.after(async () => {
    await browser.close();
    server.close();
  });
  const page = await newPage(browser);
  await page.goto(`http://localhost:${server.address().port}/`);
  const shows = (text) => page.waitForFunction((text) => document.querySelector("#answer").value === text, text);
  await shows("evil.example/");
  await page.fill("#url", "https://shop.example/login?next");
  await shows("shop.example/login");
  await page.fill("#url", "https://good.example/");
  await shows("not on the list");
});

test("target nodejs, by require", () => {
  pack("nodejs", join(example, "pkg-node"));
  ask(createRequire(import.meta.url)(join(example, "pkg-node/bloom_wasm.js")));
  const said = output("node", join(example, "check.cjs"), "https://www.evil.example/", "http://good.example/");
  assert.equal(
    said,
    "https://www.evil.example/ evil.example/\nhttp://good.example/ not on the list\ntrue false\n[ 'phishing', 'malware' ]\n",
  );
});

test("target bundler, whose wasm is a module of its own", () => {
  pack("bundler", join(example, "pkg-bundler"));
  writeFileSync(
    join(example, "bundler.mjs"),
    `import { Filter } from "./pkg-bundler/bloom_wasm.js";
    console.log(Filter.from(["evil.example"], { profile: "url" }).matchUrl("http://www.evil.example/"));`,
  );
  assert.equal(output("node", "--experimental-wasm-modules", join(example, "bundler.mjs")), "evil.example/\n");
});
