/** Feeds in every runtime; in a browser and in workerd with their own caches, and in KV with that of docs/edge.md. */
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import * as setup from "../../scripts/setup.mjs";
import { newPage, noChromium, PATIENCE, playwright } from "../helpers/browsers.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { refused } from "../helpers/manifests.mjs";
import { adapter, manifest, Publisher, serve } from "../helpers/publisher.mjs";
import { at } from "../helpers/site.mjs";
import { commands } from "../runtimes/commands.mjs";
import { skipped } from "../runtimes/table.mjs";

const { RibbonFilter, openFeed } = await installed();
const base = RibbonFilter.from(["evil.example"]);

const home = join(folder, "feeds");
mkdirSync(home, { recursive: true });
writeFileSync(join(home, "kv.mjs"), adapter("kv"));

/** A client's report on a feed: what it opens with, the result of its update, and what it has then. */
writeFileSync(
  join(home, "ask.mjs"),
  `
  import { openFeed } from "bloom-wasm/reader";
  export async function ask(url, publicKey, cache) {
    const feed = await openFeed(url, { publicKey, cache }).catch(({ code }) => code);
    if (typeof feed === "string") return feed;
    const first = feed.generation;
    const update = await feed.update().catch(({ code }) => code);
    const { name } = feed.filter.info();
    return [first, update, feed.generation, name, feed.filter.has("evil.example"), feed.cacheError?.cause.message].join();
  }
  `,
);

/** The reports when the feed is there, has been updated, was damaged, rolled back, and is down. */
async function told(ask) {
  const publisher = new Publisher(base);
  publisher.delta("second");
  const site = await serve(publisher);
  after(() => site.close());
  const { publicKey } = publisher.key;
  const say = () => ask(site.url, publicKey);
  assert.equal(await say(), "2,false,2,second,true,", "at first");
  publisher.delta("third");
  assert.match(await say(), /^[23],(true|false),3,third,true,$/, "one more");
  const { manifest } = publisher;
  publisher.generation = 0;
  publisher.publish();
  assert.equal(await say(), "3,rollback,3,third,true,", "set back");
  publisher.manifest = Buffer.from(String(manifest).replace("payload", "payloads"));
  assert.equal(await say(), "3,not_a_feed,3,third,true,", "damaged");
  site.fault = (_, response) => (response.destroy(), true);
  assert.equal(await say(), "3,network,3,third,true,", "away");
  const other = new Publisher(base);
  site.publisher = other;
  site.fault = undefined;
  assert.equal(await say(), "3,signature,3,third,true,", "another's");
}

test(`\`feed verify\` refuses the ${refused.length} manifests that clients refuse`, () => {
  const work = join(folder, "refused");
  const publisher = new Publisher(base).delta("second");
  mkdirSync(work, { recursive: true });
  for (const [name, bytes] of publisher.files) writeFileSync(join(work, name), bytes);
  const verify = (bytes) => {
    writeFileSync(join(work, "feed.json"), bytes);
    const args = ["feed", "verify", work, `--public-key=${publisher.key.publicKey}`];
    return spawnSync(nativeTool(), args, { encoding: "utf8" });
  };
  assert.equal(verify(publisher.manifest).status, 0);
  // A manifest of the greatest length.
  const longest = JSON.stringify(publisher.payload()).padEnd(2 ** 20);
  assert.equal(verify(manifest(longest, [publisher.key])).status, 0);
  for (const [code, make, what = make.toString()] of refused) {
    const { status, stderr } = verify(make(publisher));
    // The command keeps no state.
    if (["wrong_feed", "rollback"].includes(code)) continue;
    assert.equal(status, code === "expired" ? 1 : 2, `${what}: ${stderr}`);
  }
});

