/** What "bloom-wasm/reader" exports: loading and asking filters of every kind. */

export type { FilterInfo, ForeignFormat } from "./boundary/info.js";
export type { AnyKey, Key } from "./boundary/input.js";
export type { ErrorCode } from "./error.js";
export { FilterError } from "./error.js";
export type { FeedCache } from "./feed/cache.js";
export type { FeedInfo, FeedOptions, UpdateOptions, WatchOptions } from "./feed/feed.js";
export { Feed } from "./feed/feed.js";
export { fileCache } from "./feed/file-cache.js";
export type { GenerationInfo, Generations, OpeningOptions } from "./feed/generations.js";
export type { AskOptions, ManyOptions, ShardedInfo, ShardedOptions } from "./feed/sharded.js";
export { openSharded, ShardedFilter } from "./feed/sharded.js";
export { openFeed } from "./feed/wasm.js";
export type { AskableFilter } from "./filter/askable.js";
export { decode, Filter } from "./filter/filter.js";
export { load } from "./filter/load.js";
export type { DecodeOptions, LoadOptions } from "./filter/reading.js";
export type { Source } from "./filter/receive.js";
export { canonicalizeUrl, urlExpressions } from "./filter/url.js";
