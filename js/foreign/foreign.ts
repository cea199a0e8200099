/** Filters of other software: reading, building and exporting them. */

import { Foreign } from "../bloom_wasm.js";
import type { ForeignFormat } from "../boundary/info.js";
import {
  type AnyKey,
  asBytes,
  attempt,
  invalidParameter,
  isBytes,
  iterable,
  type Key,
  type NumberKey,
  requireType,
  secretIn,
} from "../boundary/input.js";
import { type Every, known } from "../boundary/known.js";
import { handled } from "../boundary/stream.js";
import {
  type BloomFilter,
  type CountingBloomFilter,
  type CuckooFilter,
  ownFilter,
  type RibbonFilter,
  type ScalableBloomFilter,
} from "../build/builders.js";
import { Filter, hold } from "../filter/filter.js";
import { type DecodeOptions, decoding, type LoadOptions, loading } from "../filter/reading.js";
import type { Source } from "../filter/receive.js";
import { engineFor, ForeignEngine, type WasmEngine, wasmOf, wrongKind } from "../wasm/engine.js";
import { call, Held, restored } from "../wasm/instance.js";
import { decodeOwn, loadInto, loadOwn } from "../wasm/load.js";
import { Batch } from "../wasm/scratch.js";
import { foreignKey } from "./keys.js";

/** What the keys of a Guava filter are: the funnel that it was made with. */
type Funnel = "utf8" | "unencoded-chars" | "bytes" | "int" | "long";

/** What the keys of a Spark filter are. */
type SparkKeys = "string" | "bytes" | "long";

/** A format of other software, and what its bytes don't say. */
type Reading =
  | { format: "go-bloom" | "redisbloom" | "npm-bloom-filters" | "filterpassword" | "pyprobables" | "rbloom" | "flor" }
  | {
      format: "guava";
      /** The funnel that the filter was made with. Default `utf8`. */
      funnel?: Funnel;
    }
  | {
      format: "spark";
      /** What the keys are. Default `string`. */
      keys?: SparkKeys;
    }
  | {
      format: "redis-bitmap";
      /** The number of bits: hashes are taken modulo this. */
      bits: number;
      /** The hashes for each key. */
      hashes: number;
    }
  | {
      format: "bloom-filter2";
      /** What the keys are. Default `string`. */
      keys?: "string" | "bytes";
      /** The filter's `num_bits_m`. */
      bits: number;
      /** Its `num_probes_k`. */
      hashes: number;
    }
  | {
      format: "npm-bloomfilter";
      /** The hashes for each key. Needed if the JSON is only an array of buckets. */
      hashes?: number;
      /**
       * The hash: `fnv64` (default) since 0.0.21, `fnv64-odd` of 0.0.20, `fnv32-triple` of 0.0.19, `fnv32-seeded` of
       * 0.0.17 and 0.0.18, `fnv32-b` of 0.0.16, and `fnv32-b-signedmix` of 0.0.12 to 0.0.15.
       */
      generation?: "fnv64" | "fnv64-odd" | "fnv32-triple" | "fnv32-seeded" | "fnv32-b" | "fnv32-b-signedmix";
    }
  | {
      format: "parquet-sbbf";
      /** What the column's values are. Default `string`. */
      keys?: "string" | "bytes" | "int32" | "int64" | "float" | "double";
    }
  | {
      format: "xor" | "binary-fuse";
      /** What wrote the bytes: xor_singleheader in C (default), or xorf in Rust, in one of three ways. */
      layout?: "c" | "xorf-dma" | "xorf-json" | "xorf-bincode";
      /** The bits of a fingerprint, where the bytes don't say. */
      width?: 8 | 16 | 32;
    }
  | {
      format: "pybloomfiltermmap3";
      /** What the keys are. Default `string`. */
      keys?: "string" | "bytes" | "int";
    };

/** Options of {@link load} and {@link decode}: the format of other software's bytes, and what the bytes don't say. */
export type ForeignSource = Reading & {
  /** What the keys are, so that `hasUrl` or `hasPassword` can look them up. Default `raw`. */
  profile?: "raw" | "url" | "password";
};

