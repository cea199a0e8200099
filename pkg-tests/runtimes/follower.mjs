/**
 * The background of an extension that follows a feed without WebAssembly. It posts what it finds, and next does what
 * the answer says.
 */
import { openFeed } from "./bloom-wasm/dist/reader.js";
import { FEED, HERE, KEY } from "./config.mjs";

let feed;

const orders = {
  async open() {
    feed?.close();
    feed = await openFeed(FEED, { publicKey: KEY });
  },
  update: () => feed.update(),
  // Compiles the smallest module.
  compile: () => new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)) && "compiled",
};

async function obey() {
  for (let report = "ready"; ; ) {
    const answer = await fetch(HERE, { method: "POST", body: JSON.stringify(report) });
    const { order, urls } = await answer.json();
    try {
      const result = await orders[order]();
      report = { result, generation: feed?.generation, answers: urls.map((url) => feed.filter.matchUrl(url)) };
    } catch ({ name, code }) {
      report = { name, code };
    }
  }
}

obey();
