/**
 * docs/moving.md: each pair of programs moves a filter of real hosts from the software that made it to where it is
 * used, and the answers there are the same.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer as createSocketServer } from "node:net";
import { extname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { root, installed as tools } from "../../scripts/setup.mjs";
import { FAILS_ONCE, missing as missingBrowser, newPage, PATIENCE, puppeteer } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { createServer } from "../helpers/server.mjs";
import { skipped } from "../runtimes/table.mjs";
import { page, prints, shell } from "./docs.mjs";
import * as systems from "./systems.mjs";

const { text, code } = page("moving.md");

const config = JSON.parse(readFileSync(join(root, "node_modules/eth-phishing-detect/src/config.json"), "utf8"));
const hosts = ["bücher.example", "例え.example", ...new Set(config.blacklist)];
const COUNT = 10_000;
const lines = (keys) => keys.map((key) => `${key}\n`).join("");

/** A folder from which scripts can import the package, with the list and all hosts. */
function work(name) {
  const cwd = mkdtempSync(join(folder, `${name}-`));
  writeFileSync(join(cwd, "list.txt"), lines(hosts.slice(0, COUNT)));
  writeFileSync(join(cwd, "all.txt"), lines(hosts));
  return cwd;
}

/**
 * A map of some hosts to the original's answers: the first members, all false positives, and the same number of others.
 */
function expected(answers) {
  assert.equal(answers.length, hosts.length);
  assert.ok(answers.slice(0, COUNT).every(Boolean));
  const strangers = hosts.map((host, i) => [host, answers[i]]).slice(COUNT);
  const wrong = strangers.filter(([, answer]) => answer);
  assert.ok(wrong.length > 10 && wrong.length < 100, `${wrong.length} of ${strangers.length}`);
  const right = strangers.filter(([, answer]) => !answer).slice(0, wrong.length);
  return new Map([...hosts.slice(0, 50).map((host) => [host, true]), ...wrong, ...right]);
}

/** The answers of the system that made a file. */
async function asked(system, scheme, cwd, file, ...more) {
  const [all, answers] = ["all.txt", "answers"].map((name) => join(cwd, name));
  await systems.run(system, [["ask", scheme, join(cwd, file), all, answers]], ...more);
  return expected(
    readFileSync(answers, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => line === "1"),
  );
}

/** A test of a section, skipped if something that it needs is missing. */
function moves(title, needed, run) {
  const missing = needed.find((one) => one.missing)?.missing;
  test(title, { skip: missing && skipped(`docs/moving.md, ${title}`, missing), timeout: 900_000 }, () =>
    run(code[title], ...needed),
  );
}

const chromium = { missing: missingBrowser("Chromium") };

