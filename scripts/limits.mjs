/**
 * The most that the package may weigh, in bytes, gzipped but for the tarball. scripts/build.mjs prints what it weighs and
 * fails where it is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package/package.test.mjs.
 * A limit rises by a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  bloom: { wasm: 140_400, javascript: 27_900 },
  reader: { wasm: 77_350, javascript: 23_800 },
  nano: { "raw keys alone": 6_400, "everything but feeds": 17_320, openFeed: 26_670 },
  vite: {
    "bloom-wasm": 197_500,
    "bloom-wasm/reader": 111_900,
    "bloom-wasm/slim": 154_000,
    "bloom-wasm/reader/slim": 87_300,
    "bloom-wasm/nano": 16_700,
  },
  tarball: 2_000_000,
};
