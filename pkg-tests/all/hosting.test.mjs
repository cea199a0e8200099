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
import { workflows } from "../publisher.mjs";

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
  const env = { PATH: `${at("bin")}:${process.env.PATH}`, RUNNER_TEMP: at("temporary"), ...variables };
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

  rmSync(at("feed"), { recursive: true });
  publish([...many, "third.test"]);
  await has("third.test", 3);
  assert.equal(feed.info().files, 1, "a new base");

  rmSync(at("feed"), { recursive: true });
  cpSync(at("old"), at("feed"), { recursive: true });
  publish([...many, "fourth.test"]);
  await has("fourth.test", 4);

  // A second feed is begun neither by accident nor by the wrong button.
  rmSync(at("live/feed.json"));
  assert.throws(() => publish(many), /No such file/);
  assert.throws(() => publish(many, "true"), /there is the state of a feed here already/);
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
