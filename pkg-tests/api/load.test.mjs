/** Loading over HTTP and from files: progress, cancellation, limits, integrity, and the codes of failures. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { engines, full, testEach } from "../helpers/engines.mjs";
import { collectGarbage } from "../helpers/following.mjs";
import { CATCH_MEMORY, folder, printed } from "../helpers/installed.mjs";
import { createServer, listen } from "../helpers/server.mjs";

const { BloomFilter, RibbonFilter } = full;

const blob = BloomFilter.from(
  Array.from({ length: 100_000 }, (_, i) => `key ${i}`),
  { name: "served" },
).toBytes();

/** Asserts that a filter is the one that is served. */
const isServed = (filter) => Buffer.compare(filter.toBytes(), blob) === 0 && filter.has("key 1");

const server = await listen((request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  if (pathname === "/missing") return response.writeHead(404).end("no such filter");
  if (pathname === "/gzip") {
    const packed = gzipSync(blob);
    return response.writeHead(200, { "content-encoding": "gzip", "content-length": packed.length }).end(packed);
  }
  if (pathname === "/unknown-length") {
    response.writeHead(200).write(blob);
    return response.end();
  }
  response.writeHead(200, { "content-length": blob.length });
  if (pathname === "/broken") return response.write(blob.slice(0, 50_000), () => response.destroy());
  if (pathname === "/hanging") return response.write(blob.slice(0, 50_000));
  response.end(blob);
});
const address = new URL(server.at()).origin;
after(server.close);

testEach("every kind of source", async ({ load }) => {
  writeFileSync(join(folder, "f.bloom"), blob);
  const url = `${address}/blob`;
  const sources = [
    url,
    new URL(url),
    new Request(url),
    fetch(url),
    await fetch(url),
    new Blob([blob]),
    blob,
    blob.buffer,
    pathToFileURL(join(folder, "f.bloom")),
    `${address}/gzip`,
    `${address}/unknown-length`,
  ];
  for (const source of sources) assert.ok(isServed(await load(source)), String(source));
  const asked = [];
  await load("https://elsewhere.example/f", { fetch: (input) => (asked.push(input), fetch(url)) });
  assert.deepEqual(asked, ["https://elsewhere.example/f"]);
});

testEach("a small file that a bundler has inlined is loaded without a request", async ({ load }, _, t) => {
  t.mock.method(globalThis, "fetch", () => assert.fail("a page's policy may forbid it"));
  const inlined = `data:application/octet-stream;base64,${Buffer.from(blob).toString("base64")}`;
  for (const source of [inlined, new URL(inlined), ` ${inlined}`]) assert.ok(isServed(await load(source)));
  await assert.rejects(load(`${inlined}?`), { code: "network" });
  await assert.rejects(load(inlined.slice(0, -400)), { code: "truncated" });
  t.mock.restoreAll();
  const [, data] = inlined.split(",");
  for (const other of [encodeURIComponent(data), `${data}#list`, data.replace(/.{76}/g, "$& ")])
    assert.ok(isServed(await load(`data:application/octet-stream;base64,${other}`)), other.slice(-20));
});

testEach("pieces of any length", async ({ load }) => {
  // A short one, of which more bytes are read at once than it has.
  const short = RibbonFilter.from(["a"], { fpr: 1e-9 }).toBytes();
  for (const length of [1, 7, 33, 65_535, 65_537]) {
    const bytes = length < 100 ? short : blob;
    const pieces = function* () {
      for (let at = 0; at < bytes.length; at += length) yield bytes.slice(at, at + length);
      yield new Uint8Array(0);
    };
    const loaded = await load(new Response(ReadableStream.from(pieces())));
    assert.deepEqual(loaded.toBytes(), bytes, `pieces of ${length}`);
    assert.ok(loaded.has(length < 100 ? "a" : "key 1"));
  }
});

testEach("progress is reported, with the total if known", async ({ load }) => {
  const seen = [];
  await load(`${address}/blob`, { onProgress: (progress) => seen.push(progress) });
  assert.deepEqual(seen.at(-1), { loaded: blob.length, total: blob.length });
  assert.ok(seen.every(({ loaded, total }, i) => total === blob.length && (i === 0 || loaded > seen[i - 1].loaded)));
  for (const path of ["gzip", "unknown-length"]) {
    await load(`${address}/${path}`, { onProgress: (progress) => seen.push(progress) });
    assert.deepEqual(seen.at(-1), { loaded: blob.length, total: undefined });
  }
});

