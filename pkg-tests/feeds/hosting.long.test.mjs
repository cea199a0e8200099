/**
 * action.yml, as the workflow of examples/lists and others use it: its script runs with a list, a live site and a cache
 * that can be lost. Its inputs reach the script as variables, as the runner would set them.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { parse } from "yaml";
import { root } from "../../scripts/setup.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { memoryCache, workflows } from "../helpers/publisher.mjs";
import { createServer } from "../helpers/server.mjs";

const { decode, openFeed, openSharded } = await installed("bloom-wasm/reader");
const tool = nativeTool();
const home = join(folder, "hosting");
const at = (...path) => join(home, ...path);

const action = parse(readFileSync(join(root, "action.yml"), "utf8"));
const making = action.runs.steps.find(({ id }) => id === "make");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The inputs that a step of a workflow passes to the action, or the variables of its script. */
function variables({ with: given, env }) {
  const inputs = Object.fromEntries(
    Object.entries(action.inputs).map(([name, { default: value, required }]) => {
      assert.ok(given[name] !== undefined || !required, `${name} is missing`);
      return [name, String(given[name] ?? value)];
    }),
  );
  for (const name of Object.keys(given)) assert.ok(name in inputs, `${name} is not an input`);
  const substituted = ([name, text]) => [
    name,
    text.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, input) => inputs[input]),
  ];
  return { GITHUB_ACTION_PATH: root, ...env, ...Object.fromEntries(Object.entries(making.env).map(substituted)) };
}

/** The step of a workflow's job that uses the action. */
const using = (workflow) => parse(workflow).jobs.publish.steps.find(({ uses }) => /^[\w.-]+\/bloom-wasm@/.test(uses));

