/** The tarball as it is published, including the tool. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { folder, tarball } from "../helpers/installed.mjs";

const bin = (name) => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));

test("publint is clean", () => {
  const { status, stdout, stderr } = spawnSync(bin("publint"), ["run", tarball, "--strict"], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /All good/);
});

test("attw reports only that CommonJS resolves to ESM", () => {
  const args = [tarball, "--profile", "node16", "--format", "json"];
  const { stdout } = spawnSync(bin("attw"), args, { encoding: "utf8" });
  const { analysis } = JSON.parse(stdout);
  assert.ok(analysis.entrypoints["."], stdout.slice(0, 500));
  const problems = analysis.problems.filter(({ resolutionKind }) => resolutionKind !== "node10");
  assert.deepEqual(
    problems.map(({ kind }) => kind),
    [".", "./slim", "./reader", "./bloom.wasm"].map(() => "CJSResolvesToESM"),
  );
});

test("the package is small, self-contained and names no machine", () => {
  const [{ files: packed, unpackedSize }] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", tarball], { encoding: "utf8" }),
  );
  console.log(`${packed.length} files, ${unpackedSize} bytes unpacked`);
  for (const { path } of packed)
    assert.match(
      path,
      /^(dist\/(\w+\/)?[\w.-]+\.(js|js\.map|d\.ts|wasm)|docs\/[\w-]+\.(md|json)|examples\/[\w./-]+|[A-Z-]+(\.md)?|package\.json)$/,
    );
  const { files, dependencies } = createRequire(join(folder, "user.cjs"))("bloom-wasm/package.json");
  assert.ok(files.includes("dist"));
  assert.equal(dependencies, undefined);
  for (const name of ["bloom.wasm", "tool.wasm"]) {
    const wasm = readFileSync(join(folder, "node_modules/bloom-wasm/dist", name), "latin1");
    assert.doesNotMatch(wasm, /\/home\/|\/root\/|\/Users\/|\.cargo/);
  }
});
