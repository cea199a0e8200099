/** The service worker: keeps the whole site, so that it works without a network after the first visit. */
import { addPlugins, type PrecacheEntry, precacheAndRoute } from "workbox-precaching";

declare const self: {
  __WB_MANIFEST: PrecacheEntry[];
  skipWaiting(): void;
  clients: { claim(): void };
} & EventTarget;

/** How many milliseconds a page waits for its host, before it comes as it was kept. */
const PATIENCE = 3000;

/** Pages and workers obey policies, which the host sends as headers, and may mend while their content stays the same. */
const hasPolicy = ({ mode, destination }: Request) => mode === "navigate" || destination === "worker";

addPlugins([
  {
    /** What is kept of a page, with the headers that its host sends now. They are kept in turn. */
    async cachedResponseWillBeUsed({ cacheName, request: key, cachedResponse: kept, event }) {
      const { request } = event as { request?: Request }; // none while it is installed
      if (!kept || !request || !hasPolicy(request)) return kept;
      const options = { method: "HEAD", cache: "no-cache", signal: AbortSignal.timeout(PATIENCE) } as const;
      const now = await fetch(request.url, options).catch(() => undefined);
      if (!now?.ok) return kept;
      const page = new Response(kept.body, { headers: now.headers });
      const copy = page.clone();
      // If it can't be written, the page is there all the same.
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
// Whatever an address says after its `?` is for the page's script.
precacheAndRoute(self.__WB_MANIFEST, { ignoreURLParametersMatching: [/./] });
self.addEventListener("activate", () => self.clients.claim());
// A newer version waits until all tabs of the old one are closed, or until a visitor asks for it (offline.ts).
self.addEventListener("message", ({ data }: MessageEventInit) => data === "skip waiting" && self.skipWaiting());
