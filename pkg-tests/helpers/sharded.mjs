/** What the tests of sharded filters share: members, non-members, and a publisher of them. */
import { served } from "./following.mjs";
import { installed } from "./installed.mjs";
import { ShardsPublisher } from "./publisher.mjs";
import { given } from "./turn.mjs";

export const { RibbonFilter } = await installed();
export const { openSharded, urlExpressions } = await installed("bloom-wasm/reader");

/** How many keys of each kind. */
export const KEYS = given("KEYS", 5000);

export const members = Array.from({ length: KEYS }, (_, i) => `member ${i}`);
export const nonmembers = Array.from({ length: KEYS }, (_, i) => `stranger ${i}`);

/** A sharded filter on a server, and how to open it. */
export const published = (shards = 512, keys = members) =>
  served(new ShardsPublisher(RibbonFilter, shards, keys), openSharded);

/** Another key in the shard of the first. */
export const neighbour = (publisher, key, keys = members) =>
  keys.find((other) => other !== key && publisher.shardOf(other) === publisher.shardOf(key));