const python = setup.pythonPackages("feeds", ["cryptography==50.0.2", "xxhash==4.1.0", "mmh3==5.3.1"]);
test("a reader in Python, written from FEED-FORMAT.md alone, agrees on every answer", {
  skip: !python && skipped("tests/readers/feed_reader.py", "pip could not install what it needs"),
}, async () => {
  const work = join(folder, "python");
  mkdirSync(work, { recursive: true });
  const tool = (...args) => execFileSync(nativeTool(), ["feed", ...args], { cwd: work });
  tool("keygen", "-o", "key");
  const publicKey = createPublicKey(readFileSync(join(work, "key"))).export({ format: "jwk" }).x;
  const keys = Array.from({ length: 70_000 }, (_, i) => (i < 20_000 ? `key-${i}` : `stranger-${i}`));
  const input = Buffer.from(`${keys.join("\n")}\n`);
  const reader = (...args) => {
    const script = join(setup.root, "tests/readers/feed_reader.py");
    const env = { ...process.env, PYTHONPATH: python };
    const remember = ["--state", join(work, "memory")];
    const run = spawnSync("python3", [script, ...remember, ...args], { cwd: work, env, input, maxBuffer: 2 ** 24 });
    return run.status === 0
      ? Uint8Array.from(String(run.stdout).trim().split("\n"), Number)
      : String(run.stderr).trim();
  };
  const manifest = join(work, "public/feed.json");
  const manifests = [];
  let feed;
  writeFeed(work, { profile: "raw", fpr: 0.01, sign: ["key"], lists: { list: "list" } });
  for (let round = 1; round <= 10; round++) {
    writeFileSync(join(work, "list"), keys.slice(round * 300, 10_000 + round * 400).join("\n"));
    tool("publish");
    manifests.push(readFileSync(manifest));
    if (feed) assert.equal(await feed.update(), true);
    else feed = await openFeed(pathToFileURL(manifest), { publicKey, cache: null });
    const answers = reader("--", "public", publicKey);
    assert.deepEqual(answers, feed.filter.hasLines(input), `round ${round}`);
    assert.ok(answers.slice(round * 300, 10_000 + round * 400).every((answer) => answer === 1));
  }
  assert.ok(feed.info().files > 2);
  assert.equal(reader("--", "public", "A".repeat(43)), "signature");
  assert.equal(reader("--now", String(feed.info().expires), "--", "public", publicKey), "expired");
  writeFileSync(manifest, manifests[8]);
  assert.equal(reader("--", "public", publicKey), "rollback");
});

writeFileSync(
  join(home, "client.mjs"),
  `
  import { openFeed } from "bloom-wasm/reader";
  const [url, publicKey] = globalThis.Deno?.args ?? process.argv.slice(2);
  const feed = await openFeed(url, { publicKey, cache: null });
  const wrong = await openFeed(url, { publicKey: "A".repeat(43), cache: null }).catch(({ code }) => code);
  feed.watch({ every: 600_000 }); // must not keep it running
  console.log(feed.generation, await feed.update(), feed.filter.has("evil.example"), wrong);
  `,
);
for (const { name, command, missing } of commands) {
  test(name, { skip: missing && skipped(name, missing), timeout: 2 * PATIENCE }, async () => {
    const publisher = new Publisher(base).delta("second");
    const site = await serve(publisher);
    const net = name.startsWith("Deno") ? ["--allow-net=127.0.0.1"] : [];
    const args = [...command.slice(1), ...net, join(home, "client.mjs"), site.url, publisher.key.publicKey];
    const { stdout } = await promisify(execFile)(command[0], args, { timeout: PATIENCE });
    assert.equal(stdout, "2 false true signature\n");
    site.close();
  });
}

test("Chromium: Cache Storage", { skip: noChromium, timeout: 10 * PATIENCE }, async () => {
  writeFileSync(
    join(home, "page.mjs"),
    `
    import { openFeed } from "bloom-wasm/reader";
    import { ask } from "./ask.mjs";
    globalThis.ask = ask;
    globalThis.open = async (url, publicKey) => {
      globalThis.feed = await openFeed(url, { publicKey });
    };
    `,
  );
  writeFileSync(join(home, "page.html"), '<!doctype html><script type="module" src="page.js"></script>');
  await build({
    entryPoints: [join(home, "page.mjs")],
    outfile: join(home, "page.js"),
    bundle: true,
    format: "esm",
    conditions: ["browser"],
  });
  const browser = await playwright();
  try {
    const context = await browser.newContext();
    const opened = async () => {
      const page = await newPage(context);
      await page.goto(at("feeds/page.html"));
      await page.waitForFunction(() => globalThis.ask);
      return page;
    };
    await told(async (url, key) => {
      const page = await opened();
      const answer = await page.evaluate((args) => globalThis.ask(...args), [url, key]);
      await page.close();
      return answer;
    });
    // The store is deleted under a client, and then the disk is full.
    const publisher = new Publisher(base);
    const site = await serve(publisher);
    after(() => site.close());
    const which = [site.url, publisher.key.publicKey];
    const [page, next] = [await opened(), await opened()];
    await page.evaluate((which) => globalThis.open(...which), which);
    const updated = async () => {
      publisher.delta("more");
      return page.evaluate(async () => [await feed.update(), feed.generation, feed.cacheError?.code]);
    };
    assert.deepEqual(await updated(), [true, 2, undefined]);
    await page.evaluate(() => caches.delete("bloom-wasm"));
    assert.deepEqual(await updated(), [true, 3, undefined]);
    const full = { origin: new URL(page.url()).origin, quotaSize: 1 };
    const devtools = await context.newCDPSession(page);
    await devtools.send("Storage.overrideQuotaForOrigin", full);
    assert.deepEqual(await updated(), [true, 4, "cache"]);
    site.fault = (_, response) => (response.destroy(), true);
    await next.evaluate((which) => globalThis.open(...which), which);
    assert.equal(await next.evaluate(() => feed.generation), 3);
    await devtools.send("Storage.overrideQuotaForOrigin", { ...full, quotaSize: undefined });
    for (const its of [page, next]) await its.close();
  } finally {
    await browser.close();
  }
});

