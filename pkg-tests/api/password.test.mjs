/** Passwords, plain and hashed. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { engines, fails, full, golden, reader, seal, testEach } from "../helpers/engines.mjs";
import { given } from "../helpers/turn.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, FilterError, RibbonFilter, ScalableBloomFilter } = full;

const sha1 = (password) => createHash("sha1").update(password).digest("hex");
const profile = "password";

testEach("SHA-1 is the same as Node's, at every length around a block's", ({ decode }) => {
  const odd = Array.from({ length: 300 }, (_, i) => "ü".repeat(i % 3) + "x".repeat(i));
  const filter = decode(RibbonFilter.from(odd.map(sha1), { profile, sha1: true, fpr: 1e-8 }).toBytes());
  for (const password of odd) assert.ok(filter.hasPassword(password), `length ${password.length}`);
  const other = decode(RibbonFilter.from([], { profile, sha1: true }).toBytes());
  for (const password of odd) assert.ok(!other.hasPassword(password));
  // A Bloom filter of one key, changed to say that it is a password's hash.
  for (const length of [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 1000]) {
    const password = "ab".repeat(length).slice(0, length);
    const bytes = BloomFilter.from([new Uint8Array(Buffer.from(sha1(password), "hex"))], { fpr: 1e-9 }).toBytes();
    bytes[6] = 2;
    bytes[7] = 8;
    const one = decode(seal(bytes));
    assert.ok(one.hasPassword(password) && one.info().sha1, `${length}`);
    assert.ok(!one.hasPassword(`${password}c`));
  }
});

testEach("composed and decomposed are the same; so are upper and lower case, if the builder says so", ({ decode }) => {
  const listing = (keys, options) => decode(RibbonFilter.from(keys, { profile, fpr: 1e-8, ...options }).toBytes());
  const [composed, apart] = ["Passw\u00f6rd1", "Passwo\u0308rd1"];
  for (const entry of [composed, apart, new TextEncoder().encode(apart)]) {
    const [exact, lower] = [listing([entry]), listing([entry], { lowercase: true })];
    for (const asked of [composed, apart]) {
      assert.deepEqual([exact.hasPassword(asked), lower.hasPassword(asked)], [true, true]);
      assert.deepEqual([exact.hasPassword(asked.toUpperCase()), lower.hasPassword(asked.toUpperCase())], [false, true]);
      assert.deepEqual([exact.hasPassword(asked.toLowerCase()), lower.hasPassword(asked.toLowerCase())], [false, true]);
    }
    for (const filter of [exact, lower]) {
      for (const other of [` ${composed}`, `${composed} `, composed.slice(1), ""])
        assert.equal(filter.hasPassword(other), false, other);
    }
  }
  const [exact, lower] = [listing(["Password1"]), listing(["Password1"], { lowercase: true })];
  for (const password of ["Password1", "PASSWORD1", "password1"]) {
    assert.ok(lower.hasPassword(password));
    assert.equal(exact.hasPassword(password), password === "Password1");
  }
});

test("passwords in all options: the same answers in both imports", () => {
  const list = ["hunter2", "Größer", "A\u030angstro\u0308m", "ΑΣ", "İstanbul", "\ud800\u0301a", " spaces ", "", "😀"];
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

test("skipped lines are reported", () => {
  const skipped = [];
  const onSkip = (line) => skipped.push(line);
  const short = RibbonFilter.from(["1234567", "12345678", "u\u0308".repeat(8), "ü".repeat(7), "👍".repeat(7)], {
    profile,
    minLength: 8,
    onSkip,
  });
  assert.deepEqual(
    skipped.splice(0).map(({ key, reason }) => [key, reason]),
    [
      ["1234567", "too_short"],
      ["ü".repeat(7), "too_short"],
      ["👍".repeat(7), "too_short"],
    ],
  );
  assert.equal(short.info().count, 2);
  assert.ok(short.hasPassword("ü".repeat(8)));

  const lines = [
    `${sha1("a")}:9`,
    `${sha1("b")}:10`,
    sha1("c"),
    sha1("d").slice(1),
    `${sha1("e")}:`,
    `${sha1("f")} 5`,
    "g",
  ];
  const hashed = RibbonFilter.from(lines, { profile, sha1: true, minCount: 10, fpr: 1e-8, onSkip });
  assert.deepEqual(
    ["a", "b", "c", "d", "e", "f", "g"].map((password) => hashed.hasPassword(password)),
    [false, true, true, false, false, false, false],
  );
  assert.deepEqual(
    skipped.map(({ reason }) => reason),
    ["too_rare", "not_a_hash", "not_a_hash", "not_a_hash", "not_a_hash"],
  );
});

test("allowed passwords may be too short or too rare for the list", () => {
  const long = Array.from({ length: 2000 }, (_, i) => `long enough ${i}`);
  const short = Array.from({ length: 3000 }, (_, i) => `s${i}`);
  const options = { profile, fpr: 0.01, onSkip: () => assert.fail("nothing is skipped") };
  const plain = RibbonFilter.from(long, { ...options, minLength: 8, allow: short });
  const hashed = RibbonFilter.from(
    long.map((key) => `${sha1(key)}:10`),
    { ...options, sha1: true, minCount: 10, allow: short.map((key) => `${sha1(key)}:1`) },
  );
  for (const filter of [plain, hashed]) {
    assert.ok(filter.info().layers === 1 && long.every((key) => filter.hasPassword(key)));
    assert.ok(!short.some((key) => filter.hasPassword(key)));
  }
});

test("keys added later are read like the list", () => {
  // They have room for more keys than they get, to stay below their rate.
  const some = Array.from({ length: 100 }, (_, i) => `some ${i}`);
  const filter = BloomFilter.from(["Password1", ...some], { profile, lowercase: true, fpr: 1e-8 });
  assert.equal(filter.add("SECRET"), true);
  assert.equal(filter.add("secret"), false);
  assert.equal(filter.addMany(["PASSWO\u0308RD", "passw\u00f6rd"]), 1);
  assert.equal(filter.addLines(new TextEncoder().encode("Dragon\r\n\n#1fan")), 2);
  for (const password of ["password1", "SECRET", "Passw\u00f6rd", "DRAGON", "#1FAN"])
    assert.ok(filter.hasPassword(password));
  const hashed = CountingBloomFilter.from(["a", ...some].map(sha1), { profile, sha1: true, fpr: 1e-8 });
  assert.equal(hashed.add(`${sha1("b")}:7`), true);
  assert.equal(hashed.remove(sha1("a")), true);
  assert.deepEqual(
    ["a", "b"].map((password) => hashed.hasPassword(password)),
    [false, true],
  );
  fails("invalid_key", () => hashed.add("c"));
});

test("an iterator may refill one buffer, and a text is the same as its bytes", () => {
  const buffer = new Uint8Array(3);
  const refilled = function* () {
    for (const key of ["aaa", "bbb", "ccc"]) {
      new TextEncoder().encodeInto(key, buffer);
      yield buffer;
    }
    yield "bbb";
    yield Uint8Array.of(0xff, 1, 2);
  };
  const conflicts = [];
  const members = ["aaa", "bbb", "ccc", "ddd", Uint8Array.of(0xff, 1, 2), "bytes 255,1,2"];
  const filter = RibbonFilter.from(members, {
    allow: refilled(),
    allowWins: true,
    onConflict: (conflict) => conflicts.push(conflict),
  });
  assert.deepEqual(
    conflicts,
    ["aaa", "bbb", "ccc", Uint8Array.of(0xff, 1, 2)].map((key) => ({ key, removed: true })),
  );
  assert.equal(filter.info().count, 2);
  assert.ok(filter.hasAll(["ddd", "bytes 255,1,2"]));
});

test("bytes that aren't UTF-8 are kept as they are, and a list may hold any password", async () => {
  const bytes = Uint8Array.of(0x50, 0xff, 0x31);
  const filter = RibbonFilter.from([bytes, "#1fan", "a:b", " x "], { profile, fpr: 1e-8 });
  assert.ok(filter.has(bytes));
  const text = new Blob(["#1fan\r\na:b\n\n x \n", bytes]).stream();
  assert.deepEqual((await RibbonFilter.fromStream(text, { profile, fpr: 1e-8 })).toBytes(), filter.toBytes());
  for (const password of ["#1fan", "a:b", " x "]) assert.ok(filter.hasPassword(password));
});

const encode = (text) => new TextEncoder().encode(text);

test("a key that a filter of passwords can't hold is refused, not called absent", () => {
  const kinds = [BloomFilter, CountingBloomFilter, RibbonFilter, CuckooFilter, ScalableBloomFilter];
  const filters = (keys, options) =>
    kinds.flatMap((kind) => {
      const bytes = kind.from(keys, { profile, fpr: 1e-8, ...options }).toBytes();
      return Object.values(engines).map(({ decode }) => decode(bytes));
    });
  const refuses = (filter, key, what) => {
    const invalid = (message) => (error) => {
      assert.ok(error instanceof FilterError && error.code === "invalid_key", error);
      // No part of a password may get into a log.
      assert.equal(error.message, `${message} is no key of a filter of passwords; ask hasPassword`);
      return true;
    };
    const its = invalid(typeof key === "string" ? "this string" : "this Uint8Array");
    for (const ask of ["has", "tags"]) {
      if (ask === "tags" && !filter.info().tags) continue;
      assert.throws(() => filter[ask](key), its, what);
    }
    for (const ask of ["hasAny", "hasAll"]) assert.throws(() => filter[ask]([key]), its, what);
    // In a batch of its own, and beside others.
    assert.throws(() => filter.hasMany([key]), its, what);
    assert.throws(() => filter.hasMany([key, key]), its, what);
    if (typeof key !== "string" || key === "") return;
    assert.throws(() => filter.hasLines(encode(`\n${key}\r\n`)), invalid("line 2"), what);
  };
  const hash = (password) => createHash("sha1").update(password).digest();
  const listed = ["hunter2", "Hunter2", "Gr\u00f6\u00dfer", "exactly 20 bytes, as"];
  for (const filter of filters(listed.map(sha1), { sha1: true })) {
    for (const password of listed) {
      for (const key of [password, encode(password)]) {
        // These bytes may be a hash.
        if (key.length !== 20 || typeof key === "string") refuses(filter, key, "a password");
      }
      for (const key of [sha1(password), sha1(password).toUpperCase(), encode(sha1(password))])
        refuses(filter, key, "hexadecimal digits");
      for (const key of [hash(password).subarray(1), Buffer.concat([hash(password), Uint8Array.of(0)])])
        refuses(filter, key, "a byte more or less");
      assert.ok(filter.has(hash(password)) && filter.hasPassword(password));
      assert.deepEqual([...filter.hasMany([hash(password), new Uint8Array(hash("no"))])], [1, 0]);
    }
    refuses(filter, "", "an empty one");
    refuses(filter, new Uint8Array(0), "an empty one");
  }
  for (const lowercase of [false, true]) {
    const odd = Uint8Array.of(...encode("PASSW"), 0xff); // not UTF-8, so it has no other form
    for (const filter of filters([...listed, odd], { lowercase })) {
      const others = lowercase
        ? ["Hunter2", "HUNTER2", "gr\u00f6\u00dfeR", "GR\u00d6\u1e9eER", "\u0130", "\u03a3"]
        : [];
      for (const key of [...others, "Gro\u0308\u00dfer", "\u212a"]) {
        refuses(filter, key, "another spelling");
        refuses(filter, encode(key), "another spelling");
      }
      const stored = lowercase ? ["hunter2", "gr\u00f6\u00dfer"] : ["hunter2", "Hunter2", "Gr\u00f6\u00dfer"];
      assert.ok(filter.hasAll([...stored, ...stored.map(encode), odd]));
      assert.deepEqual(
        [...filter.hasLines(encode(`${stored.join("\n")}\n\nstranger`))],
        [...stored.map(() => 1), 0, 0],
      );
      assert.deepEqual([...filter.hasMany(["", "\ufffd", "\ud800", " ", "\ufeff"])], [0, 0, 0, 0, 0]);
      assert.ok(filter.hasPassword("Gro\u0308\u00dfer"));
    }
  }
});

test("no key of a list of passwords is refused, whatever its characters", () => {
  // All characters with another form, or every `EVERY`th, alone and next to those that may join or change them.
  const every = given("EVERY", 8);
  const passwords = [];
  let others = 0;
  for (let code = 0x80; code < 0x110000; code++) {
    const character = String.fromCodePoint(code).toWellFormed();
    const forms = [character.normalize("NFC"), character.toLowerCase(), character.normalize("NFD")];
    if (forms.every((form) => form === character) ? code % (97 * every) > 0 : others++ % every > 0) continue;
    passwords.push(character, `H${character}\u0331`, `\u039f\u03a3${character}`);
  }
  assert.ok(passwords.length > 10_000 / every);
  for (const lowercase of [false, true]) {
    const bytes = RibbonFilter.from(passwords, { profile, lowercase, fpr: 0.01 }).toBytes();
    // As FORMAT.md says.
    const form = (password) => {
      const composed = password.normalize("NFC");
      return lowercase ? composed.toLowerCase().normalize("NFC") : composed;
    };
    const keys = passwords.map(form);
    for (const { decode } of Object.values(engines)) {
      const filter = decode(bytes);
      assert.ok(filter.hasMany(keys).every((answer) => answer === 1));
      assert.ok(filter.hasMany(keys.map(encode)).every((answer) => answer === 1));
      for (const password of passwords.filter((password) => form(password) !== password))
        fails("invalid_key", () => filter.has(password));
    }
  }
});

test("tags of a filter of passwords refuse such keys, too", () => {
  const tagged = (lists, options) => RibbonFilter.fromTagged(lists, { profile, fpr: 1e-9, ...options }).toBytes();
  for (const { decode } of Object.values(engines)) {
    const lower = decode(tagged({ common: ["Gr\u00f6\u00dfer"] }, { lowercase: true }));
    assert.deepEqual(lower.tags("gr\u00f6\u00dfer"), ["common"]);
    for (const key of ["Gr\u00f6\u00dfer", encode("Gr\u00f6\u00dfer")]) fails("invalid_key", () => lower.tags(key));
    const hashed = decode(tagged({ leaked: [sha1("hunter2")] }, { sha1: true }));
    assert.deepEqual(hashed.tags(createHash("sha1").update("hunter2").digest()), ["leaked"]);
    for (const key of ["hunter2", "x".repeat(20)]) fails("invalid_key", () => hashed.tags(key));
  }
});

testEach("questions that a filter of passwords can't answer, and values that aren't passwords", ({ decode }) => {
  const filter = decode(BloomFilter.from(["password1"], { profile }).toBytes());
  for (const password of [undefined, null, 1, new Uint8Array(3), new String("password1")]) {
    fails("invalid_key", () => filter.hasPassword(password));
  }
  for (const other of [BloomFilter.from(["password1"]), BloomFilter.from(["a.b"], { profile: "url" })])
    fails("wrong_profile", () => decode(other.toBytes()).hasPassword("password1"));
  fails("wrong_profile", () => filter.matchUrl("a.b"));
  assert.ok(filter.hasPassword("password1"));
});

test("options that don't go together, or are invalid", () => {
  const build = (options) => () => RibbonFilter.from(["a"], options);
  fails("invalid_parameter", build({ profile, sha1: true, lowercase: true }));
  fails("invalid_parameter", build({ profile, sha1: true, minLength: 8 }));
  fails("invalid_parameter", build({ profile, minCount: 8 }));
  for (const minLength of [-1, 0.5, "8", NaN]) fails("invalid_parameter", build({ profile, minLength }));
  fails("invalid_parameter", build({ minLength: 8 }));
  fails("invalid_parameter", build({ name: "ü".repeat(128) }));
  for (const createdAt of [null, [], true, "2026"]) fails("invalid_parameter", build({ createdAt }));
  fails("invalid_key", () => RibbonFilter.from([1], { profile }));
  for (const name of ["lowercase", "sha1"]) fails("invalid_parameter", build({ profile, [name]: "false" }));
  for (const name of ["onSkip", "onConflict"]) fails("invalid_parameter", build({ [name]: 5 }));
  fails("invalid_parameter", build({ allowWins: true }));
});
