/**
 * `npx bloom-wasm` against the native tool: on the same arguments both print the same, exit with the same code and
 * leave the same files. Here are scripts that differ in what they ask of the system. The tool's own tests run with it,
 * too: BLOOM_WASM_TOOL of CONTRIBUTING.md.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash, createPrivateKey } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { nativeTool } from "../helpers/built.mjs";
import { writeFeed } from "../helpers/feed-toml.mjs";
import { folder } from "../helpers/installed.mjs";
import { commands } from "../runtimes/commands.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const blob = join(root, "tests/golden/bloom.bloom");
const native = nativeTool();
const npx = join(folder, "node_modules/.bin/bloom-wasm");
const windows = process.platform === "win32" && "the scripts below are for a POSIX shell";

/** A folder for the tests, and a PATH with Node but without Rust. */
const here = fs.mkdtempSync(join(tmpdir(), "bloom-wasm-npx-"));
after(() => fs.rmSync(here, { recursive: true }));
const programs = join(here, "bin");
fs.mkdirSync(programs);
for (const name of "sh node env cat head printf ln mkdir mkfifo chmod echo rm sed true".split(" ")) {
  const path =
    name === "node" ? process.execPath : execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" });
  fs.symlinkSync(path.trim().startsWith("/") ? path.trim() : `/bin/${name}`, join(programs, name));
}
const env = { ...process.env, PATH: programs };

const urls = [
  "http://evil.example/a?b",
  "||bad.example^",
  "0.0.0.0 worse.example worst.example # comment",
  "# comment",
  "",
  "evil[.]com",
  "10.0.0.0/8",
  "co.uk",
  "http://b\u00fccher.example/\u001b[2J\u202e",
  "http://evil.example/a?b\r",
  "ftp://evil2.example",
];
const latin1 = Buffer.from("http://m\xfcnchen.example/\xfc\nevil.example/\xff%ff\n", "latin1");

/** Makes a fresh folder, with the same files for both tools. */
function fresh(name = "work") {
  const work = join(here, name);
  fs.rmSync(work, { recursive: true, force: true });
  fs.mkdirSync(join(work, "folder/deep"), { recursive: true });
  const write = (name, text) => fs.writeFileSync(join(work, name), text);
  write("list", "\ufeffa\nb\r\n# comment\n\nb\nc");
  write("many", Array.from({ length: 30_000 }, (_, i) => `key-${i}`).join("\n"));
  write("urls", Buffer.concat([Buffer.from(`${urls.join("\n")}\n`), latin1]));
  write("urls.gz", gzipSync(fs.readFileSync(join(work, "urls"))));
  write("allow", "popular.example\nhttp://evil.example/a?b\nbad.example\n");
  write("passwords", "Passwo\u0308rd\n#1\nshort\n a \n\xff\n");
  write("damaged.gz", gzipSync("a\nb\n").subarray(0, 12));
  write("old", "old");
  for (const name of fs.readdirSync(join(root, "tests/golden")).filter((name) => /\.(bloom|delta)$/.test(name)))
    fs.copyFileSync(join(root, "tests/golden", name), join(work, name));
  fs.cpSync(join(root, "tests/golden/feed"), join(work, "feed"), { recursive: true });
  // A state of that feed: one without its state would continue from the clock.
  const manifest = fs.readFileSync(join(work, "feed/feed.json"), "utf8");
  write("state.json", stateOf(manifest));
  const { feedId: id, name: title, profile, fpr, seed } = payloadOf(manifest);
  const lists = { lists: { list: "list" }, allow: { good: "allow" } };
  writeFeed(work, { id, name: title, profile, fpr, seed: BigInt(seed), public: "feed", sign: ["key"], ...lists });
  const sharded = { profile: "raw", public: "sharded", sign: [] };
  writeFeed(work, { ...sharded, shards: 4, lists: { many: "many" }, allow: { good: "allow" } }, "sharded.toml");
  writeFeed(work, { ...sharded, shards: 1, parts: "parts" }, "parts.toml");
  // The key of RFC 8037, appendix A.1.
  const der = "302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
  const key = createPrivateKey({ key: Buffer.from(der, "hex"), format: "der", type: "pkcs8" });
  write("key", key.export({ format: "pem", type: "pkcs8" }));
  fs.symlinkSync("nowhere", join(work, "dangling"));
  fs.symlinkSync(join(work, "list"), join(work, "folder/absolute"));
  fs.symlinkSync("../../list", join(work, "folder/deep/relative"));
  fs.symlinkSync("loop", join(work, "loop"));
  fs.symlinkSync("folder/deep", join(work, "deep"));
  return work;
}