testEach("failures have their codes", async ({ load }) => {
  await assert.rejects(load(`${address}/missing`), { code: "http", message: /404/ });
  await assert.rejects(load(`${address}/broken`), { code: "network" });
  await assert.rejects(load("http://127.0.0.1:1/"), { code: "network" });
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const { port } = gone.address();
  await new Promise((closed) => gone.close(closed));
  await assert.rejects(load(`http://127.0.0.1:${port}/`), { code: "network", message: /\(ECONNREFUSED\)$/ });
  await assert.rejects(load(pathToFileURL(join(folder, "none.bloom"))), { code: "network", message: /ENOENT/ });
  await assert.rejects(load(Promise.reject(new TypeError("fetch failed"))), { code: "network" });
  const used = await fetch(`${address}/blob`);
  await used.arrayBuffer();
  await assert.rejects(load(used), { code: "invalid_parameter", message: /read already/ });
  for (const source of [undefined, null, 5, {}, Promise.resolve()])
    await assert.rejects(load(source), { code: "invalid_parameter", message: /Response, Blob or bytes, not/ });
});

testEach("a connection that the server closes as it is used again is no failure", async ({ load }) => {
  for (const close of ["destroy", "resetAndDestroy"]) {
    const used = new Set();
    let [requests, resets, loads] = [0, 0, 0];
    const closing = await listen(({ socket }, response) => {
      requests++;
      if (used.has(socket) && resets === 0) {
        resets++;
        socket[close]();
      }
      used.add(socket);
      response.end(blob);
    });
    try {
      const url = closing.at();
      // Node decides which connection it uses.
      for (; resets === 0; loads++) assert.ok(isServed(await load(loads % 2 ? new Request(url) : url)), close);
      assert.equal(requests, loads + 1, close);
    } finally {
      closing.close();
    }
  }
});

testEach("only a GET whose connection was reset before the answer is made once more", async ({ load }) => {
  const url = "https://elsewhere.example/f";
  const failed = (code) => new TypeError("fetch failed", { cause: Object.assign(new Error("read"), { code }) });
  const [reset, closed, refused] = ["ECONNRESET", "UND_ERR_SOCKET", "ECONNREFUSED"].map(failed);
  const wrapped = new Error("no list", { cause: reset });
  const circular = new TypeError("fetch failed");
  circular.cause = circular;
  const stop = new AbortController();
  const aborting = () => {
    stop.abort();
    throw reset;
  };
  const broken = new ReadableStream({ pull: (controller) => controller.error(reset) });
  for (const [outcome, requests, answers, source = url] of [
    [true, 2, [reset, blob]],
    [true, 2, [closed, blob]],
    [true, 2, [reset.cause, blob]],
    [true, 2, [wrapped, blob]],
    [true, 2, [reset, blob], new Request(url)],
    ["network", 2, [reset, closed, blob]],
    ["network", 2, [reset, refused, blob]],
    ["network", 1, [refused, blob]],
    ["network", 1, [circular, blob]],
    ["network", 1, [new TypeError("fetch failed"), blob]],
    ["network", 1, [reset, blob], new Request(url, { method: "POST", body: "x" })],
    ["network", 1, [broken, blob]],
    [20, 1, [aborting, blob]],
  ]) {
    let asked = 0;
    const fetch = async () => {
      const answer = answers[asked++];
      if (answer instanceof Error) throw answer;
      return typeof answer === "function" ? answer() : new Response(answer);
    };
    const { signal } = stop.signal.aborted ? {} : stop;
    const result = await load(source, { fetch, signal }).then(isServed, ({ code }) => code);
    assert.deepEqual([result, asked], [outcome, requests], String(answers[0]));
  }
});

