/**
 * A feed of several lists for 60 days, by what happens to publishers: lists are renamed, dropped, added, tagged otherwise
 * and damaged, allowlists edited, keys rotated, states lost and restored from a week ago, runs killed, on full disks, and
 * two at once. After each run, clients have every member of the newest published lists with the right tags, and no list
 * that is older than the one before. `SEEDS=200 node --test pkg-tests/feeds/churn.long.test.mjs` takes more histories;
 * with FROM, others.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { random } from "../helpers/below.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { feedToml } from "../helpers/feed-toml.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";

const { openFeed } = await installed();
const { openSharded } = await installed("bloom-wasm/reader");
const SEEDS = given("SEEDS", 4);
const FROM = given("FROM", 1);
const DAYS = 60;
const DAY = 86_400_000;
/** When the first list is published. By the clients' clock, nothing has expired yet. */
const BEGUN = Date.UTC(2099, 0, 1);
const native = nativeTool();
const npx = join(folder, "node_modules/bloom-wasm/dist/tool.js");
const faulty = pathToFileURL(fileURLToPath(new URL("../helpers/faulty.mjs", import.meta.url))).href;
/** What happened, over all seeds. */
const seen = {};
const count = (what) => (seen[what] = (seen[what] ?? 0) + 1);

/** Runs a program. Returns its status, null if it was killed, and what it said. */
async function ran(cwd, command, args, env = {}) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  const status = await new Promise((resolve) => child.on("close", resolve));
  return { status, said };
}

/** A publisher and its clients. */
class History {
  day = 0;
  /** Each list's keys, tag and file, by its name. Its file keeps its name if the list is renamed. */
  lists = new Map();
  allow = new Map();
  dropped = new Set();
  formerKeys = [];
  /** What was published last, and what failed runs may have published since. */
  live = undefined;
  pending = [];
  version = 0;
  made = 0;
  generation = 0;
  manifest = "";
  files = "";
  mistake = undefined;
  /** Whether the state is the newest one. */
  isKnown = false;
  /** The days on which the state was copied. */
  copies = [];

  constructor(seed) {
    this.seed = seed;
    this.next = random(seed);
    this.home = mkdtempSync(join(tmpdir(), "bloom-wasm-churn-"));
    this.isSharded = seed % 3 === 0;
    this.isTagged = seed % 4 !== 1;
    this.hasLeast = seed % 2 === 0;
  }

  at(...names) {
    return join(this.home, ...names);
  }

  below(end) {
    return Math.floor(this.next() * end);
  }

  chance(share) {
    return this.next() < share;
  }

  one(of) {
    const all = [...of];
    return all[this.below(all.length)];
  }

  fresh = (count) => Array.from({ length: count }, () => `key-${this.made++}`);

  async begin() {
    this.keys = [];
    for (const name of ["a.key", "b.key", "c.key", "d.key"]) {
      const { said } = await ran(this.home, native, ["feed", "keygen", "-o", name]);
      this.keys.push({ name, publicKey: /[\w-]{43}/.exec(said)[0] });
    }
    this.signing = [0];
    for (let i = 0; i < 3; i++) this.addList();
    this.allow.set("mine", new Set(["never"]));
  }

  addList() {
    const name = `list-${this.made}`;
    const keys = new Set(this.fresh(100 + this.below(300)));
    // Some keys are on two lists.
    const other = this.one(this.lists.values());
    if (other) for (const key of [...other.keys].slice(0, 20)) keys.add(key);
    this.lists.set(name, { keys, tag: `tag-${this.made}`, file: `${name}.txt` });
  }

  churn() {
    for (const list of this.lists.values()) {
      const changed = this.below(list.keys.size / 25);
      for (let i = 0; i < changed; i++) list.keys.delete(this.one(list.keys));
      for (const key of this.fresh(changed)) list.keys.add(key);
    }
  }