/** What a manifest says. */
const payloadOf = (manifest) => JSON.parse(Buffer.from(JSON.parse(manifest).payload, "base64url"));

/** A number of a generation above the clock's, so that those that follow don't depend on the time. */
const FAR = 2 ** 39;

/** The state of a feed, from its manifest alone. */
function stateOf(manifest) {
  const history = [createHash("sha256").update(JSON.parse(manifest).payload).digest("hex")];
  const members = { name: "members-0.digests", checksum: "0" };
  return JSON.stringify({
    ...{ version: 5, signed: FAR, manifest, history, lists: {}, allow: {}, conflicts: 0 },
    ...{ whole: { members, files: [], tagged: false }, unlisted: [] },
  });
}

/** The contents of a folder: for each entry its mode, and its bytes or link target. */
function files(folder) {
  return fs.readdirSync(folder, { withFileTypes: true, encoding: "buffer" }).map((entry) => {
    const path = Buffer.concat([Buffer.from(`${folder}/`), entry.name]);
    const { mode } = fs.lstatSync(path);
    const what = entry.isDirectory()
      ? files(path.toString())
      : entry.isSymbolicLink()
        ? fs.readlinkSync(path)
        : entry.isFile() && fs.readFileSync(path).toString("base64");
    return [entry.name.toString("latin1"), mode.toString(8), what];
  });
}

/** Runs a shell script in a fresh folder, with `tool` as the tool. */
function run(script, command, input) {
  const work = fresh();
  const { status, signal, stdout, stderr } = spawnSync("/bin/sh", ["-c", `tool() { ${command} "$@"; }; ${script}`], {
    cwd: work,
    env,
    input: input ?? "",
    encoding: "latin1",
    timeout: 60_000,
  });
  return { status, signal, stdout, stderr, files: files(work) };
}

