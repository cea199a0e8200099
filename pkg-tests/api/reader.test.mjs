/** What is special about "bloom-wasm/reader": it needs no WebAssembly, and reads only filters of our own kinds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, full, golden, outcome, reader } from "../helpers/engines.mjs";
import { printed } from "../helpers/installed.mjs";
import { turn } from "../helpers/turn.mjs";

const { FilterError, decode, load } = reader;

const inBase64 = (bytes) => `Buffer.from("${Buffer.from(bytes).toString("base64")}", "base64")`;

test("it needs no WebAssembly, and reports a missing URL parser", () => {
  const out = printed(`
    delete globalThis.WebAssembly;
    const { decode } = await import("bloom-wasm/reader");
    const filter = decode(${inBase64(golden("url.bloom"))});
    console.log(filter.has("plain.example/"), filter.hasUrl("http://plain.example/"));
    delete globalThis.URL;
    try { filter.hasUrl("http://größe.example/"); } catch ({ code, cause }) { console.log(code, cause.message); }
    console.log(filter.has("plain.example/"));
  `);
  assert.equal(out, "false false\nunsupported_runtime URL is not defined\nfalse\n");
});

test("filters of other software are left to bloom-wasm", async () => {
  const foreign = full.ForeignFilter.from(["a"], { format: "guava" });
  for (const [bytes, options, code, words] of [
    [foreign.toBytes(), undefined, "unsupported_kind", /bloom-wasm reads it/],
    [foreign.toForeign(), { format: "guava" }, "invalid_parameter", /"bloom-wasm"/],
    [foreign.toForeign(), { format: null }, "invalid_parameter", /"bloom-wasm"/],
    [foreign.toForeign(), undefined, "not_a_filter", /bloom-wasm/],
  ]) {
    fails(code, () => decode(bytes, options), words);
    const error = await load(bytes, options).then(assert.fail, (error) => error);
    fails(code, () => assert.fail(error), words);
  }
});

test("a password of more than 2^27 characters is too large, as a URL is", () => {
  const long = "a".repeat(2 ** 27 + 1);
  fails("too_large", () => decode(golden("password-lowercase.bloom")).hasPassword(long));
  fails("too_large", () => decode(golden("url.bloom")).hasUrl(long));
  fails("too_large", () => reader.canonicalizeUrl(long));
});

test("a deep stack: errors while the stack runs out leave the rest working", () => {
  const filter = decode(golden("ribbon.bloom"));
  const url = decode(golden("url.bloom"));
  const deep = () => {
    try {
      deep();
    } catch (error) {
      try {
        filter.has("key-1");
        url.hasUrl("http://größe.example/%41");
      } catch (error) {
        assert.ok(error instanceof RangeError || error instanceof FilterError);
      }
      throw error;
    }
  };
  assert.throws(deep, RangeError);
  assert.ok(filter.has("key-1") && !url.hasUrl("http://größe.example/%41"));
});

test("a filter of passwords is asked for bytes of many megabytes: WebAssembly's answers, and little memory", () => {
  const kept = (lowercase) => full.BloomFilter.from(["a"], { profile: "password", lowercase, fpr: 1e-6 }).toBytes();
  // Characters of all lengths across every 4096th byte, the last one whole, in another form, cut short, or not UTF-8.
  let place = 0;
  for (const bytes of [kept(false), kept(true)]) {
    const [filter, inWasm] = [decode(bytes), full.decode(bytes)];
    const ask = (its, key) => outcome(() => assert.equal(its.has(key), false));
    for (const unit of ["a", "\u00e9", "\u20ac", "\u{1f511}", "%41", "\ufeff"]) {
      for (const shift of [0, 1, 2, 3]) {
        for (const end of ["", "A", "e\u0301", "\u212a"]
          .map((text) => Buffer.from(text))
          .concat(Buffer.of(0xe2, 0x82))) {
          if (!turn(place++, 7)) continue;
          const text = Buffer.from("x".repeat(shift) + unit.repeat(9000 / Buffer.byteLength(unit)));
          const key = new Uint8Array(Buffer.concat([text, end]));
          assert.equal(ask(filter, key), ask(inWasm, key), `${unit} ${shift} ${end}`);
        }
      }
    }
    for (const byte of [0x80, 0xc3, 0xff]) assert.equal(ask(filter, new Uint8Array(9000).fill(byte)), "ok");
  }
  const out = printed(
    `
      const { decode } = await import("bloom-wasm/reader");
      const filter = decode(${inBase64(kept(false))});
      const key = new Uint8Array(8e6).fill(98);
      console.log(filter.has(key), [...filter.hasLines(key)], [...filter.hasMany([key])], filter.has(key.fill(0xff)));
    `,
    "--max-old-space-size=64", // megabytes
  );
  assert.equal(out, "false [ 0 ] [ 0 ] false\n");
});

test("if memory is short, each method throws too_large, and works again once there is some", () => {
  const out = printed(`
    const { decode } = await import("bloom-wasm/reader");
    const bytes = ${inBase64(golden("ribbon.bloom"))};
    const filter = decode(bytes);
    const whole = Uint8Array;
    globalThis.Uint8Array = new Proxy(whole, {
      construct(its, [first, ...others]) {
        if (first > 500) throw new RangeError("Array buffer allocation failed");
        return new its(first, ...others);
      },
    });
    for (const run of [() => decode(bytes), () => filter.toBytes()]) {
      try { run(); } catch (error) { console.log(error.name, error.code); }
    }
    globalThis.Uint8Array = whole;
    console.log(filter.equals(decode(filter.toBytes())));
  `);
  assert.equal(out, `${"FilterError too_large\n".repeat(2)}true\n`);
});
