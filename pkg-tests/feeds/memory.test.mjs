/** Feeds: the memory that updates take and leave behind, each measured in a process of its own. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bases, keysOf, RibbonFilter } from "../helpers/feeds.mjs";
import { CATCH_MEMORY, folder } from "../helpers/installed.mjs";
import { Publisher } from "../helpers/publisher.mjs";

/** Runs a script that has `generations`: manifests, and `files`, all of one publisher, and WebAssembly's `memory`. */
function alone(publisher, manifests, source, ...flags) {
  const files = [...publisher.files].map(([name, bytes]) => (writeFileSync(join(folder, name), bytes), name));
  writeFileSync(join(folder, "alone.json"), JSON.stringify({ files, manifests: manifests.map(String) }));
  const script = `
    ${CATCH_MEMORY}
    // What isn't freed is never collected.
    globalThis.FinalizationRegistry = class {
      register() {}
      unregister() {}
    };
    const { readFileSync } = await import("node:fs");
    const { openFeed } = await import("./node_modules/bloom-wasm/dist/reader.inline.js");
    const { files: names, manifests } = JSON.parse(readFileSync("alone.json"));
    const files = new Map(names.map((name) => [name, readFileSync(name)]));
    const publicKey = "${publisher.key.publicKey}";
    ${source}
  `;
  const args = [...flags, "--input-type=module", "-e", script];
  return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" }).trim();
}

test("300 updates, half of which fail or are aborted, leave nothing behind in WebAssembly", () => {
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
    for (let round = 0; round < 15; round++) {
      const feed = await open(0);
      for (let i = 1; i < manifests.length; i++) {
        manifest = manifests[i];
        broken = i % 4 === 1;
        stop = i % 4 === 2 ? new AbortController() : undefined;
        const old = feed.filter;
        const code = await feed.update({ signal: stop?.signal }).catch((error) => error.code ?? error.name);
        codes[code] = (codes[code] ?? 0) + 1;
        if (feed.filter !== old) old.free();
      }
      broken = stop = undefined;
      feed.filter.free();
      feed.close();
      if (round === 2) size = memory.buffer.byteLength;
    }
    console.log(memory.buffer.byteLength - size, JSON.stringify(codes));
    `,
  );
  const [grown, codes] = out.split(" ");
  assert.deepEqual(JSON.parse(codes), { integrity: 75, 20: 75, true: 150 });
  assert.equal(Number(grown), 0, `${grown} bytes`);
});

// Large enough for a second copy to be more than what is allowed; `KEYS` builds others.
const KEYS = Number(process.env.KEYS ?? 500_000);

test("an update takes the memory of the old filter and the new one, and 512 KiB", () => {
  const large = (which) =>
    RibbonFilter.from(
      (function* () {
        for (let i = 0; i < KEYS; i++) yield `${which}${i}`;
      })(),
      { fpr: 1e-6 },
    );
  const publisher = new Publisher(large("a"));
  const manifests = [publisher.manifest, publisher.base(large("b")).manifest, publisher.delta().manifest];
  const sizes = [...publisher.files.values()].map((bytes) => bytes.length);
  assert.ok(sizes[0] > 2 * KEYS);
  const out = alone(
    publisher,
    manifests,
    `
    let most = 0;
    const measure = () => {
      gc();
      most = Math.max(most, memory.buffer.byteLength + process.memoryUsage().arrayBuffers);
    };
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
    for (let i = 0; i < 3; i++) {
      gc();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const before = memory.buffer.byteLength + process.memoryUsage().arrayBuffers;
    const told = [];
    const feed = await openFeed("https://a.example/feed.json", { publicKey, cache: null, fetch });
    measure();
    told.push(most - before);
    for (manifest of manifests.slice(1)) {
      await feed.update();
      measure();
      told.push(most - before);
    }
    console.log([...told, memory.buffer.byteLength].join());
    `,
    "--expose-gc",
  );
  const [opened, updated, again, memory] = out.split(",").map(Number);
  assert.ok(opened > sizes[0] && updated > sizes[0] + sizes[1], `the filters were not measured: ${out}`);
  // With each filter, WebAssembly's memory grows by a sixteenth that is not used yet.
  const beyond = [opened - sizes[0] - memory / 16, updated - sizes[0] - sizes[1] - memory / 8].map(Math.round);
  console.log(`beyond the filters and the sixteenths: ${beyond.join(" and ")} bytes`);
  for (const bytes of beyond) assert.ok(bytes <= 524_288, `${bytes} bytes more`);
  assert.ok(again - updated < 65_536, "a delta takes no more");
});