const scripts = [
  // Help and mistakes.
  "tool",
  "tool help",
  "tool --version",
  "tool help build",
  "tool bild",
  'tool check bloom.bloom "$(printf "\\377")"',
  // Where the current folder was deleted.
  'mkdir gone; cd gone; rm -r "$OLDPWD/gone"; tool --version; tool info x; tool check x key',
  'mkdir gone; cd gone; rm -r "$OLDPWD/gone"; tool build "$OLDPWD/list" -o "$OLDPWD/out"; tool info "$OLDPWD/out"',
  // What it reads: relative and absolute paths, links, gzip, standard input.
  "tool build list -o out",
  "tool build ./list folder/../list -o folder/out --json",
  'tool build "$PWD/list" -o "$PWD/out"',
  'cd folder/deep && tool build ../../list relative ../absolute -o ../../out --kind bloom --name "größer"',
  "cd deep && tool build ../absolute -o ../out",
  "cd / && tool build tmp/../proc/self/environ -o /dev/null >/dev/null",
  "cat list | tool build -o out --seed 18446744073709551615 --created-at 2026-11-21T09:00:00.25Z",
  "cat urls.gz | tool build - many -o out --profile url",
  "tool build /dev/stdin -o out < list",
  "tool build urls -o out --profile url --allow allow --allow-wins --allow-suffixes --json",
  "tool build passwords -o out --profile password --lowercase --min-length 2",
  // Odd names.
  `n="$(printf 'new\\nline \\033[2J')"; cat list > "$n"; tool build "$n" nowhere -o out; tool build "$n" -o "out $n"`,
  `n="$(printf '\\377\\376')"; cat urls > "$n"; tool build "$n" --profile url -o "$n.bloom"; tool info "$n.bloom"`,
  `n="$(printf '\\377\\376')"; tool info "$n"; tool build list -o "$n/$n"`,
  "cat list > ' a b '; cat list > -dash; tool build ' a b ' ./-dash -- -dash -o=; tool build -o ./-o -- -dash",
  "cat list > 'a\\b'; tool build 'a\\b' -o 'folder\\out'; tool build 'C:\\x' -o out; tool build list -o 'C:\\out'",
  "cat list > ':'; tool build : -o größer; tool info größer",
  // What can't be read.
  "tool build nowhere -o old",
  "tool build folder -o old",
  "tool build dangling list/x -o old",
  "tool build damaged.gz -o old",
  "tool build list -o nowhere/out",
  "tool build list -o folder",
  "tool build list -o folder/",
  "tool build list -o loop/x 2>/dev/null",
  "tool build list -o list/out",
  // Where it writes.
  "tool build list -o old; tool build list -o dangling; tool build list -o folder/absolute",
  "chmod 640 old; tool build list -o old",
  "chmod 444 old; tool build list -o old",
  "umask 077; tool build list -o out; chmod 604 old; tool build list -o old",
  "umask 000; tool build list -o out",
  "tool build list -o -",
  "tool build list -o /dev/stdout > out; echo . >> out",
  "exec 3>>out; echo a >&3; tool build list -o /dev/fd/3",
  "ln -s /dev/fd fds; exec 3>>out; echo a >&3; tool build list -o fds/3",
  "mkdir proc; ln -s /proc link; cd folder; cat ../list > ../proc/x; tool build ../list -o ../proc/x",
  "tool build list -o /dev/full",
  "tool build -o old; tool build -o old --allow-empty",
  "tool build list -o ./list",
  "tool build -o list < list; ln list hard; tool build hard -o list; tool build list -o /dev/stdin <> old",
  "tool build list -o old > /dev/full",
  "tool build list -o old >&-; echo $?",
  "tool info url.bloom 2>&- >&-",
  "mkfifo pipe; cat pipe > out & tool build list -o pipe; wait",
  // Asking.
  "cat url.bloom | tool info -",
  "tool check bloom.bloom key-1 nokey",
  "tool check url.bloom < urls",
  "tool check ribbon.bloom < many; echo $?",
  "cat many many many many | tool check ribbon.bloom | head -n 1",
  "tool completions bash; tool completions csh",
  "cat bloom.bloom | tool check - key-1",
  "tool check ribbon.bloom < many > /dev/full",
  "tool build many -o out >/dev/null; tool verify out --members many --members urls --probes 10 --json",
  "cat list | tool verify ribbon.bloom --members -",
  "tool merge bloom.bloom bloom.bloom -o out; tool merge bloom.bloom bloom.bloom -o - --json",
  // Other software's.
  "tool export foreign-guava.bloom --format guava -o out; tool import out --format guava -o back --json; tool info back",
  // Feeds. WASI's folders have no modes.
  "tool feed verify feed --public-key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo; tool feed verify feed --json",
  "tool feed pubkey key; tool feed pubkey list",
  "tool feed keygen -o key; tool feed keygen -o new > out; head -c 27 new; printf '' > new; printf '' > out",
  // The id and the key are random.
  `rm feed.toml; tool feed init list urls --profile raw > out; sed '1!s/^id.*/id/' feed.toml; cat .gitignore
  tool feed init list; rm feed.toml; printf '' > feed.key; printf '' > out`,
  "tool feed publish --created-at 2026-12-01T00:00:00Z; chmod 755 state",
  "tool feed publish --dry-run; tool feed publish --quiet --json",
  `mkdir state; cat state.json > state/state.json
  tool feed publish --created-at 2026-12-01T00:00:00Z
  tool feed publish --created-at 2026-12-01T00:00:00Z --max-removed 100%
  tool feed publish --created-at 2026-12-01T01:00:00Z
  sed 's/0.01/0.5/' feed.toml > other.toml; tool feed publish other.toml
  printf 'a\nnew\n' > list; tool feed publish --created-at 2026-12-02T00:00:00Z --dry-run
  tool feed publish --created-at 2026-12-02T00:00:00Z; tool feed publish --created-at 2026-12-02T00:00:00Z --quiet
  cat many > list; tool feed publish --created-at 2026-12-03T00:00:00Z --json
  printf 'a\n' > list; tool feed publish --created-at 2026-12-09T00:00:00Z; echo $?
  tool feed verify feed; cat feed/feed.json state/state.json; chmod 755 state`,
  // Only the manifest and the state contain the time.
  `tool feed publish sharded.toml > out
  tool check sharded < many | sed -n 1,3p; tool verify sharded --members many --probes 1000
  printf 'a\n' > many; tool feed publish sharded.toml 2> out; echo $?; tool feed forget sharded --grace 1h > out
  tool feed forget sharded --grace 0s | sed 1!d; rm sharded/shards.json; tool info sharded; tool feed forget sharded
  rm -r state; printf '' > out`,
  `mkdir parts; printf 12345678 | tool feed build-shard --shards 1 --index 0 -o parts
  tool feed publish parts.toml > out; tool check sharded a; tool feed publish parts.toml 2> out; echo $?
  rm -r state sharded/shards.json; printf '' > out`,
];

