/**
 * "bloom-wasm/reader" answers as WebAssembly does: random questions to filters of every kind, rate and size, URLs and
 * passwords. Damaged blobs: hostile.test.mjs. `CASES=1000000` sets the number of cases; `SEED` makes others.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { full, golden, reader } from "../helpers/engines.mjs";
import { given } from "../helpers/turn.mjs";
import { requireSameKeys, VECTORS } from "../helpers/urls.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter } = full;
const CASES = given("CASES", 12_500);

let random = Number(process.env.SEED ?? 1);
const below = (limit) => (((random = (Math.imul(random, 1664525) + 1013904223) >>> 0) / 2 ** 32) * limit) | 0;
const one = (list) => list[below(list.length)];
const shown = (text) => JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}...` : text);

/** A key of any length, text or bytes. */
function key() {
  const length = one([0, 3, 8, 20, 31, 32, 33, 59, 64, 70, 200]);
  if (below(4) === 0) return Uint8Array.from({ length }, () => below(256));
  return Array.from({ length }, () =>
    below(9) ? String.fromCharCode(33 + below(90)) : one(["é", "中", "😀", "\ud800", "\0"]),
  ).join("");
}

/** One of our own filters, and the options to read it with. */
function made(count, fpr) {
  const kind = one([BloomFilter, CountingBloomFilter, ScalableBloomFilter, CuckooFilter, RibbonFilter, RibbonFilter]);
  const secret = below(4) === 0 ? Uint8Array.from({ length: 16 }, () => below(256)) : undefined;
  const members = Array.from({ length: count }, key);
  const options = {
    fpr: kind === CuckooFilter ? Math.max(fpr, 2 ** -28) : fpr,
    seed: BigInt(below(2 ** 31)) ** 2n,
    allow: below(3) ? [] : Array.from({ length: below(50) }, key),
    name: one([undefined, "größer"]),
    createdAt: one([undefined, 1_700_000_000_000]),
  };
  if (secret) options.secret = secret;
  if (kind === CountingBloomFilter) options.counterBits = one([4, 8]);
  if (kind === ScalableBloomFilter)
    Object.assign(options, {
      initialCapacity: one([1, 10, 1000]),
      growth: one([1, 2, 16]),
      tightening: one([0.5, 0.9]),
    });
  return { members, filter: kind.from(members, options), secret: secret && { secret } };
}

test("random questions to filters of every kind", () => {
  let asked = 0;
  let filters = 0;
  let layered = 0;
  while (asked < CASES) {
    const count = one([0, 1, 5, 60, 63, 64, 65, 500, 1300, 4100, below(20_000)]);
    const fpr = below(2) ? one([0.999, 0.75, 0.5, 0.3, 0.01, 0.0015, 1e-3, 1e-6, 2 ** -32]) : 2 ** -(below(3200) / 100);
    let its;
    try {
      its = made(count, Math.min(fpr, 0.999));
    } catch (error) {
      // Not every kind has every rate.
      assert.ok(["invalid_parameter", "filter_full", "too_large"].includes(error.code), error.stack);
      continue;
    }
    const { members, filter, secret } = its;
    const bytes = filter.toBytes();
    const mine = reader.decode(bytes, secret);
    const questions = [...members.slice(0, 300), ...Array.from({ length: 300 }, key)];
    for (const question of questions) {
      if (mine.has(question) === filter.has(question)) continue;
      assert.fail(`${filter.kind}, ${count} keys, ${fpr}: another answer for ${String(question)}`);
    }
    assert.ok(
      members.every((member) => mine.has(member)),
      "a false negative",
    );
    assert.deepEqual(mine.toBytes(), bytes);
    assert.equal(mine.info().id, filter.info().id);
    asked += questions.length;
    filters++;
    layered += mine.info().layers;
    filter.free();
  }
  console.log(`engines: ${asked} questions to ${filters} filters with ${layered} layers in all`);
});

