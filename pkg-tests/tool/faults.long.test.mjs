/**
 * `npx bloom-wasm` when the system fails: each call in turn while a feed is published, the clock, and the current
 * folder. The calls are those of node:fs, and a module that is loaded before the tool makes them fail.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { nativeTool } from "../helpers/built.mjs";
import { ID, writeFeed } from "../helpers/feed-toml.mjs";
import { folder } from "../helpers/installed.mjs";

const tool = join(folder, "node_modules/bloom-wasm/dist/tool.js");
const here = mkdtempSync(join(tmpdir(), "bloom-wasm-faults-"));
after(() => rmSync(here, { recursive: true }));
const at = (...names) => join(here, ...names);

/** Runs the tool after a module that changes the system's answers. */
function run(args, source = "", env = {}) {
  const module = at("before.mjs");
  writeFileSync(module, source);
  const { status, stdout, stderr } = spawnSync(process.execPath, [`--import=${pathToFileURL(module)}`, tool, ...args], {
    cwd: here,
    encoding: "utf8",
    env: { ...process.env, ...env },
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

/** Runs the native tool, which is faster. */
const done = (...args) => execFileSync(nativeTool(), args, { cwd: here, stdio: "pipe" });

/** The names in a folder, with their contents. */
const files = (name) =>
  Object.fromEntries(readdirSync(at(name)).map((file) => [file, readFileSync(at(name, file), "base64")]));

/** What a manifest says. */
const payloadOf = (manifest) => JSON.parse(Buffer.from(JSON.parse(manifest).payload, "base64url"));
const payload = (name = "public") => payloadOf(readFileSync(at(name, "feed.json"), "utf8"));

const faulty = readFileSync(new URL("../helpers/faulty.mjs", import.meta.url), "utf8");

const publish = ["feed", "publish"];
const feed = { profile: "raw", sign: ["key"], lists: { list: "list" } };
const list = (to) => writeFileSync(at("list"), Array.from({ length: to }, (_, i) => `key-${i}\n`).join(""));

test("a publication in which any call fails leaves the old feed or the next", () => {
  done("feed", "keygen", "-o", "key");
  writeFeed(here, feed);
  list(3000);
  done(...publish);
  list(3010);
  done(...publish);
  for (const name of ["public", "state"]) cpSync(at(name), at("kept", name), { recursive: true });
  const kept = files("public");
  // By the manifest of the state, or as one that the next run deletes.
  const isNamed = (name) => name === "feed.json" || readFileSync(at("state/state.json"), "utf8").includes(name);
  const first = payload().generation;
  const failed = new Set();
  // Merges the delta, whose digests are then removed.
  list(3030);
  for (const full of ["", "1"]) {
    let faults = 0;
    for (let fault = 1; ; fault++) {
      for (const name of ["public", "state"]) {
        rmSync(at(name), { recursive: true });
        cpSync(at("kept", name), at(name), { recursive: true });
      }
      rmSync(at("log"), { force: true });
      const { status, stderr } = run(publish, faulty, { FAULT: `${fault}`, FULL: full, LOG: at("log") });
      if (!existsSync(at("log"))) {
        assert.equal(status, 0, stderr);
        break;
      }
      faults += 1;
      const call = readFileSync(at("log"), "utf8").split("\n")[0];
      failed.add(call);
      const what = `${call}, call ${fault}${full && " and all after it"}: ${stderr}`;
      const { generation } = payload();
      // A run may fail after its manifest is there, or succeed without the call that failed. Either is reported, except
      // for the lock, which the next run reports.
      assert.ok(status === 2 || generation > first, what);
      if (stderr === "") assert.ok(call === "unlinkSync" && existsSync(at("state/feed.lock")), what);
      if (generation === first) {
        // If not even the state can be restored, the next run continues from it.
        const now = files("public");
        for (const name of Object.keys(kept)) assert.equal(now[name], kept[name], what);
        const added = Object.keys(now).filter((name) => !(name in kept));
        assert.ok(added.every(isNamed), `${what}${added}`);
        // Those of a manifest that is signed but not in place stay for the next run.
        const { files: signed } = payloadOf(JSON.parse(readFileSync(at("state/state.json"), "utf8")).manifest);
        const others = added.filter((name) => signed.every(({ sha256 }) => sha256 !== name));
        if (!full && call !== "unlinkSync") assert.deepEqual(others, [], what);
      }
      done("feed", "verify", "public");
      // Otherwise it would stay for a minute.
      rmSync(at("state/feed.lock"), { force: true });
      writeFeed(here, { ...feed, grace: "0s" });
      done(...publish);
      writeFeed(here, feed);
      const next = payload();
      assert.ok(next.generation > first && next.count === 3030, what);
      const names = ["feed.json", ...next.files.map(({ sha256 }) => sha256)];
      assert.deepEqual(Object.keys(files("public")).sort(), names.sort(), what);
      const state = readFileSync(at("state/state.json"), "utf8");
      const unknown = readdirSync(at("state")).filter((name) => name !== "state.json" && !state.includes(name));
      assert.deepEqual(unknown, [], what);
    }
    assert.ok(faults > 5, `only ${faults} calls`);
  }
  assert.deepEqual([...failed].sort(), ["fsyncSync", "openSync", "renameSync", "unlinkSync", "writevSync"]);
});

test("after a first publication in which any call fails, the next run makes the same feed", () => {
  list(300);
  writeFileSync(at("good"), "key-7\n");
  const described = {
    tags: true,
    "allow-wins": true,
    "expires-in": "1d",
    lists: { x: "list" },
    allow: { good: "good" },
  };
  writeFeed(here, { profile: "raw", sign: [], public: "first", state: "first-state", ...described }, "first.toml");
  const begin = ["feed", "publish", "first.toml"];
  let faults = 0;
  for (let fault = 1; ; fault++) {
    for (const name of ["first", "first-state", "log"]) rmSync(at(name), { recursive: true, force: true });
    const { status, stderr } = run(begin, faulty, { FAULT: `${fault}`, LOG: at("log") });
    if (!existsSync(at("log"))) {
      assert.equal(status, 0, stderr);
      break;
    }
    faults++;
    rmSync(at("first-state/feed.lock"), { force: true });
    done(...begin);
    const { feedId, count, createdAt, expires } = payload("first");
    assert.deepEqual([feedId, count, expires - createdAt], [ID, 299, 86_400_000], `call ${fault}: ${stderr}`);
    assert.match(`${done("check", "first", "key-8")}`, /^key-8\tx\n$/);
  }
  assert.ok(faults > 5, `only ${faults}`);
});

test("a clock before 1970 is reported, and nothing is signed", () => {
  const clock = "Date.now = () => -1;";
  const before = files("public");
  list(3100);
  writeFeed(here, { ...feed, shards: 2, public: "shards", state: "shards-state" }, "shards.toml");
  writeFeed(here, { ...feed, state: "other" }, "other.toml");
  for (const args of [
    publish,
    // The number of a generation is the clock's.
    [...publish, "--created-at", "2099-01-01T00:00:00Z"],
    ["feed", "verify", "public"],
    ["feed", "publish", "shards.toml"],
    ["feed", "publish", "other.toml"],
  ]) {
    const { status, stdout, stderr } = run(args, clock);
    const said = "bloom-wasm: the clock of this system is wrong: the time is before 1970\n";
    assert.deepEqual([status, stdout, stderr], [2, "", said], args.join(" "));
  }
  assert.deepEqual(files("public"), before);
  assert.ok(!existsSync(at("state/feed.lock")) && !existsSync(at("shards/shards.json")));
  // Commands that need no clock work.
  assert.equal(run(["check", "--help"], clock).status, 0);
});

test("a current folder that can't be entered is an error", () => {
  mkdirSync(at("deep"), { recursive: true });
  const denied = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const real = fs.statSync;
    fs.statSync = (path, ...rest) => {
      if (\`\${path}\` === ".") throw Object.assign(new Error("denied"), { code: "EACCES" });
      return real(path, ...rest);
    };
    syncBuiltinESMExports();
  `;
  const { status, stdout, stderr } = run(["build", "list", "-o", "out"], denied);
  assert.deepEqual([status, stdout], [2, ""]);
  assert.match(stderr, /^bloom-wasm: .*bloom-wasm-faults-.*: .*[Pp]ermission.*\n$/);
  assert.ok(!existsSync(at("out")));
});
