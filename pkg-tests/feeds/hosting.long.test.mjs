/**
 * action.yml, as the workflow of examples/lists and others use it: its script runs with a list, a live site and a cache
 * that can be lost. Its inputs reach the script as variables, as the runner would set them.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { root } from "../../scripts/setup.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { workflows } from "../helpers/publisher.mjs";

const { decode, openFeed } = await installed("bloom-wasm/reader");
const tool = nativeTool();
const home = join(folder, "hosting");
const at = (...path) => join(home, ...path);

const action = parse(readFileSync(join(root, "action.yml"), "utf8"));
const [reading, making] = ["feed", "make"].map((id) => action.runs.steps.find((step) => step.id === id));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The inputs that a step of a workflow passes to the action. */
function inputsOf(given) {
  for (const name of Object.keys(given)) assert.ok(name in action.inputs, `${name} is not an input`);
  return Object.fromEntries(
    Object.entries(action.inputs).map(([name, { default: value, required }]) => {
      assert.ok(given[name] !== undefined || !required, `${name} is missing`);
      return [name, String(given[name] ?? value)];
    }),
  );
}

/** The variables of a step's script. `outputs` are those of the first step. */
function variables(step, inputs, outputs = {}) {
  const substituted = ([name, text]) => [
    name,
    text
      .replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, input) => inputs[input])
      .replace(/\$\{\{ steps\.feed\.outputs\.(\w+) \}\}/g, (_, output) => outputs[output] ?? ""),
  ];
  return { GITHUB_ACTION_PATH: root, ...Object.fromEntries(Object.entries(step.env).map(substituted)) };
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

/** What the action reads in a feed.toml, with these inputs and this environment. */
function read(given, env = {}) {
  const path = at("read");
  writeFileSync(path, "");
  run(reading.run, { ...variables(reading, inputsOf(given)), ...env, GITHUB_OUTPUT: path });
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return Object.fromEntries(lines.map((line) => /^(\w+)=(.*)$/.exec(line).slice(1)));
}

/** Runs the action. */
function act(given, env = {}) {
  const outputs = given.make === "feed" ? read(given, env) : {};
  return run(making.run, { ...variables(making, inputsOf(given), outputs), ...env });
}

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
rmSync(at("feed.key"));

/** Begins a feed in a folder: its feed.toml, with an id and other lines. Returns the id. */
let feeds = 0;
function declare(folder, ...lines) {
  const id = String(feeds++).padStart(32, "0");
  mkdirSync(at(folder), { recursive: true });
  writeFileSync(at(folder, "feed.toml"), [`id = "${id}"`, 'sign = ["feed.key"]', ...lines, ""].join("\n"));
  return id;
}
for (const name of ["lists.example", "you.github.io"]) mkdirSync(join(web, name), { recursive: true });

