/** What "bloom-wasm" exports: everything. */

export * from "./reader.js";
export { errorCodes } from "./error.js";
export { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter } from "./builders.js";
export type { KeyStream } from "./keystream.js";
export type { BuildOptions, CountingOptions, GrowthOptions, ProfileOptions, ScalableOptions, SeedOptions, SkipReason, StreamOptions } from "./options.js";
export { countFor, fprFor, optimal } from "./params.js";
export type { Optimal } from "./params.js";
