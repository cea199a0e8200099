/** The example worker, bundled with the installed package, in the real runtime of Cloudflare Workers. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, before, beforeEach, describe, test } from "node:test";
import { build } from "esbuild";
import { root, installed as tools } from "../../scripts/setup.mjs";
import { PATIENCE } from "../helpers/browsers.mjs";
import { folder } from "../helpers/installed.mjs";
import { adapter, serve, ToolPublisher } from "../helpers/publisher.mjs";
import { replaced, until } from "../helpers/recipes.mjs";

const example = join(root, "examples/worker");
const config = JSON.parse(readFileSync(join(example, "wrangler.jsonc"), "utf8").replace(/^\s*\/\/.*/gm, ""));
const packages = tools("miniflare-4.20260426.0", ["miniflare@4.20260426.0"]); // the newest for Node 20
const skip = !packages && "Miniflare could not be installed";
if (skip) console.log(`runtimes/worker.long.test.mjs skipped: ${skip}`);

describe("the example worker", { skip, timeout: 600_000 }, () => {
  const work = join(folder, "worker");
  let site;

  /** The worker's files, with a change or without, bundled as wrangler does. */
  async function bundled(name, change = (source) => source) {
    const [source, out] = [join(work, name), join(work, `${name}-out`)];
    cpSync(example, source, { recursive: true, filter: (path) => !/node_modules|\.wrangler/.test(path) });
    const main = join(source, config.main);
    writeFileSync(main, change(readFileSync(main, "utf8")));
    await build({
      entryPoints: [main],
      outdir: out,
      bundle: true,
      format: "esm",
      conditions: ["workerd", "worker", "browser"],
      logLevel: "warning",
    });
    return out;
  }

  before(async () => {
    mkdirSync(work, { recursive: true });
    await bundled("asis");
    // Lets every request begin an update.
    await bundled("eager", (source) => replaced(source, "EVERY = 60_000", "EVERY = 0"));
    // With the README's change that keeps the feed in KV, and the same with R2.
    const [snippet] = /^opening .*/m.exec(readFileSync(join(example, "README.md"), "utf8"));
    for (const [name, change] of [
      ["kv", (snippet) => snippet],
      ["r2", (snippet) => replaced(snippet, "kv(KV)", "r2(BUCKET)")],
    ])
      await bundled(name, (source) => {
        const opening = replaced(source, /^ *opening \?\?= .*/m.exec(source)[0], change(snippet));
        return `${adapter(name)}\n${replaced(opening, "{ FEED_URL,", "{ KV, BUCKET, FEED_URL,")}`;
      });
  });
  beforeEach(async () => {
    site = await serve(new ToolPublisher(work).publish("evil.example", "bad.example/a/"));
  });
  afterEach(() => site.close());

  /** Runs the worker, and passes on a function that sends requests to it. */
  async function using(name, run, options) {
    const { Log, LogLevel, Miniflare } = createRequire(join(packages, "user.cjs"))("miniflare");
    const out = join(work, `${name}-out`);
    const miniflare = new Miniflare({
      modules: true,
      modulesRoot: out,
      scriptPath: join(out, config.main),
      compatibilityDate: config.compatibility_date,
      bindings: { FEED_URL: site.url, PUBLIC_KEY: site.publisher.key.publicKey },
      cf: false,
      log: new Log(LogLevel.NONE),
      handleRuntimeStdio: (stdout, stderr) => [stdout, stderr].map((stream) => stream.resume()),
      ...options,
    });
    const send = async (init) => {
      const response = await miniflare.dispatchFetch("http://worker.example/", init);
      return [response.status, await response.json()];
    };
    try {
      await run(send);
    } finally {
      await miniflare.dispose();
    }
  }

  const post = (value) => ({ method: "POST", body: JSON.stringify(value) });
  const from = (Referer) => ({ headers: { Referer } });
  const newestGeneration = () => site.publisher.generation;
  const maybe = (key) => ({ error: "maybe on the list", key });

  test("screens bodies and referrers", () =>
    using("asis", async (send) => {
      for (const [init, key] of [
        [post({ url: "https://user@www.EVIL.example:8443/x?y#z" }), "evil.example/"],
        [post({ url: "http://bad.example/%61/b" }), "bad.example/a/"],
        [post({ url: "https://good.example/?evil.example" })],
        [from("https://evil.example/"), "evil.example/"],
        [from("https://good.example/")],
        [{ ...post({ url: "https://good.example/" }), ...from("http://www.evil.example") }, "evil.example/"],
        [{}],
      ]) {
        const answer = key ? [403, maybe(key)] : [200, { ok: true }];
        assert.deepEqual(await send(init), [answer[0], { ...answer[1], generation: newestGeneration() }]);
      }
    }));

  test("refuses other JSON, and bodies that are too long", () =>
    using("asis", async (send) => {
      for (const body of ["{", "null", '{ "url": 1 }']) {
        const [status, { error }] = await send({ method: "POST", body });
        assert.equal(status, 400, body);
        assert.match(error, /^the body must be JSON such as/);
      }
      const longest = (bytes) => `{"url":"http://good.example/${"x".repeat(bytes - 30)}"}`;
      assert.equal((await send({ method: "POST", body: longest(10_000) }))[0], 200);
      const streamed = new Blob([longest(10_001)]).stream(); // without a Content-Length
      for (const body of [longest(10_001), "é".repeat(5_001), streamed])
        assert.equal((await send({ method: "POST", body, duplex: "half" }))[0], 413);
    }));

  test("answers 503 until there is a feed, and all first requests share one", () =>
    using("asis", async (send) => {
      const evil = post({ url: "https://evil.example/" });
      site.fault = (_path, response) => response.writeHead(500).end();
      assert.deepEqual(await send(evil), [503, { error: "the feed could not be opened" }]);
      site.fault = undefined;
      site.asked();
      const answers = await Promise.all(Array.from({ length: 10 }, () => send(evil)));
      const generation = newestGeneration();
      for (const answer of answers) assert.deepEqual(answer, [403, { ...maybe("evil.example/"), generation }]);
      // One fetches the feed, and asks once more for news.
      await until(() => site.log.filter((path) => path === "feed.json").length, 2);
      assert.equal(site.asked().length, 3);
      site.publisher.publish("evil.example", "new.example");
      // Less than a minute later none asks.
      for (let i = 0; i < 10; i++)
        assert.deepEqual(await send(post({ url: "https://new.example" })), [200, { ok: true, generation }]);
      assert.deepEqual(site.asked(), []);
    }));

  test("learns a URL while it runs, and answers while an update hangs", { timeout: 3 * PATIENCE }, () =>
    using("eager", async (send) => {
      const fresh = post({ url: "https://new.example/" });
      assert.deepEqual(await send(fresh), [200, { ok: true, generation: newestGeneration() }]);
      for (const held of ["feed.json", "file"]) {
        const generation = newestGeneration();
        // The next requested response stays open.
        const waiting = new Promise((resolve) => {
          site.fault = (path, response, bytes) => {
            if ((path === "feed.json") !== (held === "feed.json")) return false;
            response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 10));
            resolve(() => response.end(bytes.subarray(10)));
            return true;
          };
        });
        const more = held === "feed.json" ? ["new.example"] : ["new.example", "newer.example"];
        site.publisher.publish("evil.example", ...more);
        const newest = post({ url: `https://${more.at(-1)}/` });
        assert.deepEqual(await send(newest), [200, { ok: true, generation }]);
        const release = await waiting;
        for (let i = 0; i < 3; i++) {
          assert.deepEqual(await send(newest), [200, { ok: true, generation }], `${held} hangs`);
          const evil = [403, { ...maybe("evil.example/"), generation }];
          assert.deepEqual(await send(post({ url: "https://evil.example" })), evil);
        }
        site.fault = undefined;
        release();
        await until(() => send(newest), [403, { ...maybe(`${more.at(-1)}/`), generation: newestGeneration() }]);
      }
    }),
  );

  for (const [name, store, options] of [
    ["the Cache", "asis", { cachePersist: join(work, "cache") }],
    ["R2", "r2", { r2Buckets: ["BUCKET"], r2Persist: join(work, "r2-store") }],
    ["KV", "kv", { kvNamespaces: ["KV"], kvPersist: join(work, "kv-store") }],
  ]) {
    test(`another isolate has the feed at once from ${name}, without its host`, async () => {
      const evil = post({ url: "https://evil.example/" });
      const expected = [403, { ...maybe("evil.example/"), generation: newestGeneration() }];
      await using(store, async (send) => assert.deepEqual(await send(evil), expected), options);
      site.close();
      await using(store, async (send) => assert.deepEqual(await send(evil), expected), options);
      await using(store, async (send) => assert.equal((await send(evil))[0], 503));
    });
  }
});
