/** What "bloom-wasm/reader" exports: loading and asking filters of every kind. */

export type { ErrorCode } from "./error.js";
export { FilterError } from "./error.js";
export type { FeedInfo, FeedOptions, UpdateOptions, WatchOptions } from "./feed.js";
export { Feed, openFeed } from "./feed.js";
export type { FeedCache } from "./feedcache.js";
export type { DecodeOptions } from "./filter.js";
export { decode, Filter } from "./filter.js";
export type { FilterInfo, ForeignFormat } from "./info.js";
export type { AnyKey, Key } from "./input.js";
export type { LoadOptions, Source } from "./load.js";
export { load } from "./load.js";
export type { AskOptions, ShardedInfo, ShardedOptions } from "./sharded.js";
export { openSharded, ShardedFilter } from "./sharded.js";
export { canonicalizeUrl, urlExpressions } from "./url.js";
