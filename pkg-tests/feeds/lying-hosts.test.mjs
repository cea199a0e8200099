/** Feeds: files and manifests that break off, are damaged, swapped, too long or not what they claim to be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, bases, FilterError, openFeed, openSharded, published } from "../helpers/feeds.mjs";
import { fails } from "../helpers/following.mjs";
import { sha256 } from "../helpers/publisher.mjs";

test("a manifest of 100 MB is not read", async () => {
  const { site, open } = await published();
  const chunk = Buffer.alloc(65_536, 32);
  for (const headers of [{}, { "content-length": 1e8 }]) {
    let sent = 0;
    site.fault = (_, response) => {
      response.writeHead(200, headers);
      const more = () => {
        while (sent < 1e8 && !response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
      };
      more();
      return true;
    };
    await fails("too_large", open());
    assert.ok(sent < 2e7, `${sent} bytes`);
  }
});

test("an error of a folder's URL names the manifest in it", async () => {
  const { site } = await published();
  const folder = new URL("lists", site.url).href;
  const pages = {
    http: (response) => response.writeHead(404).end(),
    not_a_feed: (response) => response.writeHead(200).end("<!doctype html>Index of /lists"),
    network: (response) => response.destroy(),
  };
  for (const [code, page] of Object.entries(pages)) {
    site.fault = (_, response) => (page(response), true);
    for (const [name, opening] of Object.entries({ "feed.json": openFeed, "shards.json": openSharded })) {
      for (const url of [folder, `${folder}/`, `${folder}/?a.b#c`]) {
        const { message } = await fails(code, opening(url, { publicKey: null, cache: null }));
        // A query may be a token.
        assert.ok(message.startsWith(url.replace(/\?.*/, "?...")), message);
        assert.ok(message.endsWith(`; if that is a folder, its manifest is ${folder}/${name}`), message);
      }
      const { message } = await fails(code, opening(`${folder}/${name}`, { publicKey: null, cache: null }));
      assert.ok(!message.includes("folder"), message);
    }
  }
});

/** The bytes of a response, of which `at` are sent before the connection breaks. */
const cut = (response, bytes, at = bytes.length) => {
  response.writeHead(200, at < bytes.length ? { "content-length": bytes.length } : {});
  response.write(bytes.subarray(0, at), () => response.destroy());
  return true;
};

test("files and manifests that break off, are damaged, swapped, longer or shorter", async () => {
  const { publisher, site, open } = await published();
  const feed = await open();
  publisher.base(bases.b).delta("third");
  const names = ["feed.json", ...publisher.listed.map(({ sha256 }) => sha256)];
  const flipped = (bytes) => bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 1 : byte));
  const send = (code, change, chunked) => [
    code,
    (response, bytes, path) => {
      const changed = change(bytes, path);
      response.writeHead(200, chunked ? {} : { "content-length": changed.length });
      if (chunked) response.write(changed.subarray(0, 5));
      response.end(chunked ? changed.subarray(5) : changed);
      return true;
    },
  ];
  const faults = {
    "cut in the middle": ["network", (response, bytes) => cut(response, bytes, bytes.length >> 1)],
    "cut after the last byte, of unknown length": ["network", (response, bytes) => cut(response, bytes)],
    missing: ["http", (response) => (response.writeHead(404).end("no"), true)],
    "an error": ["http", (response) => (response.writeHead(503).end("no"), true)],
    damaged: send("integrity", flipped),
    longer: send("integrity", (bytes) => Buffer.concat([bytes, Buffer.from("x")])),
    "shorter, of unknown length": send("integrity", (bytes) => bytes.subarray(0, -1), true),
    empty: send("integrity", () => Buffer.alloc(0)),
    "another file": send("integrity", (_, path) =>
      publisher.files.get(names.find((name) => name.length > 9 && name !== path)),
    ),
  };
  for (const path of names) {
    for (const [what, [expected, fault]] of Object.entries(faults)) {
      site.fault = (asked, response, bytes) => asked === path && fault(response, Buffer.from(bytes), path);
      const code =
        path === "feed.json" && expected === "integrity" ? /signature|not_a_feed/ : new RegExp(`^${expected}$`);
      for (const attempt of [() => feed.update(), () => open()]) {
        const error = await attempt().then(
          () => assert.fail(`${what} ${path}`),
          (error) => error,
        );
        assert.ok(error instanceof FilterError && code.test(error.code), `${what} ${path}: ${error.stack}`);
        assert.ok(error.message.includes(`${site.address}/${path}`), error.message);
        answers(feed, 1, { name: "a" });
      }
    }
  }
  site.fault = undefined;
  // A transfer that ends before its announced length, by a `fetch` that doesn't notice.
  for (const short of names) {
    const fetch = async (url, options) => {
      const response = await globalThis.fetch(url, options);
      if (!url.endsWith(short)) return response;
      const bytes = new Uint8Array(await response.arrayBuffer());
      return new Response(bytes.subarray(0, -1), { headers: { "content-length": bytes.length } });
    };
    await fails("truncated", open({ fetch }));
  }
  assert.equal(await feed.update(), true);
  answers(feed, 3, { name: "third", which: "b" });
});