testEach("an error says where the bytes came from, without a user, a query or contents", async ({ load }) => {
  const damaged = { not_a_filter: "<!doctype html>", truncated: blob.slice(0, -1), integrity: blob, too_large: blob };
  for (const [code, body] of Object.entries(damaged)) {
    const bytes = Buffer.from(body);
    const options = {
      fetch: async () => new Response(bytes),
      ...(code === "integrity" && { integrity: `sha256-${"A".repeat(43)}=` }),
      ...(code === "too_large" && { maxBytes: 1000 }),
    };
    const url = `https://me:secret@lists.example/${code}.bloom?token=secret`;
    const shown = `https://lists.example/${code}.bloom?...`;
    const path = pathToFileURL(join(folder, `${code}.bloom`));
    writeFileSync(path, bytes);
    const redirected = new Response(bytes);
    Object.defineProperty(redirected, "url", { value: "https://lists.example/after/a/redirect" });
    const plain = await load(bytes, options).then(assert.fail, (error) => error);
    assert.equal(plain.code, code);
    for (const [source, name] of [
      [url, shown],
      [new URL(url), shown],
      [new Request(url.replace("me:secret@", "")), shown],
      [path, path.href],
      [redirected, "https://lists.example/after/a/redirect"],
      [`data:application/octet-stream;base64,${bytes.toString("base64")}`, "the data: URL"],
    ]) {
      const error = await load(source, options).then(assert.fail, (error) => error);
      assert.deepEqual([error.code, error.message], [code, `${name}: ${plain.message}`]);
      assert.equal(error.cause.message, plain.message);
    }
  }
  await assert.rejects(load(`${address}/broken`), (error) => {
    assert.ok(error.message.startsWith(`${address}/broken: the transfer broke off`), error.message);
    return error.code === "network" && error.cause instanceof TypeError;
  });
  for (const fetch of [async () => new Response("", { status: 404 }), () => Promise.reject(new TypeError("no"))])
    await assert.rejects(load("data:,secret", { fetch }), { message: /^the data: URL (answered|could)/ });
});

testEach("an abort rejects with the signal's reason, before, between and during reads", async ({ load }) => {
  const reason = new Error("enough");
  await assert.rejects(load(`${address}/blob`, { signal: AbortSignal.abort(reason) }), reason);
  for (const path of ["hanging", "blob"]) {
    const stop = new AbortController();
    const loading = load(`${address}/${path}`, { signal: stop.signal, onProgress: () => stop.abort(reason) });
    await assert.rejects(loading, reason);
  }
  const stop = new AbortController();
  const hanging = new Response(
    new ReadableStream({ pull: () => setImmediate(() => stop.abort(reason)) }, { highWaterMark: 0 }),
  );
  await assert.rejects(load(hanging, { signal: stop.signal }), reason);
});

testEach("a Request's own signal stops loading, too", async ({ load }) => {
  const reason = new Error("enough");
  for (const options of [{}, { timeout: 60_000 }, { signal: new AbortController().signal }]) {
    const stop = new AbortController();
    const request = new Request(`${address}/hanging`, { signal: stop.signal });
    const loading = load(request, { ...options, onProgress: () => stop.abort(reason) });
    await assert.rejects(loading, reason);
    await assert.rejects(load(request, options), reason);
  }
  const other = new AbortController();
  const never = new Request(`${address}/hanging`, { signal: new AbortController().signal });
  await assert.rejects(load(never, { signal: other.signal, onProgress: () => other.abort(reason) }), reason);
});

testEach("a promise that rejects after something else has failed isn't reported as unhandled", async ({ load }) => {
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const late = () => new Promise((_, reject) => setImmediate(reject, new Error("late")));
    await assert.rejects(load(late(), { signal: AbortSignal.abort(new Error("mine")) }), /mine/);
    for (const options of [{ timeout: 0 }, { maxByte: 1 }, null])
      await assert.rejects(load(late(), options), { code: "invalid_parameter" });
    await assert.rejects(full.RibbonFilter.fromStream(late()), { code: "invalid_key" });
    // Node reports them after all microtasks.
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(unhandled, []);
  } finally {
    process.off("unhandledRejection", note);
  }
});

testEach(
  "an abort takes effect while something of the caller's hangs, and what arrives too late is closed",
  async ({ load }) => {
    const reason = new Error("enough");
    const stop = new AbortController();
    let respond;
    const promise = new Promise((resolve) => (respond = resolve));
    for (const source of [promise, `${address}/blob`]) {
      const loading = load(source, { signal: stop.signal, fetch: () => promise });
      setImmediate(() => stop.abort(reason));
      await assert.rejects(loading, reason);
    }
    const stopped = new AbortController();
    const loading = load(promise, { signal: stopped.signal });
    stopped.abort(reason);
    await assert.rejects(loading, reason);
    const closed = new Promise((resolve) => respond(new Response(new ReadableStream({ cancel: resolve }))));
    await closed;
  },
);

