/**
 * Installs what is missing and skips what is there: the npm packages, the wasm target, wasm-pack and wasm-bindgen.
 * Needs rustup and Node. `npm run setup -- --browser` installs the browsers for the tests too.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

const WASM_PACK = "0.15.1";
const CARGO_FUZZ = "0.13.2";
/** The glue's generator must be of the crate's version to the digit. */
const WASM_BINDGEN = /name = "wasm-bindgen"\nversion = "(.*)"/.exec(readFileSync(join(root, "Cargo.lock"), "utf8"))[1];

/** Tools live outside the checkout, one folder a version, so that the next clone finds them. */
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "bloom-wasm");
const tools = [`wasm-pack-${WASM_PACK}`, `wasm-bindgen-${WASM_BINDGEN}`, `cargo-fuzz-${CARGO_FUZZ}`].map((tool) =>
  join(cache, tool, "bin"),
);
process.env.PATH = [...tools, join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);

/** Runs a command in the project's folder and shows what it prints; throws if it fails. */
export function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (error || status !== 0) throw new Error(`${command} ${args.join(" ")} failed${error ? `: ${error.message}` : ""}`);
}

/** What a command prints, or "" if it can't be run. */
export function output(command, ...args) {
  try {
    return execFileSync(command, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

function step(what) {
  console.log(`setup: ${what}`);
}

function needRustup() {
  if (!output("rustup", "--version")) throw new Error("Rust is missing: install it from https://rustup.rs");
}

/** The npm packages of a folder's package-lock.json, installed if they are missing or old; false if that can't be done. */
export function packages(folder) {
  const installed = join(root, folder, "node_modules/.package-lock.json");
  const lock = join(root, folder, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return true;
  step(`installing the npm packages of ${relative(root, lock)}`);
  return (
    spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: join(root, folder), stdio: "inherit" }).status === 0
  );
}

/** What the build needs. */
export function setup() {
  if (!packages(".")) throw new Error("npm could not install the packages of package-lock.json");
  needRustup();
  if (!output("rustup", "target", "list", "--installed").includes("wasm32-unknown-unknown")) {
    step("adding the Rust target wasm32-unknown-unknown");
    run("rustup", "target", "add", "wasm32-unknown-unknown");
  }
  if (!output("wasm-pack", "--version")) {
    step(`installing wasm-pack ${WASM_PACK} (about a minute, once)`);
    run(
      "cargo",
      "install",
      "wasm-pack",
      "--version",
      WASM_PACK,
      "--locked",
      "--debug",
      "--quiet",
      "--root",
      join(tools[0], ".."),
    );
  }
  if (output("wasm-bindgen", "--version").trim() !== `wasm-bindgen ${WASM_BINDGEN}`) {
    step(`installing wasm-bindgen ${WASM_BINDGEN} (about a minute, once)`);
    // Not --locked: the lock file it was released with no longer builds.
    run(
      "cargo",
      "install",
      "wasm-bindgen-cli",
      "--version",
      WASM_BINDGEN,
      "--debug",
      "--quiet",
      "--root",
      join(tools[1], ".."),
    );
  }
}

/** What fuzzing needs: a nightly Rust and cargo-fuzz. The build does without both. */
export function fuzzer() {
  needRustup();
  if (!output("rustup", "run", "nightly", "rustc", "--version")) {
    step("installing the nightly Rust toolchain");
    run("rustup", "toolchain", "install", "nightly", "--profile", "minimal");
  }
  if (!output("cargo-fuzz", "fuzz", "--version").includes(CARGO_FUZZ)) {
    step(`installing cargo-fuzz ${CARGO_FUZZ} (about a minute, once)`);
    run(
      "cargo",
      "install",
      "cargo-fuzz",
      "--version",
      CARGO_FUZZ,
      "--locked",
      "--debug",
      "--quiet",
      "--root",
      join(tools[2], ".."),
    );
  }
}

/** The path of a program, installed first if it is missing and this is a Debian with root rights; else undefined. */
function program(name, packaged, commands, places) {
  const find = () =>
    commands.map((command) => output("which", command).trim()).find(Boolean) || places.find(existsSync);
  if (!find() && process.getuid?.() === 0 && output("which", "apt-get")) {
    step(`installing ${name} for the tests`);
    const install = ["-o", "DPkg::Lock::Timeout=900", "install", "-y", "-qq", "--no-install-recommends", packaged];
    spawnSync("apt-get", ["update", "-qq"], { stdio: "inherit" });
    spawnSync("apt-get", install, {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  }
  return find();
}

export function chromium() {
  const commands = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const places = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
  ];
  return process.env.CHROMIUM_PATH || program("Chromium", "chromium", commands, places);
}

export function firefox() {
  const places = ["/Applications/Firefox.app/Contents/MacOS/firefox", "C:/Program Files/Mozilla Firefox/firefox.exe"];
  return process.env.FIREFOX_PATH || program("Firefox", "firefox-esr", ["firefox-esr", "firefox"], places);
}

export function valgrind() {
  return program("Valgrind", "valgrind", ["valgrind"], []);
}

/** What drives WebKit, as GNOME's browser has it, and the screen for it that nobody sees; undefined if one is missing. */
export function webkit() {
  const driver = program("WebKit", "webkit2gtk-driver", ["WebKitWebDriver"], []);
  const screen = program("Xvfb", "xvfb", ["Xvfb"], []);
  return driver && screen && { driver, screen };
}

/** Why a test is skipped for which `installed` returns undefined. */
export const NOT_INSTALLED = "npm could not install what it needs";

/**
 * The node_modules of npm packages that only some tests need, each with its exact version, installed first if they are
 * missing; undefined if that can't be done.
 */
export function installed(name, packages) {
  const version = createHash("sha256").update(packages.join()).digest("hex").slice(0, 12);
  const folder = join(cache, `${name}-${version}`);
  const modules = join(folder, "node_modules");
  if (existsSync(modules)) return modules;
  step(`installing ${packages.join(", ")} for the tests (once)`);
  mkdirSync(cache, { recursive: true });
  const half = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(join(half, "package.json"), "{}");
    // The runtimes are fetched by scripts of their packages.
    const options = ["--ignore-scripts=false", "--no-audit", "--no-fund", "--loglevel=error"];
    const patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=30000"];
    const { status, error, stderr } = spawnSync("npm", ["install", ...options, ...patience, ...packages], {
      cwd: half,
      encoding: "utf8",
      timeout: 300_000,
    });
    if (status !== 0) {
      step(`npm could not install them: ${error?.message ?? stderr.split("\n", 1)[0]}`);
      return undefined;
    }
    // Somebody else may have been faster.
    if (!existsSync(modules)) renameSync(half, folder);
    return modules;
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

/** Runs Python with the xxhash package, which is installed first if it is missing; false if that can't be had. */
export function python(...args) {
  const packages = join(cache, "python");
  const env = { ...process.env, PYTHONPATH: packages };
  const has = () => spawnSync("python3", ["-c", "import xxhash"], { env, stdio: "ignore" }).status === 0;
  if (!has()) {
    step("installing the Python package xxhash for the test of FORMAT.md");
    spawnSync("python3", ["-m", "pip", "install", "--quiet", "--target", packages, "xxhash"], { stdio: "inherit" });
  }
  if (!has()) return false;
  const { status } = spawnSync("python3", args, { cwd: root, env, stdio: "inherit" });
  if (status !== 0) throw new Error(`python3 ${args.join(" ")} failed`);
  return true;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setup();
  if (process.argv.includes("--browser")) {
    console.log(`setup: Chromium ${chromium() ?? "not found"}`);
    console.log(`setup: Firefox ${firefox() ?? "not found"}`);
    console.log(`setup: WebKit ${webkit()?.driver ?? "not found"}`);
  }
}
