/** Checks every page that a tab goes to, and shows the blocking page instead if it may be on the list. */
import { load, urlExpressions } from "./bloom-wasm/reader.inline.js";
import { FILTER_URL } from "./config.js";

const { alarms, runtime, storage, tabs, webNavigation } = chrome;

/** Minutes until the filter is fetched again: after a success, and after a failure. */
const [NEXT, RETRY] = [24 * 60, 10];

// The browser stops this script when it is idle, and starts it again for an event that has a listener. So all listeners
// are added at once, and each waits for the filter. A navigation is checked when the tab has committed to it. Browsers
// report that once, after all redirects. The page is then certainly in the tab's history, so "Go back" knows how far.
webNavigation.onCommitted.addListener((page) => {
  if (page.frameId === 0) pages.set(page.tabId, page);
  return check(page);
});
webNavigation.onHistoryStateUpdated.addListener(check); // a page may change its address without loading
alarms.onAlarm.addListener(() => refresh().catch(() => {}));

/** A promise of the filter. It rejects as long as there has never been one. */
let ready = start();
ready.catch(() => {});

const counts = storage.session.get({ checks: 0, blocked: 0 });

async function start() {
  // Firefox forgets alarms when it exits.
  if (!(await alarms.get("refresh"))) await alarms.create("refresh", { delayInMinutes: 1 });
  const kept = await caches.match(FILTER_URL);
  return kept ? load(kept).catch(refresh) : refresh();
}

/** Fetches the filter. Only a complete, undamaged filter of URLs replaces the last good one. */
async function refresh() {
  try {
    const request = new Request(FILTER_URL, { cache: "no-cache" });
    const filter = await load(request, { signal: AbortSignal.timeout(60_000) });
    const { count, createdAt, profile } = filter.info();
    if (profile !== "url") throw new Error("the filter was not built with --profile url");
    const cache = await caches.open("filter");
    await cache.put(FILTER_URL, new Response(filter.toBytes()));
    ready = Promise.resolve(filter);
    await storage.local.set({ keys: count ?? filter.estimatedCount, createdAt, fetchedAt: Date.now(), problem: null });
    await alarms.create("refresh", { delayInMinutes: NEXT });
    return filter;
  } catch (error) {
    await storage.local.set({ problem: error.message });
    await alarms.create("refresh", { delayInMinutes: RETRY });
    throw error;
  }
}

/** The page in each tab, or null for a blocked one. A check may have to wait, and the tab may have moved on by then. */
const pages = new Map();

async function check({ tabId, frameId, url }) {
  const page = pages.get(tabId);
  if (frameId !== 0 || page === null || !/^https?:/.test(url)) return;
  const filter = await ready.catch(() => null);
  if (!filter) return; // without one the web still works, and the popup says so
  // Try all keys. matchUrl returns only the first: that one may be allowed while another is on the list.
  const session = await storage.session.get();
  const key = urlExpressions(url).find((key) => filter.has(key) && !session[`allowed ${key}`]);
  if (!key || pages.get(tabId) !== page) return count("checks");
  pages.set(tabId, null);
  const address = runtime.getURL(`blocked.html?${new URLSearchParams({ url, key })}`);
  await tabs.update(tabId, { url: address }).catch(() => {}); // the tab may be gone
  await count("checks", "blocked");
}

async function count(...names) {
  const all = await counts;
  for (const name of names) all[name]++;
  await storage.session.set(all);
}
