/** The main script on the command line: prints the runtime's version and its verdict. */
import "./main.mjs";

const version = globalThis.Deno?.version.deno ?? globalThis.Bun?.version ?? process.versions.node;
console.log(JSON.stringify({ version, verdict: await globalThis.verdict }));
