/**
 * The maximum sizes of the package in bytes, gzipped except for the tarball. scripts/build.mjs prints the sizes and
 * fails if one is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package/package.test.mjs.
 * Raising a limit takes a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  gzipped: {
    wasm: 137_200,
    JavaScript: 40_900,
    "the reader, raw keys alone": 6_500,
    "the reader, without feeds": 18_360,
    "the reader, with feeds": 28_500,
    "the reader, with feeds and shards": 31_400,
  },
  vite: {
    "bloom-wasm": 194_200,
    "bloom-wasm/slim": 151_200,
    "bloom-wasm/reader": 17_680,
  },
  tarball: 2_000_000,
};