/**
 * Streams a blob in. Returns "loaded" or the code of a failure, and by how many bytes WebAssembly's memory grows beyond
 * the blob's length.
 */
function streamed(bytes, headers = {}) {
  const path = join(folder, "streamed.bloom");
  writeFileSync(path, bytes);
  const source = `
    ${CATCH_MEMORY}
    const { readFileSync } = await import("node:fs");
    const { load } = started(await import("./node_modules/bloom-wasm/dist/bloom.inline.js"));
    const blob = new Uint8Array(readFileSync(${JSON.stringify(path)}));
    const chunks = function* () { for (let i = 0; i < blob.length; i += 65536) yield blob.slice(i, i + 65536); };
    const before = memory.buffer.byteLength;
    const response = new Response(ReadableStream.from(chunks()), { headers: ${JSON.stringify(headers)} });
    const code = await load(response).then(() => "loaded", ({ code }) => code);
    console.log(code, memory.buffer.byteLength - before - blob.length);
  `;
  const [code, beyond] = printed(source).split(" ");
  return { code, beyond: Number(beyond) };
}

test("a body takes no more memory than the blob, and 256 KiB, also if it is damaged or there is a byte too many", () => {
  // 13 MB: a sixteenth of it would be too much.
  const whole = BloomFilter.withCapacity(5_400_000, 1e-4).toBytes();
  const damaged = whole.with(-1, whole.at(-1) ^ 1);
  const longer = new Uint8Array(whole.length + 1);
  longer.set(whole);
  for (const [bytes, headers, expected] of [
    [whole, {}, "loaded"],
    [whole, { "content-length": String(whole.length) }, "loaded"],
    [damaged, {}, "checksum_mismatch"],
    [longer, {}, "trailing_bytes"],
  ]) {
    const { code, beyond } = streamed(bytes, headers);
    assert.equal(code, expected);
    assert.ok(beyond <= 262_144, `${expected}: ${beyond} bytes more than the blob`);
  }
});

testEach("integrity goes by the strongest of its hashes, as in a script tag", async ({ load }) => {
  const hash = (bits, encoding = "base64") => `sha${bits}-${createHash(`sha${bits}`).update(blob).digest(encoding)}`;
  const wrong = (bits) => `sha${bits}-${createHash(`sha${bits}`).update("another").digest("base64")}`;
  for (const integrity of [
    ` ${hash(256)}\n`,
    `${hash(256)}?option ${wrong(256)}`,
    `${wrong(256)} ${hash(384)}`,
    `${hash(512)} ${wrong(384)}`,
    `md5-abc ${hash(256)} sha999-abc`,
    hash(512, "base64url"),
    hash(384).replace(/=+$/, ""),
  ])
    assert.ok(await load(blob, { integrity }), integrity);
  for (const integrity of [
    `${hash(256)} ${wrong(512)}`,
    wrong(256),
    "",
    "md5-abc",
    "sha256-",
    `x${hash(256)}`,
    hash(256).slice(0, -4),
    `SHA-256-${hash(256)}`,
  ])
    await assert.rejects(load(blob, { integrity }), { name: "FilterError", code: "integrity" }, integrity);
});

testEach(
  "maxBytes: refused at once by the length in a header, but not by that of a body that may be compressed",
  async ({ load }) => {
    /** A response, as from `fetch`, that says how long it is and is only read if necessary. */
    const saying = (length, type) => {
      let read = 0;
      const body = new ReadableStream(
        { pull: (stream) => (read++ ? stream.close() : stream.enqueue(blob)) },
        { highWaterMark: 0 },
      );
      const response = Object.defineProperty(new Response(body, { headers: { "content-length": length } }), "type", {
        value: type,
      });
      return { response, read: () => read };
    };
    for (const type of ["basic", "default"]) {
      const { response, read } = saying(blob.length + 1, type);
      await assert.rejects(load(response, { maxBytes: blob.length }), { code: "too_large" });
      assert.equal(read(), 0, type);
    }
    const seen = [];
    const { response } = saying(blob.length + 20, "cors");
    assert.ok(isServed(await load(response, { maxBytes: blob.length, onProgress: (progress) => seen.push(progress) })));
    assert.equal(seen.at(-1).loaded, blob.length);
    await assert.rejects(load(saying(10, "cors").response, { maxBytes: blob.length - 1 }), { code: "too_large" });
    for (const path of ["gzip", "blob", "unknown-length"]) {
      assert.ok(isServed(await load(`${address}/${path}`, { maxBytes: blob.length })), path);
      await assert.rejects(load(`${address}/${path}`, { maxBytes: blob.length - 1 }), { code: "too_large" }, path);
    }
    // It isn't left open.
    let cancelled = false;
    const body = new ReadableStream({ cancel: () => void (cancelled = true) });
    const long = new Response(body, { headers: { "content-length": "1000" } });
    await assert.rejects(load(long, { maxBytes: 10 }), { code: "too_large" });
    assert.ok(cancelled);
  },
);

