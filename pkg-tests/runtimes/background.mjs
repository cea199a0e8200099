/**
 * The main script of a page's worker and of an extension's background, which may not import later: its time is the one
 * since it was started.
 */
import { verdict } from "./app.mjs";

globalThis.verdict = verdict(0);
globalThis.verdict.then((verdict) => globalThis.postMessage?.(verdict));
