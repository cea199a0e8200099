/**
 * The maximum sizes of the package in bytes, gzipped except for the tarball. scripts/build.mjs prints the sizes and
 * fails if one is over; `vite`, what an entry adds to a small app, is measured by pkg-tests/package/package.test.mjs.
 * Raising a limit takes a line in CHANGELOG.md that says what it bought.
 */
export const LIMITS = {
  gzipped: {
    wasm: 138_000,
    JavaScript: 41_150,
    "the reader, raw keys alone": 6_500,
    "the reader, without feeds": 18_960,
    "the reader, with feeds": 28_660,
    "the reader, with feeds and shards": 31_590,
  },
  vite: {
    "bloom-wasm": 195_450,
    "bloom-wasm/slim": 152_000,
    "bloom-wasm/reader": 18_310,
  },
  tarball: 2_000_000,
};