describe("as the native tool", { skip: windows }, () => {
  for (const script of scripts) {
    test(script, () => {
      const expected = run(script, native);
      assert.equal(expected.signal, null);
      assert.deepEqual(run(script, npx), expected);
    });
  }
});

/** Starts a tool; `ended` resolves with how it has ended. */
function started(command, work, args, stdout) {
  const child = spawn(command, args, { cwd: work, env, stdio: ["ignore", stdout ?? "ignore", "pipe"] });
  child.ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
  return child;
}

/** Opens a named pipe for writing, once a child has opened it for reading. Throws if the child ends before. */
function writerTo(pipe, child) {
  const ended = child.ended.then(({ code, signal }) => {
    // A reader, which ends the wait for one.
    fs.closeSync(fs.openSync(pipe, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK));
    throw new Error(`it ended with ${code ?? signal}, and read nothing`);
  });
  return Promise.race([fs.promises.open(pipe, "w"), ended]);
}

const temporary = (work) => fs.readdirSync(work).filter((name) => name.startsWith(".bloom-wasm-"));

describe("killed, the old file stays", { skip: windows }, () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"]) {
    test(`${signal} while it reads`, async () => {
      const work = fresh("killed");
      execFileSync("mkfifo", [join(work, "in")]);
      const child = started(npx, work, ["build", "in", "-o", "old"]);
      const writer = await writerTo(join(work, "in"), child);
      await writer.write("key\n".repeat(200_000));
      child.kill(signal);
      assert.deepEqual(await child.ended, { code: null, signal });
      await writer.close();
      assert.equal(fs.readFileSync(join(work, "old"), "utf8"), "old");
      assert.deepEqual(temporary(work), []);
    });

    test(`${signal} when everything but the report is written`, async () => {
      const work = fresh("killed");
      const pipe = join(work, "out");
      execFileSync("mkfifo", [pipe]);
      const both = fs.openSync(pipe, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
      assert.throws(
        () => {
          for (;;) fs.writeSync(both, Buffer.alloc(1 << 12));
        },
        { code: "EAGAIN" },
      );
      const full = fs.openSync(pipe, fs.constants.O_WRONLY);
      const child = started(npx, work, ["build", "many", "-o", "old"], full);
      while (temporary(work).length === 0 && child.exitCode === null) await new Promise(setImmediate);
      child.kill(signal);
      assert.deepEqual(await child.ended, { code: null, signal });
      fs.closeSync(both);
      fs.closeSync(full);
      assert.equal(fs.readFileSync(join(work, "old"), "utf8"), "old");
      if (signal !== "SIGKILL") assert.deepEqual(temporary(work), []);
    });
  }
});