  /** What may happen to the lists and keys of a feed. Returns whether a run must take it without being asked twice. */
  events = {
    added: () => {
      if (this.lists.size < 6) this.addList();
      return true;
    },
    renamed: () => {
      const [name, list] = this.one(this.lists);
      this.lists.delete(name);
      this.dropped.add(name);
      this.lists.set(`list-${this.made++}`, list);
      return true;
    },
    dropped: () => {
      if (this.lists.size < 3) return true;
      const [name] = this.one(this.lists);
      this.lists.delete(name);
      this.dropped.add(name);
      return false;
    },
    retagged: () => {
      this.one(this.lists.values()).tag = this.chance(0.3) ? this.one(this.lists.values()).tag : `tag-${this.made++}`;
      return false;
    },
    allowed: () => {
      const keys = this.one(this.allow.values());
      for (let i = 0; i < 5; i++) keys.add(this.one(this.one(this.lists.values()).keys));
      for (const key of [...keys].slice(0, Math.max(0, keys.size - 40))) keys.delete(key);
      return true;
    },
    "allowlist renamed": () => {
      const [name, keys] = this.one(this.allow);
      this.allow.delete(name);
      this.dropped.add(name);
      this.allow.set(`mine-${this.made++}`, keys);
      return true;
    },
    rotated: () => this.rotate(),
  };

  /** The next key signs with the old one at first, and then alone. */
  rotate() {
    if (this.signing.length === 2) {
      const [, old] = this.signing;
      this.signing.length = 1;
      this.formerKeys.push(this.keys[old].publicKey);
    } else if (this.signing[0] + 1 < this.keys.length) this.signing.unshift(this.signing[0] + 1);
    return true;
  }

  /** What somebody did wrong: it changes what is written. Some is only known by what was published before. */
  mistakes = {
    cut: (_, files, name) => {
      const lines = files.get(this.lists.get(name).file);
      lines.length = Math.floor(lines.length / 2);
    },
    forgotten: (feed, _, name) => delete feed.lists[name],
    misnamed: (feed, _, name) => {
      feed.lists.misnamed = feed.lists[name];
      delete feed.lists[name];
    },
    swapped: (feed, _, name, other) => {
      const file = feed.lists[name].file;
      feed.lists[name].file = feed.lists[other].file;
      feed.lists[other].file = file;
    },
    empty: (_, files, name) => (files.get(this.lists.get(name).file).length = 0),
    gone: (_, files, name) => files.delete(this.lists.get(name).file),
    "without a list": (feed) => (feed.lists = {}),
    "unknown key": (feed) => (feed.expire = "1d"),
    "no TOML": (feed) => (feed.broken = true),
  };

  /** Writes the lists and feed.toml. Returns what is published if a run succeeds. */
  write() {
    const version = ++this.version;
    const marker = `version-${version}`;
    const feed = {
      profile: "raw",
      fpr: 1e-6,
      sign: this.signing.map((i) => this.keys[i].name),
      "former-keys": this.formerKeys,
      ...(this.isSharded && { shards: 4 }),
      "allow-wins": true,
      dropped: [...this.dropped],
      lists: {},
      allow: {},
    };
    const files = new Map();
    const members = new Map();
    const absent = new Set([...this.allow.values()].flatMap((keys) => [...keys]));
    let first = true;
    for (const [name, { keys, tag, file }] of this.lists) {
      const lines = [...keys];
      // In one list, which isn't always the same.
      if (first) lines.unshift(marker);
      first = false;
      files.set(file, lines);
      feed.lists[name] = {
        file,
        ...(this.isTagged && { tag }),
        ...(this.hasLeast && { "min-keys": Math.floor(keys.size * 0.8) }),
      };
      for (const key of lines) {
        if (absent.has(key)) continue;
        if (!members.has(key)) members.set(key, new Set());
        if (this.isTagged) members.get(key).add(tag);
      }
    }
    for (const [name, keys] of this.allow) {
      files.set(`${name}.allow`, [...keys]);
      feed.allow[name] = `${name}.allow`;
    }
    if (this.mistake) this.mistake.make(feed, files);
    const { broken, ...right } = feed;
    for (const { file } of this.lists.values()) rmSync(this.at(file), { force: true });
    for (const [file, lines] of files) writeFileSync(this.at(file), lines.map((key) => `${key}\n`).join(""));
    writeFileSync(this.at("feed.toml"), feedToml(right) + (broken ? "= \n" : ""));
    return { version, marker, members, absent, signers: this.signing.map((i) => this.keys[i].publicKey) };
  }

