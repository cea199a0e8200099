/** The answers of `tests/vectors/`, which the crate gives too, in both imports. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { full, golden, outcome, requireAlike, SECRET, seal, testEach } from "../helpers/engines.mjs";

/** The rows of all groups of a file. */
const vectors = (name) =>
  Object.values(JSON.parse(readFileSync(new URL(`../../tests/vectors/${name}.json`, import.meta.url)))).flat();

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/** A cuckoo filter, which knows how many keys it has, as an import reads it; and the reasons of the lines that were skipped. */
function built(decode, lines, options) {
  const skipped = [];
  const onSkip = ({ reason }) => skipped.push(reason);
  const filter = full.CuckooFilter.from(lines, { fpr: 1e-7, onSkip, ...options });
  return { skipped, count: filter.info().count, read: decode(filter.toBytes()) };
}

testEach("URLs have the keys of the vectors", ({ canonicalizeUrl, urlExpressions }) => {
  for (const { input, canonical = null, keys = [] } of vectors("urls")) {
    assert.equal(canonicalizeUrl(input), canonical, input);
    assert.deepEqual(urlExpressions(input), keys, input);
  }
});

testEach("lines of lists have the keys of the vectors, and are skipped for their reasons", ({ decode }) => {
  for (const { line, keys = [], skipped: reasons = [] } of vectors("lists")) {
    const { skipped, count, read } = built(decode, [line], { profile: "url" });
    assert.deepEqual(skipped, reasons, line);
    assert.equal(count, new Set(keys).size, line);
    assert.ok(read.hasAll(keys), line);
  }
});

testEach("passwords and lines of hashes are those of the vectors", ({ decode }) => {
  for (const { typed, exact, lower, line, hash, count } of vectors("passwords")) {
    if (typed) {
      for (const [listed, lowercase] of [
        [exact, false],
        [lower, true],
      ]) {
        const { read } = built(decode, [new TextEncoder().encode(listed)], { profile: "password", lowercase });
        assert.ok(read.hasPassword(typed), typed);
      }
    } else if (line) {
      const options = { profile: "password", sha1: true };
      const { read, ...its } = built(decode, [line], options);
      assert.deepEqual([its.count, its.skipped], hash ? [1, []] : [0, ["not_a_hash"]], line);
      if (hash) assert.ok(read.has(bytesOf(hash)), line);
      // A hash without a count counts as seen often.
      if (hash && count < 2 ** 32)
        assert.equal(built(decode, [line], { ...options, minCount: Number(count) + 1 }).count, 0, line);
    }
  }
});

testEach("damaged golden files give the errors of the vectors", ({ decode }) => {
  for (const { file, change = {}, cut, secret, code } of vectors("damage")) {
    const blob = golden(`${file}.bloom`);
    for (const [at, hex] of Object.entries(change)) blob.set(bytesOf(hex), Number(at));
    if (cut === undefined) seal(blob);
    const given = { right: { secret: SECRET }, wrong: { secret: SECRET.toReversed() } }[secret];
    requireAlike(
      outcome(() => decode(blob.subarray(0, cut), given)),
      code ?? "ok",
      JSON.stringify({ file, change, cut }),
    );
  }
});
