/** Lists to the keys of a profile, for the builders: `src/cli/keys.rs` does the same for the command line tool. */

import { checked } from "./error.js";
import { Digests, checkKey, checkText, iterable, textOf, wasm, put, scratchBytes, type Key } from "./memory.js";
import type { Checked, SkipReason } from "./options.js";
import { normalized } from "./password.js";
import { urlExpressions } from "./url.js";

/** What takes a list, by the key or as the lines of a UTF-8 text. */
export interface Sink {
  push(key: Key): void;
  pushLines(text: Uint8Array): void;
}

/** What puts each line's own key into the digests. */
export function sinkOf(digests: Digests, options: Checked): Sink {
  if (options.profile === "raw") return digests;
  const push = (line: Key) => eachEntry(line, options, ([own]) => digests.push(own!));
  return {
    push,
    pushLines(text) {
      checkText(text);
      for (let start = 0; start < text.byteLength; ) {
        const end = (text.indexOf(LF, start) + 1 || text.byteLength + 1) - 1;
        const line = text.subarray(start, text[end - 1] === CR && end > start ? end - 1 : end);
        if (line.byteLength > 0) push(line);
        start = end + 1;
      }
    },
  };
}

const [LF, CR] = [10, 13];

/** Hands the keys of each entry in a line to `take`, the entry's own key first. */
export function eachEntry(line: Key, options: Checked, take: (keys: Key[]) => void): void {
  const skip = (reason: SkipReason) => options.onSkip?.({ key: line, reason });
  if (options.profile === "raw") {
    take([line]);
  } else if (options.profile === "url") {
    const entries = scratchBytes(checked(wasm.list_entries(put(withoutLf(line)))));
    for (const entry of asText(entries).split("\n").slice(0, -1)) {
      if (entry.startsWith("-")) {
        skip(entry.slice(1) as SkipReason);
        continue;
      }
      const keys = urlExpressions(entry.slice(1));
      if (keys.length > 0) take(keys);
      else skip("not_checkable");
    }
  } else if (options.sha1Hex) {
    const count = checked(wasm.hash_line(put(line)));
    if (count < 0) skip("not_a_hash");
    else if (count < options.minCount) skip("too_rare");
    else take([scratchBytes(20)]);
  } else {
    const text = textOf(line);
    const key = text === undefined ? line : normalized(text, options.lowercase);
    // As it is typed, not as it is lower-cased: that may take more characters. What isn't UTF-8 is kept as it is.
    const typed = text?.normalize("NFC") ?? new TextDecoder("utf-8", { ignoreBOM: true }).decode(line as Uint8Array);
    if (options.minLength > 0 && [...typed].length < options.minLength) skip("too_short");
    else take([key]);
  }
}

/** A line end within a URL is nothing to a parser, and would part the entries. */
function withoutLf(line: Key): Key {
  checkKey(line);
  if (typeof line === "string") return line.replace(/\n/g, "");
  return line.includes(LF) ? line.filter((byte) => byte !== LF) : line;
}

/** Entries as the text that a URL parser takes: bytes that aren't UTF-8 are escaped, which comes to the same. */
function asText(bytes: Uint8Array): string {
  const escaped = (byte: number) => (byte < 0x80 ? String.fromCharCode(byte) : "%" + byte.toString(16));
  return textOf(bytes) ?? Array.from(bytes, escaped).join("");
}

/**
 * Reads the allowed keys and hands their digests to `run`, nothing if there is no such list. Members that are in both
 * lists are told to `onConflict`, and taken out of the members if `allowWins` says so.
 */
export function withAllowed<T>(members: Digests, options: Checked, run: (allowed: Digests | undefined) => T): T {
  const { allow, allowWins, onConflict, seed } = options;
  if (allow === undefined) return run(undefined);
  // What is too short or too rare to be listed is allowed all the same.
  const every = { ...options, minLength: 0, minCount: 0 };
  const [allowed, gone] = [new Digests(seed), new Digests(seed)];
  try {
    checked(wasm.digests_sort(members.flush().slot));
    const both = new Map<string, { key: Key; removed: boolean }>();
    for (const line of iterable(allow)) {
      eachEntry(line, every, (keys) =>
        keys.forEach((key, i) => {
          allowed.push(key);
          if (!members.has(key)) return;
          const removed = allowWins && i === 0;
          // By the text, if it is one, and else by the bytes; a copy, for an iterator may refill its buffer.
          const text = textOf(key);
          const name = text === undefined ? `bytes ${key}` : `text ${text}`;
          both.set(name, { key: text ?? key.slice(), removed: removed || both.get(name)?.removed === true });
        }),
      );
    }
    for (const { key, removed } of both.values()) if (removed) gone.push(key);
    checked(wasm.digests_sort(gone.flush().slot));
    checked(wasm.digests_subtract(members.slot, gone.slot));
    for (const conflict of both.values()) onConflict?.(conflict);
    return run(allowed.flush());
  } finally {
    allowed.free();
    gone.free();
  }
}
