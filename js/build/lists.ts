/** Lists on their way into filters. Rust decides which keys are in a line: `src/keys/list.rs`. */

import { DigestList, type Filter as RawFilter } from "../bloom_wasm.js";
import { iterable, type Key, ownKey } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { engineFor, type WasmEngine } from "../wasm/engine.js";
import { call, Held, restored } from "../wasm/instance.js";
import { Batch } from "../wasm/scratch.js";
import type { Options, SkipReason } from "./options.js";

/** A line that gives no key, as Rust reports it. */
interface Skipped {
  /** The position of the line in its batch. */
  index: number;
  line: Uint8Array;
  reason: SkipReason;
}

/** @internal A list of keys. It takes single keys and UTF-8 text with one key per line. The caller frees it. */
export class List {
  #options: Pick<Options, "allow" | "allowWins" | "onSkip" | "onConflict">;
  #held: Held<DigestList>;
  #batch: Batch<DigestList>;
  /** The lines of this list that gave no key: how many, and those that aren't reported yet. */
  #skipped = 0;
  #untold: { key: Key; reason: SkipReason }[] = [];

  /** `make` may have to make it again, for another instance of the module. */
  private constructor(make: () => DigestList, options: Partial<Options> = {}) {
    const { allow, allowWins, onSkip, onConflict } = options;
    this.#options = { allow, allowWins, onSkip, onConflict };
    this.#held = new Held(make(), (saved) => restored(make(), (list) => list.restore(saved)));
    this.#batch = new Batch(this.#held, (raw, keys, length) => {
      this.#skip(
        call(() => raw.pushKeysAt(keys.length, length)),
        keys,
      );
    });
  }

  /** For building a filter of this kind with these options. */
  static forKind(kind: string, options: Options): List {
    const { profile = "raw", lowercase = false, sha1 = false, numbers, name, seed, secret, createdAt } = options;
    const make = () =>
      restored(
        call(() => new DigestList({ kind, profile, lowercase, sha1, seed, secret, ...numbers })),
        (list) => list.describe(name, createdAt),
      );
    return new List(make, options);
  }

  /** For adding keys to a filter. A line that gives no key throws `invalid_key`. */
  static forFilter(filter: WasmEngine): List {
    return new List(() => filter.call((raw) => DigestList.of(raw)));
  }

  push(key: Key): void {
    this.#batch.push(key);
    this.#tell();
  }

  /** Adds a key for each line. The bytes must be an array of our own, or what `asText` gave. */
  pushLines(bytes: Uint8Array): void {
    this.#flush();
    this.#skip(this.#held.call((raw) => raw.pushLines(bytes)));
    this.#tell();
  }

  /** Gives a tag to the keys since the last one. */
  tag(name: string): void {
    this.#requireKeys();
    this.#held.call((raw) => raw.tag(name));
  }

  /** Adds all keys to a filter or, if that fails, none of them. Returns how many were new. */
  addTo(filter: WasmEngine): number {
    this.#flush();
    const [digests, { raw }] = [this.#held.raw, filter];
    return call(() => raw.addDigests(digests));
  }

  /** A filter with these options, and without the keys. */
  make(run: (list: DigestList) => RawFilter): WasmEngine {
    const { raw } = this.#held;
    return engineFor(() => run(raw));
  }

  /**
   * Builds the filter of all keys, each with its tags if it `isTagged`. Keys since the last tag then have none. Reports
   * keys that are also allowed; if the options say so, they are left out.
   */
  build(isTagged = false): WasmEngine {
    const { allow, allowWins = false, onConflict } = this.#options;
    this.#requireKeys();
    const allowed = allow && Array.from(iterable(allow), ownKey);
    // From here on nothing of the caller's runs until the filter is there: these lists have no way into a new instance.
    const { raw } = this.#held;
    let conflicts: { key: Key; removed: boolean }[] = [];
    try {
      if (isTagged) call(() => raw.endTags());
      if (allowed) {
        call(() => raw.allow(allowWins));
        for (const key of allowed) this.#batch.push(key);
        this.#batch.flush();
        this.#requireKey(raw);
        conflicts = call(() => raw.conflicts());
      }
      return this.make((list) => list.build());
    } finally {
      this.#tell();
      for (const conflict of conflicts) onConflict?.(conflict);
    }
  }

  free(): void {
    this.#held.free();
  }

  #flush(): void {
    this.#batch.flush();
    this.#tell();
  }

  /** Ends a list. */
  #requireKeys(): void {
    this.#flush();
    this.#requireKey(this.#held.raw);
  }

  /** Throws if the list has lines but none gives a key, unless `onSkip` was told. */
  #requireKey(raw: DigestList): void {
    const skipped = this.#skipped;
    this.#skipped = 0;
    if (skipped > 0 && !this.#options.onSkip && call(() => raw.isEmpty()))
      throw new FilterError("invalid_key", `none of ${skipped} lines gives a key; onSkip tells why`);
  }

  /** Takes note of the lines that give no key. `keys` are those of the batch, as the caller gave them. */
  #skip(skipped: Skipped[], keys?: Key[]): void {
    this.#skipped += skipped.length;
    if (!this.#options.onSkip) return;
    for (const { index, line, reason } of skipped) this.#untold.push({ key: keys?.[index] ?? line, reason });
  }

  /** Reports them. */
  #tell(): void {
    const untold = this.#untold;
    if (untold.length === 0) return;
    this.#untold = [];
    for (const skipped of untold) this.#options.onSkip?.(skipped);
  }
}
