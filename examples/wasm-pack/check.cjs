// Node 20.19 and later: wasm-pack build --target nodejs --out-dir examples/wasm-pack/pkg-node
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { Filter } = require("./pkg-node/bloom_wasm.js");

const list = Filter.decode(readFileSync(join(__dirname, "list.bloom")));
for (const url of process.argv.slice(2)) console.log(url, list.matchUrl(url) ?? "not on the list");

const leaked = Filter.from(["hunter2", "Passw0rd"], { profile: "password", lowercase: true });
console.log(leaked.hasPassword("passw0rd"), leaked.hasPassword("correct horse"));

const feeds = { phishing: ["evil.example"], malware: ["bad.example", "evil.example"] };
console.log(Filter.fromTagged(feeds, { profile: "url" }).urlTags("http://evil.example/x"));