const words = (text) => text.split(" ");
const PIECES = [
  ..."%/.\\@:?#[]<>^|`{}'\" \t\n\0-_0éß中ẞ\u00ad\u200c\u200d\ufffd\ud800\udc80．。℡①ªАİςΣ",
  ...words("%25 %2e %41 %2F %23 %3F %5c %5B %00 %zz %c3%a9 %e4%b8 %ff %F0%9F%98%80 %E1%BA%9E %C2%AD"),
  ...words(".. // /./ /../ u:p@ :80 :99999 http: https:// HTTP:// ftp: ws: file: mailto: a.b:80 ::"),
  ...words("[::1] [::ffff:1.2.3.4] [64:ff9b::1.2.3.4] [1:2:3:4:5:6:7:8] [::%25lo] 0x7f.1 017.1 1.2.3.4 08.1 0x 1e9"),
  ...words("xn-- xn--a xn--80ak6aa92e XN-- \u{1df95} \ua7dc \u{10940} \u1C89 \u{323b0} \u0378 \u0301 \u{1F1E6} 😀"),
  ...["a".repeat(64), "0".repeat(1200), "x".repeat(1200), "é".repeat(300), "a.".repeat(130), "中".repeat(70)],
];

/** A URL of the vectors, with some pieces put into it. */
function mutated() {
  let text = one(VECTORS).input;
  for (let edits = 1 + below(3); edits > 0; edits--) {
    const at = below(3) ? Math.min(text.length, below(24)) : below(text.length + 1);
    text = text.slice(0, at) + one(PIECES) + text.slice(at + below(2));
  }
  return text;
}

/** The hosts that each character is put into. */
const HOSTS = [
  (char) => `http://x${char}y.com/`,
  (char) => `http://${char}.example.com/a`,
  (char) => `https://中${char}.com/`,
  (char) => `http://[${char}]/`,
  (char) => encodeURI(`http://${char}a.b/`.toWellFormed?.() ?? "http://a.b/"),
];

function* urlsOf() {
  for (let i = 0; i < CASES / 2; i++) yield mutated();
  // Every code point appears in some host, and in each of them if there are enough cases.
  const step = Math.max(1, Math.floor((0x110000 * HOSTS.length) / (CASES / 2)));
  for (let i = below(step); i < 0x110000 * HOSTS.length; i += step)
    yield HOSTS[i % HOSTS.length](String.fromCodePoint(Math.floor(i / HOSTS.length)));
}

test("URLs: keys and answers", () => {
  const lists = [
    RibbonFilter.from(
      VECTORS.flatMap(({ expressions }) => expressions.slice(0, 2)),
      { profile: "url" },
    ),
    RibbonFilter.from(
      VECTORS.flatMap(({ expressions }) => expressions.filter((its) => /^[^/]+\/$/.test(its))),
      { profile: "url", fpr: 0.3 },
    ),
    BloomFilter.from(
      VECTORS.flatMap(({ expressions }) => expressions),
      { profile: "url", fpr: 0.1 },
    ),
  ].map((filter) => [filter, reader.decode(filter.toBytes())]);
  let count = 0;
  let found = 0;
  for (const url of urlsOf()) {
    requireSameKeys(url);
    for (const [filter, mine] of lists) {
      const match = filter.matchUrl(url);
      assert.equal(mine.matchUrl(url), match, shown(url));
      assert.equal(mine.hasUrl(url), match !== null, shown(url));
      found += Number(match !== null);
    }
    count++;
  }
  console.log(`engines: ${count} URLs, ${found} answers of "maybe present"`);
  assert.ok(found > count / 20);
});

test("passwords in all options", () => {
  const filters = [false, true].map((lowercase) =>
    BloomFilter.from(["a"], { profile: "password", lowercase, fpr: 0.4 }),
  );
  filters.push(full.decode(golden("password-sha1-layers.bloom")));
  const all = filters.map((filter) => [filter, reader.decode(filter.toBytes())]);
  for (let i = 0; i < CASES / 10; i++) {
    const password = Array.from({ length: below(12) }, () =>
      one([..."aAzZ09 éÉ", "e\u0301", "Σ", "İ", "ß", "\ud800", "\u0323", "😀", "ﬁ", "Å", "\u212b"]),
    ).join("");
    for (const [filter, mine] of all)
      assert.equal(mine.hasPassword(password), filter.hasPassword(password), shown(password));
  }
});