/** Runs a script as the runner does, with our own programs instead of those that need the network. */
function run(source, variables) {
  const env = {
    PATH: `${at("bin")}:${process.env.PATH}`,
    RUNNER_TEMP: at("temporary"),
    GITHUB_OUTPUT: at("output"),
    ...variables,
  };
  return execFileSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", source], {
    cwd: home,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Runs the action with these inputs and this environment. */
const act = (given, env = {}) => run(making.run, variables({ with: given, env }));

for (const name of ["bin", "live", "temporary"]) mkdirSync(at(name), { recursive: true });
function program(name, source) {
  writeFileSync(at("bin", name), `#!/bin/sh\n${source}\n`);
  chmodSync(at("bin", name), 0o755);
}

program("npx", `[ "$1 $2" = "--yes bloom-wasm@${version}" ] && shift 2 && exec "${tool}" "$@"`);
// curl ... --output FILE --url URL. It prints the status, as requested, and a host may be down.
const web = at("web");
program(
  "curl",
  `while [ "$1" != --output ]; do shift; done
[ "$3" = --url ] || exit 2
[ ! -e "${web}/down" ] || { printf 503; exit 22; }
cp "${web}/\${4#https://}" "$2" || { printf 404; exit 22; }
printf 200`,
);
execFileSync(tool, ["feed", "keygen", "-o", at("feed.key")]);
const FEED_KEY = readFileSync(at("feed.key"), "utf8").trim();
const publicKey = createPublicKey(createPrivateKey(FEED_KEY)).export({ format: "jwk" }).x;
for (const name of ["lists.example", "you.github.io"]) mkdirSync(join(web, name), { recursive: true });

test("the action's text: no inputs in scripts, the key isn't an input, and steps use actions by their hash", () => {
  assert.equal(action.runs.using, "composite");
  for (const step of action.runs.steps) {
    assert.doesNotMatch(step.run ?? "", /\$\{\{/);
    if (step.uses) assert.match(step.uses, /^actions\/[\w/-]+@[0-9a-f]{40}$/);
    else assert.equal(step.shell, "bash");
  }
  assert.ok(!Object.keys(action.inputs).some((name) => /key|secret/.test(name)));
  assert.equal(action.outputs.whole.value, "${{ steps.make.outputs.whole }}");
  const used = using(workflows().pages);
  assert.equal(used.uses.split("@")[1], `v${version}`);
  // The same paths are restored and saved.
  const caches = action.runs.steps.filter(({ uses }) => uses?.startsWith("actions/cache/"));
  assert.deepEqual(
    caches.map(({ with: { path, key } }) => [path, key]),
    Array(2).fill([caches[0].with.path, caches[0].with.key]),
  );
  assert.deepEqual(caches[0].with.path.trim().split("\n"), [
    "${{ inputs.output }}",
    ".bloom-wasm/${{ inputs.output }}",
  ]);
  for (const { if: when } of action.runs.steps.slice(2))
    assert.match(when, /^\$\{\{ !cancelled\(\) && .*whole == 'true' \}\}$/);
});

test("the script publishes, continues when the cache is lost or old, and never begins another feed by itself", async () => {
  const live = join(web, "you.github.io/lists");
  const step = using(workflows().pages);
  const [list, ...others] = step.with.tags.match(/https:.*/g).map((url) => join(web, url.replace("https://", "")));
  mkdirSync(join(list, ".."), { recursive: true });
  for (const other of others) writeFileSync(other, "malware.test\n");
  mkdirSync(at("lists"), { recursive: true });
  cpSync(join(root, "examples/lists/allow.txt"), at("lists/allow.txt"));
  assert.equal(step.with.url, "https://you.github.io/lists/feed.json");
  const publish = (hosts, first = "") => {
    writeFileSync(list, hosts.join("\n"));
    act({ ...step.with, first }, { FEED_KEY });
    rmSync(live, { recursive: true, force: true });
    cpSync(at("public"), live, { recursive: true });
  };
  const lose = () => ["public", ".bloom-wasm"].map((name) => rmSync(at(name), { recursive: true, force: true }));
  const keep = (from, to) =>
    ["public", ".bloom-wasm"].map((name) => cpSync(at(from, name), at(to, name), { recursive: true }));
  const many = Array.from({ length: 1000 }, (_, i) => `host-${i}.example`);

  assert.throws(() => publish(many), { stdout: /can't be fetched/ });
  lose();
  publish(many, "true");
  const feed = await openFeed(pathToFileURL(join(live, "feed.json")), { publicKey, cache: null });
  const { feedId } = feed.info();
  const has = async (host, generation) => {
    assert.equal(await feed.update(), true);
    assert.deepEqual(feed.filter.urlTags(`https://${host}/`), ["phishing"]);
    assert.deepEqual([feed.info().feedId, feed.generation], [feedId, generation]);
  };
  publish([...many, "second.test"]);
  await has("second.test", 2);
  assert.equal(feed.info().files, 2);
  keep("", "old");

  publish([...many, "third.test"]);
  await has("third.test", 3);

  lose();
  keep("old", "");
  publish([...many, "fourth.test"]);
  await has("fourth.test", 4);

  // A refused list fails the step, and so does one that can't be fetched; the latter is named by its URL, while the
  // tool names the file. What was fetched from the host isn't deployed again, since it may be old.
  const fails = (words, options = "") => {
    writeFileSync(at("output"), "");
    const given = { ...step.with, options: `${step.with.options}${options}` };
    assert.throws(() => act(given, { FEED_KEY }), { status: 2, ...words });
    return readFileSync(at("output"), "utf8");
  };
  writeFileSync(list, "one.example");
  assert.equal(fails({ stderr: /--max-removed.*; generation 4 stays/ }), "");
  assert.equal(fails({ stderr: /unexpected argument '--max-remove'/ }, "--max-remove=100%"), "");
  rmSync(list);
  const unfetched = {
    stdout: /::error::https:\/\/blocklistproject\.github\.io\/.*\/phishing-nl\.txt can't be fetched/,
    stderr: /list-blocklistproject\.github\.io-[0-9a-f]{16}.*; generation 4 stays/,
  };
  assert.equal(fails(unfetched), "");
  // But the old list is, once it was signed again: then the deploying steps run.
  const later = `--created-at=${new Date(Date.now() + 5 * 24 * 3_600_000).toISOString()}`;
  assert.equal(fails({ stderr: /signed anew as generation 5/ }, later), "whole=true\n");
  lose();
  keep("old", "");
  // But not if files of the manifest are missing.
  lose();
  writeFileSync(at("output"), "");
  assert.throws(() => publish(["one.example"]), { stderr: /--max-removed/ });
  assert.equal(readFileSync(at("output"), "utf8"), "");
  lose();
  const before = Math.floor(Date.now() / 1000);
  publish([...many, "fifth.test"]);
  const { generation } = JSON.parse(
    Buffer.from(JSON.parse(readFileSync(join(live, "feed.json"))).payload, "base64url"),
  );
  assert.ok(generation > before && generation <= Date.now() / 1000 + 1, `${generation} is not the clock's`);
  await has("fifth.test", generation);
  assert.equal(feed.info().files, 1, "a new base");
  publish([...many, "sixth.test"]);
  await has("sixth.test", generation + 1);

  // Unsigned contents of the host aren't trusted.
  const signed = JSON.parse(readFileSync(join(live, "feed.json")));
  const payload = JSON.parse(Buffer.from(signed.payload, "base64url"));
  payload.generation = Number.MAX_SAFE_INTEGER - 1;
  const planted = { payload: Buffer.from(JSON.stringify(payload)).toString("base64url"), signatures: [] };
  writeFileSync(join(live, "feed.json"), JSON.stringify(planted));
  publish([...many, "seventh.test"]);
  await has("seventh.test", generation + 2);
  writeFileSync(join(live, "feed.json"), JSON.stringify(planted));
  lose();
  assert.throws(() => publish(many), /nobody has signed it/);
  lose();
  keep("old", "");

  // A second feed begins neither by accident nor by the wrong button, whatever happened to the cache.
  const begins = { stdout: /first is true, and there is a feed.json at the url/ };
  assert.throws(() => publish(many, "true"), begins);
  lose();
  assert.throws(() => publish(many, "true"), begins);
  assert.deepEqual([existsSync(at("public/feed.json")), existsSync(at(".bloom-wasm"))], [false, false]);
  keep("old", "");
  rmSync(join(live, "feed.json"));
  assert.throws(() => publish(many), {
    stdout: /feed\.json can't be fetched; if nothing was published yet, give first/,
  });
  // A host that is down doesn't mean that there is nothing.
  writeFileSync(join(web, "down"), "");
  writeFileSync(at("output"), "");
  assert.throws(() => publish(many, "true"), { stdout: /first is true, and the host of the url doesn't say/ });
  rmSync(join(web, "down"));
  // A first run whose folder was never deployed left its state: the same feed continues.
  publish(many, "true");
  const { feedId: same } = await openFeed(pathToFileURL(join(live, "feed.json")), { publicKey, cache: null }).then(
    (feed) => feed.info(),
  );
  assert.equal(same, feedId);

  // The key is removed again, whatever happened.
  assert.deepEqual(
    readdirSync(at("temporary")).filter((name) => !name.startsWith("list-")),
    [],
  );
});

test("lists in the repository, and no input becomes a command", async () => {
  const evil = '$(touch pwned) `touch pwned`; touch pwned "';
  mkdirSync(at("lists"), { recursive: true });
  writeFileSync(at("lists", evil), "evil.example\n");
  writeFileSync(at("-o"), "worse.example\n");
  writeFileSync(join(web, "lists.example/more.txt"), "bad.example\n");
  writeFileSync(at("output"), "");
  const given = {
    make: "blob",
    lists: `lists/${evil}\n\n  -o\nhttps://lists.example/more.txt\n`,
    output: "out $(touch pwned).bloom",
    options: `--profile=url\n--fpr=1e-6\n--name=${evil}\n`,
  };
  act(given);
  assert.equal(readFileSync(at("output"), "utf8"), "whole=true\n");
  const filter = decode(readFileSync(at("out $(touch pwned).bloom")));
  assert.equal(filter.info().name, evil.trim());
  const hosts = ["evil", "worse", "bad", "good"].map((name) => filter.hasUrl(`https://${name}.example/`));
  assert.deepEqual(hosts, [true, true, true, false]);
  // A tag's list may be in the repository or at a URL, whatever its name.
  act({ ...given, lists: "", tags: `mine=lists/${evil}\n$(touch pwned)=-o\n theirs=https://lists.example/more.txt\n` });
  const tagged = decode(readFileSync(at("out $(touch pwned).bloom")));
  assert.deepEqual(
    ["evil", "worse", "bad", "good"].map((name) => tagged.urlTags(`https://${name}.example/`)),
    [["mine"], ["$(touch pwned)"], ["theirs"], []],
  );
  for (const url of [evil, "https://lists.example/nothing"])
    assert.throws(() => act({ ...given, make: "feed", url, first: evil }, { FEED_KEY }));
  assert.ok(!existsSync(at("pwned")));

  for (const [wrong, words, env] of [
    [{ make: evil }, "make is blob or feed"],
    [{ make: "shards" }, "make is blob or feed"],
    [{ lists: " \n" }, "lists and tags are empty"],
    [{ tags: evil }, "a line of tags is NAME=LIST"],
    [{ make: "feed" }, "the secret key is missing"],
    [{ make: "feed" }, "url is missing: where the live feed.json is", { FEED_KEY }],
  ]) {
    const failed = { status: 2, stdout: `::error::${words}\n` };
    const is = (error) => error.status === 2 && error.stdout.startsWith(failed.stdout.trim());
    assert.throws(() => act({ ...given, ...wrong }, env), is, words);
  }
  assert.ok(!existsSync(at("pwned")));
});

test("a list is the response of one URL, with the real curl", async () => {
  const server = createServer(({ url }, response) => {
    if (url === "/moved") response.writeHead(302, { location: "/list" });
    if (url === "/gone") response.writeHead(410);
    if (url === "/short")
      response.writeHead(200, { "content-length": 100 }).write(url, () => response.socket.destroy());
    else response.end(url);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const functions = [/^fetch\(\) \{[\s\S]*?^\}$/m, /^file_of\(\) \{[\s\S]*?^\}$/m, /^fetch_list\(\) \{[\s\S]*?^\}$/m];
  const all = functions.map((of) => of.exec(making.run)[0]).join("\n");
  const list = at("fetched");
  const sh = (command, path) =>
    promisify(execFile)("bash", [
      "-c",
      `RUNNER_TEMP=/temporary\n${all}\n${command}`,
      list,
      path.includes("://") ? path : `http://127.0.0.1:${server.address().port}${path}`,
    ]);
  const get = (path) => sh('fetch_list "$0" "$1"', path);
  try {
    for (const path of ["/list", "/{one,two}.txt", "/part[1-3].txt", "/list?of={me}&x[]=1"]) {
      assert.equal((await get(path)).stdout, "");
      assert.equal(readFileSync(list, "utf8"), path);
    }
    // A list that doesn't arrive completely has no file.
    for (const path of ["/moved", "/gone", "/short"]) {
      await get("/list");
      const { stdout } = await get(path);
      assert.match(stdout, new RegExp(`^::error::http://127.*${path} can't be fetched`));
      assert.ok(!existsSync(list), path);
    }
    await assert.rejects(sh('fetch "$0" "$1"', "/gone"), { code: 22, stdout: "410" });
    // Parts of a URL that may be secret stay out of the name, and another URL has another name.
    const file = async (url) => (await sh('file_of "$1"', url)).stdout.trim();
    const urls = ["https://me:word@lists.example:8443/key/a?token=1", "https://lists.example/", "http://lists.example"];
    const names = await Promise.all([...urls, ...urls].map(file));
    assert.equal(new Set(names).size, 3);
    for (const name of names) assert.match(name, /^\/temporary\/list-lists\.example(_8443)?-[0-9a-f]{16}$/);
  } finally {
    server.close();
  }
});

test("two feeds of a job, whose caches may be lost", () => {
  const names = ["one", "two"];
  const publish = (first) => {
    for (const name of names) {
      const output = `site/${name}`;
      const url = `https://you.github.io/site/${name}/feed.json`;
      act({ make: "feed", lists: `${name}.txt`, output, url, first, "first-options": "--profile=raw" }, { FEED_KEY });
      cpSync(at(output), join(web, "you.github.io/site", name), { recursive: true });
    }
  };
  for (const name of names) writeFileSync(at(`${name}.txt`), `${name}.example\n`);
  publish("true");
  publish("");
  rmSync(at(".bloom-wasm/site/two"), { recursive: true });
  rmSync(at("site/two"), { recursive: true });
  publish("");
  for (const name of names)
    assert.match(execFileSync(tool, ["feed", "verify", at("site", name)], { encoding: "utf8" }), /generation/);
});

test("keys that change, and a secret, while the cache is lost", () => {
  const live = join(web, "you.github.io/changing");
  const [output, url] = ["changing", "https://you.github.io/changing/feed.json"];
  const lose = () => {
    for (const name of [output, `.bloom-wasm/${output}`]) rmSync(at(name), { recursive: true, force: true });
  };
  const deploy = () => {
    rmSync(live, { recursive: true, force: true });
    cpSync(at(output), live, { recursive: true });
  };
  const tools = (...args) => execFileSync(tool, args, { encoding: "utf8" }).trim();
  const keys = Object.fromEntries(
    ["old", "new", "newest"].map((name) => {
      tools("feed", "keygen", "-o", at(`${name}.key`));
      return [
        name,
        { secret: readFileSync(at(`${name}.key`), "utf8").trim(), public: tools("feed", "pubkey", at(`${name}.key`)) },
      ];
    }),
  );
  let hosts = 0;
  const publish = (key, options = "", first = "") => {
    writeFileSync(at("changing.txt"), Array.from({ length: ++hosts }, (_, i) => `host-${i}.example\n`).join(""));
    const given = {
      make: "feed",
      lists: "changing.txt",
      output,
      url,
      options,
      first,
      "first-options": "--profile=raw",
    };
    act(given, { FEED_KEY: keys[key].secret });
    deploy();
  };
  /** The keys that signed the live manifest, and the feed that it belongs to. */
  const signedBy = () =>
    Object.keys(keys).filter((name) => {
      const args = ["feed", "verify", live, `--public-key=${keys[name].public}`, ...secret];
      return spawnSync(tool, args).status === 0;
    });
  const feedId = () => {
    const { payload } = JSON.parse(readFileSync(join(live, "feed.json"), "utf8"));
    return JSON.parse(Buffer.from(payload, "base64url")).feedId;
  };
  let secret = [];

  publish("old", "", "true");
  const same = feedId();
  // The new key alone can't verify the live manifest.
  lose();
  assert.throws(() => publish("new"), { stderr: /none of the given keys has signed it/ });
  lose();
  publish("new", `--sign=${at("old.key")}`);
  assert.deepEqual(signedBy(), ["old", "new"]);
  // With an option on two lines, too.
  lose();
  publish("newest", `--sign\n${at("new.key")}\n--without-key\n${keys.old.public}`);
  assert.deepEqual(signedBy(), ["new", "newest"]);
  lose();
  publish("newest", `--without-key=${keys.new.public}\n--max-removed=10%`);
  assert.deepEqual(signedBy(), ["newest"]);
  assert.equal(feedId(), same);

  // A keyed feed.
  writeFileSync(at("secret"), "000102030405060708090a0b0c0d0e0f\n");
  const keyed = `--secret-file=${at("secret")}`;
  secret = [keyed];
  lose();
  rmSync(live, { recursive: true });
  publish("old", keyed, "true");
  lose();
  publish("old", keyed);
  assert.deepEqual(signedBy(), ["old"]);

  // Each run may give the options that describe a feed; one that contradicts it fails, also when the state is lost.
  for (const lost of [false, true]) {
    if (lost) lose();
    const given = { make: "feed", lists: "changing.txt", output, url, options: keyed };
    for (const [other, words] of [
      ["--profile=url", /--profile: the feed has --profile raw/],
      ["--profile=raw\n--shards=2", /--shards: the feed has none/],
    ])
      assert.throws(() => act({ ...given, "first-options": other }, { FEED_KEY: keys.old.secret }), { stderr: words });
  }

  const sharded = { make: "feed", lists: "changing.txt", output: "keyed-shards", url, first: "true" };
  rmSync(join(live, "feed.json"));
  act({ ...sharded, "first-options": `--profile=raw\n--shards=2\n${keyed}` }, { FEED_KEY: keys.old.secret });

  // The first signature.
  secret = [];
  lose();
  writeFileSync(at("changing.txt"), "a.example\n");
  tools("feed", "publish", at(output), at("changing.txt"), "--state", at("unsigned"), "--profile", "raw");
  deploy();
  lose();
  assert.throws(() => publish("old"), { stderr: /nobody has signed it/ });
  lose();
  publish("old", "--trust-unsigned");
  assert.deepEqual(signedBy(), ["old"]);
});

test("a feed with shards continues from the live one, also when the cache is lost", async () => {
  const live = join(web, "you.github.io/shards");
  const lose = () => {
    for (const name of ["sharded", ".bloom-wasm/sharded"]) rmSync(at(name), { recursive: true, force: true });
  };
  const publish = (count, first = "") => {
    writeFileSync(at("keys.txt"), Array.from({ length: count }, (_, i) => `key-${i}\n`).join(""));
    const url = "https://you.github.io/shards/shards.json";
    const described = "--profile=raw\n--shards=4";
    writeFileSync(at("output"), "");
    act({ make: "feed", lists: "keys.txt", output: "sharded", url, first, "first-options": described }, { FEED_KEY });
    assert.equal(readFileSync(at("output"), "utf8"), "whole=true\n");
    rmSync(live, { recursive: true, force: true });
    cpSync(at("sharded"), live, { recursive: true });
  };
  assert.throws(() => publish(100), { stdout: /shards\.json can't be fetched; if nothing was published yet/ });
  publish(100, "true");
  assert.throws(() => publish(100, "true"), { stdout: /first is true, and there is a shards\.json at the url/ });
  const sharded = await openSharded(pathToFileURL(join(live, "shards.json")), { publicKey, cache: null });
  const { feedId } = sharded.info();
  assert.deepEqual([await sharded.has("key-99"), await sharded.has("key-100")], [true, false]);
  for (const [count, before] of [
    [101, () => {}],
    [102, lose],
  ]) {
    before();
    publish(count);
    assert.equal(await sharded.update(), true);
    assert.equal(await sharded.has(`key-${count - 1}`), true);
    assert.equal(sharded.info().feedId, feedId);
  }
  // A list that is refused isn't deployed, whether the cache is there or lost.
  for (const before of [() => {}, lose]) {
    before();
    assert.throws(() => publish(10), { stderr: /--max-removed/ });
    assert.equal(readFileSync(at("output"), "utf8"), "");
  }
});

test("a feed that was taken over: the way back of docs/feeds.md, step by step", async () => {
  const work = at("astray");
  for (const name of ["public", "bin"]) mkdirSync(join(work, name), { recursive: true });
  const text = readFileSync(join(root, "docs/feeds.md"), "utf8");
  const [section] = /\*\*A feed was taken over\.\*\*[\s\S]*?\n\n(?=\*\*)/.exec(text);
  const commands = [...section.matchAll(/`npx bloom-wasm (feed [^`]+)`/g)].map(([, command]) => command);
  assert.deepEqual(
    commands.map((command) => command.split(" ")[1]),
    ["keygen", "publish"],
  );
  const env = { PATH: `${dirname(nativeTool())}:${process.env.PATH}` };
  const sh = (source) => execFileSync("bash", ["-ec", source], { cwd: work, env, encoding: "utf8", stdio: "pipe" });
  const list = (...hosts) => writeFileSync(join(work, "malicious.txt"), hosts.join("\n"));
  const keyOf = (file) => createPublicKey(readFileSync(join(work, file))).export({ format: "jwk" }).x;
  const publish = (described = "") =>
    sh(`bloom-wasm feed publish public --state state malicious.txt --sign feed.key ${described}`);

  sh("bloom-wasm feed keygen -o feed.key");
  list("first.test");
  publish("--profile url");
  // An attacker with access to the state writes a generation into it, and the publisher signs the next.
  const path = join(work, "state/state.json");
  writeFileSync(path, readFileSync(path, "utf8").replace(/"signed": 1,/, `"signed": ${2 ** 40 - 1},`));
  list("second.test");
  publish();
  const cache = memoryCache();
  const url = pathToFileURL(join(work, "public/feed.json"));
  const old = await openFeed(url, { publicKey: keyOf("feed.key"), cache });
  assert.equal(old.generation, 2 ** 40);
  list("third.test");
  assert.throws(publish, /taken over/);

  for (const command of commands) sh(`bloom-wasm ${command}`);
  rmSync(join(work, "public"), { recursive: true });
  cpSync(join(work, "public-2"), join(work, "public"), { recursive: true });
  await assert.rejects(old.update(), { code: "signature" });
  assert.equal(old.filter.hasUrl("https://second.test/"), true);
  // The same URL and cache, and only the new key.
  const feed = await openFeed(url, { publicKey: keyOf("new.key"), cache });
  assert.equal(feed.generation, 1);
  assert.equal(feed.filter.hasUrl("https://third.test/"), true);
  assert.equal(feed.filter.hasUrl("https://second.test/"), false);
  // It continues.
  list("third.test", "fourth.test");
  sh("bloom-wasm feed publish public --state state-2 malicious.txt --sign new.key");
  assert.equal(await feed.update(), true);
  assert.equal(feed.filter.hasUrl("https://fourth.test/"), true);
});

test("the step for S3 and R2 uploads the files first, then the manifest, and deletes last", () => {
  program("aws", 'echo "$@"');
  const workflow = workflows().s3;
  assert.equal(using(workflow).with.pages, undefined);
  const deploy = parse(workflow).jobs.publish.steps.find(({ name }) => name === "Deploy");
  assert.equal(deploy.if, `\${{ !cancelled() && steps.${using(workflow).id}.outputs.whole == 'true' }}`);
  const commands = run(deploy.run, { BUCKET: "s3://lists" }).trim().split("\n");
  assert.equal(commands.length, 3);
  const [files, manifest, rest] = commands;
  assert.match(files, /^s3 sync public s3:\/\/lists .*--exclude feed.json .*max-age=31536000, immutable/);
  assert.doesNotMatch(files, /--delete/);
  assert.match(
    manifest,
    /^s3 cp public\/feed.json s3:\/\/lists\/feed.json --cache-control public, max-age=0, s-maxage=60 /,
  );
  assert.match(rest, /^s3 sync .*--exclude feed.json --delete$/);
});
