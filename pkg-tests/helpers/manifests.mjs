/** Manifests that both clients and the tool refuse. */
import assert from "node:assert/strict";
import { base64url, keyPair, manifest, signature } from "./publisher.mjs";

const JUNK = [undefined, null, {}, [], "", true, -1, 0.5, 1e300, Number.NaN];

/** Changes of a payload that make it wrong, in members that all manifests have. */
const heads = {
  not_a_feed: [
    ...["version", "feedId", "generation", "createdAt", "expires", "profile", "fpr", "seed", "count"].flatMap(
      (member) => JUNK.map((value) => ({ [member]: value })),
    ),
    { version: 0 },
    { version: "1" },
    { feedId: "A".repeat(32) },
    { feedId: `${"a".repeat(32)}\n` },
    { generation: 0 },
    { generation: 2 ** 53 },
    { generation: "3" },
    { createdAt: 8.64e15 + 1 },
    { expires: 2 ** 53 },
    { profile: "urls" },
    { fpr: 0 },
    { fpr: 1 },
    { seed: 0 },
    { seed: "00" },
    { seed: "-1" },
    { seed: "1e3" },
    { seed: String(2n ** 64n) },
    { check: null },
    { check: "A".repeat(16) },
    ...["name", "homepage", "license"].flatMap((member) =>
      [null, 5, ["a"], "ä".repeat(128)].map((value) => ({ [member]: value })),
    ),
    ...[
      "",
      "lists.example",
      "//lists.example/",
      "https:lists.example",
      "https://",
      "HTTPS://lists.example/",
      "ftp://lists.example/",
      "javascript:alert(1)//https://lists.example/",
      "\njavascript:alert(1)",
      " https://lists.example/",
      "https://lists.example/\n",
      "https://lists.example/a b",
      "https://bücher.example/",
      "https://lists.example/".padEnd(256, "a"),
    ].map((homepage) => ({ homepage })),
    { lowercase: true },
    { sha1: true },
    { lowercase: null },
    { profile: "password", lowercase: 1 },
    { profile: "password", sha1: "true" },
    { profile: "password", lowercase: true, sha1: true },
  ].filter(({ fpr }) => fpr !== 0.5),
  unsupported_version: [{ version: 2 }, { version: 3, feedId: 5 }],
  wrong_feed: [{ feedId: "0".repeat(32) }],
  rollback: [{ generation: 1 }, { generation: 2 }, { generation: 2, name: "again" }],
  expired: [{ expires: 0 }, { expires: 1 }],
};

/** The files of a feed: without a delta, some of the changes below would have no effect. */
function baseAndDelta({ listed }) {
  const kinds = listed.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["base", "delta"]);
  return listed;
}

/** Changes of the members of a feed that has a base and a delta. */
const ofFeed = [
  ...JUNK.map((files) => ({ files })),
  { profile: "url" }, // the base's is raw
  { profile: "password" },
  { seed: "1" },
  ...[
    (listed) => [{}, ...listed],
    (listed) => [null, ...listed],
    ([{ kind, bytes, sha256 }, delta]) => [[kind, bytes, sha256], delta],
    ([base, delta]) => [{ ...base, kind: { base: null } }, delta],
    (listed) => [listed[1]],
    (listed) => [{ ...listed[0], kind: "delta" }, listed[1]],
    (listed) => [listed[0], { ...listed[1], kind: "base" }],
    (listed) => [listed[0], ...Array(64).fill(listed[1])],
    ...[0, -1, 2 ** 31, 1.5, "5", null, undefined].map((bytes) => (listed) => [listed[0], { ...listed[1], bytes }]),
    ...["", "a", "A".repeat(64), `${"a".repeat(64)}/`, "../feed.json", null, undefined].map((sha256) => (listed) => [
      listed[0],
      { ...listed[1], sha256 },
    ]),
  ].map((change) => (publisher) => ({ files: change(baseAndDelta(publisher)) })),
];

const HASH = "0".repeat(64);

/** Changes of the members of a sharded filter. */
const ofShards = [
  ...["shards", "bytes", "pages"].flatMap((member) => JUNK.map((value) => ({ [member]: value }))),
  { shards: 0 },
  { shards: 3 },
  { shards: 2 ** 17, pages: Array(512).fill(HASH) },
  { shards: "2" },
  { shards: 512 },
  ({ pages }) => ({ pages: [...pages, HASH] }),
  { pages: HASH },
  { pages: [HASH.slice(1)] },
  { pages: [HASH.replace("0", "A")] },
  { pages: [5] },
  ...JUNK.filter((value) => value !== undefined).map((tags) => ({ tags })),
  ...[
    [null],
    [["a", 1]],
    [{ name: "a" }],
    [{ count: 1 }],
    [{ name: 5, count: 1 }],
    [{ name: "", count: 1 }],
    [{ name: "ä".repeat(128), count: 1 }],
    [{ name: "a", count: -1 }],
    [{ name: "a", count: 2 ** 53 }],
    [{ name: "a", count: "1" }],
    [{ name: "\ud800", count: 1 }],
    ...[...",\t\n\x7f\x85\u061c\u200e\u2028\u202e\u2066"].map((c) => [{ name: `a${c}b`, count: 1 }]),
    [
      { name: "a", count: 1 },
      { name: "b", count: 1 },
      { name: "a", count: 1 },
    ],
    Array.from({ length: 256 }, (_, i) => ({ name: `tag-${i}`, count: 1 })),
  ].map((tags) => ({ tags })),
];

