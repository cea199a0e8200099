/** docs/screen-links.md: a blob in Cloudflare's real runtime, and a feed's update that ended with its request. */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { build } from "esbuild";
import * as setup from "../../scripts/setup.mjs";
import { PATIENCE } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { Publisher, serve } from "../helpers/publisher.mjs";
import { page, shell } from "../interop/docs.mjs";
import { skipped, tried } from "./table.mjs";

const { RibbonFilter } = await installed();
const links = page("screen-links.md");
const work = join(folder, "edge");
mkdirSync(work);

const miniflare = setup.installed("miniflare-4.20260426.0", ["miniflare@4.20260426.0"]); // as in worker.long.test.mjs
const require = createRequire(join(miniflare ?? work, "user.cjs"));
const wrangler = setup.installed("workerd", ["wrangler@4.86.0"]); // as in runtimes.long.test.mjs
const noWorkerd = !miniflare && skipped("docs/screen-links.md, workerd", setup.NOT_INSTALLED);

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

  const [whole, lines] = links.code["In a Worker"].js;
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
      const say = (url) => ask(JSON.stringify({ url }));
      const listed = { maybeListed: true };
      assert.equal(await say("https://evil.example/"), missing);
      await put[binding](list);
      assert.deepEqual(await say("https://www.evil.example/x"), listed, "the next request tries again");
      // Browsers open it, although it has no canonical form.
      assert.deepEqual(await say("/\\www.evil.example/x"), listed);
      assert.deepEqual(await say("https://good.example/"), { maybeListed: false });
      for (const none of ["", "javascript:void 0", "/login"])
        assert.deepEqual(await say(none), { maybeListed: null }, none);
      for (const body of ["{", "null", '{ "url": 1 }']) assert.match(await ask(body), /send/, body);
      tried(
        `a blob of env.${binding}, workerd`,
        require("workerd/package.json").version,
        "loads, and throws without it",
      );
    });
  }

  const noWrangler = !wrangler && skipped("docs/screen-links.md, wrangler", setup.NOT_INSTALLED);
  test("bindings and uploads, by wrangler", { skip: noWrangler }, async () => {
    const cwd = join(work, "wrangler");
    mkdirSync(join(cwd, "public"), { recursive: true });
    const { jsonc, sh } = links.code["In a Worker"];
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
        const body = JSON.stringify({ url: "http://evil.example" });
        const response = await its.fetch(`http://localhost/${name}`, { method: "POST", body });
        assert.deepEqual(await response.json(), { maybeListed: true }, name);
      }
    } finally {
      await its.dispose();
    }
    tried("a blob's bindings and uploads, wrangler", "4.86.0", "takes the configuration and the commands");
  });

  test("an update that ended with its request blocks others for a minute, as the page says", async () => {
    const publisher = new Publisher(RibbonFilter.from(["evil.example"]));
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
});
