/** docs/edge.md: blobs and feeds' caches in Cloudflare's real runtime, and in Deno. next.long.test.mjs has the redirects. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { build } from "esbuild";
import * as setup from "../../scripts/setup.mjs";
import { PATIENCE } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { memoryCache, Publisher, serve } from "../helpers/publisher.mjs";
import { page, shell } from "../interop/docs.mjs";
import { commands } from "./commands.mjs";
import { skipped, tried } from "./table.mjs";

const { RibbonFilter, openFeed } = await installed();
const { text, code } = page("edge.md");
const work = join(folder, "edge");
mkdirSync(work);

const miniflare = setup.installed("miniflare-4.20260426.0", ["miniflare@4.20260426.0"]); // as in worker.long.test.mjs
const require = createRequire(join(miniflare ?? work, "user.cjs"));
const wrangler = setup.installed("workerd", ["wrangler@4.86.0"]); // as in runtimes.long.test.mjs
const noWorkerd = !miniflare && skipped("docs/edge.md, workerd", setup.NOT_INSTALLED);
const deno = commands.find(({ name }) => name === "Deno");
const noDeno = deno.missing && skipped("docs/edge.md, Deno", deno.missing);

/** A feed whose base needs several values of Deno KV. */
const keys = ["evil.example", ...Array.from({ length: 100_000 }, (_, i) => `host-${i}.example`)];
const base = RibbonFilter.from(keys, { fpr: 1e-3 });
assert.ok(base.toBytes().length > 120_000);

/** A client's report on a feed: what it opens with, the result of its update, and what it has then. */
writeFileSync(
  join(work, "ask.mjs"),
  `import { openFeed } from "bloom-wasm/reader";
  export async function ask(url, publicKey, cache) {
    const feed = await openFeed(url, { publicKey, cache }).catch(({ code }) => code);
    if (typeof feed === "string") return feed;
    const first = feed.generation;
    const update = await feed.update().catch(({ code }) => code);
    return [first, update, feed.generation, feed.filter.has("evil.example"), feed.cacheError?.message].join();
  }`,
);

/** The reports of clients that share a cache: the first one, another one, and one without a network. */
async function told(ask) {
  const publisher = new Publisher(base);
  const site = await serve(publisher);
  try {
    const say = () => ask(site.url, publisher.key.publicKey);
    assert.equal(await say(), "1,false,1,true,");
    site.asked();
    assert.equal(await say(), "1,false,1,true,");
    assert.ok(
      site.asked().every((path) => path === "feed.json"),
      "the base comes from the cache",
    );
    publisher.delta("second");
    assert.match(await say(), /^[12],(true|false),2,true,$/);
    publisher.base(RibbonFilter.from(keys.slice(0, 60_000), { fpr: 1e-3 }));
    assert.match(await say(), /^[23],(true|false),3,true,$/);
    site.fault = (_, response) => (response.destroy(), true);
    assert.equal(await say(), "3,network,3,true,");
  } finally {
    site.close();
  }
}

