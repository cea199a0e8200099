/** What every entry point exports. */

export {
  BloomFilter,
  CountingBloomFilter,
  CuckooFilter,
  Filter,
  RibbonFilter,
  ScalableBloomFilter,
  countFor,
  decode,
  fprFor,
  optimal,
} from "./filter.js";
export type {
  BuildOptions,
  CountingOptions,
  GrowthOptions,
  Optimal,
  ScalableOptions,
  SeedOptions,
  KeyStream,
  StreamOptions,
} from "./filter.js";
export type { FilterInfo } from "./info.js";
export { FilterError, errorCodes } from "./error.js";
export type { ErrorCode } from "./error.js";
export { load } from "./load.js";
export type { LoadOptions, Source } from "./load.js";
export type { Key } from "./memory.js";
