/** The main script of pages and on the command line: the package is all that is left to import while the clock runs. */
import "./cases.mjs";
import "./golden.mjs";
import "./programs.mjs";

const first = performance.now();
globalThis.verdict = import("./app.mjs").then(({ verdict }) => verdict(first));

/** What a page's module worker says; bundlers know a worker by its being written so. */
globalThis.ofWorker = () =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./background.mjs", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
