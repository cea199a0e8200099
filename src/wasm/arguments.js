/**
 * What callers pass to the classes of classes.rs, made plain: strings, copies of bytes, arrays and objects of our own. An
 * exception that passes through WebAssembly leaves its stack behind, so nothing that Rust does with a value may throw. What
 * is wrong is returned as a {@link Refused}, which Rust returns as its error.
 */

import { FilterError } from "../../js/error.js";

/** An error to throw. */
export class Refused {
  constructor(error) {
    this.error = error;
  }
}

const tag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;

const wrong = (message, code = "invalid_parameter") => new FilterError(code, message);

/** Runs a function that may throw. */
function attempt(run) {
  try {
    return run();
  } catch (error) {
    return new Refused(error);
  }
}

/** A copy of bytes. */
function copied(bytes, message, code) {
  // Throws for a buffer that was transferred.
  if (tag.call(bytes) === "Uint8Array") return new Uint8Array(bytes);
  throw wrong(message, code);
}

function plainKey(value) {
  if (typeof value === "string") return value;
  return copied(value, "a key must be a string or a Uint8Array", "invalid_key");
}

function plainKeys(values) {
  const isList = typeof values === "object" && values !== null && typeof values[Symbol.iterator] === "function";
  if (!isList || tag.call(values)) throw wrong("keys must be an array, or another iterable of keys");
  return Array.from(values, plainKey);
}

function plainSecret(value) {
  return copied(value, "secret must be a Uint8Array of 16 bytes");
}

export const key = (value) => attempt(() => plainKey(value));
export const keys = (values) => attempt(() => plainKeys(values));

/** A URL or a password. */
export const text = (value) =>
  attempt(() => {
    if (typeof value !== "string") throw wrong("a URL or a password must be a string", "invalid_key");
    return value;
  });

/** The bytes of a blob. */
export const blob = (value) =>
  attempt(() => copied(value instanceof ArrayBuffer ? new Uint8Array(value) : value, "a blob must be a Uint8Array"));

/** A secret, or undefined. */
export const secret = (value) => attempt(() => (value === undefined ? undefined : plainSecret(value)));

/** The keys of each tag: an array of names and arrays. */
export const lists = (value) =>
  attempt(() => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw wrong("lists must be an object or a Map with the keys of each tag");
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return entries.map(([name, keys]) => {
      if (typeof name !== "string") throw wrong("the name of a tag must be a string");
      return [name, plainKeys(keys)];
    });
  });

const isType = (type) => (value, name) => {
  if (typeof value !== type) throw wrong(`${name} must be a ${type}`);
  return value;
};

const [string, number, boolean] = ["string", "number", "boolean"].map(isType);

/** A whole number that fits into `max`. */
const whole = (max) => (value, name) => {
  if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  throw wrong(`${name} must be a whole number from 0 to ${max}`);
};

/** The latest time of a Date. */
const LAST = 8.64e15;

/** How each option is read. */
const OPTIONS = {
  kind: string,
  profile: string,
  lowercase: boolean,
  sha1: boolean,
  fpr: number,
  seed(value) {
    if (typeof value === "bigint" && value >= 0n && value < 1n << 64n) return value;
    throw wrong("seed must be a bigint from 0n to 2n ** 64n - 1n");
  },
  secret: plainSecret,
  minLength: whole(2 ** 32 - 1),
  minCount: whole(2 ** 32 - 1),
  name: string,
  createdAt: (value, name) => whole(LAST)(value instanceof Date ? value.getTime() : value, name),
  capacity: whole(Number.MAX_SAFE_INTEGER),
  counterBits: whole(8),
  initialCapacity: whole(2 ** 32 - 1),
  growth: whole(16),
  tightening: number,
  allow: plainKeys,
  allowWins: boolean,
  onSkip: isType("function"),
};

/** The kinds that have an option. The others would ignore it. */
const KINDS = {
  capacity: ["bloom", "counting", "cuckoo"],
  counterBits: ["counting"],
  initialCapacity: ["scalable"],
  growth: ["scalable"],
  tightening: ["scalable"],
};

/** The options of a builder that are given, each read once. */
export const options = (value) =>
  attempt(() => {
    if (value === undefined) return {};
    if (typeof value !== "object" || value === null) throw wrong("the options must be an object");
    for (const name in value)
      if (!Object.hasOwn(OPTIONS, name))
        throw wrong(`there is no option ${name}; known are ${Object.keys(OPTIONS).join(", ")}`);
    const given = {};
    for (const [name, read] of Object.entries(OPTIONS)) {
      const option = value[name];
      if (option !== undefined) given[name] = read(option, name);
    }
    const { kind = "ribbon" } = given;
    for (const [name, kinds] of Object.entries(KINDS))
      if (name in given && !kinds.includes(kind)) throw wrong(`${name} goes with kind ${kinds.join(" or ")}`);
    return given;
  });

/** Calls a function of the caller. Returns what it threw as a {@link Refused}. */
export const tell = (run, key, reason) => attempt(() => void run({ key, reason }));
