/** The main script of pages and on the command line: only the package is imported while the clock runs. */
import "./cases.mjs";
import "./golden.mjs";

const first = performance.now();
globalThis.verdict = import("./app.mjs").then(({ verdict }) => verdict(first));

/** The verdict of a page's module worker. Bundlers recognise a worker by this form. */
globalThis.ofWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./background.mjs", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