/** A format that can be built, and its parameters. */
type Making =
  | {
      format: "go-bloom";
      /** As `WriteTo` or as `MarshalJSON` writes. Default `binary`. */
      layout?: "binary" | "json";
    }
  | {
      format: "guava";
      /** What the keys are. Default `utf8`. */
      funnel?: Funnel;
      /** The strategy. Default `mitz-64`, as Guava's own since version 19. */
      layout?: "mitz-64" | "mitz-32";
    }
  | {
      format: "spark";
      /** What the keys are. Default `string`. */
      keys?: SparkKeys;
      /** The format's version: Spark 4.1 and later read `v2`. Default `v1`. */
      layout?: "v1" | "v2";
      /** The seed of `v2`, a whole number of 32 bits. Default 0. */
      seed?: number;
    }
  | { format: "redis-bitmap" };

/** The size of a filter, by its capacity and false-positive rate. */
interface Sizing {
  /**
   * The false-positive rate, above 0 and below 1. The filter gets the size that its own software would give it for this
   * rate. The true rate may differ: with few keys it can be many times as high, and with `go-bloom` it is 0.57 for 0.5.
   * `info().fpr` tells it. Default 0.001.
   */
  fpr?: number;
  /** The number of keys that the filter is for. By default as many as are given. */
  capacity?: number;
}

/** Options of {@link ForeignFilter.from}. */
export type ForeignOptions =
  | (Making &
      Sizing & {
        /** The number of bits, instead of that for `capacity` and `fpr`; needs `hashes`. */
        bits?: number;
        /** The hashes for each key; needs `bits`. */
        hashes?: number;
      })
  | (Sizing & {
      format: "redisbloom";
      /** Each link holds this many times the keys of the one before. Default 2; with 0 the filter never grows. */
      expansion?: number;
    });

/** The formats and options that say that the keys are numbers. */
type Numbers =
  | { format: "guava"; funnel: "int" | "long" }
  | { format: "spark"; keys: "long" }
  | { format: "parquet-sbbf"; keys: "int32" | "int64" | "float" | "double" }
  | { format: "pybloomfiltermmap3"; keys: "int" }
  | { format: "xor" | "binary-fuse" };

/** Those that say that they are strings or bytes. */
type Texts =
  | { format: "guava"; funnel?: Exclude<Funnel, "int" | "long"> }
  | { format: "spark" | "parquet-sbbf" | "pybloomfiltermmap3"; keys?: "string" | "bytes" }
  | { format: Exclude<ForeignFormat, Numbers["format"]> };

/** Those whose bytes are JSON, which may be given as text or as an object. */
type Json = { format: "npm-bloom-filters" | "npm-bloomfilter" };

const reading = {
  format: 1,
  profile: 1,
  funnel: 1,
  keys: 1,
  bits: 1,
  hashes: 1,
  generation: 1,
  layout: 1,
  width: 1,
} satisfies Every<ForeignSource>;

const making = {
  format: 1,
  fpr: 1,
  capacity: 1,
  bits: 1,
  hashes: 1,
  funnel: 1,
  keys: 1,
  layout: 1,
  seed: 1,
  expansion: 1,
} satisfies Every<ForeignOptions>;

const TEXTS = ["funnel", "keys", "generation", "layout", "profile"];
const NUMBERS = ["bits", "hashes", "width", "expansion", "seed"];

/** A format with its options. Throws for an option that the format doesn't have. The caller frees it. */
function foreign(options: object): Held<Foreign> {
  const read = (names: string[]) => Object.fromEntries(names.map((option) => [option, Object(options)[option]]));
  const [{ format }, texts, numbers] = [read(["format"]), read(TEXTS), read(NUMBERS)];
  if (typeof format !== "string") throw invalidParameter("format must be the name of a format");
  requireType("string", texts);
  requireType("number", numbers);
  if (secretIn(options)) throw invalidParameter("secret is for our own kinds: other software has none");
  const set = Object.entries({ ...texts, ...numbers }).filter(([_, value]) => value !== undefined);
  const make = () =>
    restored(
      call(() => new Foreign(format)),
      (made) => {
        for (const [option, value] of set) made.set(option, value);
      },
    );
  return new Held(make(), (saved) => restored(make(), (made) => made.restore(saved)));
}

/** Whether the options name a foreign format. As a callback of `map`, `decode` gets an index instead. */
function isForeign(options: unknown): options is ForeignSource {
  return Object(options).format !== undefined;
}

