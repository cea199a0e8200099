/** The memory that "bloom-wasm/reader" takes to load a blob, in its own process. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, installed, printed } from "../helpers/installed.mjs";

const { BloomFilter, RibbonFilter } = await installed();

/**
 * Streams a blob in. Returns "loaded" or the code of a failure, and the most that all arrays together take beyond the
 * blob's length, while it arrives and afterwards.
 */
function streamed(bytes, headers = {}) {
  const path = join(folder, "streamed.bloom");
  writeFileSync(path, bytes);
  const source = `
    const { openSync, readSync } = await import("node:fs");
    const { load } = await import("./node_modules/bloom-wasm/dist/reader.js");
    const file = openSync(${JSON.stringify(path)});
    // The first collection only marks what the second one frees.
    const live = () => (gc(), gc(), process.memoryUsage().arrayBuffers);
    let most = 0;
    let asked = 0;
    // Always the same array, so that earlier ones need no collecting.
    const chunk = new Uint8Array(65536);
    const measure = () => (most = Math.max(most, live()));
    const body = new ReadableStream({
      pull(controller) {
        // The first chunks, before the length is known, and then each megabyte.
        if (asked++ < 5 || asked % 16 === 0) measure();
        const length = readSync(file, chunk);
        if (length === 0) return measure(), controller.close();
        controller.enqueue(chunk.subarray(0, length));
      },
    }, { highWaterMark: 0 });
    const response = new Response(body, { headers: ${JSON.stringify(headers)} });
    // Leftovers of starting.
    for (let i = 0; i < 3; i++) await new Promise((resolve) => (live(), setImmediate(resolve)));
    const before = live();
    let filter;
    const code = await load(response).then((its) => ((filter = its), "loaded"), ({ code }) => code);
    measure();
    console.log(code, most - before - ${bytes.length}, filter?.info().byteLength);
  `;
  const [code, beyond] = printed(source, "--expose-gc").split(" ");
  return { code, beyond: Number(beyond) };
}

test("a blob that arrives takes its own length and at most 256 KiB, also if it is damaged or there is a byte too many", () => {
  const blobs = {
    bloom: BloomFilter.withCapacity(2_000_000, 1e-4).toBytes(), // 5 MB
    ribbon: RibbonFilter.from(Array.from({ length: 30_000 }, (_, i) => `key ${i}`)).toBytes(),
  };
  for (const [kind, whole] of Object.entries(blobs)) {
    const damaged = whole.with(-1, whole.at(-1) ^ 1);
    const longer = new Uint8Array(whole.length + 1);
    longer.set(whole);
    for (const [bytes, headers, expected] of [
      [whole, { "content-length": String(whole.length) }, "loaded"],
      [whole, {}, "loaded"],
      [damaged, {}, "checksum_mismatch"],
      [longer, {}, "trailing_bytes"],
    ]) {
      const { code, beyond } = streamed(bytes, headers);
      assert.equal(code, expected, kind);
      assert.ok(beyond <= 262_144, `${kind}, ${expected}: ${beyond} bytes more than the blob`);
      if (expected === "loaded") assert.ok(beyond > 0, "the blob was not measured");
    }
  }
});
