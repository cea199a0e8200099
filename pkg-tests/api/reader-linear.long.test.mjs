/**
 * "bloom-wasm/reader" takes linear time for long URLs. The processor time for sixteen times the length is compared with
 * that for the length, each the least of several rounds: a quadratic step would take 256 times as long. This has its
 * own file, since processor time is that of the whole process.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";
import { UNITS } from "../helpers/units.mjs";

const { canonicalizeUrl, decode } = await installed("bloom-wasm/reader");
const { RibbonFilter } = await installed();
// At a rate that lets none of these URLs pass by chance.
const filter = decode(RibbonFilter.from(["b.example/x/y/"], { profile: "url", fpr: 1e-8 }).toBytes());

/** The least processor time that a run takes, in microseconds. */
function least(rounds, run) {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, user + system);
  }
  return best;
}

const SHORT = given("LENGTH", 60_000);
const TIMES = 16;

for (const [name, run] of Object.entries({
  matchUrl: (url) => assert.equal(filter.matchUrl(url), null),
  canonicalizeUrl,
})) {
  test(`${name} takes linear time`, () => {
    for (const unit of UNITS) {
      const url = (length) => `http://a.example/${unit.repeat(length / unit.length)}`;
      const [short, long] = [url(SHORT), url(TIMES * SHORT)];
      least(3, () => run(short)); // until it is compiled
      const often = () => {
        for (let i = 0; i < TIMES; i++) run(short);
      };
      // A millisecond more, which the clock and the garbage collector may add to short runs.
      const [apart, whole] = [least(3, often) + 1000, least(3, () => run(long))];
      assert.ok(whole < 4 * apart, `${JSON.stringify(unit)}: ${apart} and ${whole} microseconds`);
    }
  });
}
