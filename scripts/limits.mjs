/**
 * The most that the package may weigh, in bytes, gzipped but for the tarball. scripts/build.mjs prints what it weighs and
 * fails where it is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package.test.mjs. A limit
 * rises by a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  bloom: { wasm: 138_900, javascript: 26_050 },
  reader: { wasm: 76_500, javascript: 21_900 },
  nano: { "raw keys alone": 6_350, "everything but feeds": 16_720, openFeed: 24_720 },
  vite: {
    "bloom-wasm": 195_700,
    "bloom-wasm/reader": 110_100,
    "bloom-wasm/slim": 152_150,
    "bloom-wasm/reader/slim": 85_950,
    "bloom-wasm/nano": 16_500,
  },
  tarball: 2_000_000,
};
