/** Checks where every tab goes, and shows the blocking page instead of what may be on the list. */
import { load } from "./bloom-wasm/inline.js";
import { FILTER_URL } from "./config.js";

const { alarms, runtime, storage, tabs, webNavigation } = chrome;

/** Minutes until the filter is fetched again, after it could be and after it couldn't. */
const [NEXT, RETRY] = [24 * 60, 10];

// The browser stops this script when it idles, and starts it for an event that has a listener. So all listeners are
// added at once, and wait for the filter by themselves. A page is checked when the tab sets out for it, and again when
// it is there: only then is it known where redirects have led.
webNavigation.onBeforeNavigate.addListener((page) => check(page, false), { url: [{ schemes: ["http", "https"] }] });
webNavigation.onCommitted.addListener((page) => check(page, true));
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

/** The tabs that are being sent to the blocking page, by what they were found on: once is enough. */
const leaving = new Map();

async function check({ tabId, frameId, url }, arrived) {
  if (frameId !== 0) return;
  if (arrived) leaving.delete(tabId); // it went on all the same
  if (!/^https?:/.test(url)) return;
  const filter = await ready.catch(() => null);
  if (!filter) return; // without one the web still works, and the popup says so
  const key = filter.matchUrl(url);
  const allowed = `allowed ${key}`; // by the blocking page
  if (key === null || (await storage.session.get(allowed))[allowed]) {
    if (arrived) count("checks");
    return;
  }
  // If the tab got there before the answer, the page is in its history, and going back has to skip it.
  await storage.session.set({ [`arrived ${tabId}`]: arrived });
  if (leaving.get(tabId) === url) return;
  leaving.set(tabId, url);
  count("checks", "blocked");
  const address = runtime.getURL(`blocked.html?${new URLSearchParams({ url, key })}`);
  await tabs.update(tabId, { url: address }).catch(() => {}); // the tab may be gone
}

async function count(...names) {
  const all = await counts;
  for (const name of names) all[name]++;
  await storage.session.set(all);
}