/** The files that this process has open; undefined where the system doesn't tell. */
function openFiles() {
  if (!existsSync("/proc/self/fd")) return undefined;
  const target = (fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  };
  return readdirSync("/proc/self/fd")
    .map(target)
    .filter((path) => path.startsWith(folder));
}

testEach(
  "a file is read as a stream: its size is known first, and it is closed whatever happens",
  {
    timeout: 300_000,
  },
  async ({ load }) => {
    const file = pathToFileURL(join(folder, "streamed.bloom"));
    writeFileSync(file, blob);
    const seen = [];
    assert.ok(isServed(await load(file, { onProgress: (progress) => seen.push(progress) })));
    assert.ok(seen.length > 1 && seen.every(({ total }) => total === blob.length));
    assert.equal(seen.at(-1).loaded, blob.length);
    const reason = new Error("enough");
    const stop = new AbortController();
    let chunks = 0;
    await assert.rejects(load(file, { signal: stop.signal, onProgress: () => (chunks++, stop.abort(reason)) }), reason);
    assert.equal(chunks, 1, "it goes on after an abort");
    const own = new TypeError("mine");
    const onProgress = () => {
      throw own;
    };
    await assert.rejects(load(file, { onProgress }), own);
    await assert.rejects(load(file, { maxBytes: blob.length - 1 }), { code: "too_large" });
    await assert.rejects(load(file, { integrity: "sha256-" }), { code: "integrity" });
    writeFileSync(join(folder, "text"), "x".repeat(200_000));
    await assert.rejects(load(pathToFileURL(join(folder, "text"))), { code: "not_a_filter" });
    if (openFiles() === undefined) return console.log("whether files are closed is not checked: there is no /proc");
    while (openFiles().length > 0) await new Promise((resolve) => setImmediate(resolve));
  },
);

test("a file of 600 MB takes no memory if maxBytes is less", () => {
  const large = join(folder, "large.bloom");
  writeFileSync(large, blob);
  truncateSync(large, 600e6); // with a hole, which takes no room
  for (const entry of Object.keys(engines)) {
    const source = `
      import { load } from "${entry}";
      const url = ${JSON.stringify(pathToFileURL(large).href)};
      const before = process.resourceUsage().maxRSS;
      const codes = [];
      for (const options of [{ maxBytes: 1000 }, {}]) codes.push(await load(url, options).catch(({ code }) => code));
      console.log(codes.join(), Math.round((process.resourceUsage().maxRSS - before) / 1024));
    `;
    const [codes, taken] = printed(source).split(" ");
    assert.equal(codes, "too_large,trailing_bytes");
    assert.ok(Number(taken) < 100, `${entry}: ${taken} MiB`);
  }
});

