/** Starts the service worker (sw.ts) once the page has loaded, and says when there is a newer version of the site. */

// Only the built site has one. Where service workers are forbidden, everything works, but not offline.
if (import.meta.env.PROD && "serviceWorker" in navigator) {
  addEventListener("load", () => void start(navigator.serviceWorker).catch(() => {}));
}

async function start(workers: ServiceWorkerContainer) {
  const line = document.createElement("div");
  line.id = "newer";
  line.role = "status"; // it is there before its text, so that a screen reader notices the change
  document.body.append(line);

  const home = document.querySelector<HTMLAnchorElement>(".brand")!.href;
  let { controller } = workers;
  // Not if it is the first one; otherwise another tab has asked for the newer version.
  workers.addEventListener("controllerchange", () => {
    if (controller) offer();
    controller = workers.controller;
  });
  const registration = await workers.register(new URL("sw.js", home));

  /** Says so. All tabs show one version, so to load a page again doesn't help as long as the newer one waits. */
  function offer() {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Show it";
    button.addEventListener("click", () => {
      const { waiting } = registration;
      if (!waiting) return location.reload();
      workers.addEventListener("controllerchange", () => location.reload());
      waiting.postMessage("skip waiting");
    });
    line.replaceChildren("There is a newer version of this site.", button);
  }

  const watch = (worker: ServiceWorker | null) =>
    worker?.addEventListener("statechange", () => worker.state === "installed" && workers.controller && offer());
  if (registration.waiting && workers.controller) offer();
  watch(registration.installing);
  registration.addEventListener("updatefound", () => watch(registration.installing));
  // Browsers look for a newer one when a page is opened, and a tab may be open for weeks.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") registration.update().catch(() => {});
  });
}
