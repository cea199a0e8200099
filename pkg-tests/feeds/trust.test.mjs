/** Whether a client accepts a manifest, as a table: steps 5 to 7 of FEED-FORMAT.md, "What a client must do". */
import assert from "node:assert/strict";
import { test } from "node:test";
import "../helpers/installed.mjs"; // fails if js/ is newer than the build

// The package doesn't export it.
const { trust } = await import("../../target/npm/js/feed/trust.js");

const MINUTE = 60_000;
const NOW = 1_000 * MINUTE;

/** A manifest of a generation, with the minutes since its publication and until its expiry. */
const made = (generation, { ago = 0, left = 60, feed = "a", as = "" } = {}) => ({
  feedId: feed,
  generation,
  createdAt: NOW - ago * MINUTE,
  expires: NOW + left * MINUTE,
  signed: `${feed} ${generation} ${as}`,
});

const [second, third] = [made(2), made(3)];

for (const [what, found, known, expected] of [
  ["nothing is known", second, {}, "found"],
  ["nothing is known, and it has expired", made(2, { left: 0 }), {}, "expired"],
  ["nothing is known, and it expires at once", made(2, { left: 1 / MINUTE }), {}, "found"],
  ["it is older than the client takes", made(2, { ago: 10 }), { maxAge: 10 * MINUTE }, "expired"],
  ["it is as old as the client takes", made(2, { ago: 10 }), { maxAge: 10 * MINUTE + 1 }, "found"],
  ["a newer one", third, { present: second }, "found"],
  ["a newer one than another tab has kept", third, { present: made(1), kept: second }, "found"],
  ["a newer one, which has expired", made(3, { left: 0 }), { present: second }, "expired"],
  ["the same one", second, { present: second }, "found"],
  ["the same one, which has expired", made(2, { left: 0 }), { present: made(2, { left: 0 }) }, "expired"],
  ["the same generation with another payload", made(2, { as: "x" }), { present: second }, "rollback"],
  ["the same with another payload, kept by another tab", made(2, { as: "x" }), { kept: second }, "rollback"],
  ["another feed", made(9, { feed: "b" }), { present: second }, "wrong_feed"],
  ["another feed than that of the URL", made(9, { feed: "b" }), { kept: second }, "wrong_feed"],
  ["another feed that has expired", made(9, { feed: "b", left: 0 }), { kept: second }, "wrong_feed"],
  ["another feed than another tab's", third, { present: second, kept: made(9, { feed: "b" }) }, "found"],
  ["an older one, by eleven minutes", made(2, { ago: 11 }), { present: third }, "rollback"],
  ["an older one, by ten minutes", made(2, { ago: 10 }), { present: third }, "present"],
  ["an older one of the same time", second, { present: third }, "present"],
  ["an older one that was published later", second, { present: made(3, { ago: 1 }) }, "rollback"],
  ["an older one that has expired", made(2, { ago: 1, left: 0 }), { present: third }, "rollback"],
  [
    "an older one, where the present one has expired",
    made(2, { ago: 1 }),
    { present: made(3, { left: 0 }) },
    "rollback",
  ],
  ["an older one, and nothing is in place", made(2, { ago: 1 }), { kept: third }, "rollback"],
  ["one between the present one and another tab's", second, { present: made(1), kept: third }, "present"],
  [
    "the same, long before another tab's",
    made(2, { ago: 11 }),
    { present: made(1, { ago: 20 }), kept: third },
    "rollback",
  ],
  ["an expired one that is too old, too", made(1, { ago: 99, left: 0 }), { present: third }, "rollback"],
]) {
  test(`${what}: ${expected}`, () => {
    const all = { present: undefined, kept: undefined, now: NOW, maxAge: Infinity, ...known };
    if (expected === "found") assert.equal(trust(found, all), found);
    else if (expected === "present") assert.equal(trust(found, all), all.present);
    else assert.throws(() => trust(found, all), { name: "FilterError", code: expected });
  });
}
