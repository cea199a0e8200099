/** Keys of foreign filters, which may be numbers, or strings in which lone surrogates count. */

import { type AnyKey, concat, isBytes, type Key, lengthOf, typeName } from "../boundary/input.js";
import { FilterError } from "../error.js";

/** For each type of whole numbers, by its number in FORMAT-FOREIGN.md: the range, and the method that writes one. */
const WHOLE: { [keys: number]: [min: bigint, max: bigint, set: "setInt32" | "setBigInt64" | "setBigUint64"] } = {
  6: [-(2n ** 31n), 2n ** 31n - 1n, "setInt32"],
  7: [-(2n ** 63n), 2n ** 63n - 1n, "setBigInt64"],
  8: [0n, 2n ** 64n - 1n, "setBigUint64"],
  11: [-(2n ** 63n), 2n ** 63n - 1n, "setBigInt64"],
};
const FLOAT = 9;
const DOUBLE = 10;

function invalidKey(message: string): FilterError {
  return new FilterError("invalid_key", message);
}

/** Whether the keys are numbers. */
export function areNumbers(keys: number): boolean {
  return keys === FLOAT || keys === DOUBLE || keys in WHOLE;
}

/**
 * A key as it goes into the scratch: a number as its little-endian bytes, and a string with lone surrogates as WTF-8
 * where these count. `keys` is what the filter's keys are. Anything but a string, a number or a bigint stays as it is.
 */
export function foreignKey(key: AnyKey, keys: number): Key {
  if (areNumbers(keys)) return isBytes(key) ? wide(key, keys) : bytesOf(key, keys);
  if (typeof key === "string" && keys >= 2 && keys <= 5 && LONE.test(key)) return wtf8(key);
  return key as Key;
}

const width = (keys: number) => (keys === 6 || keys === FLOAT ? 4 : 8);

/** The bytes of a number. Throws unless they have its length. */
function wide(bytes: Uint8Array, keys: number): Uint8Array {
  if (lengthOf(bytes, "a key must be a", "invalid_key") === width(keys)) return bytes;
  throw invalidKey(`the filter's keys are numbers of ${width(keys)} bytes, little-endian`);
}

/** The last number's bytes. They go into the scratch before the next one's. */
const view = /* @__PURE__ */ new DataView(/* @__PURE__ */ new ArrayBuffer(8));
const wholes = /* @__PURE__ */ new Uint8Array(view.buffer);
const halves = /* @__PURE__ */ wholes.subarray(0, 4);

function bytesOf(key: AnyKey, keys: number): Uint8Array {
  if (keys in WHOLE) {
    const [min, max, set] = WHOLE[keys]!;
    if (!(typeof key === "bigint" || Number.isSafeInteger(key)))
      throw invalidKey(`a key must be a whole number, as a bigint from 2^53 on, not ${shown(key)}`);
    const whole = BigInt(key as bigint | number);
    if (whole < min || whole > max) throw invalidKey(`a key must be from ${min} to ${max}, not ${whole}`);
    view[set](0, (set === "setInt32" ? Number(whole) : whole) as never, true);
  } else {
    if (typeof key !== "number") throw invalidKey(`a key must be a number, not ${shown(key)}`);
    if (keys === DOUBLE) view.setFloat64(0, key, true);
    else if (Number.isFinite(key) && !Number.isFinite(Math.fround(key)))
      throw invalidKey("a key must be in the range of floats of 32 bits");
    else view.setFloat32(0, key, true);
  }
  return width(keys) === 4 ? halves : wholes;
}

const shown = (key: unknown) => (typeof key === "number" ? String(key) : typeName(key));

/** A number in decimal digits, in a line of a text. */
export function numberIn(line: string, keys: number): number | bigint {
  if (keys in WHOLE && /^[-+]?\d+$/.test(line)) return BigInt(line);
  if (keys in WHOLE || !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(line))
    throw invalidKey("each line must be a number in decimal digits");
  return Number(line);
}

/** A surrogate without its other half: a `u` in the flags joins pairs. */
const LONE = /\p{Surrogate}/u;

/** UTF-8, and three bytes for each lone surrogate: https://simonsapin.github.io/wtf-8 */
function wtf8(text: string): Uint8Array {
  const encoder = new TextEncoder();
  const parts = text.split(/(\p{Surrogate})/u).map((part) => {
    if (!LONE.test(part)) return encoder.encode(part);
    const code = part.charCodeAt(0);
    return new Uint8Array([0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]);
  });
  return concat(parts);
}
