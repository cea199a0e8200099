/** Whether a client accepts a manifest whose signature is right. FEED-FORMAT.md, "What a client must do". */

import { FilterError } from "../error.js";
import type { Head } from "./manifest.js";

/** A payload with its signed text: the same text means the same payload. */
type Signed = Head & { signed: string };

/** What a client knows when it finds a manifest. */
export interface Known<M extends Signed> {
  /** The generation in place. */
  present: M | undefined;
  /** The generation that is kept for this URL, maybe by another tab. */
  kept: M | undefined;
  /** In milliseconds since 1970. */
  now: number;
  /** How old a generation may be, in milliseconds. */
  maxAge: number;
}

/** How much older a manifest may be than the one in place without being a rollback, in milliseconds. */
const LAG = 10 * 60_000;

/** @internal Whether a generation has expired. */
export function isOver({ expires, createdAt }: Head, { now, maxAge }: Pick<Known<Signed>, "now" | "maxAge">): boolean {
  return now >= Math.min(expires, createdAt + maxAge);
}

/**
 * @internal Steps 5 to 7: the manifest to go on with, which is the one found, or the present one if that isn't newer.
 * Throws `wrong_feed`, `rollback` and `expired`.
 */
export function trust<M extends Signed>(found: M, known: Known<M>): M {
  const { present, kept } = known;
  const first = present ?? kept;
  // Step 5.
  if (first && first.feedId !== found.feedId) {
    throw new FilterError("wrong_feed", `this feed is ${found.feedId}, and was ${first.feedId}`);
  }
  // Step 6.
  let stays = false;
  for (const floor of [present, kept]) {
    if (floor?.feedId !== found.feedId || found.generation > floor.generation || found.signed === floor.signed)
      continue;
    stays = present !== undefined && isBehind(found, floor) && !isOver(found, known) && !isOver(present, known);
    if (stays) continue;
    const generations = `generation ${found.generation} after ${floor.generation}`;
    throw new FilterError("rollback", `the host has gone back, or in two directions: ${generations}`);
  }
  if (present && stays) return present;
  // Step 7.
  if (isOver(found, known)) {
    throw new FilterError("expired", "the newest generation has expired, or this clock is wrong");
  }
  return found;
}

/** Whether a lower generation may come from a CDN node that lags a little. */
function isBehind(found: Head, floor: Head): boolean {
  const age = floor.createdAt - found.createdAt;
  return found.generation < floor.generation && age >= 0 && age <= LAG;
}
