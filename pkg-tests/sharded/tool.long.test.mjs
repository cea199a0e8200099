/**
 * Sharded filters of the tool, asked from Node, a page of Chromium and a Worker over a network that takes its time, and
 * built from lists of any length. `LOOKUPS=10000` asks more often; `KEYS=200000000` builds from a longer list, and
 * needs at least 20 bytes of disk for each key.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import * as setup from "../../scripts/setup.mjs";
import { newPage, noChromium, playwright } from "../helpers/browsers.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { createServer } from "../helpers/server.mjs";
import { given } from "../helpers/turn.mjs";
import { skipped } from "../runtimes/table.mjs";

const LOOKUPS = given("LOOKUPS", 300);
const KEYS = given("KEYS", 2_000_000);
const DELAY = 20; // milliseconds
const LF = 10;

const home = mkdtempSync(join(folder, "sharded-"));
const tool = nativeTool();
const run = (...args) => execFileSync(tool, args, { cwd: home, encoding: "utf8" });

/** Writes the feed.toml of a list of that name with shards. Returns the arguments that publish it. */
function publish(name, shards, profile, described) {
  const places = { public: name, state: `${name}-state`, lists: { [name]: `${name}.txt` } };
  writeFeed(home, { profile, shards, sign: [], ...described, ...places }, `${name}.toml`);
  return ["feed", "publish", `${name}.toml`];
}

/** Writes the keys from one number to another into a file. */
async function list(name, from, to) {
  const file = createWriteStream(join(home, name));
  for (let i = from; i < to; ) {
    let lines = "";
    for (const end = Math.min(to, i + 100_000); i < end; i++) lines += `key-${i}\n`;
    if (!file.write(lines)) await once(file, "drain");
  }
  await once(file.end(), "close");
}

