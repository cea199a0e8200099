/** The example worker, bundled with the installed package, in the real runtime of Cloudflare Workers. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { before, describe, test } from "node:test";
import { build } from "esbuild";
import { root, installed as tools } from "../../scripts/setup.mjs";
import { folder } from "../installed.mjs";

const example = join(root, "examples/worker");
const config = JSON.parse(readFileSync(join(example, "wrangler.jsonc"), "utf8").replace(/^\s*\/\/.*/gm, ""));
const packages = tools("miniflare-4.20260426.0", ["miniflare@4.20260426.0"]); // the newest for Node 20
const skip = !packages && "Miniflare could not be installed";
if (skip) console.log(`worker.test.mjs skipped: ${skip}`);

describe("the example worker", { skip, timeout: 600_000 }, () => {
  const work = join(folder, "worker");
  const out = join(work, "out");
  let filter;

  before(async () => {
    cpSync(example, work, { recursive: true, filter: (path) => !/node_modules|\.wrangler/.test(path) });
    // The filter is made as the README says.
    const [, command] = /^npx (bloom-wasm build .*)/m.exec(readFileSync(join(example, "README.md"), "utf8"));
    const PATH = join(root, "target/release") + delimiter + process.env.PATH;
    const [program, ...args] = command.split(" ");
    execFileSync(program, args, { cwd: work, env: { ...process.env, PATH }, stdio: "ignore" });
    filter = new Uint8Array(readFileSync(join(work, "filter.bloom"))); // Miniflare takes no Buffer
    // And the bundle as wrangler makes it.
    await build({
      entryPoints: [join(work, config.main)],
      outdir: out,
      bundle: true,
      format: "esm",
      conditions: ["workerd", "worker", "browser"],
      external: ["*.wasm", "*.bloom"],
      logLevel: "warning",
    });
    const dist = join(folder, "node_modules/bloom-wasm/dist");
    for (const wasm of ["bloom.wasm", "reader.wasm"]) copyFileSync(join(dist, wasm), join(out, wasm));
    copyFileSync(join(work, "filter.bloom"), join(out, "filter.bloom"));
  });

  /** Runs the worker with some bindings, and hands over what sends requests to it, and Miniflare. */
  async function using(bindings, run) {
    const { Log, LogLevel, Miniflare } = createRequire(join(packages, "user.cjs"))("miniflare");
    const rules = [...config.rules, { type: "CompiledWasm", globs: ["**/*.wasm"] }];
    const miniflare = new Miniflare({
      modules: true,
      modulesRoot: out,
      scriptPath: join(out, config.main),
      modulesRules: rules.map(({ type, globs }) => ({ type, include: globs })),
      compatibilityDate: config.compatibility_date,
      log: new Log(LogLevel.NONE),
      handleRuntimeStdio: (stdout, stderr) => [stdout, stderr].map((stream) => stream.resume()),
      ...bindings,
    });
    const send = async (init) => {
      const response = await miniflare.dispatchFetch("http://worker.example/", init);
      return [response.status, await response.json(), Number(response.headers.get("X-Filters-Decoded"))];
    };
    try {
      await run(send, miniflare);
    } finally {
      await miniflare.dispose();
    }
  }

  const post = (value) => ({ method: "POST", body: JSON.stringify(value) });
  const from = (Referer) => ({ headers: { Referer } });
  const maybe = (key) => ({ error: "maybe on the list", key });

  test("screens bodies and referrers, and decodes its bundled filter once", () =>
    using({}, async (send) => {
      const answers = [
        [post({ url: "https://user@www.EVIL.example:8443/x?y#z" }), 403, maybe("evil.example/")],
        [post({ url: "http://bad.example/%61/b" }), 403, maybe("bad.example/a/")],
        [post({ url: "http://bad.example/b/" }), 200, { ok: true }],
        [post({ url: "https://good.example/?evil.example" }), 200, { ok: true }],
        [from("https://evil.example/"), 403, maybe("evil.example/")],
        [from("https://good.example/"), 200, { ok: true }],
        [
          { ...post({ url: "https://good.example/" }), ...from("http://www.evil.example") },
          403,
          maybe("evil.example/"),
        ],
        [{}, 200, { ok: true }],
      ];
      for (const [init, status, body] of answers)
        assert.deepEqual(await send(init), [status, body, 1], JSON.stringify(init));
    }));

  test("refuses what is no such JSON, and what is too long", () =>
    using({}, async (send) => {
      for (const body of ["", "{", "null", "[]", "{}", '{ "url": 1 }', "\xff"]) {
        const [status, { error }] = await send({ method: "POST", body });
        assert.deepEqual(
          [status, error],
          [400, 'the body must be JSON such as { "url": "https://example.com/" }'],
          body,
        );
      }
      const longest = (bytes) => `{"url":"http://good.example/${"x".repeat(bytes - 30)}"}`;
      assert.equal(longest(10_000).length, 10_000);
      assert.equal((await send({ method: "POST", body: longest(10_000) }))[0], 200);
      const streamed = new Blob([longest(10_001)]).stream(); // without a Content-Length
      for (const body of [longest(10_001), "é".repeat(5_001), streamed]) {
        const [status, { error }] = await send({ method: "POST", body, duplex: "half" });
        assert.deepEqual([status, error], [413, "the body has more than 10000 bytes"]);
      }
    }));

  for (const [name, bindings, bucket] of [
    ["KV", { kvNamespaces: ["FILTERS"] }, "getKVNamespace"],
    ["R2", { r2Buckets: ["FILTERS"] }, "getR2Bucket"],
  ]) {
    test(`takes the filter from ${name}, once for all requests, and tries again after a failure`, () =>
      using(bindings, async (send, miniflare) => {
        const evil = post({ url: "https://evil.example/" });
        const unloaded = [503, { error: "the filter could not be loaded" }, 0];
        assert.deepEqual(await send(evil), unloaded);
        const stored = await miniflare[bucket]("FILTERS");
        await stored.put("filter.bloom", filter.subarray(0, -1));
        assert.deepEqual(await send(evil), unloaded);
        await stored.put("filter.bloom", filter);
        const answers = await Promise.all(Array.from({ length: 10 }, () => send(evil)));
        for (const answer of answers) assert.deepEqual(answer, [403, maybe("evil.example/"), 1]);
        await stored.delete("filter.bloom");
        assert.deepEqual(await send(post({ url: "https://good.example/" })), [200, { ok: true }, 1]);
      }));
  }
});
