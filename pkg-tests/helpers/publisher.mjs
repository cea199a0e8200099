/**
 * Publishers of feeds and sharded filters for tests, with Node's own Ed25519 and SHA-256, and a server that can be told
 * to misbehave. A feed's deltas add no keys: each only gives the filter another name, which tells the generations
 * apart.
 */
import { execFileSync } from "node:child_process";
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import xxhash from "xxhash-wasm";
import { nativeTool } from "./built.mjs";
import { writeFeed } from "./feed-toml.mjs";
import { createServer } from "./server.mjs";

const { h32Raw } = await xxhash();

const HOUR = 3_600_000;

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
export const base64url = (bytes) => Buffer.from(bytes).toString("base64url");

/** A pair of keys, with `publicKey` in the form for clients. */
export function keyPair() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { privateKey, publicKey: publicKey.export({ format: "jwk" }).x };
}

/** A signature as in a manifest. */
export function signature(payload, { privateKey }, header = { alg: "EdDSA", typ: "bloom-wasm-feed" }) {
  const encoded = typeof header === "string" ? header : base64url(JSON.stringify(header));
  const bytes = sign(null, Buffer.from(`${encoded}.${payload}`), privateKey);
  return { protected: encoded, signature: base64url(bytes) };
}

/** A manifest with any payload. */
export function manifest(payload, signers = [], header) {
  const encoded = base64url(typeof payload === "string" ? payload : JSON.stringify(payload));
  return Buffer.from(
    JSON.stringify({ payload: encoded, signatures: signers.map((one) => signature(encoded, one, header)) }),
  );
}

/** MurmurHash3_x86_32, from https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp. */
function murmur3(bytes, seed) {
  const turned = (x, by) => (x << by) | (x >>> (32 - by));
  const word = (x) => Math.imul(turned(Math.imul(x, 0xcc9e2d51), 15), 0x1b873593);
  let hash = seed;
  const end = bytes.length - (bytes.length % 4);
  for (let at = 0; at < end; at += 4) hash = Math.imul(turned(hash ^ word(bytes.readInt32LE(at)), 13), 5) + 0xe6546b64;
  if (end < bytes.length) hash ^= word(bytes.readUIntLE(end, bytes.length - end));
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The digest of a key. FORMAT.md section 3. */
function digest(key, seed) {
  const high = murmur3(key, Number(seed >> 32n));
  const low = h32Raw(key, Number(seed & 0xffffffffn));
  return (BigInt(high) << 32n) | BigInt(low);
}

/** A blob of these parts, and its checksum. */
function sealed(...parts) {
  const body = Buffer.concat(parts);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(h32Raw(body));
  return new Uint8Array(Buffer.concat([body, checksum]));
}

/** The id of a blob, as in a delta. FORMAT.md section 2. */
export function idOf(blob) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(blob.length);
  return Buffer.concat([blob.subarray(-4), length]);
}

/**
 * A delta that gives a ribbon filter another name, and what becomes of the filter. FORMAT.md sections 4 to 7. The filter
 * has no secret, no tags, no slots and no layers.
 */
function renaming(parent, name) {
  const [profile, flags] = parent.subarray(6);
  const metadata = 17 + 14 + 4 * parent[17 + 13];
  const table = metadata + (flags & 1 && 1 + parent[metadata]) + (flags & 2 && 8);
  const described = Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.alloc(5)]);
  const head = (kind) => Buffer.from([0xb5, 66, 76, 77, 1, kind, profile, 17, 0]);
  const delta = sealed(head(7), parent.subarray(9, 17), idOf(parent), described);
  const payload = parent.subarray(table + (flags & 16 && 5), -4);
  return [delta, sealed(head(5), parent.subarray(9, metadata), described, payload)];
}

/** The files of an unsigned feed: a base and its deltas. `without` serves them. */
export function feedOf(blobs, generation = 1) {
  const files = blobs.map((bytes, i) => ({ kind: i ? "delta" : "base", bytes: bytes.length, sha256: sha256(bytes) }));
  const base = Buffer.from(blobs[0]);
  const [profile, flags] = base.subarray(6);
  const check = flags & 32 && Buffer.from(base.subarray(17, 25)).reverse().toString("hex");
  const now = Date.now();
  const payload = {
    ...{ version: 1, feedId: "0".repeat(32), generation, createdAt: now, expires: now + 24 * HOUR, files },
    ...{ profile: ["raw", "url", "password"][profile], fpr: 0.01, seed: String(base.readBigUInt64LE(9)), count: 1000 },
    ...(check && { check }),
  };
  return { manifest: manifest(payload), files: new Map(blobs.map((bytes, i) => [files[i].sha256, bytes])) };
}

/** The snippet of docs/edge.md that exports this, as a module. */
export function adapter(name) {
  const text = readFileSync(new URL("../../docs/edge.md", import.meta.url), "utf8");
  const snippets = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, snippet]) => snippet);
  return snippets.find((snippet) => new RegExp(`^export .*\\b${name}\\b`, "m").test(snippet));
}

