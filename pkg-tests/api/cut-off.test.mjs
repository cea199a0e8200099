/** Calls that are cut off, in Node. In other runtimes, and oftener: api/cut-off.long.test.mjs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { full } from "../helpers/engines.mjs";
import { CATCH_MEMORY, printed } from "../helpers/installed.mjs";
import { cutOff } from "../runtimes/cut-off.mjs";

const { BloomFilter, FilterError, ForeignFilter, RibbonFilter, load } = full;

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

/** Runs while a global, or a method, has another value. */
function whileReplaced(object, name, value, run) {
  const original = object[name];
  object[name] = value;
  try {
    run();
  } finally {
    object[name] = original;
  }
}

test("what can't be moved now is moved later, and nothing is lost", () => {
  const filters = Array.from({ length: 5 }, (_, i) => BloomFilter.from([`key ${i}`]));
  const right = () => filters.every((filter, i) => filter.has(`key ${i}`) && !filter.has("stranger"));
  const set = () => {
    throw new Error("mine");
  };
  whileReplaced(Object.getPrototypeOf(Uint8Array.prototype), "set", set, () => {
    for (let i = 0; i < 3; i++) assert.throws(() => filters[0].hasMany(["a"]), { message: "mine" });
  });
  assert.ok(right());
  // No memory for a copy of what was in WebAssembly.
  const { Uint8Array: Original } = globalThis;
  const small = function (...args) {
    if (args[0] > 20) throw new RangeError("Array buffer allocation failed");
    return Reflect.construct(Original, args, new.target);
  };
  Object.setPrototypeOf(small, Original);
  small.prototype = Original.prototype;
  const passwords = RibbonFilter.from(["p\u00e4ssword"], { profile: "password" });
  whileReplaced(String.prototype, "normalize", set, () => {
    assert.throws(() => passwords.hasPassword("p\u00e4ssword"), { message: "mine" });
  });
  whileReplaced(globalThis, "Uint8Array", small, () => {
    for (let i = 0; i < 3; i++) assert.throws(() => filters[1].has("a"), { code: "too_large" });
  });
  assert.ok(right() && passwords.hasPassword("p\u00e4ssword"));
});

test("clones share their memory also after a cut, until one is changed", () => {
  const script = `
    ${CATCH_MEMORY}
    const { BloomFilter } = started(await import("bloom-wasm"));
    const urls = BloomFilter.from(["evil.example"], { profile: "url" });
    const cut = () => {
      const { URL } = globalThis;
      globalThis.URL = class {
        constructor() {
          throw new RangeError("no more stack");
        }
      };
      try {
        urls.hasUrl("http://b\\u00fccher.example/");
        console.log("not cut off");
      } catch {}
      globalThis.URL = URL;
    };
    const filter = new BloomFilter(8 * 2 ** 22, 3);
    filter.add("a");
    const clones = Array.from({ length: 20 }, () => filter.clone());
    clones[0].add("b");
    for (let i = 0; i < 3; i++) {
      cut();
      if (!clones.every((clone, i) => clone.has("a") && clone.has("b") === (i === 0))) throw new Error("wrong");
    }
    clones[1].add("c");
    if (filter.has("c") || clones[2].has("c") || !clones[1].has("c")) throw new Error("changed");
    console.log(memory.buffer.byteLength / 2 ** 20);
  `;
  const taken = Number(printed(script));
  // Three filters of 4 MiB, one that is being copied, and the allocator's room to grow.
  assert.ok(taken < 30, `${taken} MiB`);
});

test("what arrives, and a list that is read, go on after a cut", async () => {
  const passwords = RibbonFilter.from(["p\u00e4ssword"], { profile: "password" });
  const cut = () =>
    whileReplaced(
      String.prototype,
      "normalize",
      () => {
        throw new Error("mine");
      },
      () => assert.throws(() => passwords.hasPassword("p\u00e4ssword"), { message: "mine" }),
    );
  /** A stream in which a call is cut off after each of two pieces. */
  const pieces = (bytes) =>
    ReadableStream.from(
      (async function* () {
        for (const at of [0, 1]) {
          yield bytes.slice(at * 30, at ? undefined : 30);
          cut();
        }
      })(),
    );
  const filter = BloomFilter.from(["a", "b"]);
  assert.ok((await load(new Response(pieces(filter.toBytes())))).equals(filter));
  const guava = ForeignFilter.from(["a"], { format: "guava" });
  assert.ok((await load(new Response(pieces(guava.toForeign())), { format: "guava" })).equals(guava));
  const text = new TextEncoder().encode(`${"a\n".repeat(20)}b`);
  assert.ok((await BloomFilter.fromStream(pieces(text))).equals(filter));
});

test("a start that fails halfway is begun again", () => {
  const script = `
    const { set } = WebAssembly.Table.prototype;
    WebAssembly.Table.prototype.set = () => {
      WebAssembly.Table.prototype.set = set;
      throw new Error("once");
    };
    const { BloomFilter } = await import("bloom-wasm");
    try {
      BloomFilter.from(["a"]);
    } catch ({ code }) {
      console.log(code);
    }
    console.log(BloomFilter.from(["a"]).info().keyed);
  `;
  assert.equal(printed(script), "wasm_load\nfalse\n");
});

test("allowed keys are checked as they are read", () => {
  const endless = function* () {
    yield 5;
    for (;;) yield "a";
  };
  assert.throws(() => RibbonFilter.from(["a"], { allow: endless() }), { code: "invalid_key" });
  const transferred = new Uint8Array(3);
  structuredClone(transferred, { transfer: [transferred.buffer] });
  assert.throws(() => RibbonFilter.from(["a"], { allow: [transferred] }), { code: "invalid_key" });
});
