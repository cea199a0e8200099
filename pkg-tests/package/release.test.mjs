/** What .github/workflows/release.yml does: it publishes the files that were tested, and what a registry lacks. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { parse } from "yaml";
import { check, publish } from "../../scripts/registries.mjs";
import { root, shell } from "../../scripts/setup.mjs";
import { install } from "../helpers/install.mjs";

const folder = mkdtempSync(join(tmpdir(), "release-"));
after(() => rmSync(folder, { recursive: true }));
const { jobs } = parse(readFileSync(join(root, ".github/workflows/release.yml"), "utf8"));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const [TARBALL, LIBRARY, TOOL] = ["bloom-wasm-V.tgz", "bloom-wasm-V.crate", "bloom-wasm-cli-V.crate"].map((name) =>
  name.replace("V", version),
);
const hashed = (algorithm, name, encoding) =>
  createHash(algorithm)
    .update(readFileSync(join(folder, name)))
    .digest(encoding);

/** What the registries have, by the end of its address. */
let registries;
let status;
beforeEach(() => {
  registries = {
    // Versions before and after this one.
    "bl/oo/bloom-wasm": ["0.0.1", "999.0.0"].map((vers) => JSON.stringify({ vers, cksum: "00" })),
  };
  status = 200;
  for (const name of [TARBALL, LIBRARY, TOOL]) writeFileSync(join(folder, name), `bytes of ${name}`);
});
globalThis.fetch = async (url) => {
  const { host, pathname } = new URL(url);
  assert.ok(["registry.npmjs.org", "index.crates.io"].includes(host));
  const answer = registries[pathname.slice(1)];
  return new Response(answer?.join("\n") ?? "Not found", { status: answer ? status : status === 200 ? 404 : status });
};

/** Does what a command would do, unless it is to fail. */
function publishing(fails) {
  const commands = [];
  const run = (...command) => {
    commands.push(command.join(" ").replace(join(folder, "/"), ""));
    if (commands.at(-1).includes(fails)) throw new Error(`${fails} failed`);
    if (command[0] === "npm")
      registries[`bloom-wasm/${version}`] = [
        JSON.stringify({ version, dist: { integrity: `sha512-${hashed("sha512", TARBALL, "base64")}` } }),
      ];
    else {
      const cksum = hashed("sha256", `${command[3]}-${version}.crate`, "hex");
      (registries[`bl/oo/${command[3]}`] ??= []).push(JSON.stringify({ vers: version, cksum }));
    }
  };
  return { commands, run };
}

/** What `check` prints, without a wait. */
async function said(t) {
  const log = t.mock.method(console, "log", () => {});
  const all = await check(folder, 0);
  const lines = log.mock.calls.map(({ arguments: [line] }) => line.replaceAll(` ${version}`, ""));
  log.mock.restore();
  return { all, lines };
}

const COMMANDS = [
  `npm publish ${TARBALL} --provenance --access public`,
  "cargo publish --package bloom-wasm --locked --no-verify",
  "cargo publish --package bloom-wasm-cli --locked --no-verify",
];

test("what no registry has is published, the library before the tool, and not again", async (t) => {
  const first = publishing();
  await publish(folder, first.run);
  assert.deepEqual(first.commands, COMMANDS);
  assert.deepEqual(await said(t), {
    all: true,
    lines: ["npm's bloom-wasm", "crates.io's bloom-wasm", "crates.io's bloom-wasm-cli"].map(
      (name) => `${name}: published`,
    ),
  });
  const second = publishing();
  await publish(folder, second.run);
  assert.deepEqual(second.commands, []);
});

test("a release that ends half way says so, and a second run completes it", async (t) => {
  await assert.rejects(publish(folder, publishing("bloom-wasm-cli").run), /bloom-wasm-cli failed/);
  const { all, lines } = await said(t);
  assert.deepEqual([all, lines[2]], [false, "crates.io's bloom-wasm-cli: NOT published"]);
  const { commands, run } = publishing();
  await publish(folder, run);
  assert.deepEqual(commands, COMMANDS.slice(2));
  assert.equal((await said(t)).all, true);
});

