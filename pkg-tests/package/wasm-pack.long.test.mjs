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
import { listen } from "../helpers/server.mjs";

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
  const ribbon = Filter.decode(golden("ribbon.bloom"));
  assert.ok(ribbon.has("key-1") && ribbon.has(new TextEncoder().encode("key-1")) && !ribbon.has("no key"));
  assert.deepEqual([...ribbon.hasMany(new Set(["key-1", "no key"]))], [1, 0]);
  assert.deepEqual([ribbon.kind, ribbon.profile, ribbon.info().count], ["ribbon", "raw", 1000]);
  assert.deepEqual(Buffer.from(ribbon.toBytes()), golden("ribbon.bloom"));
  assert.equal(Filter.decode(golden("foreign-guava.bloom")).info().foreign.funnel, "utf8");

  const skipped = [];
  const urls = Filter.from(new Set(["evil.example", "||ads.example^", "https://evil.example/*"]), {
    ...{ profile: "url", fpr: 1e-6, name: "hosts", createdAt: 1_700_000_000_000, allow: ["good.example"] },
    lowercase: undefined,
    onSkip: ({ key, reason }) => skipped.push([new TextDecoder().decode(key), reason]),
  });
  assert.deepEqual(skipped, [["https://evil.example/*", "pattern"]]);
  assert.deepEqual([urls.hasUrl("https://www.evil.example/x"), urls.hasUrl("http://good.example/")], [true, false]);
  // One that the runtime's parser has to read.
  assert.equal(urls.matchUrl("http:\\\\EVIL\u3002example\\x"), "evil.example/");
  assert.equal(urls.matchUrl("http://good.example/"), null);
  assert.deepEqual([urls.info().name, urls.info().createdAt], ["hosts", 1_700_000_000_000]);

  const lists = { phishing: ["evil.example"], malware: new Set(["evil.example", "bad.example"]) };
  for (const its of [lists, new Map(Object.entries(lists))]) {
    const tagged = Filter.fromTagged(its, { profile: "url" });
    assert.deepEqual(tagged.urlTags("http://evil.example/a"), ["phishing", "malware"]);
    assert.deepEqual([tagged.tags("bad.example/"), tagged.tags("none.example/")], [["malware"], []]);
  }

  const passwords = Filter.from(["Hunter2"], { profile: "password", lowercase: true });
  assert.deepEqual([passwords.hasPassword("hunter2"), passwords.hasPassword("other")], [true, false]);
  const secret = Uint8Array.from({ length: 16 }, (_, i) => i);
  const keyed = Filter.from(["a"], { kind: "counting", seed: 2n ** 63n, secret });
  assert.deepEqual([keyed.add("b"), keyed.remove("a"), keyed.has("a"), keyed.has("b")], [true, true, false, true]);
  assert.ok(Filter.decode(keyed.toBytes(), secret).equals(keyed));
  const sized = Filter.from(["a"], { kind: "cuckoo", capacity: 1000 });
  assert.ok(Array.from({ length: 1000 }, (_, i) => sized.add(`key-${i}`)).length === 1000 && sized.has("a"));
  assert.equal(optimal(1000, 0.01).hashes, 7);

  const bad = (options) => () => Filter.from(["a"], options);
  for (const [code, ...calls] of [
    ["layered", () => Filter.from(["a"], { kind: "bloom", allow: ["b"] }).add("c")],
    ["not_a_filter", () => Filter.decode(golden("ribbon.bloom").subarray(1))],
    ["secret_required", () => Filter.decode(keyed.toBytes())],
    ["wrong_profile", () => ribbon.hasUrl("http://a.example/")],
    ["wrong_kind", () => ribbon.add("x"), () => ribbon.tags("x"), () => Filter.fromTagged({}, { kind: "bloom" })],
    ["invalid_key", () => ribbon.has(5), () => ribbon.has("\ud800"), () => urls.hasUrl(5), () => Filter.from([5])],
    ["invalid_key", () => urls.has("evil.example"), () => Filter.from(["<html>"], { profile: "url" })],
    ["invalid_parameter", () => Filter.decode("a string"), () => Filter.decode(keyed.toBytes(), "0123456789abcdef")],
    ["invalid_parameter", () => ribbon.hasMany("key-1"), () => Filter.from("evil.example"), () => Filter.from(5)],
    ["invalid_parameter", () => Filter.fromTagged(["a"]), () => Filter.fromTagged({ "a,b": ["a"] })],
    ["invalid_parameter", bad(null), bad({ rate: 1 }), bad(Object.create({ rate: 1 })), bad({ fpr: 2 })],
    ["invalid_parameter", bad({ kind: "tree" }), bad({ capacity: 5 }), bad({ kind: "scalable", capacity: 5 })],
    ["invalid_parameter", bad({ seed: -1n }), bad({ name: 5 }), bad({ allow: "a" }), bad({ secret })],
  ])
    for (const call of calls) assert.throws(call, { name: "FilterError", code }, `${call}`);

  // Whatever an argument does, it ends nothing but its own call.
  const stop = new Error("stop");
  const throwing = () => {
    throw stop;
  };
  const moved = new Uint8Array(8);
  structuredClone(moved.buffer, { transfer: [moved.buffer] });
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  const growing = Filter.from(["a"], { kind: "scalable" });
  const stopped = () => Filter.from(["||*^"], { profile: "url", onSkip: throwing });
  assert.throws(stopped, (error) => error === stop);
  for (let i = 0; i < 3000; i++)
    for (const call of [
      () => growing.has(moved),
      () => growing.add(new Proxy(new Uint8Array(8), { get: throwing })),
      () => growing.hasMany(proxy),
      () => growing.hasUrl({ toString: throwing }),
      () => Filter.from({ [Symbol.iterator]: throwing }),
      () => Filter.fromTagged({ a: proxy }),
      bad(new Proxy({}, { get: throwing })),
      stopped,
    ])
      assert.throws(call);
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
  const server = await listen(({ url }, response) => {
    const path = join(example, url === "/" ? "index.html" : url);
    if (!existsSync(path)) return response.writeHead(404).end();
    response.setHeader("content-type", types[extname(path)] ?? "application/octet-stream");
    response.end(readFileSync(path));
  });
  const browser = await playwright();
  context.after(async () => {
    await browser.close();
    server.close();
  });
  const page = await newPage(browser);
  await page.goto(server.at());
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
