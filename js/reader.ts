/** What "bloom-wasm/reader" exports: loading and asking filters of every kind. */

export { FilterError } from "./error.js";
export type { ErrorCode } from "./error.js";
export { Filter, decode } from "./filter.js";
export type { FilterInfo } from "./info.js";
export type { Key } from "./input.js";
export { load } from "./load.js";
export type { LoadOptions, Source } from "./load.js";
export { canonicalizeUrl, urlExpressions } from "./url.js";