/** All cases, each with the error code of a client that has generation 2 in place. */
function casesOf(typ, otherTyp, members) {
  const other = keyPair();
  const its = (publisher, changes) => JSON.stringify(publisher.payload({ generation: 3, ...changes }));
  const sound = (publisher) => Buffer.from(publisher.changed({ generation: 3 }));
  const good = { alg: "EdDSA", typ };
  const sealed = (payload, { key }) => manifest(payload, [key], good);
  const withHeader = (header) => (publisher) => publisher.changed({ generation: 3 }, [publisher.key], header);
  const whole = (publisher, change) => {
    const payload = base64url(its(publisher));
    const made = { payload, signatures: [signature(payload, publisher.key, good)] };
    return JSON.stringify(change(made) ?? made);
  };
  const manifests = {
    signature: [
      (publisher) => publisher.changed({ generation: 3 }, [other]),
      (publisher) => publisher.changed({ generation: 3 }, []),
      ...[
        {},
        { ...good, alg: "none" },
        { ...good, alg: "Ed25519" },
        { ...good, alg: "HS256" },
        { ...good, typ: otherTyp },
        { ...good, typ: undefined },
        { ...good, crit: ["b64"], b64: false },
        { ...good, crit: null },
        { ...good, b64: true },
        [good],
        `${base64url(JSON.stringify(good))}=`,
        ` ${base64url(JSON.stringify(good))}`,
        base64url("{"),
        "",
      ].map(withHeader),
      // The payload of one manifest with the signature of another.
      (publisher) => {
        const { signatures } = JSON.parse(publisher.changed({ generation: 2 }));
        return JSON.stringify({ payload: base64url(its(publisher)), signatures });
      },
      (publisher) => whole(publisher, (made) => void (made.signatures[0].signature += "=")),
      (publisher) => whole(publisher, (made) => void (made.signatures[0].signature += "\n")),
      (publisher) =>
        whole(publisher, (made) => void (made.signatures[0].signature = made.signatures[0].signature.slice(2))),
      (publisher) => whole(publisher, (made) => void (made.signatures[0] = made.signatures[0].signature)),
      (publisher) => whole(publisher, (made) => void (made.signatures = [null, 5, "a", [], {}])),
      (publisher) => whole(publisher, (made) => void (made.signatures = made.signatures.map(Object.values))),
      // Signatures in other places don't count.
      (publisher) => whole(publisher, ({ payload, signatures: [one] }) => ({ payload, signatures: [], ...one })),
    ],
    not_a_feed: [
      () => "<!doctype html><title>Sign in to the wireless network</title>",
      () => "",
      () => "null",
      () => "5",
      () => "[]",
      () => "{}",
      (publisher) => whole(publisher, Object.values),
      () => "[".repeat(1_000_000),
      () => `{"payload":${"[".repeat(500_000)}${"]".repeat(500_000)}}`,
      (publisher) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), sound(publisher)]),
      (publisher) => Buffer.concat([sound(publisher), Buffer.from([0xff])]),
      (publisher) => sound(publisher).subarray(0, -1),
      (publisher) => whole(publisher, (made) => void delete made.signatures),
      (publisher) => whole(publisher, (made) => void (made.signatures = {})),
      (publisher) => whole(publisher, (made) => void (made.signatures = Array(17).fill(made.signatures[0]))),
      (publisher) => whole(publisher, (made) => void (made.signatures = Array(10_000).fill({}))),
      (publisher) => whole(publisher, (made) => void (made.payload += "=")),
      (publisher) =>
        whole(publisher, (made) => void (made.payload = `${made.payload.slice(0, 40)}\n${made.payload.slice(40)}`)),
      (publisher) => whole(publisher, (made) => void (made.payload = null)),
      ...["null", "[]", "{", "[".repeat(700_000), '{"version":1e999}'].map(
        (payload) => (publisher) => sealed(payload, publisher),
      ),
      (publisher) => sealed(`${its(publisher)}${" ".repeat(2 ** 20)}`, publisher),
      ...[1, 2, 3].map((more) => (publisher) => sealed(its(publisher).padEnd(2 ** 20 + more), publisher)),
    ],
    too_large: [() => Buffer.alloc(2 ** 21 + 1, 32)],
  };
  const cases = Object.entries(manifests).flatMap(([code, all]) => all.map((make) => [code, make]));
  const payloads = { ...heads, not_a_feed: [...heads.not_a_feed, ...members] };
  for (const [code, all] of Object.entries(payloads)) {
    for (const changes of all) {
      const of = (publisher) => (typeof changes === "function" ? changes(publisher) : changes);
      const what = JSON.stringify(changes, (_, value) => (value === undefined ? "undefined" : value));
      cases.push([
        code,
        (publisher) => publisher.changed({ generation: 3, ...of(publisher) }),
        what ?? String(changes),
      ]);
    }
  }
  return cases;
}

/** The cases of feeds. */
export const refused = casesOf("bloom-wasm-feed", "bloom-wasm-shards", ofFeed);

/** The cases of sharded filters. */
export const refusedShards = casesOf("bloom-wasm-shards", "bloom-wasm-feed", ofShards);