/** A host for the files in a folder that answers late and counts requests. */
async function host(dir) {
  const site = { requests: [], bytes: 0 };
  const server = createServer((request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    const type = { ".js": "text/javascript", ".html": "text/html" }[extname(request.url)];
    response.setHeader("content-type", type ?? "application/octet-stream");
    const path = join(dir, new URL(request.url, "http://localhost").pathname);
    const bytes = existsSync(path) ? readFileSync(path) : undefined;
    site.requests.push(request.url);
    site.bytes += bytes?.length ?? 0;
    const answer = () => (bytes ? response.end(bytes) : response.writeHead(404).end());
    setTimeout(answer, DELAY);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  site.url = `http://127.0.0.1:${server.address().port}/shards.json`;
  /** The requests and bytes since the last time. */
  site.taken = () => {
    const { requests: asked, bytes } = site;
    const taken = { requests: asked.length, bytes, most: new Set(asked).size };
    site.last = asked;
    site.requests = [];
    site.bytes = 0;
    return taken;
  };
  after(() => (server.closeAllConnections(), server.close()));
  return site;
}

/** Looks up members, some at once: first cold, then all warm. Returns how many were "maybe present". */
writeFileSync(
  join(home, "ask.mjs"),
  `
  import { openSharded } from "bloom-wasm/reader";
  let warm;
  export async function ask(kind, url, lookups) {
    const open = (options) => openSharded(url, { publicKey: null, cache: null, ...options });
    if (kind === "first") return Number(await (await open()).has("key-0"));
    const filter = kind === "cold" ? await open({ maxMemory: 0 }) : (warm ??= await open());
    let next = 0;
    let present = 0;
    const some = async () => {
      while (next < lookups) {
        const answer = await filter.has("key-" + next++);
        present += answer;
      }
    };
    if (kind === "fill") await filter.hasMany(Array.from({ length: lookups }, (_, i) => "key-" + i));
    else await Promise.all(Array.from({ length: kind === "crowd" ? lookups : 6 }, some));
    return present;
  }
  `,
);

/** Prints what the lookups take, and asserts the promised limits. */
async function measure(name, site, ask) {
  site.taken();
  assert.equal(await ask("first", site.url, 1), 1);
  const first = site.taken();
  assert.equal(first.requests, 3, `not manifest, page and shard: ${site.last}`);
  assert.equal(await ask("cold", site.url, LOOKUPS), LOOKUPS);
  const cold = site.taken();
  assert.ok(cold.requests <= 1 + 2 * LOOKUPS, `${cold.requests} requests`);
  await ask("fill", site.url, LOOKUPS);
  site.taken();
  assert.equal(await ask("warm", site.url, LOOKUPS), LOOKUPS);
  const warm = site.taken();
  assert.deepEqual(warm, { requests: 0, bytes: 0, most: 0 });
  const each = ({ requests, bytes }) =>
    `${(requests / LOOKUPS).toFixed(2)} requests and ${Math.round(bytes / LOOKUPS)}`;
  console.log(
    `${name}: the first answer takes ${first.requests} requests and ${first.bytes} bytes; ${LOOKUPS} lookups take ` +
      `${each(cold)} bytes each with an empty memory, and none when all is in memory`,
  );
}

const lookups = test("lookups", { timeout: 3_600_000 }, async (context) => {
  await list("some.txt", 0, 200_000);
  run(...publish("some", 512, "raw"));
  const site = await host(join(home, "some"));

  await context.test("Node", async () => {
    const { ask } = await import(join(home, "ask.mjs"));
    await measure("Node", site, ask);
    await ask("crowd", site.url, LOOKUPS);
  });

  await context.test(
    "a page of Chromium",
    { skip: noChromium && skipped("Chromium, shards", noChromium) },
    async () => {
      writeFileSync(join(home, "page.mjs"), 'import { ask } from "./ask.mjs"; globalThis.ask = ask;');
      await build({
        entryPoints: [join(home, "page.mjs")],
        outfile: join(home, "some/page.js"),
        bundle: true,
        format: "esm",
        conditions: ["browser"],
      });
      // Otherwise Chromium requests an icon some time later.
      const html = '<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>';
      writeFileSync(join(home, "some/page.html"), html);
      const browser = await playwright();
      try {
        const page = await newPage(browser);
        await page.goto(site.url.replace("shards.json", "page.html"));
        await page.waitForFunction(() => globalThis.ask);
        await measure("Chromium", site, (...args) => page.evaluate((args) => globalThis.ask(...args), args));
      } finally {
        await browser.close();
      }
    },
  );

  const packages = setup.installed("miniflare-4.20260426.0", ["miniflare@4.20260426.0"]); // the newest for Node 20
  const skip = !packages && skipped("workerd, shards", setup.NOT_INSTALLED);
  await context.test("a Worker in workerd", { skip }, async () => {
    const { Log, LogLevel, Miniflare } = createRequire(join(packages, "user.cjs"))("miniflare");
    writeFileSync(
      join(home, "worker.mjs"),
      `
      import { ask } from "./ask.mjs";
      export default {
        async fetch(request) {
          return Response.json(await ask(...(await request.json())));
        },
      };
      `,
    );
    const out = join(home, "worker-out");
    await build({
      entryPoints: [join(home, "worker.mjs")],
      outdir: out,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      format: "esm",
      conditions: ["workerd", "worker", "browser"],
    });
    const miniflare = new Miniflare({
      modules: true,
      modulesRoot: out,
      scriptPath: join(out, "worker.mjs"),
      modulesRules: [{ type: "ESModule", include: ["**/*.mjs"] }],
      compatibilityDate: "2026-04-01",
      cf: false,
      log: new Log(LogLevel.NONE),
    });
    try {
      await measure("workerd", site, async (...args) => {
        const response = await miniflare.dispatchFetch("http://worker.example/", {
          method: "POST",
          body: JSON.stringify(args),
        });
        assert.equal(response.status, 200, await response.clone().text());
        return response.json();
      });
    } finally {
      await miniflare.dispose();
    }
  });
});

const python = setup.pythonPackages("feeds", ["cryptography==50.0.2", "xxhash==4.1.0", "mmh3==5.3.1"]);
const noPython = !python && skipped("tests/readers/shards_reader.py", "pip could not install what it needs");

test("a reader in Python, written from the specifications alone, agrees on the golden folders", {
  skip: noPython,
}, async () => {
  const golden = join(setup.root, "tests/golden/shards");
  const passwords = ["größer", ...Array.from({ length: 300 }, (_, i) => `Password-${i}`)];
  const listed = readFileSync(join(golden, "url.txt"), "utf8").trim().split("\n");
  const members = {
    url: listed.map((line) => (line.includes("/") ? line : `${line}/`)),
    password: ["hUNTER2", ...passwords],
    sha1: ["hunter2", ...passwords],
    keyed: Array.from({ length: 1000 }, (_, i) => `key-${i}`),
    tags: Array.from({ length: 300 }, (_, i) => `host${i}.example/`),
  };
  const secret = Uint8Array.from({ length: 16 }, (_, i) => i);
  writeFileSync(join(home, "secret"), secret);
  const { openSharded } = await installed("bloom-wasm/reader");
  const script = join(setup.root, "tests/readers/shards_reader.py");
  const env = { ...process.env, PYTHONPATH: python };
  for (const [name, keys] of Object.entries(members)) {
    const asked = [...keys, ...Array.from({ length: 20_000 }, (_, i) => `stranger-${i}.example/`)];
    const said = execFileSync(
      "python3",
      [script, "--unsigned", ...(name === "keyed" ? ["--secret", join(home, "secret")] : []), join(golden, name)],
      {
        env,
        input: asked.map((key) => `${key}\n`).join(""),
      },
    );
    const answers = said.toString().trim().split("\n");
    assert.ok(
      answers.slice(0, keys.length).every((answer) => answer.startsWith("1")),
      name,
    );
    const url = pathToFileURL(join(golden, name, "shards.json"));
    const filter = await openSharded(url, {
      publicKey: null,
      cache: null,
      ...(name === "keyed" ? { secret } : {}),
    });
    const ask = (key) => (/sha1|password/.test(name) ? filter.hasPassword(key) : filter.has(key));
    const tags = async (key) => (name === "tags" ? await filter.tags(key) : []);
    for (const [i, key] of asked.entries()) {
      const [answer, names = ""] = answers[i].split("\t");
      assert.equal(Number(await ask(key)), Number(answer), `${name} ${key}`);
      assert.equal((await tags(key)).join(), names, `${name} ${key}`);
      if (name === "tags" && i < 300) assert.equal(names, i % 7 ? "phishing" : "phishing,malware", key);
    }
  }
  const late = ["--unsigned", "--now", String(8.64e15), join(golden, "url")];
  assert.equal(spawnSync("python3", [script, ...late], { env, encoding: "utf8" }).stderr, "expired\n");
});

/** Runs the tool. Returns its output, the seconds it took, and its peak memory in bytes. */
async function measured(...args) {
  const begun = performance.now();
  const child = spawn(tool, args, { cwd: home, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (data) => (printed += data));
  let peak = 0;
  const look = () => {
    try {
      const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [0, 0];
      peak = Math.max(peak, 1024 * kilobytes);
    } catch {
      // Not on this system, or it has ended.
    }
  };
  const looking = setInterval(look, 20);
  const [code] = await once(child, "close");
  clearInterval(looking);
  assert.equal(code, 0);
  return { printed, seconds: (performance.now() - begun) / 1000, peak };
}

test(`a list of ${KEYS} keys`, { timeout: 4 * 3_600_000 }, async () => {
  await lookups;
  const tenth = KEYS / 10;
  await list("long.txt", 0, KEYS);
  await list("tenth.txt", 0, tenth);
  await list("nonmembers.txt", KEYS, KEYS + 1_000_000);
  // A million members, evenly spread over the list.
  const sample = createWriteStream(join(home, "sample.txt"));
  for (let i = 0; i < 1_000_000; i++) sample.write(`key-${Math.floor((i * KEYS) / 1_000_000)}\n`);
  await once(sample.end(), "close");
  for (const [fpr, shards, over] of [
    [0.001, 8192, 1.02],
    [1e-4, 1024, 1.01],
  ]) {
    // The same number of keys per shard as with 200,000,000.
    const count = Math.max(1, 2 ** Math.round(Math.log2((shards * KEYS) / 200_000_000)));
    const one = await measured("build", "tenth.txt", "--fpr", String(fpr), "-o", "tenth.bloom");
    for (const name of ["long", "long-state"]) rmSync(join(home, name), { recursive: true, force: true });
    const all = await measured(...publish("long", count, "raw", { fpr }));
    const bytes = readdirSync(join(home, "long"))
      .map((name) => statSync(join(home, "long", name)).size)
      .reduce((sum, size) => sum + size);
    const bound = (KEYS * Math.log2(1 / fpr)) / 8;
    const { members, falseNegatives } = JSON.parse(run("verify", "long", "--members", "sample.txt", "--json"));
    assert.deepEqual([members, falseNegatives], [1_000_000, 0]);
    const check = spawn(tool, ["check", "long"], { cwd: home, stdio: ["pipe", "pipe", "inherit"] });
    createReadStream(join(home, "nonmembers.txt")).pipe(check.stdin);
    const hits = (await buffer(check.stdout)).filter((byte) => byte === LF).length;
    // Five standard deviations.
    assert.ok(Math.abs(hits - 1e6 * fpr) < 5 * Math.sqrt(1e6 * fpr), `${hits} of a million non-members at ${fpr}`);
    console.log(
      `${KEYS} keys at ${fpr} in ${count} shards: ${all.seconds.toFixed(1)} s, ` +
        `${(all.seconds / one.seconds).toFixed(1)} times as long as a tenth in one blob; ` +
        `${(all.peak / 2 ** 20).toFixed(0)} MiB of memory; ${bytes} bytes, ${(bytes / bound).toFixed(4)} of the bound; ` +
        `${hits} of 1,000,000 non-members`,
    );
    assert.ok(bytes / bound <= over, `${bytes / bound}`);
    assert.ok(all.peak <= 512 * 2 ** 20, `${all.peak} bytes of memory`);
  }
  rmSync(home, { recursive: true, force: true });
});

test("a site of 100,000 hosts", () => {
  mkdirSync(home, { recursive: true });
  const hosts = Array.from({ length: 100_000 }, (_, i) => `host-${i}.evil.example`);
  writeFileSync(join(home, "site.txt"), hosts.map((host) => `${host}\n`).join(""));
  run(...publish("site", 16, "url"));
  const found = execFileSync(tool, ["check", "site"], {
    cwd: home,
    input: hosts.map((host) => `https://www.${host}/login\n`).join(""),
    maxBuffer: 1 << 26,
  });
  assert.equal(found.toString().split("\n").length - 1, hosts.length);
});

test("the first key of a URL that is maybe present, whichever shards its keys are in", async () => {
  const url = "http://a.\u1e9e.de/a/x%2F..%2F..%2Fy";
  const keys = ["a.ss.de/", "a.xn--zca.de/a/"];
  writeFileSync(join(home, "first.txt"), keys.join("\n"));
  run(...publish("first", 256, "url"));
  const { openSharded, urlExpressions } = await installed("bloom-wasm/reader");
  const filter = await openSharded(pathToFileURL(join(home, "first/shards.json")), { publicKey: null, cache: null });
  const expected = urlExpressions(url).find((key) => keys.includes(key));
  // Its shard isn't the one that is asked first.
  assert.equal(expected, keys[0]);
  assert.equal(await filter.matchUrl(url), expected);
});