test("a file that is longer than signed is read only to its signed length", async () => {
  const { publisher, site, open } = await published();
  const { sha256: name, bytes: length } = publisher.listed[0];
  let sent = 0;
  site.fault = (path, response, bytes) => {
    if (path !== name) return false;
    response.writeHead(200).write(bytes);
    const more = () => {
      while (sent < 1e8 && !response.destroyed) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536))) return void response.once("drain", more);
      }
    };
    more();
    return true;
  };
  await fails("integrity", open());
  assert.ok(sent < 4e7 && length > 1000, `${sent} bytes`);
});

test("a file that an HTTP cache has damaged is fetched once more, bypassing it", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  for (const { sha256: path } of publisher.listed) {
    const asked = [];
    site.fault = (at, response, bytes, { headers }) => {
      if (at !== path) return false;
      asked.push(headers["cache-control"]);
      if (headers["cache-control"] === "no-cache") return false;
      response.writeHead(200).end(bytes.map((byte) => byte ^ 1));
      return true;
    };
    answers(await open(), 2, { name: "second" });
    assert.deepEqual(asked, [undefined, "no-cache"]);
  }
});

test("files that aren't what the manifest says: a delta as base, a base as delta, a delta for another parent", async () => {
  const { publisher, site, open } = await published();
  publisher.delta("second");
  const feed = await open();
  const [base, first] = publisher.listed;
  publisher.delta("third");
  const [, , second] = publisher.listed;
  const cases = [
    ["wrong_kind", [{ ...first, kind: "base" }]],
    ["wrong_kind", [base, { ...base, kind: "delta" }]],
    ["wrong_base", [base, second]],
    ["wrong_base", [base, first, first]],
    ["wrong_base", [base, first, second, first]],
    // A length that is signed but wrong.
    ["integrity", [base, { ...first, bytes: first.bytes + 1 }]],
    ["integrity", [base, { ...first, bytes: first.bytes - 1 }]],
  ];
  for (const [code, files] of cases) {
    publisher.publish({ files });
    await fails(code, feed.update(), JSON.stringify(files));
    await fails(code, open());
    answers(feed, 2, { name: "second" });
  }
  const text = Buffer.from("no filter at all");
  publisher.files.set(sha256(text), text);
  publisher.publish({ files: [{ kind: "base", bytes: text.length, sha256: sha256(text) }] });
  const { message } = await fails("not_a_filter", feed.update());
  assert.ok(message.startsWith(`${site.address}/${sha256(text)}: `), message);
  publisher.publish();
  assert.equal(await feed.update(), true);
  answers(feed, publisher.generation, { name: "third" });
});

test("a manifest URL that can have no files beside it is refused", async () => {
  const { publisher } = await published();
  const data = `data:application/json,${encodeURIComponent(publisher.manifest)}`;
  for (const url of [data, "blob:https://lists.example/feed", "about:blank"]) {
    await fails("invalid_parameter", openFeed(url, { publicKey: null, cache: null }), url);
  }
});