test("the list at the top has all sections", () => {
  const titles = Object.keys(code);
  const anchor = (title) => title.toLowerCase().replaceAll(" ", "-");
  assert.deepEqual(
    [...text.matchAll(/^- \[(.*)\]\(#(.*)\)$/gm)].map(([, ...link]) => link),
    titles.map((title) => [title, anchor(title)]),
  );
  assert.equal(titles.filter((title) => title.startsWith("From ")).length, 7);
});

const MINIFLARE = "miniflare@4.20260426.0"; // as in runtimes/worker.long.test.mjs
const miniflare = tools("miniflare-4.20260426.0", [MINIFLARE]);
const workerd = { missing: miniflare ? undefined : "Miniflare could not be installed" };

moves(
  "From Go to a Worker",
  [systems.goSystem(), systems.goCommand(), workerd],
  async ({ go, js }, system, { program, env }) => {
    const cwd = work("go");
    // Debian's package is of version 3, without modules.
    writeFileSync(join(cwd, "main.go"), go[0].replace("bloom/v3", "bloom"));
    shell(`${program} run main.go < list.txt > list.bin`, cwd, env);
    const answers = await asked(system, "binary", cwd, "list.bin");

    writeFileSync(join(cwd, "worker.js"), js[0]);
    const out = join(cwd, "out");
    const conditions = ["workerd", "worker", "browser"];
    const external = ["*.wasm", "*.bin"];
    await build({
      entryPoints: [join(cwd, "worker.js")],
      outdir: out,
      bundle: true,
      format: "esm",
      conditions,
      external,
    });
    copyFileSync(join(folder, "node_modules/bloom-wasm/dist/bloom.wasm"), join(out, "bloom.wasm"));
    copyFileSync(join(cwd, "list.bin"), join(out, "list.bin"));
    const { Log, LogLevel, Miniflare } = createRequire(join(miniflare, "user.cjs"))("miniflare");
    const worker = new Miniflare({
      modules: true,
      modulesRoot: out,
      scriptPath: join(out, "worker.js"),
      modulesRules: [
        { type: "Data", include: ["**/*.bin"] },
        { type: "CompiledWasm", include: ["**/*.wasm"] },
      ],
      compatibilityDate: "2026-04-01",
      log: new Log(LogLevel.NONE),
      handleRuntimeStdio: (...streams) => streams.map((stream) => stream.resume()),
    });
    try {
      for (const [host, answer] of answers) {
        const response = await worker.dispatchFetch(`http://worker.example/?key=${encodeURIComponent(host)}`);
        assert.equal(await response.text(), answer ? "maybe" : "no", host);
      }
    } finally {
      await worker.dispose();
    }
  },
);

const TYPES = { ".html": "text/html", ".js": "text/javascript" };

/** Runs `use(url)` while a folder is served on loopback. */
async function served(cwd, use) {
  const server = createServer(({ url }, response) => {
    const file = join(cwd, url);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream").end(readFileSync(file));
  });
  await once(server.listen(0, "localhost"), "listening");
  try {
    return await use(`http://localhost:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

moves(
  "From Guava to a page",
  [systems.guavaSystem(), systems.guavaClasses(), chromium],
  async ({ java, html }, system, { jar }) => {
    const cwd = work("guava");
    writeFileSync(join(cwd, "Export.java"), java[0]);
    prints("java", ["-cp", jar, "Export.java"], { cwd });
    const answers = await asked(system, "utf8", cwd, "list.guava");

    // The page's script, bundled.
    const script = /<script type="module">([\s\S]*)<\/script>/.exec(html[0])[1];
    writeFileSync(join(cwd, "page.js"), script);
    const bundle = join(cwd, "bundle.js");
    await build({ entryPoints: [join(cwd, "page.js")], outfile: bundle, bundle: true, format: "esm" });
    const bundled = html[0].replace(script, "").replace('type="module"', 'type="module" src="bundle.js"');
    writeFileSync(join(cwd, "page.html"), bundled);
    const browser = await puppeteer("Chromium");
    try {
      await served(cwd, async (url) => {
        const shown = await newPage(browser);
        await shown.goto(`${url}/page.html`);
        await shown.waitForFunction(() => document.querySelector("output").value);
        const said = await shown.evaluate(
          (keys) => {
            const [input, output] = ["input", "output"].map((name) => document.querySelector(name));
            return keys.map((key) => {
              input.value = key;
              input.dispatchEvent(new Event("input"));
              return output.value;
            });
          },
          [...answers.keys()],
        );
        assert.deepEqual(
          said,
          [...answers.values()].map((answer) => (answer ? "maybe listed" : "not listed")),
        );
      });
    } finally {
      await browser.close();
    }
  },
);

moves("From Spark to an extension", [systems.sparkSystem(), chromium], async ({ python, sh, js, json }, system) => {
  const cwd = work("spark");
  const extension = join(cwd, "extension");
  mkdirSync(extension);
  writeFileSync(join(cwd, "export.py"), python[0]);
  await systems.sparkSubmit(cwd, "local[1]", "export.py");
  shell(sh[0], cwd);
  const answers = await asked(system, "string default", cwd, "list.spark");

  writeFileSync(join(cwd, "background.js"), FAILS_ONCE + js[0]);
  const outfile = join(extension, "background.js");
  const conditions = ["browser"];
  await build({ entryPoints: [join(cwd, "background.js")], outfile, bundle: true, format: "esm", conditions });
  writeFileSync(join(extension, "manifest.json"), json[0]);
  writeFileSync(join(extension, "page.html"), "<!doctype html><title>A page of the extension</title>");
  const browser = await puppeteer("Chromium");
  try {
    const id = await browser.installExtension(extension);
    const shown = await newPage(browser);
    await shown.goto(`chrome-extension://${id}/page.html`, { timeout: PATIENCE });
    const ask = (keys) =>
      shown.evaluate((keys) => Promise.all(keys.map((host) => chrome.runtime.sendMessage({ host }))), keys);
    assert.deepEqual(await ask(["any.example"]), [null], "the filter couldn't be loaded");
    const said = await ask([...answers.keys()]);
    assert.deepEqual(said, [...answers.values()]);
  } finally {
    await browser.close();
  }
});

/** The output of a Node script for each of the hosts. */
function answersOf(cwd, script, answers) {
  writeFileSync(join(cwd, "ask.mjs"), script);
  const said = prints(process.execPath, ["ask.mjs", ...answers.keys()], { cwd });
  assert.deepEqual(
    said.trimEnd().split("\n"),
    [...answers.values()].map((answer) => (answer ? "maybe" : "no")),
  );
}

moves("From Redis to Node", [systems.redisTools()], ({ python, js }, { path }) =>
  systems.withRedis(async (port) => {
    const cwd = work("redis");
    writeFileSync(join(cwd, "export.py"), python[0]);
    prints("python3", ["export.py", port], { cwd, env: { PYTHONPATH: path } });
    const answers = await asked(systems.redisSystem(), "95851 7", cwd, "list.bitmap", port);
    answersOf(cwd, js[0], answers);
  }),
);

/** A Redis that knows BF.SCANDUMP, and answers it with the chunks that a real one gave. */
async function recordedRedis(chunks) {
  const answer = ([command, ...args]) => {
    switch (command.toUpperCase()) {
      case "HELLO":
        return args[0] === "3" ? "%1\r\n$5\r\nproto\r\n:3\r\n" : "*2\r\n$5\r\nproto\r\n:2\r\n";
      case "INFO":
        return "$9\r\nloading:0\r\n";
      case "BF.SCANDUMP": {
        if (args[0] !== "list") return "-ERR not found\r\n";
        const at = chunks.findIndex(({ iterator }) => String(iterator) === args[1]);
        if (at < 0 && args[1] !== "0") return "-ERR no such iterator\r\n";
        const { iterator, bytes } = chunks[at + 1] ?? { iterator: 0, bytes: Buffer.alloc(0) };
        return Buffer.concat([Buffer.from(`*2\r\n:${iterator}\r\n$${bytes.length}\r\n`), bytes, Buffer.from("\r\n")]);
      }
      default:
        return "+OK\r\n";
    }
  };
  const server = createSocketServer((socket) => {
    let words = []; // all lines of a command: how many words, and then each word after its length
    socket.setEncoding("latin1").on("data", (text) => {
      words = [...words.slice(0, -1), ...`${words.at(-1) ?? ""}${text}`.split("\r\n")];
      for (let count; (count = 2 * Number(words[0]?.slice(1))) && words.length > count + 1; )
        socket.write(answer(words.splice(0, count + 1).filter((_, i) => i > 0 && i % 2 === 0)));
    });
  });
  await once(server.listen(0, "localhost"), "listening");
  return server;
}

const clients = tools("redis-clients", ["redis@6.3.1", "ioredis@6.0.0"]);
const noClients = !clients && skipped("docs/moving.md, RedisBloom", "npm could not install redis and ioredis");

test("From RedisBloom to Node", { skip: noClients, timeout: 4 * PATIENCE }, async () => {
  const { js } = code["From Redis to Node"];
  const home = join(root, "tests/interop/redisbloom");
  const { cases } = JSON.parse(readFileSync(join(home, "manifest.json"), "utf8"));
  // Without the type of the replies, the program fails instead of reading damaged chunks.
  const [, program] = js;
  const [url, ask, connect] = [
    "process.env.REDIS_URL",
    'await client.bf.scanDump("list", at)',
    /^const client = .*$/m.exec(program)[0],
  ];
  const asStrings = program.replace(".withTypeMapping(asBytes)", "");
  const [, line] = /With `ioredis`, a chunk comes from `(.*)`\.$/m.exec(text);
  const ioredis = program
    .replace(/^import .* "redis";$/m, 'import Redis from "ioredis";')
    .replace(/^const asBytes.*\n/m, "")
    .replace(connect, `const client = new Redis(${url});`)
    .replace(`const { iterator, chunk } = ${ask};`, `${line};`)
    .replace("client.destroy()", "client.disconnect()");
  assert.ok(asStrings !== program && ioredis.includes(line) && !ioredis.includes(ask));
  for (const id of ["scaled-x2", "unicode", "v1.1.0-scaled-unicode"]) {
    const its = cases.find((one) => one.id === id);
    const chunks = its.chunks.map(({ iter, file }) => ({ iterator: iter, bytes: readFileSync(join(home, file)) }));
    const probes = readFileSync(join(home, its.probes), "utf8").trimEnd().split("\n");
    // No argument of a program has a NUL.
    const answers = probes.map((probe) => probe.split("\t")).filter(([, key]) => !key.includes("\\u0000"));
    assert.ok(answers.length > 300 && new Set(answers.map(([answer]) => answer)).size === 2);
    const server = await recordedRedis(chunks);
    try {
      const env = { ...process.env, REDIS_URL: `redis://localhost:${server.address().port}` };
      const ran = (code, keys) => {
        // In the folder where the clients are installed.
        const at = (name) => JSON.stringify(pathToFileURL(createRequire(join(clients, "user.cjs")).resolve(name)).href);
        const cwd = work("redisbloom");
        writeFileSync(
          join(cwd, "ask.mjs"),
          code.replace(/(?<=from )"(io)?redis"/, (name) => at(JSON.parse(name))),
        );
        return promisify(execFile)(process.execPath, ["ask.mjs", ...keys], { cwd, env, timeout: PATIENCE });
      };
      for (const code of [program, ioredis]) {
        const { stdout } = await ran(
          code,
          answers.map(([, key]) => JSON.parse(key)),
        );
        assert.deepEqual(
          stdout.trimEnd().split("\n"),
          answers.map(([answer]) => (answer === "1" ? "maybe" : "no")),
        );
      }
      await assert.rejects(ran(asStrings, ["a"]), /must be an instance of Buffer/);
      await assert.rejects(ran(program.replace('"list"', '"other"'), ["a"]), /not found/);
    } finally {
      server.close();
    }
  }
});

test("imported filters have the methods that the page says, and no others", async () => {
  const { BloomFilter, ForeignFilter, decode } = await installed();
  const imported = decode(ForeignFilter.from(["a"], { format: "guava" }).toForeign(), { format: "guava" });
  const own = BloomFilter.withCapacity(10, 0.01);
  const [, table] = /imported filters have it \|\n\| --- .*\n([\s\S]*?)\n\n/.exec(text);
  const said = table.split("\n").map((row) => row.split(" | ").slice(1));
  assert.equal(said.length, 9);
  for (const [here, whether] of said) {
    const [name] = /\w+/.exec(here);
    if (name === "decode") assert.equal(whether, "yes |");
    else if (name === "withCapacity")
      assert.ok(!(name in ForeignFilter) && name in BloomFilter && "from" in ForeignFilter);
    else assert.deepEqual([name in imported, name in own], [whether === "yes |", true], name);
  }
});

moves("From flor to Node", [systems.florOfPython()], async ({ python, js }, system) => {
  const cwd = work("flor");
  writeFileSync(join(cwd, "export.py"), python[0]);
  prints("python3", ["export.py"], { cwd, env: { PYTHONPATH: system.env.PYTHONPATH } });
  answersOf(cwd, js[0], await asked(system, "text", cwd, "list.flor"));
});

const npm = tools("bloomfilter", ["bloomfilter@1.1.0"]);
const theirs = { missing: npm ? undefined : "npm could not install bloomfilter" };

moves("From the npm package bloomfilter", [theirs], async ({ js: [exporter, ask] }) => {
  const cwd = work("npm");
  const { BloomFilter } = await import(pathToFileURL(createRequire(join(npm, "user.cjs")).resolve("bloomfilter")).href);
  const { decode } = await installed();
  // In the folder where the original is installed.
  const name = JSON.stringify(createRequire(join(npm, "user.cjs")).resolve("bloomfilter"));
  writeFileSync(join(cwd, "export.mjs"), exporter.replace('"bloomfilter"', name));
  prints(process.execPath, ["export.mjs"], { cwd });
  const stored = readFileSync(join(cwd, "list.json"), "utf8");
  const original = BloomFilter.fromJSON(JSON.parse(stored));
  const answers = expected(hosts.map((host) => original.test(host)));
  answersOf(cwd, ask, answers);
  const bare = new TextEncoder().encode(JSON.stringify([].slice.call(original.buckets)));
  const again = decode(bare, { format: "npm-bloomfilter", hashes: 7 });
  for (const [host, answer] of answers) assert.equal(again.has(host), answer, host);
});