/**
 * Loads a blob and decodes it. A URL is fetched. In Node, Deno and Bun, a `file:` URL is read as a stream. With the option
 * `format` this loads the bytes of other software.
 *
 * The filter may be of any kind, and its `kind` tells the class: after `if (filter.kind === "scalable")`, it has `add`.
 * {@link BloomFilter.load} and those of the other classes want one kind, and give that class.
 *
 * A filter can't be posted to a worker. Post the bytes of its `toBytes()`, whose buffer may be transferred, and `decode`
 * them there.
 *
 * Throws a {@link FilterError}: `http` for an error status, `network` for a failed transfer, `truncated` for a short
 * one, `unsupported_format` for an unknown format or variant, and the codes of `decode`. Bytes after the blob's end throw
 * `trailing_bytes` at once, before the checksum is checked. An abort rejects with the signal's reason.
 *
 * If the blob's length is known, or at most 16 MiB, this takes the memory of the blob and at most 256 KiB. Otherwise it
 * takes up to twice the blob's length in addition. WebAssembly's memory contains all this, and grows by at least a
 * sixteenth.
 *
 * A foreign filter may have up to 1,024 hashes, and the formats that SECURITY.md names hash the whole key for each: a key
 * of a megabyte can take seconds. Limit the length of keys that others send.
 */
export function load(source: Source, options?: LoadOptions & { format?: undefined }): Promise<AnyFilter>;
/** For the bytes of other software, whose keys are numbers. */
export function load(source: Source, options: LoadOptions & ForeignSource & Numbers): Promise<ForeignFilter<NumberKey>>;
/** For those whose keys are strings or bytes. */
export function load(source: Source, options: LoadOptions & ForeignSource & Texts): Promise<ForeignFilter<Key>>;
/** For options that aren't known before the program runs. */
export function load(source: Source, options: LoadOptions & ForeignSource): Promise<ForeignFilter>;
// Again, because `ReturnType` and `Parameters` take the last one.
export function load(source: Source, options?: LoadOptions & { format?: undefined }): Promise<AnyFilter>;
export function load(source: Source, options?: LoadOptions): Promise<AnyFilter> {
  return loadAs(source, options, anyFilter) as Promise<AnyFilter>;
}

/** Loads a filter, and makes an object of it. */
async function loadAs(
  source: Source,
  options: LoadOptions = {},
  made: (engine: WasmEngine) => Filter<AnyKey>,
): Promise<Filter<AnyKey>> {
  handled(source);
  if (!isForeign(options)) return loadOwn(source, options, made);
  known(options, "load", loading, reading);
  return loadInto(source, options, foreign(options), made);
}

/** Like {@link load}, for bytes in memory. They are copied. */
export function decode(
  bytes: Uint8Array | ArrayBuffer,
  options: (DecodeOptions & { format?: undefined }) | undefined,
): AnyFilter;
/** For the bytes of other software, whose keys are numbers. */
export function decode(bytes: Uint8Array | ArrayBuffer, options: ForeignSource & Numbers): ForeignFilter<NumberKey>;
/** For those whose keys are strings or bytes. */
export function decode(bytes: Uint8Array | ArrayBuffer, options: ForeignSource & Texts): ForeignFilter<Key>;
/** For options that aren't known before the program runs. */
export function decode(bytes: Uint8Array | ArrayBuffer, options: ForeignSource): ForeignFilter;
/** For JSON as text or as an object: what `saveAsJSON()` of `bloom-filters` returns, or a filter of `bloomfilter`. */
export function decode(json: string | object, options: ForeignSource & Json): ForeignFilter<Key>;
/** Like {@link load}, for bytes in memory. They are copied. */
// Last, because this is the overload that `map(decode)` uses.
export function decode(bytes: Uint8Array | ArrayBuffer): AnyFilter;
export function decode(source: string | object, options?: unknown): AnyFilter {
  return anyFilter(decodeAny(source, options));
}

/** The bytes of other software, which may be a text or an object where they are JSON. */
function bytesOf(source: string | object, { format }: ForeignSource): Uint8Array {
  const isJson = format === "npm-bloom-filters" || format === "npm-bloomfilter";
  if (!isJson || isBytes(source) || source instanceof ArrayBuffer) return asBytes(source as Uint8Array);
  const text = attempt("what is decoded must be JSON, as bytes, a text or an object", () =>
    typeof source === "string" ? source : JSON.stringify(source),
  );
  return new TextEncoder().encode(text);
}

function decodeAny(source: string | object, options: unknown): WasmEngine {
  if (!isForeign(options)) return decodeOwn(source as Uint8Array, options);
  known(options, "decode", decoding, reading);
  const made = foreign(options);
  try {
    // Last, because a getter of the options may have transferred or shrunk the buffer.
    const plain = bytesOf(source, options);
    const { raw } = made;
    return engineFor(() => {
      raw.push(plain, plain.length);
      return raw.decode();
    });
  } finally {
    made.free();
  }
}

