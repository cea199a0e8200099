/** Feeds: the memory that updates take and leave behind, each measured in its own process. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bases, keysOf, RibbonFilter } from "../helpers/feeds.mjs";
import { folder, printed } from "../helpers/installed.mjs";
import { Publisher } from "../helpers/publisher.mjs";
import { given } from "../helpers/turn.mjs";

/**
 * Runs a script that has `manifests` and `files`, all of one publisher, and `live`, which returns the bytes of all
 * arrays still in use. Returns what it prints.
 */
function alone(publisher, manifests, source) {
  const files = [...publisher.files].map(([name, bytes]) => (writeFileSync(join(folder, name), bytes), name));
  writeFileSync(join(folder, "alone.json"), JSON.stringify({ files, manifests: manifests.map(String) }));
  const script = `
    const { readFileSync } = await import("node:fs");
    const { openFeed } = await import("./node_modules/bloom-wasm/dist/reader.js");
    const { files: names, manifests } = JSON.parse(readFileSync("alone.json"));
    const files = new Map(names.map((name) => [name, readFileSync(name)]));
    const publicKey = "${publisher.key.publicKey}";
    // The first collection only marks what the second one frees.
    const live = () => (gc(), gc(), process.memoryUsage().arrayBuffers);
    // Once everything that was begun has ended and is collected.
    const settled = async () => {
      for (let i = 0; i < 5; i++) await new Promise((resolve) => (live(), setImmediate(resolve)));
      return live();
    };
    ${source}
  `;
  return printed(script, "--expose-gc").trim();
}

test("300 updates, half of which fail or are aborted, leave nothing behind", () => {
  const publisher = new Publisher(bases.a);
  const manifests = [publisher.manifest];
  for (let i = 0; i < 20; i++) {
    publisher.base(RibbonFilter.from(keysOf(`round ${i}`))).delta(`round ${i}`);
    manifests.push(publisher.manifest);
  }
  const out = alone(
    publisher,
    manifests,
    `
    let manifest, broken, stop;
    const fetch = async (url) => {
      const name = url.split("/").at(-1);
      if (name === "feed.json") return new Response(manifest);
      const bytes = files.get(name);
      if (bytes.length < 100) {
        if (stop) stop.abort();
        if (broken) return new Response(bytes.map((byte) => byte ^ 1));
      }
      return new Response(bytes);
    };
    const open = async (at) => ((manifest = manifests[at]), openFeed("https://a.example/feed.json", { publicKey, cache: null, fetch }));
    let size;
    const codes = {};
    const round = async () => {
      const feed = await open(0);
      for (let i = 1; i < manifests.length; i++) {
        manifest = manifests[i];
        broken = i % 4 === 1;
        stop = i % 4 === 2 ? new AbortController() : undefined;
        const code = await feed.update({ signal: stop?.signal }).catch((error) => error.code ?? error.name);
        codes[code] = (codes[code] ?? 0) + 1;
      }
      broken = stop = undefined;
      feed.close();
    };
    for (let i = 0; i < 15; i++) {
      await round();
      if (i === 2) size = await settled();
    }
    console.log((await settled()) - size, JSON.stringify(codes));
    `,
  );
  const [grown, codes] = out.split(" ");
  assert.deepEqual(JSON.parse(codes), { integrity: 75, 20: 75, true: 150 });
  // A filter of these has more than 3,750 bytes: one left behind in each of twelve rounds would be twice this much.
  assert.ok(Number(grown) < 20_000, `${grown} bytes`);
});

test("the deltas of old generations are not kept", () => {
  const publisher = new Publisher(bases.a).delta();
  const manifests = Array.from({ length: 120 }, (_, i) => publisher.delta(`${i}`.padEnd(255), 1).manifest);
  const out = alone(
    publisher,
    manifests,
    `
    let manifest;
    const fetch = async (url) => new Response(url.endsWith(".json") ? manifest : files.get(url.split("/").at(-1)));
    const cache = { get: async () => undefined, put: async () => {}, delete: async () => {} };
    let feed, size;
    for (manifest of manifests) {
      if (feed) await feed.update();
      else feed = await openFeed("https://a.example/feed.json", { publicKey, cache, fetch });
      if (manifest === manifests[20]) size = await settled();
    }
    console.log((await settled()) - size);
    `,
  );
  // A hundred of them have 28,000 bytes.
  assert.ok(Number(out) < 10_000, `${out} bytes`);
});

// Large enough that a second copy would exceed the limit; `KEYS` builds others.
const KEYS = given("KEYS", 500_000);

test("an update takes the memory of the old filter and the new one, with a cache a copy of the new file, and 256 KiB", () => {
  const large = (which) =>
    RibbonFilter.from(
      (function* () {
        for (let i = 0; i < KEYS; i++) yield `${which}${i}`;
      })(),
      { fpr: 1e-6 },
    );
  const publisher = new Publisher(large("a"));
  const manifests = [publisher.manifest, publisher.base(large("b")).manifest, publisher.delta().manifest];
  const [a, b] = [...publisher.files.values()].map((bytes) => bytes.length);
  assert.ok(a > 2 * KEYS);
  for (const cached of [false, true]) {
    const out = alone(
      publisher,
      manifests,
      `
      let most = 0;
      const measure = () => (most = Math.max(most, live()));
      let manifest = manifests[0];
      const fetch = async (url) => {
        const name = url.split("/").at(-1);
        if (name === "feed.json") return new Response(manifest);
        const bytes = files.get(name);
        let at = 0;
        return new Response(new ReadableStream({
          pull(controller) {
            if (at % (1 << 20) === 0) measure();
            if (at >= bytes.length) return controller.close();
            controller.enqueue(bytes.subarray(at, (at += 65536)));
          },
        }, { highWaterMark: 0 }));
      };
      // It forgets what it is given, except the manifest.
      const kept = new Map();
      const cache = ${cached} ? {
        get: async (name) => kept.get(name),
        put: async (name, bytes) => (measure(), name.startsWith("head-") && kept.set(name, bytes.slice())),
        delete: async (name) => kept.delete(name),
      } : null;
      const before = await settled();
      const told = [];
      const feed = await openFeed("https://a.example/feed.json", { publicKey, cache, fetch });
      for (manifest of [undefined, ...manifests.slice(1)]) {
        if (manifest) await feed.update();
        measure();
        const peak = most - before;
        most = 0;
        told.push([peak, (await settled()) - before]);
      }
      if (feed.generation !== 3) throw new Error("the updates are missing");
      console.log(JSON.stringify(told));
      `,
    );
    const [opened, updated, again] = JSON.parse(out);
    const copy = cached ? 1 : 0;
    // The peak, and what is left. A delta shares the bytes of its base, which is put again because this cache has
    // forgotten it.
    const expected = [
      [opened, (1 + copy) * a, a],
      [updated, a + (1 + copy) * b, b],
      [again, (1 + copy) * b, b],
    ];
    for (const [i, [[peak, left], most, least]] of expected.entries()) {
      const what = `${cached ? "with a cache" : "without"}, ${i}: ${peak} and ${left} bytes, for ${most} and ${least}`;
      assert.ok(peak >= least && left >= least, `not measured: ${what}`);
      assert.ok(peak - most <= 262_144 && left - least <= 65_536, what);
    }
  }
});
