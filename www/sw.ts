/** The service worker: keeps the whole site, so that it works without a network after the first visit. */
import { type PrecacheEntry, precacheAndRoute } from "workbox-precaching";

declare const self: { __WB_MANIFEST: PrecacheEntry[] } & EventTarget;

// Whatever an address says after its `?` is for the page's script.
precacheAndRoute(self.__WB_MANIFEST, { ignoreURLParametersMatching: [/./] });
self.addEventListener("activate", () => {
  (self as unknown as { clients: { claim(): void } }).clients.claim();
});
