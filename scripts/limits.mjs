/**
 * The most that the package may weigh, in bytes, gzipped but for the tarball. scripts/build.mjs prints what it weighs and
 * fails where it is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package.test.mjs. A limit
 * rises by a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  bloom: { wasm: 138_700, javascript: 26_900 },
  reader: { wasm: 76_450, javascript: 22_800 },
  nano: { "raw keys alone": 6_350, "everything but feeds": 16_950, openFeed: 25_600 },
  vite: {
    "bloom-wasm": 195_500,
    "bloom-wasm/reader": 110_100,
    "bloom-wasm/slim": 152_000,
    "bloom-wasm/reader/slim": 85_900,
    "bloom-wasm/nano": 16_700,
  },
  tarball: 2_000_000,
};
