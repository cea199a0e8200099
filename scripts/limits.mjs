/**
 * The most that the package may weigh, in bytes, gzipped but for the tarball. scripts/build.mjs prints what it weighs and
 * fails where it is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package.test.mjs. A limit
 * rises by a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  bloom: { wasm: 138_200, javascript: 25_150 },
  reader: { wasm: 75_900, javascript: 21_100 },
  nano: { "raw keys alone": 6_150, "everything but feeds": 16_100, openFeed: 23_850 },
  vite: {
    "bloom-wasm": 194_300,
    "bloom-wasm/reader": 108_700,
    "bloom-wasm/slim": 151_000,
    "bloom-wasm/reader/slim": 85_000,
    "bloom-wasm/nano": 16_500,
  },
  tarball: 2_000_000,
};
