/** The two imports, whose filters run in WebAssembly and in plain JavaScript. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";
import xxhash from "xxhash-wasm";
import { installed } from "./installed.mjs";

export const full = await installed();
export const reader = await installed("bloom-wasm/reader");
export const engines = { "bloom-wasm": full, "bloom-wasm/reader": reader };

/** Asserts that `run` throws a FilterError with this code, and a message with these words. */
export function fails(code, run, words = /./) {
  assert.throws(run, (error) => {
    assert.ok(error instanceof full.FilterError, inspect(error));
    assert.ok(error instanceof Error);
    assert.equal(error.code, code, error.message);
    assert.equal(error.name, "FilterError");
    assert.match(error.message, words);
    assert.ok(!/[{}]/.test(error.message), error.message);
    return true;
  });
}

/** The code with which something fails, or "ok". Anything but a FilterError is rethrown. */
export function outcome(run) {
  try {
    run();
    return "ok";
  } catch (error) {
    if (!(error instanceof full.FilterError)) throw error;
    return error.code;
  }
}

/**
 * Throws unless both imports refuse, or accept, some bytes alike. FORMAT.md section 8 lets a reader report either error
 * if several rules are broken, or if a filter is too large; and the reader doesn't know filters of other software.
 */
export function requireAlike(inJavaScript, inWasm, what) {
  if (inJavaScript === inWasm || inJavaScript === "unsupported_kind") return;
  const either = new Set(["invalid_parameter", "truncated", "too_large"]);
  const isEither = either.has(inJavaScript) && either.has(inWasm);
  assert.ok(isEither, `${what}: ${inJavaScript} in JavaScript, and ${inWasm} in WebAssembly`);
}

/** A golden file. */
export const golden = (name) => new Uint8Array(readFileSync(new URL(`../../tests/golden/${name}`, import.meta.url)));

/** The secret of the keyed ones. */
export const SECRET = Uint8Array.from({ length: 16 }, (_, i) => i);

/** A test for each import, with the arguments of `test`; it gets the import, the import's name, and the test's context. */
export function testEach(title, ...rest) {
  const run = rest.pop();
  for (const [name, engine] of Object.entries(engines))
    test(`${title}, in ${name}`, ...rest, (context) => run(engine, name, context));
}

const { h32Raw } = await xxhash();

/** Makes the checksum of a blob match again. */
export function seal(bytes) {
  const end = bytes.byteLength - 4;
  if (end >= 0) new DataView(bytes.buffer, bytes.byteOffset).setUint32(end, h32Raw(bytes.subarray(0, end)), true);
  return bytes;
}
