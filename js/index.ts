/** What "bloom-wasm" exports: everything. */

export { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter } from "./builders.js";
export { errorCodes } from "./error.js";
export type { ForeignOptions, ForeignSource } from "./foreign.js";
export { decode, ForeignFilter, load } from "./foreign.js";
export type { KeyStream } from "./keystream.js";
export type {
  BuildOptions,
  CountingOptions,
  GrowthOptions,
  ProfileOptions,
  ScalableOptions,
  SeedOptions,
  SkipReason,
  StreamOptions,
} from "./options.js";
export type { Optimal } from "./params.js";
export { countFor, fprFor, optimal } from "./params.js";
export * from "./reader.js";
