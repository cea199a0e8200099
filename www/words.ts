/** How numbers, and errors of the package, read on every page of the site. */
import type { ErrorCode } from "bloom-wasm/reader";

/** A number with its thousands apart, such as 1,000,000. */
export const number = (value: number, digits = 0) => value.toLocaleString("en", { maximumFractionDigits: digits });

/** A number rounded to some significant digits, such as 0.0012. */
export const significant = (value: number, digits = 2) =>
  value.toLocaleString("en", { maximumSignificantDigits: digits });

/** "1 key", "2 keys". */
export const plural = (count: number, one: string, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** How many keys a filter holds; of one that doesn't know, by its estimate, which is infinite if every bit is set. */
export function keysOf(count: number | null, estimate: number): string {
  if (count !== null) return plural(count, "key");
  return estimate === Infinity ? "Too many keys to count" : `About ${plural(Math.round(estimate), "key")}`;
}

/** A false-positive rate in words: "1 in 1,000", or "0". */
export function oneIn(rate: number): string {
  if (!(rate > 0)) return "0";
  const keys = 1 / rate;
  return `1\u00a0in\u00a0${keys < 10 ? significant(keys) : number(Number(keys.toPrecision(3)))}`;
}

/** A percentage, such as "0.12 %". */
export const percent = (rate: number) => `${significant(rate * 100)}\u00a0%`;

/** A size, such as "23.2 kB": 1 kB = 1,000 bytes. */
export function size(bytes: number): string {
  if (bytes < 1000) return plural(bytes, "byte").replace(" ", "\u00a0");
  const unit =
    bytes < 999_500
      ? { name: "kB", bytes: 1e3 }
      : bytes < 999.5e6
        ? { name: "MB", bytes: 1e6 }
        : { name: "GB", bytes: 1e9 };
  return `${significant(bytes / unit.bytes, 3)}\u00a0${unit.name}`;
}

/** A duration, such as "450 ns", "1.2 µs", "35 ms", "2.1 s". */
export function duration(milliseconds: number): string {
  const [unit, length] =
    milliseconds < 0.001
      ? ["ns", 1e-6]
      : milliseconds < 1
        ? ["µs", 1e-3]
        : milliseconds < 1000
          ? ["ms", 1]
          : ["s", 1000];
  return `${significant(milliseconds / (length as number))}\u00a0${unit}`;
}

/** What an error of the package means, in words. Sections may say some more precisely, and fall back to this. */
const sentences: Partial<Record<ErrorCode, string>> = {
  not_a_filter: "This is not a filter.",
  unsupported_version: "This filter is newer than the page can read.",
  unsupported_kind: "This filter is newer than the page can read.",
  unsupported_format: "This page doesn't know this format.",
  truncated: "The filter is incomplete: its end is missing.",
  trailing_bytes: "The filter is damaged: there are bytes after its end.",
  checksum_mismatch: "The filter is damaged: its checksum is wrong.",
  too_large: "This needs more memory than the browser gives a page.",
  filter_full: "The filter is full.",
  build_failed: "No filter could be built from these keys. Another seed may work.",
  wrong_kind: "This is a delta, a file of a feed: it holds only the changes to another filter.",
  wrong_base: "The delta was made for another filter.",
  secret_required: "This filter is keyed: it answers only with its secret, and secrets don't belong in a page.",
  network: "It could not be fetched. Are you online?",
  integrity: "The file isn't the one that was signed.",
  signature: "The feed isn't signed by the expected key.",
  rollback: "The feed is older than the one that was accepted before.",
  expired: "The feed has expired.",
  wrong_feed: "This address now has a different feed.",
  not_a_feed: "This is not a feed.",
  wasm_load: "WebAssembly could not be started. Reload the page to try again.",
};

/** What went wrong, in a sentence for a person. Also for what a worker has posted, with `code` and `message`. */
export function inWords(error: unknown): string {
  const { code, message = error } = Object(error) as { code?: ErrorCode; message?: unknown };
  const sentence = code && sentences[code];
  if (sentence) return sentence;
  const text = String(message);
  // A browser only says that an import has failed.
  if (error instanceof TypeError && /import/i.test(text)) return sentences.network!;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