testEach(
  "everything but plain files: a folder, devices, a pipe, files without a size",
  {
    timeout: 300_000,
    skip: process.platform !== "linux" && "only Linux has all of these",
  },
  async ({ load }) => {
    await assert.rejects(load(pathToFileURL(folder)), { name: "FilterError", code: "network", message: /EISDIR/ });
    await assert.rejects(load("file:///dev/zero"), { code: "not_a_filter" });
    await assert.rejects(load("file:///dev/zero", { maxBytes: 3 }), { code: "too_large" });
    await assert.rejects(load("file:///dev/null"), { code: "truncated" });
    await assert.rejects(load("file:///proc/self/status"), { code: "not_a_filter" });
    await assert.rejects(load("file:///proc/self/status", { maxBytes: 10 }), { code: "too_large" });
    const pipe = join(folder, "pipe");
    rmSync(pipe, { force: true });
    execFileSync("mkfifo", [pipe]);
    const totals = new Set();
    const loading = load(pathToFileURL(pipe), { onProgress: ({ total }) => totals.add(total) });
    spawn("dd", [`if=${join(folder, "f.bloom")}`, `of=${pipe}`, "bs=1000"], { stdio: "ignore" });
    assert.ok(isServed(await loading));
    assert.deepEqual([...totals], [undefined]);
    // Nobody writes; an abort still takes effect.
    const writer = openSync(pipe, constants.O_RDWR);
    const stop = new AbortController();
    const reason = new Error("enough");
    const hanging = load(pathToFileURL(pipe), { signal: stop.signal });
    while (openFiles().length < 2) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(reason);
    await assert.rejects(hanging, reason);
    closeSync(writer);
    while (openFiles().length > 0) await new Promise((resolve) => setImmediate(resolve));
  },
);

testEach("options of a wrong type, and bodies with another reader", async ({ load }) => {
  const rejected = (promise) => assert.rejects(promise, { name: "FilterError", code: "invalid_parameter" });
  for (const options of [
    null,
    5,
    { signal: {} },
    { onProgress: 5 },
    { integrity: 5 },
    { integrity: null },
    ...[1n, "5MB", NaN, -1].map((maxBytes) => ({ maxBytes })),
    ...[0, -1, NaN, "1", null].map((timeout) => ({ timeout })),
    { fetch: 5 },
  ]) {
    await rejected(load(blob, options));
  }
  const response = new Response(blob);
  response.body.getReader();
  await rejected(load(response));
  await assert.rejects(load("file://host with space/"), { code: "network" });
});

test("integrity holds while other filters grow the memory", async () => {
  const { load } = full;
  const bytes = BloomFilter.from(["a"]).toBytes();
  const hash = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("base64");
  const loading = load(bytes, { integrity: `sha256-AAAA sha256-${hash}` });
  const held = [];
  for (let i = 0; i < 50; i++) {
    held.push(new BloomFilter(8 * 1_000_000, 1));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok((await loading).has("a"));
  held.forEach((one) => one.free());
});

testEach("a path instead of a URL is refused, unless the caller's own fetch understands it", async ({ load }) => {
  for (const path of ["list.bloom", "/data/list.bloom", Buffer.from(blob).toString().repeat(1000)])
    await assert.rejects(load(path), {
      code: "invalid_parameter",
      message: /^.{1,200} is no URL; .*import\.meta\.url/s,
    });
  const fetch = async (path) => (assert.equal(path, "list.bloom"), new Response(blob));
  assert.ok(isServed(await load("list.bloom", { fetch })));
});

testEach("a timeout longer than the longest timer doesn't end at once", async ({ load }) => {
  // The shortest possible timer. It begins after that of `load`, and so ends after it if both are equally long.
  const pull = async (controller) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    controller.enqueue(blob);
    controller.close();
  };
  const late = new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
  assert.ok(isServed(await load(late, { timeout: 2 ** 40 })));
});

test("a source that hangs is abandoned after the timeout, whatever is garbage-collected meanwhile", {
  timeout: 60_000,
}, async () => {
  const hangs = await listen(({ url }, response) => {
    if (url !== "/silent") response.writeHead(200, { "content-length": blob.length }).write(blob.subarray(0, 100));
  });
  after(hangs.close);
  let waiting = 0;
  const loads = Object.values(engines).flatMap(({ FilterError, load }) =>
    [hangs.at("silent"), hangs.at("part"), new Promise(() => {})].flatMap((source) =>
      [undefined, new AbortController().signal].map(async (signal) => {
        waiting++;
        const error = await load(source, { timeout: 100, signal }).catch((its) => its);
        waiting--;
        assert.ok(error instanceof FilterError, error?.stack);
        assert.equal(error.code, "network");
        assert.match(error.message, /longer than 100 ms/);
      }),
    ),
  );
  while (waiting > 0) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(loads);
  const reason = new Error("enough");
  for (const { load } of Object.values(engines))
    await assert.rejects(load(blob, { timeout: 1e6, signal: AbortSignal.abort(reason) }), reason);
});
