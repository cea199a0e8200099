/**
 * An extension without its own policy, which may not start WebAssembly, follows a signed feed with bloom-wasm/reader.
 */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { backgrounds, missing, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { folder } from "../helpers/installed.mjs";
import { serve, ToolPublisher } from "../helpers/publisher.mjs";
import { createServer } from "../helpers/server.mjs";
import { skipped } from "./table.mjs";

for (const [name, own] of Object.entries(backgrounds("follower.mjs"))) {
  const none = missing(name);
  const skip = none && skipped(`extension without a policy, ${name}`, none);

  describe(`in ${name}`, { skip, timeout: 3 * PATIENCE }, () => {
    let feed; // the host of the feed, and what the native tool publishes there
    let publisher;
    let browser;
    let here; // where the background posts its reports
    let answer; // of the background's last post
    let heard; // resolves with its next one
    let posted = new Promise((resolve) => (heard = resolve));

    /** The background's next report. */
    async function report() {
      const report = await posted;
      posted = new Promise((resolve) => (heard = resolve));
      return report;
    }

    /** The background's report after an order, with the keys that it then finds for URLs. */
    async function obeys(order, ...urls) {
      answer.end(JSON.stringify({ order, urls }));
      return report();
    }

    before(
      async () => {
        const extension = join(folder, `policy-${name}`);
        mkdirSync(extension);
        publisher = new ToolPublisher(extension).publish("evil.example", "bad.example/a/");
        feed = await serve(publisher);
        here = createServer(async (request, response) => {
          response.setHeader("access-control-allow-origin", "*");
          answer = response;
          heard(await json(request));
        });
        await new Promise((listening) => here.listen(0, "127.0.0.1", listening));
        const config = {
          FEED: feed.url,
          KEY: publisher.key.publicKey,
          HERE: `http://127.0.0.1:${here.address().port}/`,
        };
        const lines = Object.entries(config).map(([key, value]) => `export const ${key} = ${JSON.stringify(value)};\n`);
        writeFileSync(join(extension, "config.mjs"), lines.join(""));
        cpSync(fileURLToPath(new URL("follower.mjs", import.meta.url)), join(extension, "follower.mjs"));
        cpSync(join(folder, "node_modules/bloom-wasm"), join(extension, "bloom-wasm"), { recursive: true });
        const manifest = { manifest_version: 3, name: "follower", version: "1", ...own };
        writeFileSync(join(extension, "manifest.json"), JSON.stringify(manifest));
        browser = await puppeteer(name);
        await browser.installExtension(extension);
        assert.equal(await report(), "ready");
      },
      { timeout: 2 * PATIENCE },
    );

    after(
      async () => {
        await browser?.close();
        feed?.close();
        here?.closeAllConnections();
        here?.close();
      },
      { timeout: PATIENCE },
    );

    test("it may not start WebAssembly", async () => {
      assert.deepEqual(await obeys("compile"), { name: "CompileError" });
    });

    test("it opens the feed, learns, trusts nobody else, and continues from its cache without the host", async () => {
      const urls = ["https://user@www.EVIL.example:8443/x", "http://bad.example/%61/b", "http://b\u00fccher.example/"];
      const old = ["evil.example/", "bad.example/a/", null];
      const { generation } = publisher;
      assert.deepEqual(await obeys("open", ...urls), { generation, answers: old });
      assert.deepEqual(await obeys("update", ...urls), { result: false, generation, answers: old });

      publisher.publish("evil.example", "b\u00fccher.example");
      assert.ok(publisher.generation > generation);
      const learned = { generation: publisher.generation, answers: ["evil.example/", null, "xn--bcher-kva.example/"] };
      assert.deepEqual(await obeys("update", ...urls), { result: true, ...learned });

      feed.publisher = new ToolPublisher(folder).publish("nobody.example");
      assert.deepEqual(await obeys("update"), { name: "FilterError", code: "signature" });
      feed.close();
      assert.deepEqual(await obeys("open", ...urls), learned);
      assert.deepEqual(await obeys("update"), { name: "FilterError", code: "network" });
    });
  });
}
