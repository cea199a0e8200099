/** Lists on their way into filters. Rust decides which keys are in a line: `src/keys/list.rs`. */

import { DigestList, type Filter as RawFilter } from "../bloom_wasm.js";
import { iterable, type Key } from "../boundary/input.js";
import { FilterError } from "../error.js";
import { call, release } from "../wasm/call.js";
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
  #batch: Batch;
  /** How many lines of this list gave no key. */
  #skipped = 0;

  private constructor(
    readonly digests: DigestList,
    options: Partial<Options> = {},
  ) {
    const { allow, allowWins, onSkip, onConflict } = options;
    this.#options = { allow, allowWins, onSkip, onConflict };
    this.#batch = new Batch((keys, length) => {
      this.#tell(
        call(() => digests.pushKeysAt(keys.length, length)),
        keys,
      );
    });
  }

  /** For building a filter of this kind with these options. */
  static forKind(kind: string, options: Options): List {
    const { profile = "raw", lowercase = false, sha1 = false, numbers, name, seed, secret, createdAt } = options;
    const list = new List(
      call(() => new DigestList(kind, profile, lowercase, sha1, seed, secret)),
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

  /** For adding keys to a filter. A line that gives no key throws `invalid_key`. */
  static forFilter(filter: RawFilter): List {
    return new List(call(() => DigestList.of(filter)));
  }

  push(key: Key): void {
    this.#batch.push(key);
  }

  /** Adds a key for each line. The bytes must be an array of our own, or what `asText` gave. */
  pushLines(bytes: Uint8Array): void {
    this.#batch.flush();
    this.#tell(call(() => this.digests.pushLines(bytes)));
  }

  /** Gives a tag to the keys since the last one. */
  tag(name: string): void {
    this.#requireKeys();
    call(() => this.digests.tag(name));
  }

  /** Ends the tagged keys. Those since the last tag have none. */
  endTags(): void {
    this.#requireKeys();
    call(() => this.digests.endTags());
  }

  /** Adds all keys to a filter or, if that fails, none of them. Returns how many were new. */
  addTo(filter: RawFilter): number {
    this.#batch.flush();
    return call(() => filter.addDigests(this.digests));
  }

  /** Builds the filter of all keys. */
  build(): RawFilter {
    this.#requireKeys();
    this.#readAllowed();
    return call(() => this.digests.build());
  }

  free(): void {
    release(this.digests);
  }

  /** Ends a list. Throws if it has lines but none gives a key, unless `onSkip` was told. */
  #requireKeys(): void {
    this.#batch.flush();
    const skipped = this.#skipped;
    this.#skipped = 0;
    if (skipped > 0 && !this.#options.onSkip && this.digests.isEmpty())
      throw new FilterError("invalid_key", `none of ${skipped} lines gives a key; onSkip tells why`);
  }

  /**
   * Reads the allowed keys, if there are any. Reports members that are in both lists, and removes them from the members
   * if the options say so.
   */
  #readAllowed(): void {
    const { allow, allowWins = false, onConflict } = this.#options;
    if (allow === undefined) return;
    call(() => this.digests.allow(allowWins));
    for (const key of iterable(allow)) this.push(key);
    this.#requireKeys();
    const conflicts: { key: Key; removed: boolean }[] = call(() => this.digests.conflicts());
    for (const conflict of conflicts) onConflict?.(conflict);
  }

  /** Reports the lines that give no key. `keys` are those of the batch, as the caller gave them. */
  #tell(skipped: Skipped[], keys?: Key[]): void {
    this.#skipped += skipped.length;
    for (const { index, line, reason } of skipped) this.#options.onSkip?.({ key: keys?.[index] ?? line, reason });
  }
}
