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

/** The generation of the manifest in a cache. */
export function floorOf({ entries }) {
  const [, bytes] = [...entries].find(([name]) => name.startsWith("manifest-")) ?? [];
  return bytes ? JSON.parse(Buffer.from(JSON.parse(Buffer.from(bytes)).payload, "base64url")).generation : 0;
}

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
