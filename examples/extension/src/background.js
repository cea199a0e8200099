/** Checks where every tab has gone, and sends it to the blocking page if that may be on the list. */
import { load, urlExpressions } from "./bloom-wasm/reader.inline.js";
import { FILTER_URL } from "./config.js";

const { alarms, runtime, storage, tabs, webNavigation } = chrome;

/** Minutes until the filter is fetched again, after it could be and after it couldn't. */
const [NEXT, RETRY] = [24 * 60, 10];

// The browser stops this script when it idles, and starts it for an event that has a listener. So all listeners are
// added at once, and wait for the filter by themselves. A navigation is checked when the tab has committed to it: that is
// said once, after all redirects, and the page is then in the tab's history for certain, so "Go back" knows how far.
webNavigation.onCommitted.addListener((page) => {
  if (page.frameId === 0) pages.set(page.tabId, page);
  return check(page);
});
webNavigation.onHistoryStateUpdated.addListener(check); // a page may go on without being loaded anew
alarms.onAlarm.addListener(() => refresh().catch(() => {}));

/** A promise of the filter; it fails while there never was one. */
let ready = start();
ready.catch(() => {});

const counts = storage.session.get({ checks: 0, blocked: 0 });

async function start() {
  // Firefox forgets alarms when it exits.
  if (!(await alarms.get("refresh"))) await alarms.create("refresh", { delayInMinutes: 1 });
  const kept = await caches.match(FILTER_URL);
  return kept ? load(kept).catch(refresh) : refresh();
}

/** Fetches the filter. What is no whole, undamaged filter of URLs never takes the place of the last that was. */
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

/** The page in each tab, or null for one that is blocked. A check may have to wait, and the tab be elsewhere by then. */
const pages = new Map();

async function check({ tabId, frameId, url }) {
  const page = pages.get(tabId);
  if (frameId !== 0 || page === null || !/^https?:/.test(url)) return;
  const filter = await ready.catch(() => null);
  if (!filter) return; // without one the web still works, and the popup says so
  // All keys, where matchUrl says only the first: that one may be allowed, and another be on the list.
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
