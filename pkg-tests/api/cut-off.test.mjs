/** Calls that are cut off, in Node. In other runtimes, and oftener: api/cut-off.long.test.mjs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { full } from "../helpers/engines.mjs";
import { cutOff } from "../runtimes/cut-off.mjs";

const { BloomFilter, FilterError, RibbonFilter } = full;

test("a call that is cut off ends nothing but itself", { timeout: 300_000 }, async () => {
  const { wrong, met } = await cutOff(full, { rounds: 3 });
  assert.deepEqual(wrong, []);
  for (const [call, times] of Object.entries(met)) assert.ok(times >= 3, `${call} was cut off ${times} times`);
});

test("what a cut-off call threw is what its caller gets", () => {
  const urls = RibbonFilter.from(["evil.example"], { profile: "url" });
  const { normalize } = String.prototype;
  const passwords = RibbonFilter.from(["p\u00e4ssword"], { profile: "password" });
  for (const thrown of [new Error("mine"), new FilterError("freed", "mine, too"), undefined, 5]) {
    String.prototype.normalize = () => {
      throw thrown;
    };
    try {
      passwords.hasPassword("p\u00e4ssword");
      assert.fail("nothing was thrown");
    } catch (error) {
      assert.equal(error, thrown);
    } finally {
      String.prototype.normalize = normalize;
    }
    assert.ok(passwords.hasPassword("p\u00e4ssword") && urls.hasUrl("https://evil.example"));
  }
});

test("a call from within another is refused, and both filters stay as they are", () => {
  const seen = BloomFilter.from(["a"]);
  const urls = BloomFilter.from(["evil.example"], { profile: "url" });
  const { URL } = globalThis;
  const codes = [];
  globalThis.URL = class extends URL {
    get href() {
      try {
        seen.has("a");
      } catch ({ code }) {
        codes.push(code);
      }
      return super.href;
    }
  };
  try {
    assert.ok(urls.add("http://user@b\u00fccher.example/"));
  } finally {
    globalThis.URL = URL;
  }
  assert.ok(codes.length > 0 && codes.every((code) => code === "wasm_load"), codes.join());
  assert.ok(seen.has("a") && urls.hasUrl("https://b\u00fccher.example/x") && urls.hasUrl("evil.example"));
});

test("a filter that a cut-off call was about to change is as it was", () => {
  const urls = BloomFilter.from(["evil.example"], { profile: "url" });
  const before = urls.toBytes();
  const { URL } = globalThis;
  globalThis.URL = class {
    constructor() {
      throw new RangeError("no more stack");
    }
  };
  try {
    assert.throws(() => urls.add("http://user@b\u00fccher.example/"), { message: "no more stack" });
  } finally {
    globalThis.URL = URL;
  }
  assert.deepEqual(urls.toBytes(), before);
  assert.ok(urls.add("http://user@b\u00fccher.example/") && urls.hasUrl("https://b\u00fccher.example/x"));
});

test("freed filters stay freed, and those that are collected take no memory", () => {
  const filter = BloomFilter.from(["a"]);
  const freed = BloomFilter.from(["b"]);
  freed.free();
  const overflow = () => {
    filter.has("a");
    overflow();
  };
  for (let i = 0; i < 20; i++) {
    const other = BloomFilter.from(["c"]);
    assert.throws(overflow, RangeError);
    // Freed while it waits for the next call, or after that.
    if (i % 2) filter.has("a");
    other.free();
    assert.throws(() => other.has("c"), { code: "freed" });
    assert.throws(() => freed.has("b"), { code: "freed" });
    assert.ok(filter.has("a"));
  }
});
