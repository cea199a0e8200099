/** Checks every page that a tab goes to, and shows the blocking page instead if it may be on the list. */
import { openFeed, urlExpressions } from "./bloom-wasm/reader.js";
import { FEED_URL, PUBLIC_KEY } from "./config.js";

const { alarms, runtime, storage, tabs, webNavigation } = chrome;

/** Minutes between two updates. */
const EVERY = 30;

// The browser stops this script when it is idle, and restarts it for an event that has a listener. So all listeners are
// added at once, and each waits for the feed. A navigation is checked when the tab has committed to it. Browsers report
// that once, after all redirects. The page is then sure to be in the tab's history, so "Go back" knows how far to go.
webNavigation.onCommitted.addListener((page) => {
  if (page.frameId === 0) pages.set(page.tabId, page);
  return check(page);
});
webNavigation.onHistoryStateUpdated.addListener(check); // a page may change its address without loading
alarms.onAlarm.addListener(refresh);

/** A promise of the feed. It rejects until the feed has been opened once. */
let feed;
refresh();

const counts = storage.session.get({ checks: 0, blocked: 0 });

/** Opens the feed. At the first start the package has it, and then Cache Storage, so this needs no network. */
async function open() {
  const packaged = runtime.getURL("feed/feed.json");
  const opened = await openFeed(FEED_URL, { publicKey: PUBLIC_KEY, packaged, timeout: 60_000 });
  if (opened.info().profile !== "url") throw new Error("the feed was not made with --profile url");
  return opened;
}

/** Updates the feed, and stores what the popup shows. If an update fails, the generation in place keeps answering. */
async function refresh() {
  feed = feed?.catch(open) ?? open();
  // Firefox forgets alarms when it exits.
  if (!(await alarms.get("refresh"))) await alarms.create("refresh", { periodInMinutes: EVERY });
  try {
    const opened = await feed;
    await opened.update();
    if (opened.packagedError) console.warn(opened.packagedError);
    const { count, generation, createdAt } = opened.info();
    const problem = opened.cacheError?.message ?? null;
    await storage.local.set({ keys: count, generation, createdAt, updatedAt: Date.now(), problem });
  } catch (error) {
    await storage.local.set({ problem: error.message });
  }
}

/**
 * The page in each tab, or null for a blocked one. A check may have to wait, and meanwhile the tab may have moved on.
 */
const pages = new Map();

async function check({ tabId, frameId, url }) {
  const page = pages.get(tabId);
  if (frameId !== 0 || page === null || !/^https?:/.test(url)) return;
  const opened = await feed.catch(() => null);
  if (!opened) return; // without one the web still works, and the popup says so
  const { filter } = opened; // the newest one, so read it each time
  // Try all keys. matchUrl returns only the first: that one may be allowed while another is on the list.
  const session = await storage.session.get();
  const key = urlExpressions(url).find((key) => filter.has(key) && !session[`allowed ${key}`]);
  if (!key || pages.get(tabId) !== page) return count("checks");
  pages.set(tabId, null);
  // The lists that the entry is on, if the feed has tags.
  const kinds = filter.info().tags ? filter.tags(key).join(", ") : "";
  const address = runtime.getURL(`blocked.html?${new URLSearchParams({ url, key, kinds })}`);
  await tabs.update(tabId, { url: address }).catch(() => {}); // the tab may be gone
  await count("checks", "blocked");
}

async function count(...names) {
  const all = await counts;
  for (const name of names) all[name]++;
  await storage.session.set(all);
}
