#!/usr/bin/env node
/**
 * `npx bloom-wasm`: the command line tool of cli/, compiled for WASI. It runs in its own thread, because a thread hears
 * no signals while it runs WebAssembly.
 */
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { watch } from "./signals.js";
import { Temporary } from "./temporary.js";
import { start } from "./wasi.js";

/** How often a lock is renewed, in milliseconds: as BEAT in cli/src/files/lock.rs. */
const BEAT = 5_000;

/** @param {string} line */
function fail(line) {
  console.error(`bloom-wasm: ${line}`);
  process.exitCode = 2;
}

/**
 * The arguments as bytes. JavaScript's have lost any bytes that aren't UTF-8. Linux has them in a file, which is
 * overwritten if the process sets its title.
 */
function args() {
  const args = process.argv.slice(2);
  try {
    const all = readFileSync("/proc/self/cmdline").toString("latin1").split("\0").slice(0, -1);
    const raw = all.slice(-args.length).map((arg) => Buffer.from(arg, "latin1"));
    if (raw.length === args.length && raw.every((arg, i) => arg.toString() === args[i])) return raw;
  } catch {
    // There is no such file.
  }
  return args.map((arg) => Buffer.from(arg));
}

/** The environment, with the terminal's width, which WASI can't tell. Some terminals don't know it either. */
function environment() {
  const terminal = isatty(1) ? process.stdout : isatty(2) ? process.stderr : undefined;
  return terminal?.columns ? { ...process.env, COLUMNS: `${terminal.columns}` } : process.env;
}

/** The tool, in this thread. */
function run(
  /** @type {Uint8Array[]} */ args,
  /** @type {NodeJS.ProcessEnv} */ environment,
  temporary = new Temporary(),
  lock = new Temporary(),
) {
  const tool = new WebAssembly.Module(readFileSync(new URL("tool.wasm", import.meta.url)));
  process.exit(start(tool, [Buffer.from("bloom-wasm"), ...args], environment, temporary, lock));
}

/** Whether the current folder exists. Node can't start another thread if it was deleted. */
function isSomewhere() {
  try {
    return process.cwd() !== "";
  } catch {
    return false;
  }
}

if (!isMainThread) {
  const { args, environment, temporary, lock } = workerData;
  run(args, environment, new Temporary(temporary), new Temporary(lock));
} else if (!isSomewhere()) {
  run(args(), environment());
} else {
  const [temporary, lock] = [new Temporary(), new Temporary()];
  watch(temporary, lock);
  const beat = () => {
    temporary.hold();
    lock.renew();
    temporary.letGo();
  };
  setInterval(beat, BEAT).unref();
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { args: args(), environment: { ...environment() }, temporary: temporary.shared, lock: lock.shared },
    // Otherwise this thread would open both, and a pipe that it opens no longer waits for its reader.
    stdout: true,
    stderr: true,
  });
  worker.on("error", ({ message }) => {
    temporary.remove();
    lock.remove();
    fail(message);
  });
  worker.on("exit", (code) => {
    process.exitCode ??= code;
  });
}
