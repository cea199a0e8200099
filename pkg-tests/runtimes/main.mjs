/** The main script of pages and on the command line, which imports the app when it has looked at the clock. */
import "./cases.mjs";
import "./golden.mjs";

const first = performance.now();
globalThis.verdict = import("./app.mjs").then(({ verdict }) => verdict(first));
