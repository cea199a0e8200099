/**
 * The main script of a page's worker and of an extension's background, which can't import later, so its time counts
 * from its start.
 */
import { verdict } from "./app.mjs";

globalThis.verdict = verdict(0);
globalThis.verdict.then((verdict) => globalThis.postMessage?.(verdict));
