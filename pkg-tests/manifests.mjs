/** Manifests that clients refuse, and so does the tool. */
import { base64url, keyPair, manifest, signature } from "./publisher.mjs";

/** Each with the code that a client answers it with, having generation 2 in place. */
export const refused = (() => {
  const other = keyPair();
  const payloads = {
    not_a_feed: [
      ...[
        "version",
        "feedId",
        "generation",
        "createdAt",
        "expires",
        "profile",
        "fpr",
        "seed",
        "count",
        "files",
      ].flatMap((member) =>
        [undefined, null, {}, [], "", true, -1, 0.5, 1e300, Number.NaN].map((value) => ({ [member]: value })),
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
      { name: null },
      { check: null },
      { check: "A".repeat(16) },
      { name: 5 },
      { name: "ä".repeat(128) },
      { profile: "url" }, // the base's is raw
      { profile: "password" },
      { lowercase: true },
      { sha1: true },
      { lowercase: null },
      { profile: "password", lowercase: 1 },
      { profile: "password", sha1: "true" },
      { profile: "password", lowercase: true, sha1: true },
      { seed: "1" },
    ].filter((changes) => !("fpr" in changes && changes.fpr === 0.5) && !("count" in changes && changes.count === 0)),
    unsupported_version: [{ version: 2 }, { version: 3, feedId: 5 }],
    wrong_feed: [{ feedId: "0".repeat(32) }],
    rollback: [{ generation: 1 }, { generation: 2 }, { generation: 2, name: "again" }],
    expired: [{ expires: 0 }, { expires: 1 }],
  };
  const files = [
    () => [],
    (listed) => [{}, ...listed],
    (listed) => [null, ...listed],
    ([{ kind, bytes, sha256 }, delta]) => [[kind, bytes, sha256], delta],
    ([base, delta]) => [{ ...base, kind: { base: null } }, delta],
    (listed) => [listed[1]],
    (listed) => [{ ...listed[0], kind: "delta" }, listed[1]],
    (listed) => [listed[0], { ...listed[1], kind: "base" }],
    (listed) => Array(65).fill(listed[1]).with?.(0, listed[0]) ?? [listed[0], ...Array(64).fill(listed[1])],
    ...[0, -1, 2 ** 31, 1.5, "5", null, undefined].map((bytes) => (listed) => [listed[0], { ...listed[1], bytes }]),
    ...["", "a", "A".repeat(64), `${"a".repeat(64)}/`, "../feed.json", null, undefined].map((sha256) => (listed) => [
      listed[0],
      { ...listed[1], sha256 },
    ]),
  ];
  const signed = (publisher, changes = {}) =>
    base64url(JSON.stringify(publisher.payload({ generation: 3, ...changes })));
  const withHeader = (header) => (publisher) => manifest(publisher.payload({ generation: 3 }), [publisher.key], header);
  const whole = (publisher, change) => {
    const payload = signed(publisher);
    const its = { payload, signatures: [signature(payload, publisher.key)] };
    return JSON.stringify(change(its) ?? its);
  };
  const good = { alg: "EdDSA", typ: "bloom-wasm-feed" };
  const manifests = {
    signature: [
      (publisher) => manifest(publisher.payload({ generation: 3 }), [other]),
      (publisher) => manifest(publisher.payload({ generation: 3 }), []),
      ...[
        {},
        { ...good, alg: "none" },
        { ...good, alg: "Ed25519" },
        { ...good, alg: "HS256" },
        { ...good, typ: "bloom-wasm-shards" },
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
        const { signatures } = JSON.parse(publisher.manifest);
        return JSON.stringify({ payload: signed(publisher), signatures });
      },
      (publisher) => whole(publisher, (its) => void (its.signatures[0].signature += "=")),
      (publisher) => whole(publisher, (its) => void (its.signatures[0].signature += "\n")),
      (publisher) =>
        whole(publisher, (its) => void (its.signatures[0].signature = its.signatures[0].signature.slice(2))),
      (publisher) => whole(publisher, (its) => void (its.signatures[0] = its.signatures[0].signature)),
      (publisher) => whole(publisher, (its) => void (its.signatures = [null, 5, "a", [], {}])),
      (publisher) => whole(publisher, (its) => void (its.signatures = its.signatures.map(Object.values))),
      // No signature is looked at that stands elsewhere.
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
      (publisher) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), publisher.manifest]),
      (publisher) => Buffer.concat([publisher.manifest, Buffer.from([0xff])]),
      (publisher) => publisher.manifest.subarray(0, -1),
      (publisher) => whole(publisher, (its) => void delete its.signatures),
      (publisher) => whole(publisher, (its) => void (its.signatures = {})),
      (publisher) => whole(publisher, (its) => void (its.signatures = Array(17).fill(its.signatures[0]))),
      (publisher) => whole(publisher, (its) => void (its.signatures = Array(10_000).fill({}))),
      (publisher) => whole(publisher, (its) => void (its.payload += "=")),
      (publisher) =>
        whole(publisher, (its) => void (its.payload = `${its.payload.slice(0, 40)}\n${its.payload.slice(40)}`)),
      (publisher) => whole(publisher, (its) => void (its.payload = null)),
      (publisher) => manifest("null", [publisher.key]),
      (publisher) => manifest("[]", [publisher.key]),
      (publisher) => manifest("{", [publisher.key]),
      (publisher) => manifest("[".repeat(700_000), [publisher.key]),
      (publisher) => manifest('{"version":1e999}', [publisher.key]),
      (publisher) =>
        manifest(`${JSON.stringify(publisher.payload({ generation: 3 }))}${" ".repeat(2 ** 20)}`, [publisher.key]),
      ...[1, 2, 3].map(
        (more) => (publisher) =>
          manifest(JSON.stringify(publisher.payload({ generation: 3 })).padEnd(2 ** 20 + more), [publisher.key]),
      ),
      ...files.map(
        (change) => (publisher) =>
          manifest(publisher.payload({ generation: 3, files: change(publisher.listed) }), [publisher.key]),
      ),
    ],
    too_large: [() => Buffer.alloc(2 ** 21 + 1, 32)],
  };
  const cases = Object.entries(manifests).flatMap(([code, all]) => all.map((make) => [code, make]));
  for (const [code, all] of Object.entries(payloads)) {
    for (const changes of all) {
      const make = (publisher) => manifest(publisher.payload({ generation: 3, ...changes }), [publisher.key]);
      cases.push([code, make, JSON.stringify(changes, (_, value) => (value === undefined ? "undefined" : value))]);
    }
  }
  return cases;
})();
