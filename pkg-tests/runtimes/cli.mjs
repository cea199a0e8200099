/** The main script of a runtime on the command line: prints its version and its verdict. */
import { readFileSync } from "node:fs";
import "./main.mjs";

const version = globalThis.Deno?.version.deno ?? globalThis.Bun?.version ?? process.versions.node;
const golden = JSON.parse(readFileSync(new URL("golden.json", import.meta.url), "utf8"));
console.log(JSON.stringify({ version, verdict: await cases(golden) }));