describe("in workerd", { skip: noWorkerd, timeout: 4 * PATIENCE }, () => {
  const running = [];
  after(() => Promise.all(running.map((worker) => worker.dispose())));

  /** Runs a Worker, bundled as wrangler does it. */
  async function worker(name, source) {
    writeFileSync(join(work, `${name}.mjs`), source);
    // Because the runtime's own answer hides the error.
    writeFileSync(
      join(work, `${name}-told.mjs`),
      `import its from "./${name}.mjs";
      const told = ({ code, stack }) => new Response(code ?? stack, { status: 500 });
      export default { fetch: (...request) => its.fetch(...request).catch(told) };`,
    );
    const out = join(work, name);
    await build({
      entryPoints: [join(work, `${name}-told.mjs`)],
      outfile: join(out, "worker.js"),
      bundle: true,
      format: "esm",
      conditions: ["workerd", "worker", "browser"],
      external: ["*.wasm"],
    });
    copyFileSync(join(folder, "node_modules/bloom-wasm/dist/bloom.wasm"), join(out, "bloom.wasm"));
    mkdirSync(join(out, "assets"));
    const { Log, LogLevel, Miniflare } = require("miniflare");
    const options = {
      modules: true,
      modulesRoot: out,
      scriptPath: join(out, "worker.js"),
      modulesRules: [{ type: "CompiledWasm", include: ["**/*.wasm"] }],
      compatibilityDate: "2026-04-01",
      r2Buckets: ["BUCKET"],
      kvNamespaces: ["KV"],
      assets: { directory: join(out, "assets"), binding: "ASSETS", routerConfig: { has_user_worker: true } },
      cf: false,
      log: new Log(LogLevel.NONE),
      handleRuntimeStdio: (...streams) => streams.map((stream) => stream.resume()),
    };
    const its = new Miniflare(options);
    running.push(its);
    const put = {
      async ASSETS(bytes) {
        writeFileSync(join(out, "assets/list.bloom"), bytes);
        await its.setOptions(options); // a new deployment
      },
      BUCKET: async (bytes) => (await its.getR2Bucket("BUCKET")).put("list.bloom", bytes),
      KV: async (bytes) => (await its.getKVNamespace("KV")).put("list.bloom", bytes),
    };
    const ask = async (body) => {
      const response = await its.dispatchFetch("http://worker.example/", { method: "POST", body });
      return response.status === 200 ? response.json() : response.text();
    };
    return { put, ask };
  }

  const [whole, lines] = code["A blob in a Worker"].js;
  const line = /^ *filter \?\?= .*/m.exec(whole)[0];
  const [inR2, inKv] = lines.trim().split("\n");
  const list = RibbonFilter.from(["evil.example"], { profile: "url" }).toBytes();
  for (const [binding, source, missing] of [
    ["ASSETS", whole, "http"],
    ["BUCKET", whole.replace(line, inR2), "truncated"],
    ["KV", whole.replace(line, inKv), "truncated"],
  ]) {
    test(`a blob of env.${binding}`, async () => {
      assert.equal(source.split(`env.${binding}.`).length, 2);
      const { put, ask } = await worker(binding.toLowerCase(), source);
      assert.equal(await ask("https://evil.example/"), missing);
      assert.match(text, new RegExp(`\`${missing}\` for`));
      await put[binding](list);
      assert.deepEqual(await ask("https://www.evil.example/x"), { maybeListed: true });
      assert.deepEqual(await ask("https://good.example/"), { maybeListed: false });
      tried(
        `a blob of env.${binding}, workerd`,
        require("workerd/package.json").version,
        "loads, and throws without it",
      );
    });
  }

  const noWrangler = !wrangler && skipped("docs/edge.md, wrangler", setup.NOT_INSTALLED);
  test("bindings and uploads, by wrangler", { skip: noWrangler }, async () => {
    const cwd = join(work, "wrangler");
    mkdirSync(join(cwd, "public"), { recursive: true });
    const { jsonc, sh } = code["A blob in a Worker"];
    const { main } = JSON.parse(jsonc[0]);
    writeFileSync(join(cwd, "wrangler.jsonc"), jsonc[0]);
    writeFileSync(join(cwd, "urls.txt"), "evil.example\n");
    // One Worker that asks in all three ways.
    const sources = { assets: whole, r2: whole.replace(line, inR2), kv: whole.replace(line, inKv) };
    for (const [name, source] of Object.entries(sources)) writeFileSync(join(cwd, `${name}.js`), source);
    writeFileSync(
      join(cwd, main),
      `${Object.keys(sources)
        .map((name) => `import ${name} from "./${name}.js";`)
        .join("\n")}
      const all = { ${Object.keys(sources)} };
      export default { fetch: (request, env) => all[new URL(request.url).pathname.slice(1)].fetch(request, env) };`,
    );
    // Commands that need an account run locally.
    const commands = sh[0].replaceAll("--remote", "--local").replace("wrangler deploy", "wrangler deploy --dry-run");
    assert.equal(sh[0].split("--remote").length, 3);
    const env = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };
    const program = join(wrangler, "wrangler/bin/wrangler.js");
    const npx = `npx() { case $1 in wrangler) shift; "${process.execPath}" "${program}" "$@";; *) "$@";; esac; }`;
    shell(`${npx}\n${commands}`, cwd, { ...env, HOME: cwd });
    Object.assign(process.env, env);
    const { unstable_startWorker } = createRequire(join(wrangler, "user.cjs"))("wrangler");
    const dev = { server: { port: 0 }, inspector: false, watch: false, logLevel: "error" };
    const its = await unstable_startWorker({ config: join(cwd, "wrangler.jsonc"), dev });
    try {
      for (const name of Object.keys(sources)) {
        const response = await its.fetch(`http://localhost/${name}`, { method: "POST", body: "http://evil.example" });
        assert.deepEqual(await response.json(), { maybeListed: true }, name);
      }
    } finally {
      await its.dispose();
    }
    tried("a blob's bindings and uploads, wrangler", "4.86.0", "takes the configuration and the commands");
  });

  test("a feed's cache in R2", async () => {
    const [recipe] = code["A feed's cache in R2"].js;
    const cache = recipe.slice(recipe.indexOf("const r2"));
    const { ask } = await worker(
      "feed",
      `import { ask } from "./ask.mjs";
      ${cache}
      export default {
        async fetch(request, env) {
          const { url, key } = await request.json();
          return Response.json(await ask(url, key, r2(env.BUCKET)));
        },
      };`,
    );
    await told((url, key) => ask(JSON.stringify({ url, key })));
    tried(
      "a feed's cache in R2, workerd",
      require("workerd/package.json").version,
      "keeps a feed, and answers offline",
    );
  });

  test("an update that ended with its request blocks others for a minute, as the page says", async () => {
    const publisher = new Publisher(base);
    const site = await serve(publisher);
    try {
      const { ask } = await worker(
        "ended",
        `import { openFeed } from "bloom-wasm/reader";
        let feed;
        export default {
          async fetch(request) {
            const what = await request.text();
            const { now } = Date;
            if (what === "later") Date.now = () => now() + 61_000;
            feed ??= await openFeed(${JSON.stringify(site.url)}, { publicKey: ${JSON.stringify(publisher.key.publicKey)} });
            if (what === "begin") feed.update();
            const ask = () => feed.update().catch(({ name, code, message, cause }) => [name, code, message, cause.message]);
            return Response.json([what === "update" && (await ask()), feed.generation, feed.filter.has("evil.example")]);
          },
        };`,
      );
      assert.deepEqual(await ask("open"), [false, 1, true]);
      publisher.delta("second");
      site.fault = () => true; // no answer
      assert.deepEqual(await ask("begin"), [false, 1, true]);
      for (let i = 0; i < 2; i++) {
        const [[name, code, message, cause], ...rest] = await ask("update");
        assert.deepEqual([name, code, ...rest], ["FilterError", "network", 1, true]);
        assert.match(message, /pass each update to ctx\.waitUntil/);
        assert.match(cause, /on behalf of a different request/);
        site.fault = undefined;
      }
      assert.deepEqual(await ask("later"), [false, 1, true]);
      assert.deepEqual(await ask("update"), [true, 2, true]);
      assert.deepEqual(await ask("update"), [false, 2, true]);
      tried("an update that ended with its request, workerd", require("workerd/package.json").version, "is given up");
    } finally {
      site.close();
    }
  });

  test("a Worker that starts from a warm cache keeps following its feed", async () => {
    const publisher = new Publisher(base);
    const site = await serve(publisher);
    try {
      const [recipe] = code["A feed's cache in R2"].js;
      const source = recipe
        .replace("https://lists.example/urls/feed.json", site.url)
        .replace('"..."', JSON.stringify(publisher.key.publicKey));
      const each = source.replace("EVERY = 60_000", "EVERY = 0");
      assert.notEqual(each, source);
      const follower = (name, source) => {
        const handler = "async (_, env, context) => new Response(String((await follow(env, context)).generation))";
        return worker(name, `${source}\nexport default { fetch: ${handler} };`);
      };
      const { ask, put } = await follower("follower", each);
      const until = async (generation) => {
        for (const end = Date.now() + PATIENCE; Date.now() < end; await pause(50))
          if ((await ask("")) === generation) return;
        assert.equal(await ask(""), generation);
      };
      await until(1);
      publisher.delta("second");
      await put.ASSETS(list); // new isolates, whose cache is warm
      await until(2);
      publisher.delta("third");
      await until(3);

      const patient = await follower("patient", source);
      site.asked();
      for (let i = 0; i < 5; i++) assert.equal(await patient.ask(""), 3);
      assert.ok(
        site.asked().filter((path) => path === "feed.json").length <= 2,
        "opened, and asked the host once in this minute",
      );
    } finally {
      site.close();
    }
  });
});

