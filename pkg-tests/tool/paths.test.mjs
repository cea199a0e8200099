/** What `npx bloom-wasm` does beside WASI: paths, and the temporary file that two threads share. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { toHost, toWasi } from "../../bin/paths.js";
import { Temporary } from "../../bin/temporary.js";

test("Windows paths pass through WASI unchanged", () => {
  for (const [path, cwd, expected] of [
    ["C:/Users/me/list.txt", "C:\\Users\\me", "list.txt"],
    ["C:/Users/me/D:\\lists\\bad.txt", "C:\\Users\\me", "D:\\lists\\bad.txt"],
    ["C:/Users/me/..\\bad.txt", "C:\\Users\\me", "..\\bad.txt"],
    ["C:/Users/me/\\\\server\\share/x", "C:\\Users\\me", "\\\\server\\share/x"],
    ["C:/Users/me", "C:\\Users\\me", "."],
    ["C:/Users/me2/x", "C:\\Users\\me", "C:/Users/me2/x"],
    ["C:/x", "C:\\", "x"],
    ["temp/x", "C:\\Users\\me", "/temp/x"],
  ])
    assert.equal(toHost(path, toWasi(cwd, true), true), expected);
  for (const [path, cwd, expected] of [
    ["srv/app//list", "/srv/app", "list"],
    ["srv/application/list", "/srv/app", "/srv/application/list"],
    ["srv/app/../list", "/srv/app", "../list"],
    ["srv/app/C:\\x", "/srv/app", "C:\\x"],
    ["C:/x", "/srv/app", "/C:/x"],
    ["list", "/", "list"],
  ])
    assert.equal(toHost(path, toWasi(cwd, false), false), expected);
  assert.equal(toWasi("..\\target", true), "../target");
  assert.equal(toWasi("a\\b", false), "a\\b");
});

test("a signal removes the present temporary file, and no other, once it isn't held", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  const [first, second] = ["first", "second"].map((name) => join(folder, name));
  try {
    for (const name of [first, second]) writeFileSync(name, "");
    const temporary = new Temporary();
    temporary.set(Buffer.from(first));
    temporary.set(undefined);
    temporary.remove();
    assert.ok(existsSync(first), "it has its final name");
    temporary.hold();
    const source = `
      const { workerData, parentPort } = require("node:worker_threads");
      import(workerData.module).then(({ Temporary }) => {
        const temporary = new Temporary(workerData.shared);
        parentPort.postMessage("ready");
        temporary.hold();
        temporary.remove();
        temporary.letGo();
      });
    `;
    const module = new URL("../../bin/temporary.js", import.meta.url).href;
    const worker = new Worker(source, { eval: true, workerData: { module, shared: temporary.shared } });
    const ended = new Promise((resolve) => worker.on("exit", resolve));
    await new Promise((resolve) => worker.once("message", resolve));
    assert.ok(existsSync(second));
    temporary.set(Buffer.from(second));
    temporary.letGo();
    await ended;
    assert.deepEqual([existsSync(first), existsSync(second)], [true, false]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
