/**
 * The maximum sizes of the package in bytes, gzipped except for the tarball. scripts/build.mjs prints the sizes and
 * fails if one is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package/package.test.mjs.
 * Raising a limit takes a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  gzipped: {
    wasm: 149_500,
    JavaScript: 43_200,
    "the reader, raw keys alone": 6_500,
    "the reader, without feeds": 18_850,
    "the reader, with feeds": 28_450,
    "the reader, with feeds and shards": 31_400,
  },
  vite: {
    "bloom-wasm": 212_000,
    "bloom-wasm/slim": 165_500,
    "bloom-wasm/reader": 18_150,
  },
  tarball: 2_030_000,
};
