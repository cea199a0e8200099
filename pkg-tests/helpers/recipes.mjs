/** What the tests of recipes and examples have in common. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { PATIENCE } from "./browsers.mjs";

/** A text with one place replaced. */
export function replaced(text, from, to) {
  assert.equal(text.split(from).length, 2, `${from} once in ${text}`);
  return text.replace(from, () => to);
}

/** Waits until an answer is as expected. While a page is being replaced, asking it fails. */
export async function until(ask, expected = true) {
  let found;
  for (const end = Date.now() + PATIENCE; Date.now() < end; await pause(25)) {
    found = await Promise.resolve()
      .then(ask)
      .catch((error) => error);
    if (isDeepStrictEqual(found, expected)) return;
  }
  assert.deepEqual(found, expected, `${ask}`);
}