test("a registry that doesn't say is not taken for one that lacks the package", async (t) => {
  status = 503;
  const { commands, run } = publishing();
  await assert.rejects(publish(folder, run), /answers 503/);
  assert.deepEqual(commands, []);
  const { all, lines } = await said(t);
  assert.equal(all, false);
  for (const line of lines) assert.match(line, /unknown: .* answers 503/);
});

test("another file of the same version is an error, and so is a file that is missing", async (t) => {
  await publish(folder, publishing().run);
  for (const name of [TARBALL, LIBRARY, TOOL]) {
    appendFileSync(join(folder, name), "!");
    await assert.rejects(publish(folder, publishing().run), /is another file than ours/, name);
    assert.equal((await said(t)).all, false, name);
    writeFileSync(join(folder, name), `bytes of ${name}`);
  }
  registries = {};
  rmSync(join(folder, TOOL));
  const { commands, run } = publishing();
  await assert.rejects(publish(folder, run), /ENOENT/);
  assert.deepEqual(commands, []);
});

const skip = process.platform !== "linux" && "the workflow runs on Linux";

test("files that aren't those that were hashed after the tests are refused", { skip }, () => {
  const [home, output] = [join(folder, "runner"), join(folder, "output")];
  mkdirSync(join(home, "tested"), { recursive: true });
  for (const name of [TARBALL, LIBRARY, "tool.wasm.cdx.json"]) writeFileSync(join(home, "tested", name), name);
  const script = (job, of) => jobs[job].steps.find(({ run }) => run?.includes(of)).run;
  const bash = (source, variables) =>
    spawnSync("bash", ["-eo", "pipefail", "-c", source], {
      env: { ...process.env, RUNNER_TEMP: home, GITHUB_OUTPUT: output, ...variables },
    }).status;
  assert.equal(bash(script("test", "GITHUB_OUTPUT")), 0);
  const [, SUMS] = /^sums=(.*)\n$/.exec(readFileSync(output, "utf8"));
  const verify = (sums = SUMS) => bash(script("publish", "sha256sum --check"), { SUMS: sums });
  assert.equal(verify(), 0);
  assert.notEqual(verify(""), 0);
  appendFileSync(join(home, "tested", TARBALL), "!");
  assert.notEqual(verify(), 0);
  // Whoever can replace a file can replace its hash beside it.
  const sums = execFileSync("sha256sum", [TARBALL, LIBRARY, "tool.wasm.cdx.json"], { cwd: join(home, "tested") });
  writeFileSync(join(home, "tested/SHA256SUMS"), sums);
  assert.notEqual(verify(), 0);
});

test("the job that publishes builds nothing, and checks the files before", () => {
  const { steps } = jobs.publish;
  for (const { run = "" } of steps) assert.doesNotMatch(run, /npm (ci|install|run|pack)|build\.mjs/);
  const at = (of) => steps.findIndex(({ run }) => run?.includes(of));
  assert.ok(at("sha256sum --check") > 0 && at("sha256sum --check") < at("registries.mjs publish"));
  assert.ok(at("cmp") > 0 && at("cmp") < at("registries.mjs publish"));
  const last = steps.at(-1);
  assert.match(last.run, /registries\.mjs check/);
  assert.equal(last.if, "always()");
});

test("the tests take the tarball that they are given", () => {
  const [source, home] = [join(folder, "source"), join(folder, "installed")];
  mkdirSync(source);
  writeFileSync(join(source, "package.json"), '{ "name": "bloom-wasm", "version": "999.0.0" }');
  execFileSync("npm", ["pack"], { cwd: source, shell, stdio: "ignore" });
  process.env.BLOOM_WASM_TARBALL = join(source, "bloom-wasm-999.0.0.tgz");
  try {
    install(home);
  } finally {
    delete process.env.BLOOM_WASM_TARBALL;
  }
  const installed = JSON.parse(readFileSync(join(home, "node_modules/bloom-wasm/package.json"), "utf8"));
  assert.equal(installed.version, "999.0.0");
  const testing = jobs.test.steps.find(({ run }) => run?.includes(".ci/run")).run;
  assert.match(testing, /^BLOOM_WASM_TARBALL=\S+ \.ci\/run$/m);
});
