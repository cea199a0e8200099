/** Writes the feed.toml of a feed that the tool publishes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** An id, for a test of one feed. */
export const ID = "00112233445566778899aabbccddeeff";

/** A value in TOML, on one line. JSON's strings and numbers are TOML's, and a BigInt has no JSON. */
function toml(value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  return `{ ${entries(value).join(", ")} }`;
}

const entries = (table) =>
  Object.entries(table)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${JSON.stringify(key)} = ${toml(value)}`);

/**
 * The text of a feed.toml. The keys are those of docs/hosting.md; `lists` and `allow` have a path or a table for each
 * name.
 */
export function feedToml({ id = ID, lists = {}, allow = {}, ...keys }) {
  const section = (name, lists) => (entries(lists).length ? [`[${name}]`, ...entries(lists)] : []);
  return `${[...entries({ id, ...keys }), ...section("lists", lists), ...section("allow", allow)].join("\n")}\n`;
}

/** Writes it into a folder. */
export const writeFeed = (folder, feed, name = "feed.toml") => writeFileSync(join(folder, name), feedToml(feed));
