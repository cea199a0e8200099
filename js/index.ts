/** What "bloom-wasm" exports: everything. */

export { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter } from "./build/builders.js";
export type { KeyStream } from "./build/keystream.js";
export type {
  BuildOptions,
  CountingOptions,
  GrowthOptions,
  ProfileOptions,
  ScalableOptions,
  SeedOptions,
  SkipReason,
  StreamOptions,
  TaggedOptions,
} from "./build/options.js";
export type { Optimal } from "./build/params.js";
export { countFor, fprFor, optimal } from "./build/params.js";
export { errorCodes } from "./error.js";
export type { ForeignOptions, ForeignSource } from "./foreign/foreign.js";
export { decode, ForeignFilter, load } from "./foreign/foreign.js";
export * from "./reader.js";
