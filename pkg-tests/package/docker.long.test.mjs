/**
 * Dockerfile, without Docker: what it copies exists, its command builds what it then copies into the image, and its
 * entry point runs.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { test } from "node:test";
import { root } from "../../scripts/setup.mjs";

const text = readFileSync(join(root, "Dockerfile"), "utf8");
const steps = text
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => /^([A-Z]+) (.*)$/.exec(line).slice(1));
const all = (name) => steps.filter(([step]) => step === name).map(([, rest]) => rest);
const run = (program, ...args) => execFileSync(program, args, { cwd: root, encoding: "utf8" });

test("the images are those of the toolchain, and of one Debian", () => {
  const [build, final] = all("FROM");
  const [, channel] = /channel = "(\d+\.\d+)/.exec(readFileSync(join(root, "rust-toolchain.toml"), "utf8"));
  const [, version, debian] = /^rust:([\d.]+)-slim-(\w+) AS build$/.exec(build);
  assert.equal(version, channel);
  // A program that was built against a newer C library wouldn't run.
  assert.equal(final, `debian:${debian}-slim`);
});

test(".dockerignore excludes nothing from the build that is in the repository", () => {
  const patterns = readFileSync(join(root, ".dockerignore"), "utf8").trim().split("\n");
  const names = patterns.map((pattern) => pattern.replace("**/", ""));
  for (const path of run("git", "ls-files").trim().split("\n"))
    assert.ok(!path.split("/").some((part) => names.includes(part)), path);
});

test("the command builds what is copied into the image, and that is the entry point", { timeout: 1_200_000 }, () => {
  const [command] = all("RUN");
  run("sh", "-ec", command);
  const [home] = all("WORKDIR");
  const [, from, to] = /^--from=build (\S+) (\S+)$/.exec(all("COPY")[1]);
  const built = join(root, relative(home, from));
  const [entry, ...args] = JSON.parse(all("ENTRYPOINT")[0]);
  assert.equal(entry, basename(built));
  // On the PATH of Debian's images.
  assert.equal(to, "/usr/local/bin/");
  assert.deepEqual(args, []);
  assert.match(run(built, "--version"), /^bloom-wasm \d/);
});
