/** The exports of "bloom-wasm": all of the reader, with `load` and `decode` replaced, and what needs WebAssembly. */

export type { ForeignFormat } from "./boundary/info.js";
export type { AnyKey, NumberKey } from "./boundary/input.js";
export { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter } from "./build/builders.js";
export type { KeyStream } from "./build/keystream.js";
export type {
  BuildOptions,
  ScalableOptions,
  SeedOptions,
  SkipReason,
  StreamOptions,
} from "./build/options.js";
export type { Optimal } from "./build/params.js";
export { countFor, fprFor, optimal } from "./build/params.js";
export type { AnyFilter, ForeignOptions, ForeignSource } from "./foreign/foreign.js";
export { decode, ForeignFilter, load } from "./foreign/foreign.js";
export * from "./reader.js";