describe("one lock for both tools", { skip: windows, concurrency: true }, () => {
  const tools = { native, npx };
  const publish = (list) => ["feed", "publish", `${list}.toml`, "--json"];

  /** A folder with a feed of 200 keys, whose first generation the native tool has made. */
  function begun(name) {
    const work = fresh(name);
    const tool = (...args) => execFileSync(native, args, { cwd: work, env });
    fs.rmSync(join(work, "feed"), { recursive: true });
    write(work, "list", 0);
    // The same list, from one file or another.
    for (const file of ["list", "pipe", ...Array.from({ length: 5 }, (_, i) => `list-${i}`)])
      writeFeed(work, { profile: "raw", public: "feed", sign: ["key"], lists: { list: file } }, `${file}.toml`);
    tool(...publish("list"));
    const json = join(work, "state/state.json");
    fs.writeFileSync(json, fs.readFileSync(json, "utf8").replace(/"signed": \d+/, `"signed": ${FAR}`));
    return { work, lock: join(work, "state/feed.lock"), state: () => files(join(work, "state")) };
  }

  const write = (work, name, more) =>
    fs.writeFileSync(join(work, name), Array.from({ length: 200 + more }, (_, i) => `key-${i}\n`).join(""));
  const generation = (work) => payloadOf(fs.readFileSync(join(work, "feed/feed.json"), "utf8")).generation;
  const age = (lock, seconds) => fs.utimesSync(lock, new Date(), new Date(Date.now() - seconds * 1000));

  function once(command, work, list) {
    return spawnSync(command, publish(list), { cwd: work, env, encoding: "utf8" });
  }

  /** A run that has the lock and waits for its list, which `writer` sends. */
  async function waiting(command, work) {
    const pipe = join(work, "pipe");
    fs.rmSync(pipe, { force: true });
    execFileSync("mkfifo", [pipe]);
    const child = started(command, work, publish("pipe"));
    let said = "";
    child.stderr.on("data", (data) => {
      said += data;
    });
    const writer = await writerTo(pipe, child);
    return { child, writer, said: () => said };
  }

  for (const [first, second] of [
    ["native", "npx"],
    ["npx", "native"],
    ["npx", "npx"],
  ]) {
    test(`${first} has it, and ${second} comes`, async () => {
      const { work, lock, state } = begun(`lock-${first}-${second}`);
      const { child, writer, said } = await waiting(tools[first], work);
      const before = state();
      const refused = once(tools[second], work, "list");
      assert.equal(refused.status, 2);
      assert.match(refused.stderr, /^bloom-wasm: .*: another run is writing here.*\n$/);
      assert.deepEqual(state(), before);

      // The first is stopped for so long that the second takes its place.
      child.kill("SIGSTOP");
      age(lock, 61);
      write(work, "list", 1);
      assert.equal(once(tools[second], work, "list").status, 0);
      child.kill("SIGCONT");
      assert.ok(!fs.existsSync(lock));
      const after = [state(), files(join(work, "feed"))];
      await writer.writeFile(fs.readFileSync(join(work, "many")));
      await writer.close();
      assert.deepEqual(await child.ended, { code: 2, signal: null });
      assert.match(said(), /another took its place\n$/);
      assert.deepEqual([state(), files(join(work, "feed"))], after);
      assert.equal(generation(work), FAR + 1);
    });
  }

  test("npx shows that it is still running", { timeout: 180_000 }, async () => {
    const { work, lock } = begun("lock-beat");
    const { child, writer } = await waiting(npx, work);
    age(lock, 50);
    // Every five seconds.
    while (Date.now() - fs.statSync(lock).mtimeMs > 40_000) await new Promise((later) => setTimeout(later, 50));
    await writer.writeFile(fs.readFileSync(join(work, "list")));
    await writer.close();
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.ok(!fs.existsSync(lock));
  });

  for (const signal of ["SIGTERM", "SIGKILL"]) {
    test(`npx, ${signal}`, async () => {
      const { work, lock } = begun(`lock-${signal}`);
      const { child, writer } = await waiting(npx, work);
      child.kill(signal);
      assert.deepEqual(await child.ended, { code: null, signal });
      await writer.close();
      assert.equal(fs.existsSync(lock), signal === "SIGKILL");
      if (signal !== "SIGKILL") return;
      for (const other of [native, npx]) {
        age(lock, 0);
        assert.match(once(other, work, "list").stderr, /if it was killed, the next one can begin in \d+ seconds\n$/);
      }
      age(lock, 61);
      assert.equal(once(native, work, "list").status, 0);
      assert.ok(!fs.existsSync(lock));
    });
  }

  test("of simultaneous runs, each that succeeds has signed its own generation", async () => {
    const { work, lock } = begun("lock-at-once");
    let expected = FAR;
    for (let round = 0; round < 8; round++) {
      // Without a lock, and every other time with the lock of a killed run.
      if (round % 2) {
        fs.writeFileSync(lock, "0123456789abcdef0123456789abcdef");
        age(lock, 61);
      }
      const runs = [npx, npx, native, npx, native].map((command, i) => {
        write(work, `list-${i}`, 10 * round + i + 1);
        return started(command, work, publish(`list-${i}`)).ended;
      });
      const codes = (await Promise.all(runs)).map(({ code }) => code);
      assert.ok(
        codes.every((code) => code === 0 || code === 2),
        codes.join(),
      );
      const done = codes.filter((code) => code === 0).length;
      assert.ok(done > 0);
      expected += done;
      assert.equal(generation(work), expected, codes.join());
      assert.ok(!fs.existsSync(lock));
    }
  });
});

