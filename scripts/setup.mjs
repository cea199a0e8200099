/**
 * Installs what is missing: the npm packages, the wasm targets, wasm-pack and wasm-bindgen. Needs rustup and Node. `npm
 * run setup -- --browser` installs the browsers for the tests too.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

const WASM_PACK = "0.15.1";
const CARGO_FUZZ = "0.13.2";
/** The glue's generator must have exactly the crate's version. */
const WASM_BINDGEN = /name = "wasm-bindgen"\nversion = "(.*)"/.exec(readFileSync(join(root, "Cargo.lock"), "utf8"))[1];

/** Tools are kept outside the checkout, one folder per version, so that the next clone finds them. */
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "bloom-wasm");
const tools = [`wasm-pack-${WASM_PACK}`, `wasm-bindgen-${WASM_BINDGEN}`, `cargo-fuzz-${CARGO_FUZZ}`].map((tool) =>
  join(cache, tool, "bin"),
);
process.env.PATH = [...tools, join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);

/** On Windows the programs of npm packages are scripts, which only a shell runs. */
export const shell = process.platform === "win32";

/** Runs a command in the project's folder and shows what it prints; throws if it fails. */
export function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: root, shell, stdio: "inherit" });
  if (error || status !== 0) throw new Error(`${command} ${args.join(" ")} failed${error ? `: ${error.message}` : ""}`);
}

