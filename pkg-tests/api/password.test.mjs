/** Passwords, plain and hashed. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { engines, fails, full, golden, reader, testEach } from "../helpers/engines.mjs";

const { BloomFilter, CountingBloomFilter, RibbonFilter } = full;

const sha1 = (password) => createHash("sha1").update(password).digest("hex");
const profile = "password";

testEach("SHA-1 is the same as Node's, at every length around a block's", ({ decode }) => {
  const odd = Array.from({ length: 300 }, (_, i) => "ü".repeat(i % 3) + "x".repeat(i));
  const filter = decode(RibbonFilter.from(odd.map(sha1), { profile, sha1: true, fpr: 1e-8 }).toBytes());
  for (const password of odd) assert.ok(filter.hasPassword(password), `length ${password.length}`);
  assert.ok(!odd.some((password) => filter.hasPassword(`${password}!`)));
});

testEach("composed and decomposed are the same; so are upper and lower case, if the builder says so", ({ decode }) => {
  for (const lowercase of [false, true]) {
    const list = ["Passwo\u0308rd1", new TextEncoder().encode("Passwo\u0308rd2")];
    const filter = decode(RibbonFilter.from(list, { profile, lowercase, fpr: 1e-8 }).toBytes());
    for (const number of [1, 2]) {
      for (const asked of [`Passw\u00f6rd${number}`, `Passwo\u0308rd${number}`]) {
        assert.equal(filter.hasPassword(asked), true);
        assert.equal(filter.hasPassword(asked.toUpperCase()), lowercase);
        for (const other of [` ${asked}`, `${asked} `, asked.slice(1), ""])
          assert.ok(!filter.hasPassword(other), other);
      }
    }
  }
});

test("passwords in all options: the same answers in both imports", () => {
  const list = [
    "hunter2",
    "Größer",
    "A\u030angstro\u0308m",
    "ΑΣ",
    "İstanbul",
    "\ud800\u0301a",
    "H\u0331",
    " spaces ",
    "",
    "😀",
  ];
  const others = ["Hunter2", "größer", "Ångström", "ας", "i\u0307stanbul", "\ufffd\u0301a", "spaces"];
  for (const lowercase of [false, true]) {
    const filter = BloomFilter.from(list, { profile, lowercase, fpr: 1e-9 });
    const read = reader.decode(filter.toBytes());
    for (const password of [...list, ...others])
      assert.equal(read.hasPassword(password), filter.hasPassword(password), JSON.stringify(password));
    for (const its of [filter, read]) assert.ok(list.every((password) => its.hasPassword(password)));
  }
  // Its keys are hashes, which the builders of JavaScript don't make of passwords.
  const keys = Array.from({ length: 3000 }, (_, i) => `key ${i}`);
  const long = [55, 56, 64, 1000].map((length) => "x".repeat(length));
  for (const name of ["password-sha1-layers.bloom", "password-lowercase.bloom"]) {
    const [inWasm, inJavaScript] = Object.values(engines).map(({ decode }) => decode(golden(name)));
    for (const password of [...list, ...others, ...keys, ...long])
      assert.equal(inJavaScript.hasPassword(password), inWasm.hasPassword(password), password);
  }
});

test("skipped lines are reported, and allowed passwords may be too short or too rare for the list", () => {
  const [plain, hashed] = [
    ["1234567", "12345678"],
    [`${sha1("a")}:9`, `${sha1("12345678")}:10`, "no hash"],
  ];
  for (const [list, options, reasons] of [
    [plain, { minLength: 8 }, ["too_short"]],
    [hashed, { sha1: true, minCount: 10 }, ["too_rare", "not_a_hash"]],
  ]) {
    const skipped = [];
    const onSkip = ({ key, reason }) => skipped.push([key, reason]);
    // Nearly all would be false positives.
    const allow = Array.from({ length: 100 }, (_, i) => (options.sha1 ? `${sha1(`s${i}`)}:1` : `s${i}`));
    const filter = RibbonFilter.from(list, { profile, fpr: 0.9, allow, onSkip, ...options });
    const told = reasons.map((reason, i) => [list[2 * i], reason]);
    assert.deepEqual(skipped, told);
    assert.ok(filter.info().count === 1 && filter.hasPassword("12345678"));
    assert.ok(!allow.some((_, i) => filter.hasPassword(`s${i}`)));
  }
});

test("keys added later are read like the list", () => {
  const room = Array.from({ length: 100 }, (_, i) => `some ${i}`);
  const lower = BloomFilter.from(["Password1", ...room], { profile, lowercase: true, fpr: 1e-8 });
  assert.deepEqual([lower.add("SECRET"), lower.add("secret")], [true, false]);
  assert.equal(lower.addMany(["PASSWO\u0308RD", "passw\u00f6rd"]), 1);
  assert.equal(lower.addLines(new TextEncoder().encode("Dragon\r\n\n#1fan")), 2);
  for (const password of ["password1", "SECRET", "Passw\u00f6rd", "DRAGON", "#1FAN"])
    assert.ok(lower.hasPassword(password));
  const hashed = CountingBloomFilter.from(["a", ...room].map(sha1), { profile, sha1: true, fpr: 1e-8 });
  assert.deepEqual([hashed.add(`${sha1("b")}:7`), hashed.remove(sha1("a"))], [true, true]);
  assert.deepEqual([hashed.hasPassword("a"), hashed.hasPassword("b")], [false, true]);
  fails("invalid_key", () => hashed.add("c"));
});

test("bytes that aren't UTF-8 are kept as they are, and a list may hold any password", async () => {
  const bytes = Uint8Array.of(0x50, 0xff, 0x31);
  const filter = RibbonFilter.from([bytes, "#1fan", "a:b", " x "], { profile, fpr: 1e-8 });
  assert.ok(filter.has(bytes) && ["#1fan", "a:b", " x "].every((password) => filter.hasPassword(password)));
  const text = new Blob(["#1fan\r\na:b\n\n x \n", bytes]).stream();
  assert.deepEqual((await RibbonFilter.fromStream(text, { profile, fpr: 1e-8 })).toBytes(), filter.toBytes());
});

test("a key that a filter of passwords can't hold is refused, not called absent, and not shown", () => {
  const encode = (text) => new TextEncoder().encode(text);
  const hash = (password) => createHash("sha1").update(password).digest();
  const listed = ["Hunter2", "Gr\u00f6\u00dfer", "exactly 20 bytes, as"];
  const odd = Uint8Array.of(...encode("PASSW"), 0xff); // not UTF-8, so it has no other form
  const digits = listed.map(sha1);
  const short = hash("Hunter2").subarray(1);
  for (const [options, list, held, refused] of [
    [{}, [...listed, odd], [...listed, odd], ["Gro\u0308\u00dfer", encode("Gro\u0308\u00dfer"), "\u212a"]],
    [
      { lowercase: true },
      [...listed, odd],
      ["hunter2", encode("gr\u00f6\u00dfer"), odd],
      ["Hunter2", encode("HUNTER2"), "\u0130", "\u03a3", "gro\u0308\u00dfer"],
    ],
    [{ sha1: true }, digits, listed.map(hash), ["", new Uint8Array(0), ...listed, ...digits, encode(digits[0]), short]],
  ]) {
    for (const made of [RibbonFilter.from, (keys, options) => RibbonFilter.fromTagged({ t: keys }, options)]) {
      const blob = made(list, { profile, fpr: 1e-8, ...options }).toBytes();
      for (const { decode } of Object.values(engines)) {
        const filter = decode(blob);
        const asks = filter.info().tags ? ["has", "tags"] : ["has"];
        for (const key of refused) {
          const words = (what) => new RegExp(`^${what} is no key of a filter of passwords; ask hasPassword$`);
          const its = words(typeof key === "string" ? "this string" : "this Uint8Array");
          for (const ask of asks) fails("invalid_key", () => filter[ask](key), its);
          // Beside one that it can hold, and in a line.
          fails("invalid_key", () => filter.hasMany([held[0], key]), its);
          if (key.length > 0 && typeof key === "string")
            fails("invalid_key", () => filter.hasLines(encode(`\n${key}\r\n`)), words("line 2"));
        }
        for (const key of held) for (const ask of asks) assert.ok(filter[ask](key));
        assert.ok(filter.hasMany(held).every((answer) => answer === 1));
        assert.ok(listed.every((password) => filter.hasPassword(password)));
      }
    }
  }
});
