/** Filters of other software: reading their bytes, making them, and giving them back. The reader lacks this file. */

import { Foreign } from "../bloom_wasm.js";
import { call, release } from "../boundary/call.js";
import type { ForeignFormat } from "../boundary/info.js";
import {
  type AnyKey,
  asBytes,
  attempt,
  invalidParameter,
  isA,
  isBytes,
  iterable,
  requireType,
  secretIn,
} from "../boundary/input.js";
import { type Every, known } from "../boundary/known.js";
import { Batch } from "../boundary/scratch.js";
import { FilterError } from "../error.js";
import {
  classes,
  decode as decodeBlob,
  Filter,
  hold,
  holdAs,
  rawOf,
  requireClass,
  WrappedFilter,
} from "../filter/filter.js";
import { load as loadBlob, loadInto } from "../filter/load.js";
import { type DecodeOptions, decoding, type LoadOptions, loading } from "../filter/reading.js";
import type { Source } from "../filter/receive.js";
import { foreignKey } from "./keys.js";

/** What the keys of a Guava filter are: the funnel that it was made with. */
type Funnel = "utf8" | "unencoded-chars" | "bytes" | "int" | "long";

/** What the keys of a Spark filter are. */
type SparkKeys = "string" | "bytes" | "long";

/** A format of other software, and what its bytes don't say. */
type Reading =
  | { from: "go-bloom" | "redisbloom" | "npm-bloom-filters" | "filterpassword" | "pyprobables" | "rbloom" | "flor" }
  | {
      from: "guava";
      /** The funnel that the filter was made with. Default `utf8`. */
      funnel?: Funnel;
    }
  | {
      from: "spark";
      /** What the keys are. Default `string`. */
      keys?: SparkKeys;
    }
  | {
      from: "redis-bitmap";
      /** The positions that the hashes are taken modulo. */
      bits: number;
      /** The hashes for each key. */
      hashes: number;
    }
  | {
      from: "bloom-filter2";
      /** What the keys are. Default `string`. */
      keys?: "string" | "bytes";
      /** The filter's `num_bits_m`. */
      bits: number;
      /** Its `num_probes_k`. */
      hashes: number;
    }
  | {
      from: "npm-bloomfilter";
      /** The hashes for each key. Needed where the JSON is an array of buckets alone. */
      hashes?: number;
      /**
       * The hash: `fnv64` (default) since 0.0.21, `fnv64-odd` of 0.0.20, `fnv32-triple` of 0.0.19, `fnv32-seeded` of
       * 0.0.17 and 0.0.18, `fnv32-b` of 0.0.16, and `fnv32-b-signedmix` of 0.0.12 to 0.0.15.
       */
      generation?: "fnv64" | "fnv64-odd" | "fnv32-triple" | "fnv32-seeded" | "fnv32-b" | "fnv32-b-signedmix";
    }
  | {
      from: "parquet-sbbf";
      /** What the column's values are. Default `string`. */
      keys?: "string" | "bytes" | "int32" | "int64" | "float" | "double";
    }
  | {
      from: "xor" | "binary-fuse";
      /** Who wrote the bytes: xor_singleheader in C (default), or xorf in Rust by one of its three ways. */
      layout?: "c" | "xorf-dma" | "xorf-json" | "xorf-bincode";
      /** The bits of a fingerprint, where the bytes don't say. */
      width?: 8 | 16 | 32;
    }
  | {
      from: "pybloomfiltermmap3";
      /** What the keys are. Default `string`. */
      keys?: "string" | "bytes" | "int";
    };

/** Options of {@link load} and {@link decode}: the format of other software's bytes, and what the bytes don't say. */
export type ForeignSource = Reading & {
  /** What the keys are, if `hasUrl` or `hasPassword` are to ask for them. Default `raw`. */
  profile?: "raw" | "url" | "password";
};

/** A format in which filters are made, and its parameters. */
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

/** The size of a filter: for so many keys at a rate, or so many bits and hashes. */
interface Sizing {
  /**
   * The false-positive rate, above 0 and below 1, for which the filter gets the size that its own software would give
   * it. The true rate may differ: with few keys it can be many times as high, and of `go-bloom` 0.57 for 0.5.
   * `info().fpr` tells it, and docs/moving.md has a table. Default 0.001.
   */
  fpr?: number;
  /** The number of keys that the filter is for. By default as many as there are. */
  capacity?: number;
}

/** Options of {@link ForeignFilter.from}. */
export type ForeignOptions =
  | (Making &
      Sizing & {
        /** The bits, in place of those that `capacity` and `fpr` give; with `hashes`. */
        bits?: number;
        /** The hashes for each key; with `bits`. */
        hashes?: number;
      })
  | (Sizing & {
      format: "redisbloom";
      /** Each link holds this many times as many keys as the one before. Default 2; 0 never grows. */
      expansion?: number;
    });