/** The workflow of examples/lists, as it is and with the step of docs/hosting.md for S3 and R2. */
export function workflows() {
  const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const pages = read("examples/lists/feed.yml");
  const [, step] = /^```yaml\n([\s\S]*?)^```$/m.exec(read("docs/hosting.md"));
  return { pages, s3: pages.replace("          pages: true\n", step) };
}

/** The common part of publishers of feeds and of sharded filters. */
class AnyPublisher {
  key = keyPair();
  feedId = sha256(this.key.publicKey).slice(0, 32);
  generation = 0;
  /** All files that were ever published, by name. */
  files = new Map();
  signers = [this.key];

  /** The first members of every payload. */
  head(rest) {
    const now = Date.now();
    const { feedId, generation } = this;
    const times = { createdAt: now, expires: now + HOUR };
    return { version: 1, feedId, name: "test", generation, ...times, fpr: 0.001, ...rest };
  }

  /** A manifest of the newest generation with other members. */
  changed(changes, signers = [this.key], header = this.header) {
    return manifest(this.payload(changes), signers, header);
  }

  /** Signs a new generation. */
  publish(changes) {
    this.generation++;
    this.manifest = this.changed(changes, this.signers);
    return this;
  }

  /** Adds a file. Returns its name. */
  add(bytes) {
    const name = sha256(bytes);
    this.files.set(name, bytes);
    return name;
  }
}

/** A feed of one publisher. */
export class Publisher extends AnyPublisher {
  header = { alg: "EdDSA", typ: "bloom-wasm-feed" };
  path = "feed.json";
  /** The files of the newest generation, as in a manifest. */
  listed = [];

  /** The first filter, a ribbon filter. */
  constructor(base) {
    super();
    this.base(base);
  }

  #add(kind, bytes) {
    this.listed.push({ kind, bytes: bytes.length, sha256: this.add(bytes) });
  }

  /** A new base instead of all files. */
  base(filter) {
    this.filter = filter;
    this.blobs = [filter.toBytes()];
    this.listed = [];
    this.#add("base", this.blobs[0]);
    return this.publish();
  }

  /** A new delta instead of the last few files. */
  delta(name = `generation ${this.generation + 1}`, replaced = 0) {
    this.listed.length -= replaced;
    this.blobs.length -= replaced;
    const [bytes, child] = renaming(this.blobs.at(-1), name);
    this.blobs.push(child);
    this.#add("delta", bytes);
    return this.publish();
  }

  /** The payload of the newest generation. */
  payload(changes = {}) {
    const { profile, lowercase, sha1, seed, keyed } = this.filter.info();
    // FORMAT.md section 4.
    const check = keyed && this.blobs[0].slice(17, 25).reverse();
    return this.head({
      profile,
      ...(lowercase && { lowercase }),
      ...(sha1 && { sha1 }),
      seed,
      ...(check && { check: Buffer.from(check).toString("hex") }),
      count: 1000,
      files: this.listed,
      ...changes,
    });
  }
}

/**
 * A sharded filter of raw keys, made by hand from FEED-FORMAT.md and FORMAT.md section 12. `RibbonFilter` is the package's:
 * a shard is an ordinary blob.
 */
export class ShardsPublisher extends AnyPublisher {
  header = { alg: "EdDSA", typ: "bloom-wasm-shards" };
  path = "shards.json";

  constructor(RibbonFilter, shards, keys, seed = 0n) {
    super();
    Object.assign(this, { RibbonFilter, shards, seed });
    this.put(keys);
  }

  /** The shard of a key: the first bits of its digest. */
  shardOf(key) {
    return Number((digest(Buffer.from(key), this.seed) * BigInt(this.shards)) >> 64n);
  }

  /** Publishes other keys, maybe in another number of shards. */
  put(keys, shards = this.shards) {
    this.shards = shards;
    const members = Array.from({ length: shards }, () => []);
    for (const key of keys) members[this.shardOf(key)].push(key);
    this.blobs = members.map((its) => this.RibbonFilter.from(its, { fpr: 0.001, seed: this.seed }).toBytes());
    this.counts = members.map((its) => its.length);
    return this.publish();
  }

  /** Signs a new generation of the blobs as they are. */
  publish(changes) {
    const entry = (blob, i) => {
      const numbers = Buffer.alloc(8);
      numbers.writeUInt32LE(blob.length, 0);
      numbers.writeUInt32LE(this.counts[i], 4);
      return Buffer.concat([Buffer.from(this.add(blob), "hex"), numbers]);
    };
    const entries = this.blobs.map(entry);
    this.pages = [];
    for (let i = 0; i < entries.length; i += 256) this.pages.push(this.add(Buffer.concat(entries.slice(i, i + 256))));
    return super.publish(changes);
  }