test("a signal ends it, even as the first process of a container", { skip: windows, timeout: 180_000 }, async (t) => {
  const contained = ["unshare", "--pid", "--fork", "--kill-child"];
  if (spawnSync(contained[0], [...contained.slice(1), "true"]).status !== 0)
    return t.skip("only Linux's root can make a namespace of processes");
  const killed = async (work, signal) => {
    execFileSync("mkfifo", [join(work, "in")]);
    const [command, ...args] = [...contained, npx, "build", "in", "-o", "old"];
    const child = spawn(command, args, { cwd: work, stdio: "ignore" });
    t.after(() => child.kill("SIGKILL"));
    child.ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
    const writer = await writerTo(join(work, "in"), child);
    await writer.write("key\n");
    process.kill(Number(fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")), signal);
    // The list ends, so the tool would continue.
    await writer.close();
    return (await child.ended).code;
  };
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    let [work, status] = [undefined, 0];
    // On a busy machine the tool may have ended before it sees the signal.
    for (let i = 0; i < 10 && status === 0; i++) status = await killed((work = fresh("killed")), signal);
    assert.equal(status, code);
    assert.equal(fs.readFileSync(join(work, "old"), "utf8"), "old");
    assert.deepEqual(temporary(work), []);
  }
});

test("a full disk leaves the old file", { skip: windows }, (t) => {
  const disk = join(here, "disk");
  fs.mkdirSync(disk);
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", disk]).status !== 0)
    return t.skip("only root can make a disk");
  try {
    const script = `printf old > ${disk}/out; chmod 600 ${disk}/out; tool build many --kind counting -o ${disk}/out`;
    const [expected, got] = [native, npx].map((command) => ({ ...run(script, command), disk: files(disk) }));
    assert.deepEqual(got, expected);
    assert.equal(got.status, 2);
    assert.match(got.stderr, /^bloom-wasm: .*: No space left on device\n$/);
    assert.deepEqual(got.disk, [["out", "100600", Buffer.from("old").toString("base64")]]);
  } finally {
    execFileSync("umount", [disk]);
  }
});

test("a list that is too long for its memory is an error, however far it gets", { skip: windows }, () => {
  const work = fresh("memory");
  const list = (from, to) => Array.from({ length: to - from }, (_, i) => `${from + i}\n`).join("");
  fs.writeFileSync(join(work, "list"), list(0, 1_000_000));
  fs.writeFileSync(join(work, "old"), list(1000, 1_000_000));
  const tool = (...args) => execFileSync(native, args, { cwd: work, env });
  tool("build", "old", "-o", "old.bloom");
  const feed = { profile: "raw", sign: [], lists: { list: "list" } };
  writeFeed(work, feed);
  writeFeed(work, { ...feed, shards: 4, public: "out", state: "out-state" }, "sharded.toml");
  const commands = [
    "build list -o out",
    "build list -o out --allow old",
    "build list -o out --kind guava",
    "feed publish sharded.toml",
    "verify old.bloom --members list --absent old",
    "feed publish",
  ];
  for (const command of commands) {
    let refused = 0;
    // In pages of 64 KiB. The smallest is little more than the tool itself takes.
    for (const pages of [120, 250, 400, 500, 600]) {
      const options = [`--wasm-max-mem-pages=${pages}`, join(folder, "node_modules/bloom-wasm/dist/tool.js")];
      const { status, stderr } = spawnSync(process.execPath, [...options, ...command.split(" ")], {
        cwd: work,
        encoding: "utf8",
      });
      if (status === 2) {
        assert.match(stderr, /^bloom-wasm: .*there is no room for \d+ bytes.*\n$/, `${command}: ${pages}`);
        refused++;
        // The filter that is verified isn't that of the list.
      } else assert.equal(status, command.startsWith("verify") ? 1 : 0, `${command}: ${pages}: ${stderr}`);
      for (const made of ["out", "out-state"]) fs.rmSync(join(work, made), { recursive: true, force: true });
    }
    assert.ok(refused > 1, command);
  }
  assert.ok(!fs.existsSync(join(work, "state/feed.lock")));
});

test("npx finds it where there is no Rust", { skip: windows }, () => {
  const npx = join(dirname(fs.realpathSync(process.execPath)), "npx");
  const ran = (command, ...args) => spawnSync(command, args, { cwd: folder, env, encoding: "utf8" });
  assert.notEqual(ran("sh", "-c", "command -v cargo || command -v rustup").status, 0);
  const { status, stdout, stderr } = ran(npx, "--no", "bloom-wasm", "info", blob, "--json");
  assert.equal(status, 0, stderr);
  assert.equal(stdout, ran(native, "info", blob, "--json").stdout);
});

describe("in other runtimes", { skip: windows }, () => {
  for (const { name, command, missing } of commands) {
    test(name, { skip: missing }, () => {
      const allowed = name === "Deno" ? [command[0], "run", "--allow-all", "--no-lock"] : command;
      const script = "tool build urls many -o old --profile url; cat urls | tool check old; tool info nowhere";
      const other = [...allowed, join(folder, "node_modules/bloom-wasm/dist/tool.js")].map((arg) => `'${arg}'`);
      assert.deepEqual(run(script, other.join(" ")), run(script, native));
    });
  }
});

test("a terminal gets a progress bar and lines of its width", { skip: windows }, (t) => {
  const size = "stty rows 20 cols 50";
  const shown = [native, npx].map((command) => {
    const work = fresh();
    const tool = `tool() { ${command} "$@"; }`;
    const script = `${size}; ${tool}; tool build many -o out; tool help merge; tool check layered.bloom < urls`;
    const { status, stdout, error } = spawnSync("script", ["-qec", script, "/dev/null"], {
      cwd: work,
      encoding: "utf8",
    });
    return error ? undefined : { status, stdout };
  });
  if (shown.includes(undefined)) return t.skip("there is no program named script to make a terminal");
  const bar = /\u2588.* (\d+\.\d+ KiB)\/\1/;
  for (const { stdout } of shown) assert.match(stdout, bar);
  // How often a bar is drawn depends on speed.
  const rest = shown.map(({ status, stdout }) => ({ status, rest: stdout.slice(stdout.indexOf("read ")) }));
  assert.deepEqual(rest[1], rest[0]);
});

test("a terminal without a width doesn't count as narrow", { skip: windows }, (t) => {
  const ran = spawnSync("script", ["-qec", `stty cols 0; ${npx} help merge`, "/dev/null"], { encoding: "utf8" });
  if (ran.error) return t.skip("there is no program named script to make a terminal");
  assert.match(ran.stdout, /Combine blobs into one that holds the keys of all/);
});

test("a title of the process loses no arguments", { skip: windows }, () => {
  for (const title of ["x", "a longer one ".repeat(20)]) {
    const options = `--title=${title.replaceAll(" ", "_")}`;
    const args = ["info", blob, "--json"];
    const [expected, got] = [native, npx].map((command) =>
      spawnSync(command, args, { env: { ...env, NODE_OPTIONS: options }, encoding: "utf8" }),
    );
    assert.equal(got.stderr, "");
    assert.equal(got.stdout, expected.stdout);
  }
});