test("a feed's cache in Deno KV", { skip: noDeno, timeout: PATIENCE }, async () => {
  const [cache] = code["A feed's cache in Deno KV"].js;
  writeFileSync(
    join(work, "deno.mjs"),
    `import { ask } from "./ask.mjs";
    ${cache}
    const kv = await Deno.openKv(${JSON.stringify(join(work, "deno.sqlite"))});
    const cache = denoKv(kv);
    console.log(await ask(...Deno.args, cache));
    // Clients that write at the same time, while another one reads.
    const values = Array.from({ length: 4 }, (_, byte) => new Uint8Array(130_000).fill(byte));
    await cache.put("same", values[0]);
    const found = await Promise.all(values.map((value) => cache.put("same", value).then(() => cache.get("same"))));
    found.push(await cache.get("same"));
    console.log(found.every((bytes) => values.some((value) => value.join() === bytes?.join())));
    await cache.delete("same");
    const parts = [];
    for await (const { key } of kv.list({ prefix: [] })) parts.push(key);
    const heads = new Set(parts.filter((key) => key.length === 1).map(([name]) => name));
    const ids = new Set(parts.filter((key) => key.length > 1).map(([name, id]) => name + id));
    console.log([heads.size, ids.size, Math.max(...parts.map((key) => key[2] ?? 0))].join());
    kv.close();`,
  );
  const [program, run] = deno.command;
  const options = [run, "--no-lock", "--unstable-kv", "--allow-read", "--allow-write", "--allow-net", "--allow-env"];
  let last;
  await told(async (url, key) => {
    const { stdout } = await promisify(execFile)(program, [...options, join(work, "deno.mjs"), url, key], {
      timeout: PATIENCE,
    });
    const [said, isWhole, parts] = stdout.trim().split("\n");
    assert.equal(isWhole, "true", "what several wrote at once is there, and is what one of them wrote");
    last = parts.split(",").map(Number);
    assert.equal(last[0], last[1], "no parts of replaced values are left");
    return said;
  });
  assert.equal(last[0], 2, "the head and the base");
  assert.equal(last[2], 60_000, "in two parts");
  tried("a feed's cache in Deno KV", deno.version, "keeps a feed, and answers offline");
});

