/** The service worker: keeps the whole site, so that it works without a network after the first visit. */
import { addPlugins, type PrecacheEntry, precacheAndRoute } from "workbox-precaching";

declare const self: {
  __WB_MANIFEST: PrecacheEntry[];
  skipWaiting(): void;
  clients: { claim(): void };
} & EventTarget;

/** How many milliseconds to wait for the host before a page is served from the cache. */
const PATIENCE = 3000;

/** Pages and workers obey policies. The host sends them as headers, and may fix them while the content stays the same. */
const hasPolicy = ({ mode, destination }: Request) => mode === "navigate" || destination === "worker";

addPlugins([
  {
    /** A cached page with the headers that its host sends now, which are cached in turn. */
    async cachedResponseWillBeUsed({ cacheName, request: key, cachedResponse: kept, event }) {
      const { request } = event as { request?: Request }; // there is none during the installation
      if (!kept || !request || !hasPolicy(request)) return kept;
      const options = { method: "HEAD", cache: "no-cache", signal: AbortSignal.timeout(PATIENCE) } as const;
      const now = await fetch(request.url, options).catch(() => undefined);
      if (!now?.ok) return kept;
      const page = new Response(kept.body, { headers: now.headers });
      const copy = page.clone();
      // The page is served even if it can't be cached.
      event.waitUntil(
        caches
          .open(cacheName)
          .then((cache) => cache.put(key, copy))
          .catch(() => {}),
      );
      return page;
    },
  },
]);
// The query of an address is only for the page's script.
precacheAndRoute(self.__WB_MANIFEST, { ignoreURLParametersMatching: [/./] });
self.addEventListener("activate", () => self.clients.claim());
// A newer version waits until all tabs of the old one are closed, or until a visitor asks for it (offline.ts).
self.addEventListener("message", ({ data }: MessageEventInit) => data === "skip waiting" && self.skipWaiting());