test("Chromium: of two tabs, the one with the slow put doesn't set the cache back", {
  skip: noChromium,
  timeout: 10 * PATIENCE,
}, async () => {
  writeFileSync(join(home, "tab.mjs"), 'export * from "bloom-wasm/reader";');
  writeFileSync(
    join(home, "tab.html"),
    '<!doctype html><script type="module">import { openFeed } from "./tab.js"; globalThis.openFeed = openFeed;</script>',
  );
  const options = { bundle: true, format: "esm", conditions: ["browser"] };
  await build({ ...options, entryPoints: [join(home, "tab.mjs")], outfile: join(home, "tab.js") });
  const browser = await playwright();
  try {
    // Both are put under the lock: the second tab waits for it.
    for (const slow of ["base-", "head-"]) {
      const publisher = new Publisher(base);
      const site = await serve(publisher);
      after(() => site.close());
      const context = await browser.newContext();
      const tab = async () => {
        const page = await newPage(context);
        await page.goto(at("feeds/tab.html"));
        await page.waitForFunction(() => globalThis.openFeed);
        await page.evaluate(
          async ([url, publicKey]) => {
            globalThis.feed = await globalThis.openFeed(url, { publicKey });
          },
          [site.url, publisher.key.publicKey],
        );
        return page;
      };
      const [one, two] = [await tab(), await tab()];
      for (const page of [one, two]) assert.equal(await page.evaluate(() => globalThis.feed.update()), false);
      publisher.base(RibbonFilter.from(["evil.example", slow]));
      await one.evaluate((slow) => {
        const { put } = Cache.prototype;
        return new Promise((hung) => {
          Cache.prototype.put = async function (address, response) {
            if (address.includes(`/${slow}`)) await new Promise((resolve) => hung((globalThis.goOn = resolve)));
            return put.call(this, address, response);
          };
          globalThis.updating = globalThis.feed.update();
        }).then(() => {});
      }, slow);
      publisher.delta("third");
      await two.evaluate(() => {
        globalThis.updating = globalThis.feed.update();
      });
      await two.waitForFunction(() => globalThis.feed.generation === 3);
      await one.evaluate(() => globalThis.goOn());
      for (const page of [one, two]) {
        const told = await page.evaluate(async () => [await globalThis.updating, globalThis.feed.cacheError?.message]);
        assert.deepEqual(told, [true, undefined]);
      }
      site.fault = (_, response) => (response.destroy(), true);
      const kept = await (await tab()).evaluate(() => globalThis.feed.generation);
      assert.equal(kept, 3, slow);
      await context.close();
    }
  } finally {
    await browser.close();
  }
});

const packages = setup.installed("miniflare-4.20260426.0", ["miniflare@4.20260426.0"]);
test("Cloudflare's workerd: Cache Storage and KV, before and after fetch knows the option cache", {
  skip: !packages && setup.NOT_INSTALLED,
  timeout: 600_000,
}, async () => {
  writeFileSync(
    join(home, "worker.mjs"),
    `
    import { ask } from "./ask.mjs";
    import { kv } from "./kv.mjs";
    export default {
      async fetch(request, env) {
        const [url, key, kind] = await request.json();
        return new Response(await ask(url, key, kind === "KV" ? kv(env.KV) : undefined));
      },
    };
    `,
  );
  const out = join(home, "worker");
  await build({
    entryPoints: [join(home, "worker.mjs")],
    outdir: out,
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"],
  });
  const { Miniflare } = createRequire(join(packages, "user.cjs"))("miniflare");
  for (const compatibilityDate of ["2024-01-01", "2024-12-01", "2026-04-01"]) {
    const miniflare = new Miniflare({
      modules: true,
      modulesRoot: out,
      scriptPath: join(out, "worker.js"),
      compatibilityDate,
      kvNamespaces: ["KV"],
      cf: false,
    });
    try {
      for (const kind of ["Cache Storage", "KV"]) {
        await told(async (...args) => {
          const body = JSON.stringify([...args, kind]);
          return (await miniflare.dispatchFetch("http://localhost", { method: "POST", body })).text();
        });
      }
    } finally {
      await miniflare.dispose();
    }
  }
});
