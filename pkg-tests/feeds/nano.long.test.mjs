/** Feeds in plain JavaScript: "bloom-wasm/nano" is asked all that the other files of this folder ask of WebAssembly. */
import { readdirSync } from "node:fs";

process.env.FOLLOWER = "bloom-wasm/nano";
process.env.EVERY ??= 1;
process.env.KEYS ??= 2_000_000;
const fast = readdirSync(import.meta.dirname).filter((name) => /^[\w-]+\.test\.mjs$/.test(name));
// These two look at both by themselves.
for (const name of fast.sort()) if (!/^(generations|trust)\./.test(name)) await import(`./${name}`);
