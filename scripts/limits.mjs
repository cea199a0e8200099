/**
 * The most that the package may weigh, in bytes, gzipped but for the tarball. scripts/build.mjs prints what it weighs and
 * fails where it is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package.test.mjs. A limit
 * rises by a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  bloom: { wasm: 138_600, javascript: 25_500 },
  reader: { wasm: 76_300, javascript: 21_400 },
  nano: { "raw keys alone": 6_200, "everything but feeds": 16_400, openFeed: 24_150 },
  vite: {
    "bloom-wasm": 195_200,
    "bloom-wasm/reader": 109_500,
    "bloom-wasm/slim": 151_800,
    "bloom-wasm/reader/slim": 85_700,
    "bloom-wasm/nano": 16_500,
  },
  tarball: 2_000_000,
};
