/** The exports of "bloom-wasm/reader": loading and asking filters of our own kinds, in plain JavaScript. */

export type { FilterInfo } from "./boundary/info.js";
export type { Key } from "./boundary/input.js";
export type { ErrorCode } from "./error.js";
export { FilterError } from "./error.js";
export type { FeedCache } from "./feed/cache.js";
export { Feed, type FeedInfo, type FeedOptions, openFeed, type UpdateOptions, type WatchOptions } from "./feed/feed.js";
export { fileCache } from "./feed/file-cache.js";
export {
  type AskOptions,
  type ManyOptions,
  openSharded,
  ShardedFilter,
  type ShardedInfo,
  type ShardedOptions,
} from "./feed/sharded.js";
export { Filter } from "./filter/filter.js";
export type { DecodeOptions, LoadOptions } from "./filter/reading.js";
export type { Source } from "./filter/receive.js";
export { decode, load } from "./plain/load.js";
export { canonicalizeUrl, urlExpressions } from "./plain/url.js";
