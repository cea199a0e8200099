/** The main script of pages and on the command line: the package is all that is left to import while the clock runs. */
import "./cases.mjs";
import "./golden.mjs";

const first = performance.now();
globalThis.verdict = import("./app.mjs").then(({ verdict }) => verdict(first));
