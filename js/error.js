/**
 * The one error class of the package, and its codes. JavaScript, not TypeScript: wasm-bindgen copies it as it is beside
 * what it makes, for Rust throws it too (src/wasm/mod.rs).
 */

/** The codes of {@link FilterError}, with what each means. They are API: none changes its meaning. */
export const errorCodes = /** @type {const} */ ([
  "not_a_filter", // the bytes don't start like a blob
  "unsupported_version", // the blob is of a newer format
  "unsupported_kind", // the blob's kind is unknown to this release
  "invalid_parameter", // an argument, or a field of a blob, is outside its range
  "truncated", // the blob ends too early
  "trailing_bytes", // there are bytes after the blob's end
  "checksum_mismatch", // the blob is damaged
  "incompatible", // two filters differ in profile, bits, hashes or seed, or are of different entries
  "build_failed", // the keys collide under every hash of a ribbon filter
  "not_mergeable", // filters of these kinds can't be merged
  "filter_full", // a cuckoo or scalable filter has no room for another key
  "too_large", // more memory than there is, or more bytes than `maxBytes`
  "layered", // the filter has layers over it, and so is read-only
  "invalid_key", // a key is neither a string nor a Uint8Array, or gives no key to a filter of URLs or hashes
  "wrong_profile", // the filter's keys are not what was asked for: URLs or passwords
  "wrong_kind", // the filter, or the blob, is of a kind that can't do this, or not of the class that was asked
  "freed", // the filter was freed
  "http", // the server answered with an error
  "network", // the transfer failed
  "integrity", // the bytes don't have the hash that `integrity` demands
  "wasm_load", // the WebAssembly module could not be started, or was stopped in the middle of a call
]);

/** @typedef {(typeof errorCodes)[number]} ErrorCode A stable, machine-readable name for what went wrong. */

/** Every error that this package throws, but for the reason of an aborted signal, which is rethrown as it is. */
export class FilterError extends Error {
  /**
   * @internal
   * @param {ErrorCode} code
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    /**
     * What went wrong: stable, unlike the message.
     * @readonly
     * @type {ErrorCode}
     */
    this.code = code;
  }

  static {
    this.prototype.name = "FilterError";
  }
}