  args(...more) {
    const time = new Date(BEGUN + this.day * DAY).toISOString();
    return ["feed", "publish", "--created-at", time, ...more];
  }

  /** Runs the tool, and checks what clients have then. Returns whether it succeeded. */
  async run(trouble, mustSucceed, ...more) {
    const attempt = this.write();
    let runs;
    if (trouble === "killed" || trouble === "full") {
      const env = { FAULT: `${1 + this.below(40)}`, LOG: this.at("log"), [trouble === "full" ? "FULL" : "KILL"]: "1" };
      runs = [await ran(this.home, process.execPath, [`--import=${faulty}`, npx, ...this.args(...more)], env)];
    } else {
      const times = trouble === "two at once" ? 2 : 1;
      runs = await Promise.all(Array.from({ length: times }, () => ran(this.home, native, this.args(...more))));
    }
    const isDone = runs.some(({ status }) => status === 0);
    const what = `seed ${this.seed}, day ${this.day}, ${trouble ?? ""} ${this.mistake?.name ?? ""}: ${runs
      .map(({ status, said }) => `${status}: ${said}`)
      .join("")}`;
    if (mustSucceed) assert.ok(isDone, what);
    if (this.mistake) assert.ok(!isDone, what);
    count(isDone ? "published" : "refused");
    if (/signed anew as/.test(runs[0].said)) count("signed anew");
    if (/list wasn't signed anew/.test(runs[0].said)) count("not signed anew");
    // Those of killed runs.
    for (const name of existsSync(this.at("state")) ? readdirSync(this.at("state")) : [])
      if (name.endsWith(".lock")) utimesSync(this.at("state", name), new Date(0), new Date(0));
    if (isDone) [this.live, this.pending, this.isKnown] = [attempt, [], true];
    else if (!this.mistake) this.pending.push(attempt);
    await this.check(what, isDone);
    return isDone;
  }

  get manifestName() {
    return this.isSharded ? "shards.json" : "feed.json";
  }

  open(publicKey) {
    const fetch = async (url) => new Response(readFileSync(this.at("public", basename(String(url)))));
    const open = this.isSharded ? openSharded : openFeed;
    return open(`https://feed.invalid/${this.manifestName}`, { publicKey, fetch, cache: null });
  }

  async check(what, isDone) {
    const path = this.at("public", this.manifestName);
    if (!existsSync(path)) return assert.ok(!this.live, what);
    const manifest = readFileSync(path, "utf8");
    const payload = JSON.parse(Buffer.from(JSON.parse(manifest).payload, "base64url"));
    const files = JSON.stringify(payload.files ?? payload.pages);
    if (manifest !== this.manifest) assert.ok(payload.generation > this.generation, what);
    [this.manifest, this.generation] = [manifest, payload.generation];

    const all = this.keys.map(({ publicKey }) => publicKey);
    const newcomer = await this.open(all);
    const possible = [...(this.live ? [this.live] : []), ...this.pending];
    const has = async (client, keys) => [...(await (this.isSharded ? client : client.filter).hasMany(keys))];
    const found = await has(
      newcomer,
      possible.map(({ marker }) => marker),
    );
    const at = found.lastIndexOf(1);
    assert.ok(at >= 0, `${what}: none of the lists that may be there is`);
    [this.live, this.pending] = [possible[at], possible.slice(at + 1)];
    if (files === this.files) count("same list");
    this.files = files;

    const { members, absent, signers } = this.live;
    if (this.follower && (isDone || this.chance(0.5))) await this.follower.update();
    this.follower ??= await this.open(all);
    const clients = this.follower.generation === this.generation ? [newcomer, this.follower] : [newcomer];
    for (const client of clients) {
      const keys = [...members.keys()];
      const answers = await has(client, keys);
      const lost = keys.filter((_, i) => answers[i] !== 1);
      assert.deepEqual(lost, [], `${what}: members are lost`);
      const without = [...absent];
      assert.ok(!(await has(client, without)).includes(1), `${what}: a key must be absent`);
      if (!this.isTagged) continue;
      const filter = this.isSharded ? client : client.filter;
      // With shards, each answer takes a while: some of them each time.
      const some = [...members].filter((_, i) => !this.isSharded || (i + this.day) % 5 === 0);
      for (const [key, tags] of some)
        assert.deepEqual([...(await filter.tags(key))].sort(), [...tags].sort(), `${what}: ${key}`);
    }
    newcomer.close();
    // Each key that signs is enough.
    if (isDone) for (const key of signers) (await this.open(key)).close();
  }

  /** What becomes of the state. */
  harm() {
    const old = this.copies.filter((day) => day <= this.day - 7).at(-1);
    if (old !== undefined && this.chance(0.6)) {
      count("state restored");
      rmSync(this.at("state"), { recursive: true });
      cpSync(this.at(`copy-${old}`), this.at("state"), { recursive: true });
    } else {
      count("state lost");
      rmSync(this.at("state"), { recursive: true });
    }
    this.isKnown = false;
  }

  keep() {
    this.copies.push(this.day);
    cpSync(this.at("state"), this.at(`copy-${this.day}`), { recursive: true });
    if (this.copies.length > 9) rmSync(this.at(`copy-${this.copies.shift()}`), { recursive: true });
  }

  /** Chooses a mistake that a run must refuse now. */
  choose() {
    const isSure = this.isKnown && this.pending.length === 0;
    const names = Object.keys(this.mistakes).slice(isSure ? 0 : 4);
    const name = this.one(names);
    const [first, second] = [...this.lists].filter(([, { keys }]) => keys.size >= 130).map(([name]) => name);
    if (second === undefined) return undefined;
    const make = (feed, files) => this.mistakes[name](feed, files, first, second);
    return { name, make, days: 1 + this.below(6) };
  }

  async live60() {
    await this.begin();
    await this.run(undefined, true);
    for (this.day = 1; this.day <= DAYS; this.day++) {
      this.churn();
      let isCalm = true;
      if (this.mistake && --this.mistake.days === 0) this.mistake = undefined;
      if (!this.mistake && this.chance(0.4)) {
        const event = this.one(Object.keys(this.events));
        count(event);
        isCalm = this.events[event]();
      } else if (!this.mistake && this.chance(0.15)) this.mistake = this.choose();
      if (this.mistake) count(`mistake: ${this.mistake.name}`);
      // Without the newest state, not every mistake is seen.
      if (!this.mistake && this.chance(0.08)) this.harm();
      const trouble = this.chance(0.25) ? this.one(["killed", "full", "two at once"]) : undefined;
      if (trouble) count(trouble);
      isCalm &&= this.isKnown && this.pending.length === 0;
      let isDone = await this.run(trouble, isCalm && !this.mistake && (!trouble || trouble === "two at once"));
      if (this.mistake) continue;
      // Somebody looks at it, or the next run does.
      if (!isDone && trouble && this.chance(0.6)) isDone = await this.run(undefined, isCalm);
      if (!isDone && this.chance(0.8)) isDone = await this.run(undefined, true, "--max-removed", "100%");
      if (isDone) this.keep();
    }
    this.mistake = undefined;
    await this.run(undefined, true, "--max-removed", "100%");
    this.follower.close();
    rmSync(this.home, { recursive: true });
  }
}

test(`60 days of churn, ${SEEDS} seeds`, { timeout: 4 * 3_600_000 }, async () => {
  const begun = Date.now();
  const seeds = Array.from({ length: SEEDS }, (_, i) => FROM + i);
  const some = async () => {
    while (seeds.length) await new History(seeds.shift()).live60();
  };
  await Promise.all(Array.from({ length: 3 }, some));
  console.log(`churn: ${SEEDS} seeds in ${Math.round((Date.now() - begun) / 1000)} s: ${JSON.stringify(seen)}`);
});
