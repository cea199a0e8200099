/** The engine in WebAssembly, for filters of every kind. */

import { Filter as RawFilter, urlExpressionsAt } from "../bloom_wasm.js";
import type { FilterInfo } from "../boundary/info.js";
import { type AnyKey, concat, type Key, noKey } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { Engine } from "../filter/engine.js";
import { engineOf, type Filter } from "../filter/filter.js";
import { areNumbers, foreignKey, numberIn } from "../foreign/keys.js";
import { ask, call, Held } from "./instance.js";
import { Batch, put } from "./scratch.js";

/** The answer for one of many keys if the filter can't hold it. */
const NO_KEY = 2;

// Questions about a key in the scratch, a text or bytes.
const hasText = (raw: RawFilter, length: number) => raw.hasAt(length, true);
const hasBytes = (raw: RawFilter, length: number) => raw.hasAt(length, false);
const hasUrl = (raw: RawFilter, length: number) => raw.hasPlainUrlAt(length) ?? raw.hasUrlAt(length);
const matchUrl = (raw: RawFilter, length: number) => raw.matchUrlAt(length) ?? null;
const setOfText = (raw: RawFilter, length: number) => raw.tagSetAt(length, true);
const setOfBytes = (raw: RawFilter, length: number) => raw.tagSetAt(length, false);

const NONE: readonly string[] = /* @__PURE__ */ Object.freeze([]);

const restore = (saved: Uint8Array) => call(() => RawFilter.restore(saved));

/** @internal The engine of a filter in WebAssembly. */
export class WasmEngine extends Engine {
  readonly #held: Held<RawFilter>;
  /** The tags of the sets that were asked for, by their numbers. */
  #tags: Map<number, readonly string[]> | undefined;

  constructor(held: Held<RawFilter>) {
    super();
    this.#held = held;
  }

  /** What WebAssembly holds. Read it for each call, and before a key is put into the scratch: see {@link Held}. */
  get raw(): RawFilter {
    return this.#held.raw;
  }

  /** Runs a call into WebAssembly that needs no key. */
  call<T>(run: (raw: RawFilter) => T): T {
    return this.#held.call(run);
  }

  get kind(): FilterInfo["kind"] {
    return this.call((raw) => raw.kind as unknown as FilterInfo["kind"]);
  }

  has(key: AnyKey): boolean {
    const answer = ask(typeof key === "string" ? hasText : hasBytes, this.raw, put(key as Key));
    if (answer === undefined) throw this.#refused(key as Key);
    return answer;
  }

  hasMany(keys: Iterable<AnyKey>): Uint8Array<ArrayBuffer> {
    const answers: Uint8Array[] = [];
    const batch = new Batch(this, (raw, sent, length) => {
      const found = call(() => raw.hasManyAt(sent.length, length, typeof sent[0] === "string"));
      const none = found.indexOf(NO_KEY);
      if (none >= 0) throw this.#refused(sent[none]!);
      answers.push(found);
    });
    for (const key of keys) batch.push(key as Key);
    batch.flush();
    return concat(answers);
  }

  hasLines(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    const answers = this.call((raw) => raw.hasLines(bytes) as Uint8Array<ArrayBuffer>);
    const none = answers.indexOf(NO_KEY);
    if (none >= 0) throw this.#refused(none + 1);
    return answers;
  }

  hasUrl(url: string): boolean {
    return ask(hasUrl, this.raw, put(url));
  }

  matchUrl(url: string): string | null {
    return ask(matchUrl, this.raw, put(url));
  }

  tags(key: AnyKey): readonly string[] {
    const set = ask(typeof key === "string" ? setOfText : setOfBytes, this.raw, put(key as Key));
    if (set === -3) throw this.#refused(key as Key);
    return this.#namesOf(set);
  }

  /** The tags of a set by its number: -1 for an absent key, and -2 for a filter without tags. */
  #namesOf(set: number): readonly string[] {
    if (set === -1) return NONE;
    this.#tags ??= new Map();
    let names = this.#tags.get(set);
    if (!names) {
      // One array for all keys of a set: a new one for each answer would take longer than the answer.
      names = Object.freeze(this.#namesOfAll([set]));
      this.#tags.set(set, names);
    }
    return names;
  }

