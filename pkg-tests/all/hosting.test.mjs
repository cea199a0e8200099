/** The workflow of docs/feeds.md: its script runs with a list, a live site and a cache that can be lost. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { root } from "../../scripts/setup.mjs";
import { folder, installed } from "../installed.mjs";
import { memoryCache, workflows } from "../publisher.mjs";

const { openFeed } = await installed("bloom-wasm/reader");
const tool = join(root, "target/release/bloom-wasm");
const home = join(folder, "hosting");
const at = (...path) => join(home, ...path);

/** The script of a step. */
function script(workflow, step) {
  const [, block] = new RegExp(`- name: ${step}\\n[\\s\\S]*?run: \\|\\n((?: {10}.*\\n)+)`).exec(workflow);
  return block.replace(/^ {10}/gm, "");
}

/** Runs a script as the runner does, with programs of ours in place of those that need the network. */
function run(source, variables) {
  const env = {
    PATH: `${at("bin")}:${process.env.PATH}`,
    RUNNER_TEMP: at("temporary"),
    GITHUB_OUTPUT: at("output"),
    ...variables,
  };
  return execFileSync("bash", ["-e", "-c", source], {
    cwd: home,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function program(name, source) {
  writeFileSync(at("bin", name), `#!/bin/sh\n${source}\n`);
  chmodSync(at("bin", name), 0o755);
}

test("the script publishes, goes on when the cache is lost or old, and begins no other feed by itself", async () => {
  for (const name of ["bin", "live", "temporary"]) mkdirSync(at(name), { recursive: true });
  program("npx", `[ "$1" = bloom-wasm ] && shift && exec "${tool}" "$@"`);
  // curl ... --output FILE URL
  program("curl", 'while [ "$1" != --output ]; do shift; done; cp "$3" "$2"');
  execFileSync(tool, ["feed", "keygen", "-o", at("feed.key")]);
  const FEED_KEY = readFileSync(at("feed.key"), "utf8").trim();
  const publicKey = createPublicKey(createPrivateKey(FEED_KEY)).export({ format: "jwk" }).x;
  const source = script(workflows().pages, "Publish the list");
  const publish = (hosts, FIRST = "") => {
    writeFileSync(at("malicious.txt"), hosts.join("\n"));
    run(source, { FEED_KEY, FIRST, LIST: at("malicious.txt"), FEED: at("live/feed.json") });
    rmSync(at("live"), { recursive: true });
    cpSync(at("feed/public"), at("live"), { recursive: true });
  };
  const many = Array.from({ length: 1000 }, (_, i) => `host-${i}.example`);

  assert.throws(() => publish(many), "without a live manifest");
  rmSync(at("feed"), { recursive: true });
  publish(many, "true");
  const feed = await openFeed(pathToFileURL(at("live/feed.json")), { publicKey, cache: null });
  const { feedId } = feed.info();
  const has = async (host, generation) => {
    assert.equal(await feed.update(), true);
    assert.equal(feed.filter.hasUrl(`https://${host}/`), true);
    assert.deepEqual([feed.info().feedId, feed.generation], [feedId, generation]);
  };
  publish([...many, "second.test"]);
  await has("second.test", 2);
  assert.equal(feed.info().files, 2);
  cpSync(at("feed"), at("old"), { recursive: true });

  publish([...many, "third.test"]);
  await has("third.test", 3);

  rmSync(at("feed"), { recursive: true });
  cpSync(at("old"), at("feed"), { recursive: true });
  publish([...many, "fourth.test"]);
  await has("fourth.test", 4);

  // A list that is refused fails the step, and the steps that deploy still run: the old one may be signed anew.
  writeFileSync(at("output"), "");
  assert.throws(() => publish(["one.example"]), { status: 2, stderr: /--max-removed/ });
  assert.equal(readFileSync(at("output"), "utf8"), "whole=true\n");
  // But not if the files of the manifest aren't there.
  rmSync(at("feed"), { recursive: true });
  writeFileSync(at("output"), "");
  assert.throws(() => publish(["one.example"]), { stderr: /--max-removed/ });
  assert.equal(readFileSync(at("output"), "utf8"), "");
  rmSync(at("feed"), { recursive: true });
  const before = Math.floor(Date.now() / 1000);
  publish([...many, "fifth.test"]);
  const { generation } = JSON.parse(Buffer.from(JSON.parse(readFileSync(at("live/feed.json"))).payload, "base64url"));
  assert.ok(generation > before && generation <= Date.now() / 1000 + 1, `${generation} is not the clock's`);
  await has("fifth.test", generation);
  assert.equal(feed.info().files, 1, "a new base");
  publish([...many, "sixth.test"]);
  await has("sixth.test", generation + 1);

  // What the host puts there unsigned is not believed.
  const live = JSON.parse(readFileSync(at("live/feed.json")));
  const payload = JSON.parse(Buffer.from(live.payload, "base64url"));
  payload.generation = Number.MAX_SAFE_INTEGER - 1;
  const planted = { payload: Buffer.from(JSON.stringify(payload)).toString("base64url"), signatures: [] };
  writeFileSync(at("live/feed.json"), JSON.stringify(planted));
  publish([...many, "seventh.test"]);
  await has("seventh.test", generation + 2);
  writeFileSync(at("live/feed.json"), JSON.stringify(planted));
  rmSync(at("feed"), { recursive: true });
  assert.throws(() => publish(many), /nobody has signed it/);
  rmSync(at("feed"), { recursive: true });
  cpSync(at("old"), at("feed"), { recursive: true });

  // A second feed is begun neither by accident nor by the wrong button.
  rmSync(at("live/feed.json"));
  assert.throws(() => publish(many), /No such file/);
  assert.throws(() => publish(many, "true"), /there is the state of a feed here already/);
});

test("a feed that was led astray: the way back of docs/feeds.md, step by step", async () => {
  const work = at("astray");
  for (const name of ["public", "bin"]) mkdirSync(join(work, name), { recursive: true });
  const text = readFileSync(join(root, "docs/feeds.md"), "utf8");
  const [section] = /\*\*A feed was led astray\.\*\*[\s\S]*?\n\n(?=\*\*)/.exec(text);
  const commands = [...section.matchAll(/`npx bloom-wasm (feed [^`]+)`/g)].map(([, command]) => command);
  assert.deepEqual(
    commands.map((command) => command.split(" ")[1]),
    ["keygen", "init", "publish"],
  );
  const env = { PATH: `${join(root, "target/release")}:${process.env.PATH}` };
  const sh = (source) => execFileSync("bash", ["-ec", source], { cwd: work, env, encoding: "utf8", stdio: "pipe" });
  const list = (...hosts) => writeFileSync(join(work, "malicious.txt"), hosts.join("\n"));
  const keyOf = (file) => createPublicKey(readFileSync(join(work, file))).export({ format: "jwk" }).x;
  const publish = () => sh("bloom-wasm feed publish public --state state malicious.txt --sign feed.key");

  sh("bloom-wasm feed keygen -o feed.key; bloom-wasm feed init public --state state --profile url");
  list("first.test");
  publish();
  // Whoever has the state writes a generation into it, and the publisher signs the next.
  const path = join(work, "state/state.json");
  writeFileSync(path, readFileSync(path, "utf8").replace(/"generation": 1,/, `"generation": ${2 ** 40 - 1},`));
  list("second.test");
  publish();
  const cache = memoryCache();
  const url = pathToFileURL(join(work, "public/feed.json"));
  const old = await openFeed(url, { publicKey: keyOf("feed.key"), cache });
  assert.equal(old.generation, 2 ** 40);
  list("third.test");
  assert.throws(publish, /led astray/);

  for (const command of commands) sh(`bloom-wasm ${command}`);
  rmSync(join(work, "public"), { recursive: true });
  cpSync(join(work, "public-2"), join(work, "public"), { recursive: true });
  await assert.rejects(old.update(), { code: "signature" });
  assert.equal(old.filter.hasUrl("https://second.test/"), true);
  // The same URL and the same cache, and the new key alone.
  const feed = await openFeed(url, { publicKey: keyOf("new.key"), cache });
  assert.equal(feed.generation, 1);
  assert.equal(feed.filter.hasUrl("https://third.test/"), true);
  assert.equal(feed.filter.hasUrl("https://second.test/"), false);
  // It goes on.
  list("third.test", "fourth.test");
  sh("bloom-wasm feed publish public --state state-2 malicious.txt --sign new.key");
  assert.equal(await feed.update(), true);
  assert.equal(feed.filter.hasUrl("https://fourth.test/"), true);
});

test("the step for S3 and R2 uploads the files first, then the manifest, and deletes at last", () => {
  program("aws", 'echo "$@"');
  const commands = run(script(workflows().s3, "Deploy"), { BUCKET: "s3://lists" }).trim().split("\n");
  assert.equal(commands.length, 3);
  const [files, manifest, rest] = commands;
  assert.match(files, /^s3 sync feed\/public s3:\/\/lists .*--exclude feed.json .*max-age=31536000, immutable/);
  assert.doesNotMatch(files, /--delete/);
  assert.match(
    manifest,
    /^s3 cp feed\/public\/feed.json s3:\/\/lists\/feed.json --cache-control public, max-age=0, s-maxage=60 /,
  );
  assert.match(rest, /^s3 sync .*--exclude feed.json --delete$/);
});
