/** What the tests of feeds share: two lists, a publisher of one, and the answers that a feed must give. */
import assert from "node:assert/strict";
import { mock } from "node:test";
import { served } from "./following.mjs";
import { installed } from "./installed.mjs";
import { manifest, Publisher } from "./publisher.mjs";

export const { FilterError, RibbonFilter, decode } = await installed();
export const { fileCache, openFeed, openSharded } = await installed("bloom-wasm/reader");

export const keysOf = (which) => Array.from({ length: 3000 }, (_, i) => `${which} key ${i}`);
export const bases = Object.fromEntries(
  ["a", "b"].map((which) => [which, RibbonFilter.from(keysOf(which), { name: which })]),
);

/** A publisher on a server, and how to open its feed. */
export const published = (which = "a") => served(new Publisher(bases[which]), openFeed);

/** Another feed of the same key, at a higher generation. */
export function namesakeOf({ key }, changes) {
  return Object.assign(new Publisher(bases.b), { key, signers: [key], generation: 9, ...changes }).publish();
}

/** The newest manifest, as if published `age` milliseconds ago: by default more than a CDN may lag behind. */
export function older(publisher, age = 10 * 60_000 + 1000) {
  return manifest(publisher.payload({ createdAt: Date.now() - age }), [publisher.key]);
}

/** Asserts that a feed answers from this generation, and from all of it. */
export function answers(feed, generation, { name, which = "a" } = {}) {
  assert.equal(feed.generation, generation);
  assert.ok(feed.filter.hasAll(keysOf(which)), "a false negative");
  if (name !== undefined) assert.equal(feed.filter.info().name, name);
}

const named = (kind, { entries }) => [...entries.keys()].filter((name) => name.startsWith(kind));

/** The name of a cache's head, if it has one. */
export const headName = (cache) => named("head-", cache);

/** The names of a cache's bases: one, but while it is being replaced. */
export const basesIn = (cache) => named("base-", cache);

/** The head in a cache of one feed: its generation and its deltas. FEED-FORMAT.md, "The store". */
export function headOf(cache) {
  const bytes = cache.entries.get(headName(cache)[0]);
  if (!bytes) return { generation: 0 };
  const end = 5 + Buffer.from(bytes).readUInt32LE(1);
  const { payload } = JSON.parse(Buffer.from(bytes.subarray(5, end)));
  const { generation } = JSON.parse(Buffer.from(payload, "base64url"));
  return { generation, deltas: bytes.subarray(end) };
}

/** The generation in a cache; 0 if there is none. */
export const floorOf = (cache) => headOf(cache).generation;

export const HOUR = 3_600_000;

/** The view of a cache that one tab has. `fault` is called like the cache's own. */
export function tab(cache) {
  const view = { fault: undefined };
  for (const method of ["get", "put", "delete"]) {
    view[method] = async (name, bytes) => {
      await view.fault?.(method, name);
      return cache[method](name, bytes);
    };
  }
  return view;
}

/** A promise that others wait for, and the function that resolves it. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { opened, open };
}

/** Runs with a clock that stands still. */
export async function during(now, run) {
  mock.timers.enable({ apis: ["Date"], now });
  try {
    return await run();
  } finally {
    mock.timers.reset();
  }
}