/** A filter of any kind. Its `kind` tells the class: after `if (filter.kind === "scalable")`, it has `add`. */
export type AnyFilter =
  | BloomFilter
  | CountingBloomFilter
  | ScalableBloomFilter
  | CuckooFilter
  | RibbonFilter
  | ForeignFilter;

/**
 * A filter of other software. It answers as that software does for every key, false positives included, and can't be
 * changed. Its kind is the format's name. `K` is what its keys are, as far as the options say it: numbers, or strings
 * and bytes.
 */
export class ForeignFilter<K extends AnyKey = AnyKey> extends Filter<K> {
  private constructor() {
    super(notNew());
  }

  override get kind(): ForeignFormat {
    return super.kind as ForeignFormat;
  }

  /**
   * Builds a filter for other software, of the size that it would choose itself: {@link toForeign} returns its bytes.
   * The true rate may differ from `fpr`. Throws `unsupported_format` for a format that can only be read.
   */
  static from(keys: Iterable<NumberKey>, options: ForeignOptions & Numbers): ForeignFilter<NumberKey>;
  static from(keys: Iterable<Key>, options: ForeignOptions & Texts): ForeignFilter<Key>;
  // Whatever the options say, keys may be bytes.
  static from(keys: Iterable<Uint8Array>, options: ForeignOptions): ForeignFilter;
  static from(keys: Iterable<AnyKey>, options: ForeignOptions): ForeignFilter {
    const all = iterable(keys);
    known(options, "ForeignFilter.from", making);
    const { fpr = 0.001, capacity } = Object(options) as Sizing;
    requireType("number", { fpr, capacity });
    const made = foreign(options);
    try {
      const kind = made.call((raw) => raw.foreignKeys(fpr));
      const batch = new Batch(made, (raw, { length: count }, length) => call(() => raw.pushKeysAt(count, length)));
      for (const key of all) batch.push(foreignKey(key, kind));
      batch.flush();
      const { raw } = made;
      return held(engineFor(() => raw.build(capacity, fpr)));
    } finally {
      made.free();
    }
  }

  /** Like the function {@link decode}, but throws `wrong_kind` for a filter of our own kinds. */
  static decode(bytes: Uint8Array | ArrayBuffer, options: ForeignSource & Numbers): ForeignFilter<NumberKey>;
  static decode(bytes: Uint8Array | ArrayBuffer, options: ForeignSource & Texts): ForeignFilter<Key>;
  static decode(
    bytes: Uint8Array | ArrayBuffer,
    options?: ForeignSource | (DecodeOptions & { format?: undefined }),
  ): ForeignFilter;
  static decode(json: string | object, options: ForeignSource & Json): ForeignFilter<Key>;
  static decode(source: string | object, options?: unknown): ForeignFilter {
    return held(decodeAny(source, options));
  }

  /** Like the function {@link load}, but throws `wrong_kind` for a filter of our own kinds. */
  static load(source: Source, options: LoadOptions & ForeignSource & Numbers): Promise<ForeignFilter<NumberKey>>;
  static load(source: Source, options: LoadOptions & ForeignSource & Texts): Promise<ForeignFilter<Key>>;
  static load(source: Source, options?: LoadOptions & (ForeignSource | { format?: undefined })): Promise<ForeignFilter>;
  static load(source: Source, options?: LoadOptions): Promise<ForeignFilter> {
    return loadAs(source, options, held) as Promise<ForeignFilter>;
  }

  /**
   * The bytes for the filter's own software: `go-bloom`, `guava`, `spark`, `redis-bitmap` or `redisbloom`. They are
   * those that were read, except that RedisBloom's are always in its current layout. Throws `unsupported_format` for a
   * format that can only be read.
   */
  toForeign(): Uint8Array<ArrayBuffer> {
    return wasmOf(this).call((raw) => raw.toForeign() as Uint8Array<ArrayBuffer>);
  }
}

/** The filter, or throws `wrong_kind`. Outside the class: a bundler would rename a class that names itself. */
function held(engine: WasmEngine): ForeignFilter {
  if (!(engine instanceof ForeignEngine)) throw wrongKind(engine);
  return hold(engine, ForeignFilter) as ForeignFilter;
}

/** A filter of the class for its kind. */
function anyFilter(engine: WasmEngine): AnyFilter {
  return (engine instanceof ForeignEngine ? held(engine) : ownFilter(engine)) as AnyFilter;
}

function notNew(): never {
  throw invalidParameter("make a foreign filter with ForeignFilter.from, or read one with load or decode");
}
