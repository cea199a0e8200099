/** Publishes a feed of made-up hosts that changes every few seconds, and serves it to this machine until Ctrl-C. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { root, run } from "./setup.mjs";

const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit());

const print = (text) => console.log(`bloom-wasm: ${text}`);

/** Runs the native tool in the folder. Returns what it prints. */
async function feed(...args) {
  const tool = join(root, "target/release/bloom-wasm");
  const { stdout, stderr } = await promisify(execFile)(tool, ["feed", ...args], { cwd: folder });
  process.stderr.write(stderr); // which lines aren't hosts
  return stdout;
}

/** Serves the feed as docs/hosting.md says. Pages and extensions of other origins may fetch it. */
async function serve(port) {
  const server = createServer(({ url }, response) => {
    const name = /^\/(feed\.json|[0-9a-f]{64})$/.exec(url)?.[1];
    const lasting = name === "feed.json" ? "public, max-age=0, s-maxage=60" : "public, max-age=31536000, immutable";
    response.setHeader("Access-Control-Allow-Origin", "*");
    try {
      const bytes = readFileSync(join(folder, "public", name));
      response.writeHead(200, { "Cache-Control": lasting, "Content-Length": bytes.length }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${server.address().port}/feed.json`;
}

/**
 * Publishes a list every few seconds: the typed hosts, and 2,000 others, one of which is new each time and one gone.
 */
async function publish(seconds) {
  const typed = [];
  createInterface({ input: process.stdin }).on("line", (line) => line.trim() && typed.push(line.trim()));
  for (let first = 1; ; first++) {
    const made = Array.from({ length: 2000 }, (_, i) => `host-${first + i}.example`);
    writeFileSync(join(folder, "list.txt"), [...typed, ...made].join("\n"));
    const report = JSON.parse(await feed("publish", "--json"));
    const { generation, count, added, removed, file, files, byteLength } = report;
    const changes = `${added} added, ${removed} removed, ${count} hosts`;
    print(
      `generation ${generation}: ${changes}; a ${file.kind} of ${file.bytes} bytes; ${byteLength} in ${files} files`,
    );
    await pause(1000 * seconds);
  }
}

try {
  const seconds = Number(process.env.EVERY ?? 5);
  if (!(seconds > 0)) throw new Error("EVERY must be a number of seconds");
  run("cargo", "build", "--release", "--package", "bloom-wasm-cli", "--locked", "--quiet");
  const [key] = /[\w-]{43}/.exec(await feed("init", "list.txt", "--profile", "url"));
  const path = join(folder, "feed.toml");
  writeFileSync(path, `name = "Demo"\n${readFileSync(path, "utf8")}`);
  const url = await serve(Number(process.env.PORT ?? 4174));
  print(`the feed is ${url}`);
  print(`its public key is ${key}`);
  print(`in examples/extension, run: node build.mjs --feed ${url} --public-key=${key}`);
  print(`in examples/worker, run: npx wrangler dev --var FEED_URL:${url} --var PUBLIC_KEY:${key}`);
  print("type a host to have it published next; Ctrl-C ends this");
  await publish(seconds);
} catch (error) {
  console.error(`bloom-wasm: ${error.message}`);
  process.exit(1);
}