test("the action's text: no inputs in scripts, the key isn't an input, and each feed has a cache of its own", () => {
  for (const step of action.runs.steps) {
    assert.doesNotMatch(step.run ?? "", /\$\{\{/);
    if (step.uses) assert.match(step.uses, /^actions\/[\w/-]+@[0-9a-f]{40}$/);
  }
  assert.ok(!Object.keys(action.inputs).some((name) => /key|secret/.test(name)));
  // Lists are fetched as by the example's script, which lists-example.long.test.mjs runs.
  const [ours, theirs] = [making.run, readFileSync(join(root, "examples/lists/publish.sh"), "utf8")].map(
    (text) => /^fetch\(\) \{[\s\S]*?^\}$/m.exec(text)[0],
  );
  assert.equal(ours, theirs);
  assert.equal(using(workflows().pages).uses.split("@")[1], `v${version}`);
  const caches = action.runs.steps.filter(({ uses }) => uses?.startsWith("actions/cache/"));
  assert.equal(caches.length, 2);
  for (const { with: its } of caches) {
    assert.equal(its.path.trim(), "${{ steps.feed.outputs.public }}\n${{ steps.feed.outputs.state }}");
    assert.match(its.key, /^bloom-wasm-\$\{\{ steps\.feed\.outputs\.id \}\}-/);
  }
  assert.equal(caches[0].with["restore-keys"], "bloom-wasm-${{ steps.feed.outputs.id }}-");
  for (const { if: when } of action.runs.steps.slice(3))
    assert.match(when, /^\$\{\{ !cancelled\(\) && .*whole == 'true' \}\}$/);
});

test("the script publishes, continues when the cache is lost or old, and never begins another feed", async () => {
  const live = join(web, "you.github.io/lists");
  const { with: given } = using(workflows().pages);
  const dispatched = "${{ inputs.max-removed && format('--max-removed={0}', inputs.max-removed) }}";
  assert.equal(given.options, dispatched);
  const step = { ...given, options: "" };
  const addresses = step.fetch.trim().split("\n");
  const [[list, mirror], ...others] = addresses.map((line) =>
    line
      .split(" ")
      .slice(1)
      .map((url) => join(web, url.replace("https://", ""))),
  );
  mkdirSync(join(list, ".."), { recursive: true });
  mkdirSync(join(mirror, ".."), { recursive: true });
  for (const [other] of others) writeFileSync(other, "malware.test\n");
  for (const name of ["feed.toml", "allow.txt"]) cpSync(join(root, "examples/lists", name), at(name));
  // The lists are shorter here, and at first nothing says how short they may be.
  const example = readFileSync(at("feed.toml"), "utf8");
  const short = example.replace(/\{ file = ("\w+\.txt"), min-keys = [\d_]+ \}/g, "$1");
  assert.equal(short.match(/^\w+ = "(phishing|malware|scam)\.txt"$/gm).length, 3);
  writeFileSync(at("feed.toml"), short);
  assert.throws(() => read(step, { FEED_KEY }), { status: 2, stderr: /`id` is missing: `npx bloom-wasm feed init`/ });
  execFileSync(tool, ["feed", "init"], { cwd: home });
  rmSync(at("feed.key"));
  assert.equal(step.url, "https://you.github.io/lists/feed.json");
  const deploy = () => {
    rmSync(live, { recursive: true, force: true });
    cpSync(at("public"), live, { recursive: true });
  };
  const publish = (hosts, options = "") => {
    writeFileSync(list, hosts.join("\n"));
    const printed = act({ ...step, options }, { FEED_KEY });
    deploy();
    return printed;
  };
  const kept = ["public", "state"];
  const lose = () => kept.map((name) => rmSync(at(name), { recursive: true, force: true }));
  const keep = (from, to) => kept.map((name) => cpSync(at(from, name), at(to, name), { recursive: true }));
  const many = Array.from({ length: 1000 }, (_, i) => `host-${i}.example`);

  assert.match(publish(many), /::warning::there is no manifest at https:\/\/you\.github\.io\/lists\/feed\.json yet/);
  const feed = await openFeed(pathToFileURL(join(live, "feed.json")), { publicKey, cache: null });
  const { feedId } = feed.info();
  assert.equal(feedId, read(step, { FEED_KEY }).id);
  let { generation } = feed;
  const has = async (host) => {
    assert.equal(await feed.update(), true);
    assert.deepEqual(feed.filter.urlTags(`https://${host}/`), ["phishing"]);
    assert.equal(feed.info().feedId, feedId);
    assert.ok(feed.generation > generation);
    ({ generation } = feed);
  };
  assert.doesNotMatch(publish([...many, "second.test"]), /::/);
  await has("second.test");
  assert.equal(feed.info().files, 2);
  keep("", "old");

  // An old copy goes on from the live manifest.
  lose();
  keep("old", "");
  publish([...many, "fourth.test"]);
  await has("fourth.test");

  // A list is taken from a mirror, whose file isn't there otherwise.
  rmSync(list);
  writeFileSync(mirror, [...many, "mirrored.test"].join("\n"));
  act(step, { FEED_KEY });
  deploy();
  await has("mirrored.test");
  rmSync(mirror);

  // A refused list fails the step, and so does one that can't be fetched. What was fetched from the host isn't deployed
  // again, since it may be old.
  const fails = (words, options = "") => {
    writeFileSync(at("output"), "");
    assert.throws(() => act({ ...step, options }, { FEED_KEY }), { status: 2, ...words });
    return readFileSync(at("output"), "utf8");
  };
  writeFileSync(list, "one.example");
  assert.equal(fails({ stderr: new RegExp(`--max-removed.*; generation ${generation} stays until`) }), "");
  assert.equal(fails({ stderr: /unexpected argument '--max-remove'/ }, "--max-remove=100%"), "");
  rmSync(list);
  const unfetched = {
    stdout: /::error::phishing\.txt can't be fetched/,
    stderr: new RegExp(`phishing\\.txt: .*; generation ${generation} stays`),
  };
  assert.equal(fails(unfetched), "");
  // But the old list is, once it was signed again: then the deploying steps run.
  const later = `--created-at=${new Date(Date.now() + 5 * 24 * 3_600_000).toISOString()}`;
  assert.equal(fails({ stderr: /signed anew as generation/ }, later), "whole=true\n");

  // Without its state, the feed goes on only if somebody says that the lists are right, or how long they are.
  lose();
  writeFileSync(list, "one.example");
  assert.equal(fails({ stderr: /min-keys/ }), "");
  lose();
  publish([...many, "fifth.test"], "--max-removed=100%");
  await has("fifth.test");
  assert.equal(feed.info().files, 1, "a new base");
  lose();
  const told = readFileSync(at("feed.toml"), "utf8");
  writeFileSync(
    at("feed.toml"),
    told.replace(/^(\w+) = "(phishing|malware|scam)\.txt"/gm, '$1 = { file = "$2.txt", min-keys = 1 }'),
  );
  publish([...many, "min.test"]);
  await has("min.test");

  // Unsigned contents of the host aren't trusted.
  const signed = JSON.parse(readFileSync(join(live, "feed.json")));
  const payload = JSON.parse(Buffer.from(signed.payload, "base64url"));
  payload.generation = Number.MAX_SAFE_INTEGER - 1;
  const planted = { payload: Buffer.from(JSON.stringify(payload)).toString("base64url"), signatures: [] };
  writeFileSync(join(live, "feed.json"), JSON.stringify(planted));
  publish([...many, "seventh.test"]);
  await has("seventh.test");
  writeFileSync(join(live, "feed.json"), JSON.stringify(planted));
  lose();
  assert.throws(() => publish(many), /nobody has signed it/);

  // A host that is down doesn't mean that there is nothing.
  lose();
  rmSync(join(live, "feed.json"));
  writeFileSync(list, many.join("\n"));
  writeFileSync(join(web, "down"), "");
  writeFileSync(at("output"), "");
  assert.throws(() => act(step, { FEED_KEY }), {
    status: 2,
    stdout: /::error::https:\S+\/feed\.json can't be fetched/,
  });
  assert.deepEqual([readFileSync(at("output"), "utf8"), kept.filter((name) => existsSync(at(name)))], ["", []]);
  rmSync(join(web, "down"));
  // Some hosts send a page where there is nothing. The feed begins anew under its id, and clients follow it: its number
  // is the clock's, which these runs, several a second, were ahead of.
  while (Date.now() / 1000 < generation + 1) await pause(100);
  writeFileSync(join(live, "feed.json"), "<!doctype html>");
  publish([...many, "eighth.test"]);
  await has("eighth.test");
  assert.equal(feed.info().files, 1, "a new base");

  // The key is removed again, whatever happened.
  assert.deepEqual([readdirSync(at("temporary")), existsSync(at("feed.key"))], [[], false]);
});

test("what the action reads of a feed.toml", () => {
  const file = (...lines) => writeFileSync(at("read.toml"), [`id = "${"a".repeat(32)}"`, ...lines, ""].join("\n"));
  const given = { make: "feed", feed: "read.toml" };
  const told = (env = { FEED_KEY }) => read(given, env);
  file('sign = ["read.key"] # secret', "[lists]", 'state = "list.txt"');
  const paths = { public: "public", state: "state", key: "read.key", secret: "", manifest: "public/feed.json" };
  assert.deepEqual(told(), { id: "a".repeat(32), ...paths });
  file('sign = ["../keys/a"]', 'public="site/one"', "shards = 64", 'secret = "b"', 'state = "/srv/state"', "[lists]");
  const others = { public: "site/one", secret: "b", manifest: "site/one/shards.json", key: "../keys/a" };
  const { state, ...rest } = told();
  assert.deepEqual(rest, { id: "a".repeat(32), ...others });
  assert.equal(resolve(home, state), "/srv/state");
  file("sign = []");
  assert.equal(told({}).key, "");

  const fails = (words, env) => assert.throws(() => told(env), { status: 2, stderr: words });
  fails(/^::error::read\.toml: FEED_KEY is given, and no key of `sign` is missing/);
  file('sign = ["read.key"]');
  fails(/the secret key is missing: give the step FEED_KEY by env/, {});
  file('sign = ["one", "two"]');
  fails(/these are missing; write the others before: one, two/);
  writeFileSync(at("one"), "");
  assert.equal(told().key, "two");
  for (const [line, words] of [
    ['public = "a"', /`sign` is missing/],
    ["sign = [", /write `sign` in one line, and texts in double quotes/],
    ["sign = ['read.key']", /write `sign` in one line/],
    ['sign = ["a"]\nstate = "a\\nb"', /the path `state` has a line break/],
  ]) {
    file(line);
    fails(words);
  }
  assert.throws(() => read({ make: "feed", feed: "none.toml" }), { status: 2, stderr: /there is no such file/ });
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
    fetch: "lists/more.txt https://lists.example/gone.txt https://lists.example/more.txt\n",
    lists: `lists/${evil}\n\n  -o\nlists/more.txt\n`,
    output: "out $(touch pwned).bloom",
    options: `--profile=url\n--fpr=1e-6\n--name=${evil}\n`,
  };
  act(given);
  assert.equal(readFileSync(at("output"), "utf8"), "whole=true\n");
  const filter = decode(readFileSync(at("out $(touch pwned).bloom")));
  assert.equal(filter.info().name, evil.trim());
  const hosts = ["evil", "worse", "bad", "good"].map((name) => filter.hasUrl(`https://${name}.example/`));
  assert.deepEqual(hosts, [true, true, true, false]);
  // A list may have a tag, whatever its name.
  act({ ...given, lists: "", tags: `mine=lists/${evil}\n$(touch pwned)=-o\n theirs=lists/more.txt\n` });
  const tagged = decode(readFileSync(at("out $(touch pwned).bloom")));
  assert.deepEqual(
    ["evil", "worse", "bad", "good"].map((name) => tagged.urlTags(`https://${name}.example/`)),
    [["mine"], ["$(touch pwned)"], ["theirs"], []],
  );
  declare("evil", 'profile = "raw"', "[lists]", `evil = ${JSON.stringify(`../lists/${evil}`)}`);
  const feed = { make: "feed", feed: "evil/feed.toml", url: "https://lists.example/nothing" };
  // Nothing is there.
  act({ ...feed, url: evil }, { FEED_KEY });
  for (const wrong of [{ options: evil }, { fetch: `${evil} ${evil}` }, { feed: evil }])
    assert.throws(() => act({ ...feed, ...wrong }, { FEED_KEY }), JSON.stringify(wrong));
  assert.ok(!existsSync(at("pwned")));

  for (const [wrong, words, env] of [
    [{ make: evil }, "make is blob or feed"],
    [{ make: "shards" }, "make is blob or feed"],
    [{ lists: " \n" }, "lists and tags are empty"],
    [{ output: "" }, "output is missing"],
    [{ fetch: "lists/more.txt" }, "a line of fetch is FILE URL [MIRROR...]"],
    [
      { ...feed, options: "" },
      "lists, tags and output are of a blob: evil/feed.toml says those of the feed",
      { FEED_KEY },
    ],
    [{ ...feed, lists: "", output: "", url: "" }, "url is missing: where clients fetch the manifest", { FEED_KEY }],
  ])
    assert.throws(() => act({ ...given, ...wrong }, env), { status: 2, stdout: `::error::${words}\n` }, words);
  // A list that can't be fetched isn't there, whatever was there before.
  const gone = { ...given, fetch: "lists/more.txt https://lists.example/gone.txt" };
  assert.throws(() => act(gone), {
    stdout: /^::error::lists\/more\.txt can't be fetched$/m,
    stderr: /lists\/more\.txt/,
  });
  assert.ok(!existsSync(at("pwned")));
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
