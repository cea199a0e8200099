/** What "bloom-wasm/nano" exports: loading and asking filters of our own kinds, in plain JavaScript. */

export type { FilterInfo } from "./boundary/info.js";
export type { Key } from "./boundary/input.js";
export type { ErrorCode } from "./error.js";
export { FilterError } from "./error.js";
export type { FeedCache } from "./feed/cache.js";
export type { FeedInfo, FeedOptions, UpdateOptions } from "./feed/feed.js";
export { fileCache } from "./feed/file-cache.js";
export type { GenerationInfo, Generations, OpeningOptions } from "./feed/generations.js";
export type { AskableFilter } from "./filter/askable.js";
export type { DecodeOptions, LoadOptions } from "./filter/reading.js";
export type { Source } from "./filter/receive.js";
export { Feed, openFeed, type WatchOptions } from "./nano/feed.js";
export { canonicalizeUrl, decode, Filter, urlExpressions } from "./nano/filter.js";
export { load } from "./nano/load.js";
