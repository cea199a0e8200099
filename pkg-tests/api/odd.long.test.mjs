/** Odd arguments in Chromium: things of an iframe, of another origin, and filters in Vue's proxies. */
import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { root } from "../../scripts/setup.mjs";
import { newPage, PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { app, folder, installed } from "../helpers/installed.mjs";
import { listen } from "../helpers/server.mjs";

const { RibbonFilter } = await installed();

if (skip) console.log(`api/odd.long.test.mjs, in Chromium, skipped: ${skip}`);

describe("in Chromium", { skip, timeout: 5 * PATIENCE }, () => {
  const filter = RibbonFilter.from(Array.from({ length: 1000 }, (_, i) => `key ${i}`));
  const blob = filter.toBytes();
  const zipped = gzipSync(blob);
  let pages;
  let elsewhere; // another origin, with the filter
  let browser;
  let page;

  before(async () => {
    const here = app("odd");
    cpSync(join(folder, "node_modules/bloom-wasm/dist"), join(here, "dist"), { recursive: true });
    cpSync(join(root, "node_modules/vue/dist/vue.esm-browser.prod.js"), join(here, "vue.js"));
    pages = await listen((request, response) => {
      const file = join(here, new URL(request.url, "http://localhost").pathname);
      if (request.url === "/")
        return response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>odd</title>");
      if (!existsSync(file) || ![".js", ".mjs"].includes(extname(file))) return response.writeHead(404).end();
      response.writeHead(200, { "content-type": "text/javascript" }).end(readFileSync(file));
    });
    elsewhere = await listen((request, response) => {
      const gzip = request.url === "/zipped" ? { "content-encoding": "gzip" } : {};
      const body = request.url === "/zipped" ? zipped : blob;
      response.writeHead(200, { "access-control-allow-origin": "*", "content-length": body.length, ...gzip }).end(body);
    });
    browser = await playwright();
    page = await newPage(browser);
    await page.goto(pages.at());
  });

  after(async () => {
    await browser?.close();
    pages?.close();
    elsewhere?.close();
  });

  test("odd values in every place, and things of an iframe", async () => {
    const { count, wrong } = await page.evaluate(async () => {
      const api = await import("/dist/bloom.inline.js");
      const reader = await import("/dist/reader.js");
      const { sweep } = await import("/odd.mjs");
      const frame = document.body.appendChild(document.createElement("iframe"));
      return sweep(api, (source) => frame.contentWindow.eval(source), 1, reader);
    });
    assert.ok(count > 20_000);
    assert.deepEqual(wrong, []);
  });

  test("objects of an iframe are accepted like the page's own", async () => {
    const found = await page.evaluate(
      async (numbers) => {
        const { RibbonFilter, decode, load } = await import("/dist/bloom.inline.js");
        const frame = document.body.appendChild(document.createElement("iframe")).contentWindow;
        const text = () => frame.eval("new Blob(['a\\nb']).stream()");
        const bytes = frame.eval(`new Uint8Array([${numbers}])`);
        const expected = decode(new Uint8Array(numbers));
        const sources = [
          bytes,
          bytes.buffer,
          new frame.Blob([bytes]),
          new frame.Response(bytes),
          frame.Promise.resolve(new frame.Response(bytes)),
        ];
        const blobUrl = URL.createObjectURL(new Blob([bytes]));
        sources.push(new frame.URL(blobUrl), new frame.Request(blobUrl));
        const answers = [];
        for (const source of sources)
          answers.push((await load(source, { signal: new frame.AbortController().signal })).equals(expected));
        const streamed = await RibbonFilter.fromStream(text(), { fpr: 1e-6 });
        answers.push(
          streamed.hasAll(["a", "b"]),
          streamed.info().count === 2,
          decode(bytes).equals(expected),
          RibbonFilter.from([frame.eval("new Uint8Array([97])")]).has("a"),
        );
        return answers;
      },
      [...blob],
    );
    assert.deepEqual(
      found,
      found.map(() => true),
    );
  });

  test("shared and resizable bytes", async () => {
    const answers = await page.evaluate(
      async (numbers) => {
        const engines = await Promise.all(["/dist/bloom.inline.js", "/dist/reader.js"].map((its) => import(its)));
        const shared = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer;
        const answers = [];
        for (const buffer of [shared, new ArrayBuffer(numbers.length, { maxByteLength: 2 ** 16 })]) {
          const bytes = new Uint8Array(buffer, 0, numbers.length);
          bytes.set(numbers);
          for (const { decode, load } of engines)
            for (const read of [decode(bytes), await load(bytes)]) answers.push(read.hasMany(["key 1", bytes]).join());
        }
        return answers;
      },
      [...blob],
    );
    assert.deepEqual(
      answers,
      answers.map(() => "1,0"),
    );
  });

  test("across origins, a Content-Length may be that of compressed bytes, so nothing is refused because of it", async () => {
    const codes = await page.evaluate(
      async ({ urls, limits }) => {
        const { load } = await import("/dist/bloom.inline.js");
        const codes = [];
        for (const url of urls) {
          for (const maxBytes of limits)
            codes.push(
              await load(url, { maxBytes }).then(
                () => "ok",
                ({ code }) => code,
              ),
            );
        }
        return codes;
      },
      { urls: [elsewhere.at("zipped"), elsewhere.at("plain")], limits: [blob.length, blob.length - 1] },
    );
    assert.ok(zipped.length > blob.length, "nothing to test: it became shorter");
    assert.deepEqual(codes, ["ok", "too_large", "ok", "too_large"]);
  });

  test("Vue: a filter in reactive, ref, readonly and their like is the filter itself, and frozen ones work", async () => {
    const wrong = await page.evaluate(async () => {
      const { BloomFilter } = await import("/dist/bloom.inline.js");
      const vue = await import("/vue.js");
      const containers = {
        reactive: (filter) => vue.reactive({ a: [{ filter }] }).a[0].filter,
        "reactive itself": (filter) => vue.reactive(filter),
        "reactive map": (filter) => vue.reactive(new Map([["f", filter]])).get("f"),
        ref: (filter) => vue.ref({ filter }).value.filter,
        shallowRef: (filter) => vue.shallowRef(filter).value,
        readonly: (filter) => vue.readonly({ filter }).filter,
        computed: (filter) => vue.computed(() => filter).value,
        markRaw: (filter) => vue.reactive({ filter: vue.markRaw(filter) }).filter,
        frozen: (filter) => vue.reactive({ filter: Object.freeze(filter) }).filter,
      };
      const wrong = Object.keys(containers).filter((name) => {
        const filter = BloomFilter.from(["a"]);
        const held = containers[name](filter);
        return !(held === filter && held.has("a") && held.add("b") && !held.has("c") && held.clone().equals(filter));
      });
      // A component that asks while it renders, and whose filter is replaced.
      const state = vue.reactive({ filter: BloomFilter.from(["a"]) });
      const shown = { render: () => vue.h("p", `${state.filter.has("a")} ${state.filter.has("b")}`) };
      const element = document.body.appendChild(document.createElement("div"));
      vue.createApp(shown).mount(element);
      const before = element.textContent;
      state.filter = BloomFilter.from(["b"]);
      await vue.nextTick();
      if (`${before}, ${element.textContent}` !== "true false, false true") wrong.push("rendered");
      return wrong;
    });
    assert.deepEqual(wrong, []);
  });
});
