/** Feeds in plain JavaScript: all that feeds/feed.test.mjs asks of WebAssembly. */
process.env.FOLLOWER = "bloom-wasm/nano";
await import("./feed.test.mjs");