const reading = {
  from: 1,
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

/** One of a format, with its options. Throws for one that the format hasn't got. Whoever makes one frees it. */
function foreign(name: "from" | "format", options: object): Foreign {
  const chosen: Record<string, unknown> = {};
  attempt("options must be an object", () => {
    for (const option of [name, ...TEXTS, ...NUMBERS]) chosen[option] = (options as Record<string, unknown>)[option];
  });
  const { [name]: format, ...others } = chosen;
  if (typeof format !== "string") throw invalidParameter(`${name} must be the name of a format`);
  const [texts, numbers] = [TEXTS, NUMBERS].map((names) =>
    Object.fromEntries(names.map((option) => [option, others[option]])),
  );
  requireType("string", texts!);
  requireType("number", numbers!);
  if (secretIn(options)) throw invalidParameter("secret goes with our own kinds: other software knows none");
  const made = call(() => new Foreign(format));
  try {
    for (const [option, value] of Object.entries(others)) {
      if (value !== undefined) call(() => made.set(option, value));
    }
    return made;
  } catch (error) {
    release(made);
    throw error;
  }
}

/** Whether the options ask for the bytes of other software. A callback of `map` gets an index in their place. */
function isForeign(options: unknown): options is ForeignSource {
  return attempt("options must be an object", () => Object(options).from) !== undefined;
}

/**
 * Like {@link load} of our own blobs; with the option `from` it reads the bytes of other software. Throws
 * `unsupported_format` for an unknown format or variant, and else the codes of our own blobs.
 *
 * A foreign filter may have up to 1,024 hashes, and the formats that SECURITY.md names hash the whole key for each: a key
 * of a megabyte can take seconds. Limit the length of keys that strangers send.
 */
export function load(source: Source, options?: LoadOptions & { from?: undefined }): Promise<Filter>;
export function load(source: Source, options: LoadOptions & ForeignSource): Promise<ForeignFilter>;
export async function load(source: Source, options?: LoadOptions): Promise<Filter> {
  if (!isForeign(options)) return loadBlob(source, options);
  known(options, { load: loading, from: reading });
  return loadInto(source, options, foreign("from", options));
}

/** A format whose bytes are JSON, so that a program may have its text or the object. */
type JsonSource = ForeignSource & { from: "npm-bloom-filters" | "npm-bloomfilter" };

/**
 * Like {@link load}, for bytes that are there. They are copied. Where the format is JSON, its text or the object will do:
 * what `saveAsJSON()` of `bloom-filters` gives, or a `bloomfilter`.
 */
export function decode(json: string | object, options: JsonSource): ForeignFilter;
export function decode(bytes: Uint8Array | ArrayBuffer, options: ForeignSource): ForeignFilter;
export function decode(bytes: Uint8Array | ArrayBuffer, options: DecodeOptions & { from?: undefined }): Filter;
// The last, which is what `map(decode)` gives.
export function decode(bytes: Uint8Array | ArrayBuffer): Filter;
export function decode(source: string | object, options?: unknown): Filter {
  if (isForeign(options)) return hold(decodeRaw(source, options));
  return decodeBlob(source as Uint8Array, options as DecodeOptions);
}

/** The bytes of other software, which may be a text or an object where they are JSON. */
function bytesOf(source: string | object, { from }: ForeignSource): Uint8Array {
  const isJson = from === "npm-bloom-filters" || from === "npm-bloomfilter";
  if (!isJson || isBytes(source) || isA(source, ArrayBuffer)) return asBytes(source as Uint8Array);
  const text = attempt("what is decoded must be JSON, as bytes, a text or an object", () =>
    typeof source === "string" ? source : JSON.stringify(source),
  );
  return new TextEncoder().encode(text);
}

function decodeRaw(source: string | object, options: ForeignSource) {
  known(options, { decode: decoding, from: reading }, { load: loading });
  const plain = bytesOf(source, options);
  const made = foreign("from", options);
  try {
    return call(() => {
      made.push(plain, plain.length);
      return made.decode();
    });
  } finally {
    release(made);
  }
}

/**
 * A filter of other software. It answers as that software does for every key, false positives included, and can't be
 * changed. Its kind is the format's name.
 */
export class ForeignFilter extends WrappedFilter {
  private constructor() {
    super(notNew());
  }

  /**
   * Makes a filter that other software reads, as large as that would make it: {@link toForeign} gives its bytes. The
   * rate may be another than `fpr`. Throws `unsupported_format` for a format that is only read.
   */
  static from(keys: Iterable<AnyKey>, options: ForeignOptions): ForeignFilter {
    const all = iterable(keys);
    known(options, { "ForeignFilter.from": making });
    const { fpr = 0.001, capacity } = Object(options) as Sizing;
    requireType("number", { fpr, capacity });
    const made = foreign("format", options);
    try {
      const kind = call(() => made.foreignKeys(fpr));
      const batch = new Batch(({ length: count }, length) => call(() => made.pushKeys(count, length)));
      for (const key of all) batch.push(foreignKey(key, kind));
      batch.flush();
      return hold(call(() => made.build(capacity, fpr))) as ForeignFilter;
    } finally {
      release(made);
    }
  }

  /** Like `Filter.decode`; with the option `from` it reads the bytes of other software. */
  static override decode<F extends Filter>(
    this: { readonly prototype: F },
    bytes: Uint8Array | ArrayBuffer,
    options?: ForeignSource | DecodeOptions,
  ): F {
    if (!isForeign(options)) return Filter.decode.call(this as never, bytes, options) as F;
    requireClass(this);
    return holdAs(decodeRaw(bytes, options), this) as F;
  }

  /**
   * The bytes that the filter's own software reads, `go-bloom`, `guava`, `spark`, `redis-bitmap` or `redisbloom`: those
   * that were read, except that RedisBloom's are always in its current layout. Throws `unsupported_format` for a format
   * that is only read.
   */
  toForeign(format?: ForeignFormat): Uint8Array<ArrayBuffer> {
    const raw = rawOf(this);
    if (format !== undefined && format !== this.kind)
      throw new FilterError("incompatible", `a ${this.kind} filter can't become another's; build that from its keys`);
    return call(() => raw.toForeign() as Uint8Array<ArrayBuffer>);
  }
}

function notNew(): never {
  throw invalidParameter("make a foreign filter with ForeignFilter.from, or read one with load or decode");
}

Object.assign(classes, { foreign: ForeignFilter });
