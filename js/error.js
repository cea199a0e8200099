/**
 * The one error class of the package, and its codes. It is JavaScript, not TypeScript, because Rust throws it too
 * (src/wasm/mod.rs): wasm-bindgen copies this file unchanged to its output.
 */

/** The codes of {@link FilterError}, and what each means. They are API: a code never changes its meaning. */
export const errorCodes = /** @type {const} */ ([
  "not_a_filter", // the bytes don't begin like a blob
  "unsupported_version", // the blob, or the feed, is of a newer format
  "unsupported_kind", // this release doesn't know the blob's kind
  "unsupported_format", // this release doesn't know the foreign format, or the variant of one
  "invalid_parameter", // an argument, or a field of a blob, is out of range
  "truncated", // the blob is cut short
  "trailing_bytes", // there are bytes after the blob's end
  "checksum_mismatch", // the blob is damaged
  "incompatible", // two filters differ in profile, bits, hashes, seed or secret, or only one runs in WebAssembly
  "build_failed", // the keys collide under every hash of a ribbon filter
  "not_mergeable", // filters of these kinds can't be merged
  "filter_full", // a cuckoo or scalable filter has no room for another key
  "too_large", // more memory is needed than there is, or the blob is longer than `maxBytes`
  "wrong_base", // the delta was made for another filter
  "secret_required", // the filter is keyed, and no secret was given
  "wrong_secret", // the secret isn't that of the filter, or the filter has none
  "layered", // the filter has layers, was updated, or was built with an allowlist, and is therefore read-only
  "invalid_key", // a key is neither a string nor a Uint8Array, or can't be a key of a filter of URLs or passwords
  "wrong_profile", // the filter wasn't built from URLs, or from passwords
  "wrong_kind", // a filter of this kind can't do that, or the blob is of another kind than asked for
  "freed", // the filter was freed, or the feed or sharded filter closed
  "http", // the server answered with an error
  "network", // the transfer failed, or took longer than `timeout`
  "integrity", // the bytes don't have the hash in `integrity`, or the length and hash that were signed
  "not_a_feed", // this isn't the manifest of a feed or sharded filter, or its files aren't what it says
  "signature", // none of the public keys has signed the manifest, or this runtime can't check that
  "wrong_feed", // the feed or sharded filter at this URL isn't the one found there first
  "rollback", // the generation is older than one that was accepted before
  "expired", // the newest generation has expired
  "cache", // the cache can't be read or written (a `cacheError`), or `forget` can't remove everything
  "unsupported_runtime", // the runtime has no full URL parser
  "wasm_load", // WebAssembly could not be started, or a call was cut off while it changed this filter
]);

/** @typedef {(typeof errorCodes)[number]} ErrorCode A stable, machine-readable name for what went wrong. */

/** Every error that this package throws, except for the reason of an aborted signal, which is rethrown as it is. */
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
}

/** @type {unknown} */
let returned;

/**
 * @internal An error that a call into WebAssembly returns (src/wasm/mod.rs).
 * @param {ErrorCode} code
 * @param {string} message
 */
export function returnedError(code, message) {
  const error = new FilterError(code, message);
  returned = error;
  return error;
}

/**
 * @internal Whether this is the error that the call just returned. Any other was thrown in the middle of it.
 * @param {unknown} error
 */
export function isReturned(error) {
  const is = returned !== undefined && error === returned;
  returned = undefined;
  return is;
}

// No static block: Metro doesn't support them.
FilterError.prototype.name = "FilterError";
