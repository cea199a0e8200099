/** What every entry point exports. */

export { BloomFilter, CountingBloomFilter, CuckooFilter, Filter, RibbonFilter, ScalableBloomFilter, decode } from "./filter.js";
export type { FilterInfo } from "./info.js";
export { FilterError, errorCodes } from "./error.js";
export type { ErrorCode } from "./error.js";
export { load } from "./load.js";
export type { LoadOptions, Source } from "./load.js";
export type { Key } from "./memory.js";
export type { BuildOptions, CountingOptions, GrowthOptions, ProfileOptions, ScalableOptions, SeedOptions, SkipReason, StreamOptions } from "./options.js";
export { canonicalizeUrl, urlExpressions } from "./url.js";
export { countFor, fprFor, optimal } from "./params.js";
export type { Optimal } from "./params.js";
export type { KeyStream } from "./stream.js";