  /** The payload of the newest generation. */
  payload(changes = {}) {
    return this.head({
      profile: "raw",
      seed: String(this.seed),
      count: this.counts.reduce((sum, count) => sum + count),
      shards: this.shards,
      bytes: this.blobs.reduce((sum, { length }) => sum + length, 0),
      pages: this.pages,
      ...changes,
    });
  }

  /** The names of the page and the shard that a key needs. */
  filesOf(key) {
    const shard = this.shardOf(key);
    return [this.pages[shard >> 8], sha256(this.blobs[shard])];
  }
}

/** A `fetch` without a network, for tests that hold the clock: Node's own has timers too. */
export const without = (publisher) => async (url) => {
  const name = url.split("/").at(-1);
  const bytes = name === (publisher.path ?? "feed.json") ? publisher.manifest : publisher.files.get(name);
  return new Response(bytes, { status: bytes ? 200 : 404 });
};

/** A feed of URLs that the native tool publishes, in a folder of its own inside another. */
export class ToolPublisher {
  constructor(within) {
    this.home = mkdtempSync(join(within, "feed-"));
    const [publicKey] = /[\w-]{43}/.exec(this.#feed("keygen", "-o", "feed.key"));
    this.key = { publicKey };
    this.feedId = randomBytes(16).toString("hex");
    /** Of all lists that there were. */
    this.names = new Set();
  }

  #feed(...args) {
    const options = { cwd: this.home, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync(nativeTool(), ["feed", ...args], options);
  }

  #publish(lists, described) {
    for (const [name, list] of Object.entries(lists)) writeFileSync(join(this.home, name), list.join("\n"));
    const files = Object.fromEntries(Object.keys(lists).map((name) => [name, name]));
    for (const name of Object.keys(lists)) this.names.add(name);
    writeFeed(this.home, {
      dropped: [...this.names].filter((name) => !(name in lists)),
      id: this.feedId,
      profile: "url",
      fpr: 1e-6,
      sign: ["feed.key"],
      ...described,
      lists: files,
    });
    this.#feed("publish");
    return this;
  }

  /** Publishes a list. */
  publish(...list) {
    return this.#publish({ list }, {});
  }

  /** Publishes lists that are tagged, by their tags. */
  publishTagged(lists) {
    return this.#publish(lists, { tags: true });
  }

  get manifest() {
    return this.files.get("feed.json");
  }

  /** The number of the newest generation, which is the clock's. */
  get generation() {
    return JSON.parse(Buffer.from(JSON.parse(this.manifest).payload, "base64url")).generation;
  }

  files = {
    get: (name) => {
      const path = join(this.home, "public", name);
      return existsSync(path) ? readFileSync(path) : undefined;
    },
  };
}

/**
 * Serves a publisher at `url`. `fault`, if set, is called for each request with the path, the response, and the right
 * bytes, and returns true if it has answered; `log` has the requested paths.
 */
export async function serve(publisher) {
  const site = { publisher, fault: undefined, log: [], headers: [] };
  const { path: name = "feed.json" } = publisher;
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://localhost").pathname.slice(1);
    site.log.push(path);
    site.headers.push(request.headers);
    const bytes = path === name ? site.publisher.manifest : site.publisher.files.get(path);
    // For pages of another origin.
    response.setHeader("access-control-allow-origin", "*");
    if (site.fault?.(path, response, bytes, request)) return;
    if (bytes === undefined) return response.writeHead(404).end();
    response.writeHead(200, { "content-length": bytes.length }).end(bytes);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  site.address = `http://127.0.0.1:${server.address().port}`;
  site.url = `${site.address}/${name}`;
  /** The paths since the last time. */
  site.asked = () => site.log.splice(0);
  site.close = () => (server.closeAllConnections(), server.close());
  return site;
}

/** A cache in memory. `fault`, if set, is called with each method and name, and may throw. */
export function memoryCache() {
  const entries = new Map();
  return {
    entries,
    fault: undefined,
    async get(name) {
      await this.fault?.("get", name);
      return entries.get(name);
    },
    async put(name, bytes) {
      await this.fault?.("put", name);
      entries.set(name, bytes.slice());
    },
    async delete(name) {
      await this.fault?.("delete", name);
      entries.delete(name);
    },
  };
}

/** Web Locks, as far as one process needs them; `held` has the names of those that are held. */
export function webLocks() {
  const queues = new Map();
  const held = new Set();
  return {
    held,
    async request(name, { signal }, run) {
      const last = queues.get(name);
      let open;
      const opened = new Promise((resolve) => (open = resolve));
      queues.set(name, opened);
      try {
        signal.throwIfAborted();
        await Promise.race([
          last,
          new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))),
        ]);
        signal.throwIfAborted();
        held.add(name);
        return await run();
      } finally {
        held.delete(name);
        Promise.resolve(last).then(open);
      }
    },
  };
}