test("how often a cache is asked, as the page says", async () => {
  const publisher = new Publisher(base);
  const site = await serve(publisher);
  const cache = memoryCache();
  const asked = { get: 0, put: 0, delete: 0 };
  cache.fault = (method) => void asked[method]++;
  const since = () => {
    const now = { ...asked };
    Object.assign(asked, { get: 0, put: 0, delete: 0 });
    return now;
  };
  const open = () => openFeed(site.url, { publicKey: publisher.key.publicKey, cache });
  (await open()).close();
  since();
  try {
    site.fault = (_, response) => (response.destroy(), true);
    const feed = await open();
    const start = since();
    await feed.update().catch(() => {});
    site.fault = undefined;
    await feed.update();
    since();
    await feed.update();
    const nothing = since();
    publisher.delta("second");
    assert.equal(await feed.update(), true);
    const update = since();
    feed.close();
    const said = text.replace(/\s+/g, " ");
    assert.ok(said.includes(`an isolate that starts reads ${start.get} times`), `${start.get}`);
    const { get, put } = update;
    assert.ok(
      said.includes(`An update that brings a delta reads ${get} times and writes once`),
      JSON.stringify(update),
    );
    assert.deepEqual([put, update.delete], [1, 0]);
    assert.ok(said.includes("One that brings nothing reads once, and writes nothing"));
    assert.deepEqual(nothing, { get: 1, put: 0, delete: 0 });
  } finally {
    site.close();
  }
});