  /** The tags that sets have together. Throws `wrong_kind` for a filter without tags. */
  #namesOfAll(sets: Iterable<number>): string[] {
    return this.call((raw) => raw.tagNames(Float64Array.from(sets)) as string[]);
  }

  urlTags(url: string): string[] {
    const length = this.hasUrl(url) ? put(url) : 0;
    const keys = length > 0 ? call(() => urlExpressionsAt(length) as string[]) : [];
    const sets = new Set(keys.map((key) => this.#setOf(key)));
    sets.delete(-1);
    const [set = -1] = sets;
    return sets.size === 1 ? [...this.#namesOf(set)] : this.#namesOfAll(sets);
  }

  #setOf(key: string): number {
    return ask(setOfText, this.raw, put(key));
  }

  hasPassword(password: string): boolean {
    return this.call((raw) => raw.hasPassword(password));
  }

  info(): FilterInfo {
    return this.call((raw) => raw.info());
  }

  get estimatedFpr(): number {
    return this.call((raw) => raw.estimatedFpr);
  }

  get estimatedCount(): number {
    return this.call((raw) => raw.estimatedCount);
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    return this.call((raw) => raw.toBytes() as Uint8Array<ArrayBuffer>);
  }

  equals(other: Engine): boolean {
    const wasm = wasmOf(other);
    const [raw, otherRaw] = [this.raw, wasm.raw];
    return call(() => raw.equals(otherRaw));
  }

  clone(): Engine {
    const { raw } = this;
    return engineFor(() => raw.clone());
  }

  free(): void {
    this.#tags = undefined;
    this.#held.free();
  }

  /** The error for a key that the filter can't hold, or for the line of that number. */
  #refused(key: Key | number): FilterError {
    const profile = this.call((raw) => raw.profile as unknown as string);
    return noKey(profile, key);
  }
}

/** The engine of a foreign filter, whose keys may be numbers, or strings in which lone surrogates count. */
export class ForeignEngine extends WasmEngine {
  /** What the keys are, by their number in FORMAT-FOREIGN.md. */
  readonly #keys: number;

  constructor(held: Held<RawFilter>, keys: number) {
    super(held);
    this.#keys = keys;
  }

  override has(key: AnyKey): boolean {
    return super.has(foreignKey(key, this.#keys));
  }

  override hasMany(keys: Iterable<AnyKey>): Uint8Array<ArrayBuffer> {
    const kind = this.#keys;
    return super.hasMany(
      (function* () {
        for (const key of keys) yield foreignKey(key, kind);
      })(),
    );
  }

  override hasLines(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    if (!areNumbers(this.#keys)) return super.hasLines(bytes);
    const decoder = new TextDecoder();
    const answers: number[] = [];
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(LF, start);
      // A copy, because browsers don't decode bytes that are shared or may shrink.
      const line = decoder.decode(bytes.slice(start, end < 0 ? undefined : end)).replace(/\r$/, "");
      answers.push(line !== "" && this.has(numberIn(line, this.#keys)) ? 1 : 0);
      start = end < 0 ? bytes.length : end + 1;
    }
    return Uint8Array.from(answers);
  }
}

const LF = 10;

/** The engine of a filter that a call into WebAssembly makes. */
export function engineFor(make: () => RawFilter): WasmEngine {
  const raw = call(make);
  const held = new Held(raw, restore);
  const keys = call(() => raw.foreignKeys);
  return keys === undefined ? new WasmEngine(held) : new ForeignEngine(held, keys);
}

/** Frees an engine of a kind that a caller didn't want. The error is to be thrown. */
export function wrongKind(engine: WasmEngine): FilterError {
  const { kind } = engine;
  engine.free();
  return new FilterError("wrong_kind", `the blob holds a filter of kind ${kind}`);
}

/** The engine of a filter. Throws `freed` if it was freed, and `incompatible` if it runs in plain JavaScript. */
export function wasmOf(of: Filter<never> | Engine): WasmEngine {
  const engine = of instanceof Engine ? of : engineOf(of);
  if (engine instanceof WasmEngine) return engine;
  const hint = "as those of feeds do; decode its toBytes()";
  throw new FilterError("incompatible", `this filter runs in plain JavaScript, ${hint}`);
}

/** What WebAssembly holds of it: see {@link WasmEngine.raw}. */
export function rawOf(filter: Filter<never>): RawFilter {
  return wasmOf(filter).raw;
}
