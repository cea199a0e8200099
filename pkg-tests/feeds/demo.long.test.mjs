/** `npm run feed:demo`: the feed that it serves keeps changing, has the typed hosts, and ends with Ctrl-C. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { root } from "../../scripts/setup.mjs";
import { PATIENCE, start } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";

const { openFeed } = await installed("bloom-wasm/reader");

/** Starts the demo, and waits for its address and public key. */
async function demo(variables) {
  const temporary = mkdtempSync(join(folder, "demo-"));
  const env = { ...process.env, PORT: "0", EVERY: "0.2", TMPDIR: temporary, ...variables };
  const child = start(process.execPath, [join(root, "scripts/feed-demo.mjs")], { env });
  const printed = [];
  child.stderr.on("data", (data) => printed.push(`${data}`));
  const ended = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const told = {};
  for await (const line of lines) {
    printed.push(line);
    told.url ??= /the feed is (\S+)/.exec(line)?.[1];
    told.key ??= /public key is (\S+)/.exec(line)?.[1];
    if (told.url && told.key && /generation \d+:/.test(line)) break;
  }
  child.stdout.resume();
  return { child, ended, printed: () => printed.join("\n"), left: () => readdirSync(temporary), ...told };
}

test("it keeps publishing, including typed hosts, and leaves nothing behind", {
  timeout: 6 * PATIENCE,
}, async () => {
  const { child, ended, printed, left, url, key } = await demo();
  assert.ok(url && key, printed());
  const feed = await openFeed(url, { publicKey: key });
  const until = async (what, holds) => {
    for (const end = Date.now() + PATIENCE; !holds(); await pause(25)) {
      assert.ok(Date.now() < end, `never: ${what}`);
      await feed.update();
    }
  };
  const first = feed.generation;
  assert.equal(feed.filter.hasUrl("https://www.host-2000.example/"), true);
  assert.equal(feed.filter.hasUrl("https://typed.test/"), false);
  await until("two generations more", () => feed.generation >= first + 2);
  child.stdin.write("typed.test\n");
  await until("what was typed", () => feed.filter.hasUrl("https://typed.test/"));
  // Pages and extensions may fetch it, and nothing else is served.
  const response = await fetch(url);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.equal(response.headers.get("cache-control"), "public, max-age=0, s-maxage=60");
  for (const path of ["/", "/feed.key", "/../feed.key", "/%2e%2e/feed.key"])
    assert.equal((await fetch(new URL(path, url))).status, 404);
  assert.equal(left().length, 1);
  child.kill("SIGINT");
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual(left(), []);
});
