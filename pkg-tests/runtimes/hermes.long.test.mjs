/**
 * bloom-wasm/reader in Hermes, the engine of React Native: without WebAssembly, URL, TextEncoder and WebCrypto. The
 * script is compiled with React Native's own Babel preset, as Metro does.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import * as setup from "../../scripts/setup.mjs";
import { PATIENCE } from "../helpers/browsers.mjs";
import { app } from "../helpers/installed.mjs";
import { golden } from "./golden.mjs";
import { record, skipped } from "./table.mjs";

const version = "0.12.0";
const compilers = ["@babel/core@7.29.13", "@react-native/babel-preset@0.86.3"];
const modules = setup.installed("hermes", [`hermes-engine-cli@${version}`, ...compilers]);
const folder = {
  "linux x64": "linux64-bin",
  "darwin x64": "osx-bin",
  "darwin arm64": "osx-bin",
  "win32 x64": "win64-bin",
}[`${process.platform} ${process.arch}`];
const missing = !modules ? setup.NOT_INSTALLED : !folder && "npm has no Hermes for this machine";

describe("Hermes", { skip: missing && skipped("Hermes", missing), timeout: 9 * PATIENCE }, () => {
  const here = app("hermes");
  const hrefs = {};
  let script;

  /** The script's output, as JSON, with these globals lent to the engine. */
  async function ran(...lends) {
    const file = join(here, `${lends.join("-") || "bare"}.js`);
    writeFileSync(file, `globalThis.HOST = ${JSON.stringify({ golden, hrefs, lends })};\n${script}`);
    const hermes = join(modules, "hermes-engine-cli", folder, "hermes");
    const { stdout } = await promisify(execFile)(hermes, [file], { timeout: 3 * PATIENCE });
    const said = JSON.parse(stdout);
    assert.equal(said.error, undefined);
    return said;
  }

  /** Its output in this Node, which has everything that Hermes is lent. Records the answers of Node's parser. */
  async function inNode() {
    class Recording extends URL {
      constructor(text) {
        hrefs[text] = null;
        super(text);
        hrefs[text] = this.href;
      }
    }
    const printed = new Promise((print) => {
      const host = { golden, hrefs, lends: [] };
      runInContext(script, createContext({ HOST: host, URL: Recording, TextEncoder, print }));
    });
    return JSON.parse(await printed);
  }

  before(async () => {
    const options = { bundle: true, format: "iife", write: false, logLevel: "error" };
    const { outputFiles } = await build({ ...options, entryPoints: [join(here, "hermes.mjs")] });
    const require = createRequire(join(modules, "user.cjs"));
    const preset = [require.resolve("@react-native/babel-preset"), { enableBabelRuntime: false }];
    const quiet = { babelrc: false, configFile: false, compact: true, filename: "hermes.js" };
    script = require("@babel/core").transformSync(outputFiles[0].text, { ...quiet, presets: [preset] }).code;
  });

  test("golden files, and canonical URLs; the error for something missing names it", async () => {
    const { verdict, lacks, answers } = await ran();
    assert.deepEqual(lacks, ["Response", "TextDecoder", "TextEncoder", "URL", "crypto"]);
    record("Hermes", version, verdict);
    assert.equal(answers.plain, "w.host6.example/");
    assert.match(answers.user, /^FilterError unsupported_runtime: .*\bURL\b/);
    assert.match(answers.long, /^ReferenceError: .*\bTextEncoder\b/);
    assert.match(answers.integrity, /^FilterError integrity: .*\bcrypto\.subtle\b/);
    assert.match(answers.streamless, /^FilterError network: .*\barrayBuffer\b/);
    assert.match(answers.feed, /^ReferenceError: .*\bURL\b/);
  });

  test("with a TextEncoder and a full URL: all URLs and passwords, as in Node", async () => {
    const inIt = await inNode();
    assert.equal(inIt.answers.user, "host0.example/");
    const { verdict, lacks, answers } = await ran("TextEncoder", "URL");
    assert.deepEqual(lacks, ["Response", "TextDecoder", "crypto"]);
    record("Hermes, with TextEncoder and URL", version, verdict);
    for (const of of ["plain", "user", "long"]) assert.deepEqual(answers[of], inIt.answers[of], of);
  });

  test("a URL class that only joins strings, like React Native's, is refused, and never means absent", async () => {
    const { answers } = await ran("TextEncoder", "React Native's URL");
    assert.equal(answers.plain, "w.host6.example/");
    assert.match(answers.user, /^FilterError unsupported_runtime: .*\bURL\b/);
  });
});
