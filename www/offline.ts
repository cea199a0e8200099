/** Starts the service worker (sw.ts) once the page has all that it needs itself. */

// Only the built site has one. Where it is forbidden, all works as well, but not offline.
if (import.meta.env.PROD && "serviceWorker" in navigator) {
  const home = document.querySelector<HTMLAnchorElement>(".brand")!.href;
  addEventListener("load", () => void navigator.serviceWorker.register(new URL("sw.js", home)).catch(() => {}));
}