/** What a command prints, or "" if it can't be run. */
export function output(command, ...args) {
  try {
    return execFileSync(command, args, { cwd: root, shell, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

function step(what) {
  console.log(`setup: ${what}`);
}

/** Options of npm for a registry that may not answer. */
const PATIENCE = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=30000"];
const NPM = ["--no-audit", "--no-fund", "--loglevel=error", ...PATIENCE];

/** Runs an installer for ten minutes at most. Returns why it failed, in a line, or undefined. */
export function failure(command, args, options) {
  const { status, signal, error, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    shell,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 600_000,
    ...options,
  });
  if (status === 0) return undefined;
  const lines = (stderr ?? "").split("\n").filter((line) => line.trim());
  return (
    error?.message ?? lines.find((line) => /^(npm )?(E:|error\b)/i.test(line)) ?? lines.at(-1) ?? `${status ?? signal}`
  );
}

/**
 * Tries to install something with a function that returns why it failed. Returns false then. A run of the tests tries
 * nothing twice: it keeps a file of what is missing.
 */
function attempt(what, why, hint = "") {
  const missing = process.env.BLOOM_WASM_MISSING;
  if (missing && existsSync(missing) && readFileSync(missing, "utf8").split("\n").includes(what)) return false;
  step(`installing ${what}${hint}`);
  const reason = why();
  if (reason === undefined) return true;
  step(`can't install ${what}: ${reason}`);
  if (missing) appendFileSync(missing, `${what}\n`);
  return false;
}

function needRustup() {
  if (!output("rustup", "--version")) throw new Error("Rust is missing: install it from https://rustup.rs");
}

/**
 * The npm packages of a folder's package-lock.json, installed if they are missing or old. Returns false if that fails.
 */
export function packages(folder) {
  const installed = join(root, folder, "node_modules/.package-lock.json");
  const lock = join(root, folder, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return true;
  const what = `the npm packages of ${relative(root, lock)}`;
  return attempt(what, () => failure("npm", ["ci", ...NPM], { cwd: join(root, folder) }));
}

/** These tools run for seconds, so compile them as fast as possible. */
const QUICK = ["--debug", "--config", "profile.dev.debug=false"];

/** What the build needs. */
export function setup() {
  if (!packages(".")) throw new Error("npm could not install the packages of package-lock.json");
  needRustup();
  // With RUSTUP_AUTO_INSTALL=0, rustup doesn't install what rust-toolchain.toml names.
  if (!output("cargo", "fmt", "--version") || !output("cargo", "clippy", "--version")) {
    step("installing the Rust toolchain of rust-toolchain.toml");
    run("rustup", "toolchain", "install");
  }
  const targets = output("rustup", "target", "list", "--installed");
  for (const target of ["wasm32-unknown-unknown", "wasm32-wasip1"].filter((target) => !targets.includes(target))) {
    step(`adding the Rust target ${target}`);
    run("rustup", "target", "add", target);
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
      ...QUICK,
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
      ...QUICK,
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
      ...QUICK,
      "--quiet",
      "--root",
      join(tools[2], ".."),
    );
  }
}

/**
 * The path of a program, which is installed first if it is missing and this is Debian with root rights; otherwise
 * undefined. BLOOM_WASM_INSTALL=0 keeps the system as it is.
 */
function program(name, packaged, commands, places) {
  const find = () =>
    commands.map((command) => output("which", command).trim()).find(Boolean) || places.find(existsSync);
  const mayInstall = process.env.BLOOM_WASM_INSTALL !== "0" && process.getuid?.() === 0;
  if (!find() && mayInstall && output("which", "apt-get")) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const patience = ["Acquire::Retries=1", "Acquire::http::Timeout=30", "DPkg::Lock::Timeout=300"];
    const apt = (...args) =>
      failure("apt-get", [...patience.flatMap((option) => ["-o", option]), "-qq", ...args], { env });
    attempt(
      name,
      () => {
        // If this fails, an old list may do.
        apt("update");
        return apt("install", "-y", "--no-install-recommends", packaged);
      },
      `: Debian's package ${packaged}; BLOOM_WASM_INSTALL=0 keeps the system as it is`,
    );
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

/** The driver of WebKit, as GNOME's browser has it, and a virtual screen for it; undefined if one is missing. */
export function webkit() {
  const driver = program("WebKit", "webkit2gtk-driver", ["WebKitWebDriver"], []);
  const screen = program("Xvfb", "xvfb", ["Xvfb"], []);
  return driver && screen && { driver, screen };
}

/** Why a test is skipped if `installed` returns undefined. */
export const NOT_INSTALLED = "npm could not install what it needs";

/**
 * The node_modules of npm packages that only some tests need, each with its exact version, installed first if missing;
 * undefined if that fails.
 */
export function installed(name, packages) {
  const version = createHash("sha256").update(packages.join()).digest("hex").slice(0, 12);
  const folder = join(cache, `${name}-${version}`);
  const modules = join(folder, "node_modules");
  if (existsSync(modules)) return modules;
  attempt(packages.join(", "), () => {
    mkdirSync(cache, { recursive: true });
    const half = mkdtempSync(`${folder}-`);
    try {
      writeFileSync(join(half, "package.json"), "{}");
      // Packages of runtimes fetch these by install scripts.
      const reason = failure("npm", ["install", "--ignore-scripts=false", ...NPM, ...packages], { cwd: half });
      // Another process may have been faster.
      if (reason === undefined && !existsSync(modules)) renameSync(half, folder);
      return reason;
    } finally {
      rmSync(half, { recursive: true, force: true });
    }
  });
  return existsSync(modules) ? modules : undefined;
}

/** The environment in which python3 has xxhash and mmh3, installed first if missing; undefined if that fails. */
export function python() {
  const packages = join(cache, "python");
  const env = { ...process.env, PYTHONPATH: packages };
  const has = () => spawnSync("python3", ["-c", "import mmh3, xxhash"], { env, stdio: "ignore" }).status === 0;
  if (!has()) {
    const pip = ["-m", "pip", "install", "--quiet", "--timeout", "30", "--retries", "1"];
    attempt("the Python packages xxhash and mmh3", () =>
      failure("python3", [...pip, "--target", packages, "xxhash", "mmh3"]),
    );
  }
  return has() ? env : undefined;
}

/**
 * A folder of the cache for these ingredients, given by names and versions. `make` fills it once, and returns why it
 * failed; then the result is undefined.
 */
export function made(name, ingredients, make) {
  const version = createHash("sha256").update(JSON.stringify(ingredients)).digest("hex").slice(0, 12);
  const folder = join(cache, `${name}-${version}`);
  if (existsSync(folder)) return folder;
  attempt(name, () => {
    mkdirSync(cache, { recursive: true });
    const half = mkdtempSync(`${folder}-`);
    try {
      const reason = make(half);
      // Another process may have been faster.
      if (reason === undefined && !existsSync(folder)) renameSync(half, folder);
      return reason;
    } finally {
      rmSync(half, { recursive: true, force: true });
    }
  });
  return existsSync(folder) ? folder : undefined;
}

/** A folder with Python packages, each with its exact version, for PYTHONPATH; undefined if that fails. */
export function pythonPackages(name, packages) {
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout=30", "--retries=1"];
  const fill = (folder) => failure("python3", [...pip, "--target", folder, ...packages]);
  return made(`python-${name}`, [...packages, output("python3", "--version")], fill);
}

/** Debian's folder of Go packages, which has one of GitHub, and the command go; undefined if one is missing. */
export function go(name, packaged) {
  const path = "/usr/share/gocode";
  const command = program("Go", "golang-go", ["go"], []);
  return command && program(`Go's ${name}`, packaged, [], [join(path, "src/github.com", name)]) && { command, path };
}

/** The version of the Java compiler, 17 or later; undefined if there is none. */
export function java() {
  program("Java", "default-jdk-headless", ["javac"], []);
  const version = /^javac ((\d+)\S*)/.exec(output("javac", "-version"));
  return version && version[2] >= 17 ? version[1] : undefined;
}

/** The path of Guava's jar. */
export function guava() {
  return program("Guava", "libguava-java", [], ["/usr/share/java/guava.jar"]);
}

export function redis() {
  return program("Redis", "redis-server", ["redis-server"], []);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setup();
  if (process.argv.includes("--browser")) {
    console.log(`setup: Chromium ${chromium() ?? "not found"}`);
    console.log(`setup: Firefox ${firefox() ?? "not found"}`);
    console.log(`setup: WebKit ${webkit()?.driver ?? "not found"}`);
  }
}
