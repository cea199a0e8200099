/** Lists on their way into filters. What is in a line is decided in Rust: `src/keys/list.rs`. */

import { Digests, type Filter as RawFilter } from "./bloom_wasm.js";
import { call, release } from "./call.js";
import { asText, iterable, type Key } from "./input.js";
import type { Options, SkipReason } from "./options.js";
import { Batch } from "./scratch.js";

/** A line that gives no key, as Rust tells of it. */
interface Skipped {
  /** As which of its batch the line came. */
  index: number;
  line: Uint8Array;
  reason: SkipReason;
}

/** @internal A list of keys, which takes them by the key or as the lines of a UTF-8 text. Whoever makes one frees it. */
export class List {
  #options: Pick<Options, "allow" | "allowWins" | "onSkip" | "onConflict">;
  #batch: Batch;

  private constructor(
    readonly digests: Digests,
    options: Partial<Options> = {},
  ) {
    const { allow, allowWins, onSkip, onConflict } = options;
    this.#options = { allow, allowWins, onSkip, onConflict };
    this.#batch = new Batch((keys, length) => {
      this.#tell(
        call(() => digests.pushKeys(keys.length, length)),
        keys,
      );
    });
  }

  /** For a filter of this kind that is built with these options. */
  static forKind(kind: string, options: Options): List {
    const { profile = "raw", lowercase = false, sha1Hex = false, numbers, name, seed, createdAt } = options;
    const list = new List(
      call(() => new Digests(kind, profile, lowercase, sha1Hex, seed)),
      options,
    );
    try {
      for (const [option, number] of Object.entries(numbers)) {
        if (number !== undefined) call(() => list.digests.set(option, number));
      }
      call(() => list.digests.validate());
      call(() => list.digests.describe(name, createdAt));
      return list;
    } catch (error) {
      list.free();
      throw error;
    }
  }

  /** For a filter that the keys will be added to. A line that gives no key throws `invalid_key`. */
  static forFilter(filter: RawFilter): List {
    return new List(call(() => Digests.of(filter)));
  }

  push(key: Key): void {
    this.#batch.push(key);
  }

  pushLines(text: Uint8Array): void {
    const bytes = asText(text);
    this.#batch.flush();
    this.#tell(call(() => this.digests.pushLines(bytes)));
  }

  /** Adds all keys to a filter or, if that fails, none; returns how many were new. */
  addTo(filter: RawFilter): number {
    this.#batch.flush();
    return call(() => filter.addDigests(this.digests));
  }

  /** The filter of all keys. */
  build(): RawFilter {
    this.#batch.flush();
    this.#readAllowed();
    return call(() => this.digests.build());
  }

  free(): void {
    release(this.digests);
  }

  /**
   * Reads the allowed keys, if there are any. Members that are in both lists are told, and taken out of the members if
   * the options say so.
   */
  #readAllowed(): void {
    const { allow, allowWins = false, onConflict } = this.#options;
    if (allow === undefined) return;
    call(() => this.digests.allow(allowWins));
    for (const key of iterable(allow)) this.push(key);
    this.#batch.flush();
    const conflicts: { key: Key; removed: boolean }[] = call(() => this.digests.conflicts());
    for (const conflict of conflicts) onConflict?.(conflict);
  }

  /** Tells of the lines that give no key: each as the caller gave it, if these are the keys of a batch. */
  #tell(skipped: Skipped[], keys?: Key[]): void {
    for (const { index, line, reason } of skipped) this.#options.onSkip?.({ key: keys?.[index] ?? line, reason });
  }
}
