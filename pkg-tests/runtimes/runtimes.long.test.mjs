/** The cases in other versions of Node, in Deno, in Bun, and in Cloudflare's workerd. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import * as setup from "../../scripts/setup.mjs";
import { app } from "../helpers/installed.mjs";
import { commands } from "./commands.mjs";
import { record, skipped } from "./table.mjs";

const here = app("runtimes");
const blob = readFileSync(new URL("../../tests/golden/ribbon.bloom", import.meta.url));
writeFileSync(join(here, "golden.bloom"), blob);

describe("on the command line", () => {
  for (const { name, version, command, missing } of commands) {
    test(name, { skip: missing && skipped(name, missing) }, async () => {
      const { stdout } = await promisify(execFile)(command[0], [...command.slice(1), join(here, "cli.mjs")], {
        timeout: 180_000,
      });
      const [shown, freed, verdict] = stdout.split("\n");
      assert.match(shown, /^BloomFilter \{ kind: "bloom", estimatedCount: 1, estimatedFpr: 0\.\d+ \}$/);
      assert.equal(freed, "BloomFilter (this filter was freed)");
      const ran = JSON.parse(verdict);
      assert.equal(ran.version, version);
      assert.equal(ran.files, `true,${blob.length},too_large,not_a_filter,network,network,enough`);
      record(name, version, ran.verdict);
    });
  }
});

describe("Cloudflare's workerd", () => {
  // The newest that runs on Node 20; it brings its miniflare and its workerd.
  const wrangler = "4.86.0";
  const modules = setup.installed("workerd", [`wrangler@${wrangler}`]);
  // An old compatibility date: since May 2025 Workers have a FinalizationRegistry, since June they may compile bytes
  // while they start.
  const compatibilityDate = "2025-01-01";
  const require = createRequire(join(modules ?? here, "user.cjs"));

  /** A worker's answer, after which it ends. */
  async function answerOf(worker, ask) {
    try {
      return await (await ask()).text();
    } finally {
      await worker.dispose();
    }
  }

  const options = (target) => ({ timeout: 180_000, skip: !modules && skipped(target, setup.NOT_INSTALLED) });

  /** What a worker of the app's folder answers, bundled by esbuild with these conditions. */
  async function miniflare(entry, conditions) {
    const outdir = join(here, `${entry}-bundled`);
    const entryPoints = [join(here, `${entry}.mjs`)];
    await build({
      entryPoints,
      outdir,
      bundle: true,
      format: "esm",
      target: "es2022",
      conditions,
      loader: { ".wasm": "copy" },
      logLevel: "error",
    });
    const { Miniflare } = require("miniflare");
    const modulesRules = [{ type: "CompiledWasm", include: ["**/*.wasm"] }];
    const worker = new Miniflare({
      modules: true,
      modulesRoot: outdir,
      scriptPath: join(outdir, `${entry}.js`),
      modulesRules,
      compatibilityDate,
      cf: false,
    });
    return answerOf(worker, () => worker.dispatchFetch("http://localhost"));
  }

  const targets = {
    "workerd, esbuild and miniflare": () => miniflare("worker", ["workerd", "worker", "browser"]),
    async "workerd, wrangler"() {
      Object.assign(process.env, { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" });
      const config = join(here, "wrangler.json");
      writeFileSync(
        config,
        JSON.stringify({ name: "cases", main: "worker.mjs", compatibility_date: compatibilityDate }),
      );
      const dev = { server: { port: 0 }, inspector: false, watch: false, logLevel: "error" };
      const worker = await require("wrangler").unstable_startWorker({ config, dev });
      return answerOf(worker, () => worker.fetch("http://localhost"));
    },
  };
  for (const [target, start] of Object.entries(targets)) {
    test(target, options(target), async () => {
      record(target, require("workerd/package.json").version, JSON.parse(await start()));
    });
  }

  test("bloom-wasm/bloom.wasm is a compiled module, which slim starts with", options("workerd"), async () => {
    writeFileSync(
      join(here, "module.mjs"),
      `import module from "bloom-wasm/bloom.wasm";
      import { BloomFilter, initSync } from "bloom-wasm/slim";
      initSync(module);
      const told = [module instanceof WebAssembly.Module, BloomFilter.from(["a"]).has("a")].join();
      export default { fetch: () => new Response(told) };\n`,
    );
    assert.equal(await miniflare("module", ["workerd", "worker", "browser"]), "true,true");
  });

  test("an entry that contains its wasm names the right one", options("workerd"), async () => {
    const told =
      'import("bloom-wasm").then(({ optimal }) => optimal(1, 0.5)).then(() => "started", ({ code, message }) => `${code}: ${message}`)';
    writeFileSync(join(here, "wrong.mjs"), `export default { fetch: async () => new Response(await ${told}) };\n`);
    assert.match(
      await miniflare("wrong", ["browser"]),
      /^wasm_load: .*\(CompileError: .*disallowed by embedder\).* condition workerd or edge-light; bloom-wasm\/reader/,
    );
  });
});
