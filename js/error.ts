/** The one error class of the package, and its codes. */

/** The codes of {@link FilterError}, with what each means. They are API: none changes its meaning. */
export const errorCodes = [
  "not_a_filter", // the bytes don't start like a blob
  "unsupported_version", // the blob is of a newer format
  "unsupported_kind", // the blob's kind is unknown to this release, or only bloom-wasm/full does this
  "invalid_parameter", // an argument, or a field of a blob, is outside its range
  "truncated", // the blob ends too early
  "trailing_bytes", // there are bytes after the blob's end
  "checksum_mismatch", // the blob is damaged
  "incompatible", // two filters differ in profile, bits, hashes or seed
  "build_failed", // the keys collide under every hash of a ribbon filter
  "not_mergeable", // filters of these kinds can't be merged
  "filter_full", // a cuckoo or scalable filter has no room for another key
  "too_large", // more memory than there is, or more bytes than `maxBytes`
  "layered", // the filter has layers over it, and so is read-only
  "invalid_key", // a key is neither a string nor a Uint8Array, or gives no key to a filter of URLs or hashes
  "wrong_profile", // the filter's keys are not what was asked for: URLs or passwords
  "wrong_kind", // the blob holds another kind of filter than the class that was asked to decode it
  "freed", // the filter was freed
  "http", // the server answered with an error
  "network", // the transfer failed
  "integrity", // the bytes don't have the hash that `integrity` demands
  "wasm_load", // the WebAssembly module could not be started, or the stack ran out in the middle of a call
] as const;

/** A stable, machine-readable name for what went wrong. */
export type ErrorCode = (typeof errorCodes)[number];

/** Every error that this package throws, but for the reason of an aborted signal, which is rethrown as it is. */
export class FilterError extends Error {
  /** What went wrong: stable, unlike the message. */
  readonly code: ErrorCode;

  /** @internal */
  constructor(code: ErrorCode, message: string, ...details: [a: number, b: number] | [options: ErrorOptions] | []) {
    const [first, second] = details;
    const numbers = [first, second];
    super(
      typeof first === "number" ? message.replace(/\{\}/g, () => String(numbers.shift())) : message,
      typeof first === "object" ? first : undefined,
    );
    this.code = code;
  }

  static {
    this.prototype.name = "FilterError";
  }
}

/** What the package for pages says to whoever wants to build or change a filter. */
export function refusal(): FilterError {
  return new FilterError("unsupported_kind", "only bloom-wasm/full builds and changes filters");
}

let failure: FilterError | undefined;

/** Called by WebAssembly when one of its functions fails, which then returns 0. */
export function fail(code: ErrorCode, message: string, a: number, b: number): void {
  failure = new FilterError(code, message, a, b);
}

/** Called by WebAssembly when an earlier call was left in the middle. */
export function stop(): never {
  throw new FilterError("wasm_load", "the stack ran out within WebAssembly; load the page or program again");
}

/** Hands on what a function of WebAssembly returned, or throws what it told {@link fail}. */
export function checked<T>(value: T): T {
  if (failure === undefined) return value;
  const error = failure;
  failure = undefined;
  throw error;
}
