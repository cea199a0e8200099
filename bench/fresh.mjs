/**
 * Measurements that need a fresh process: `node fresh.mjs HOW BLOB KEY [READER]` prints JSON. The blob is in memory
 * before the clock starts. The clock is wall time, because processor time would count V8's other threads, which collect
 * garbage meanwhile.
 */
import { readFileSync } from "node:fs";
import { first } from "./readers.mjs";

const [, , how, path, key, reader] = process.argv;
const bytes = new Uint8Array(readFileSync(path));

let memory;
let compiling = 0;
const { Module, Instance } = WebAssembly;
// biome-ignore lint/complexity/useArrowFunction: a constructor
WebAssembly.Module = function (source) {
  const start = performance.now();
  const module = new Module(source);
  compiling += performance.now() - start;
  return module;
};
WebAssembly.Module.prototype = Module.prototype;
WebAssembly.Instance = class extends Instance {
  constructor(...args) {
    super(...args);
    memory = this.exports.memory;
  }
};

/** From nothing to an answer, in milliseconds of wall time. */
async function start() {
  const begun = performance.now();
  const { decode } = await import("../dist/bloom.node.js");
  const imported = performance.now();
  const filter = decode(bytes);
  const decoded = performance.now();
  if (!filter.has(key)) throw new Error("a member is missing");
  const done = performance.now();
  // The first call compiles.
  const decoding = decoded - imported - compiling;
  return { importing: imported - begun, compiling, decoding, answering: done - decoded, whole: done - begun };
}

/** How long importing any module takes in a fresh process, in milliseconds of wall time. */
async function small() {
  const begun = performance.now();
  await import("./plain.mjs");
  return performance.now() - begun;
}

/** Decoding into memory that no filter has used before, in nanoseconds. */
async function decode() {
  const { decode, optimal } = await import("../dist/bloom.node.js");
  optimal(1, 0.5); // starts WebAssembly
  const start = performance.now() * 1e6;
  const filter = decode(bytes);
  const time = performance.now() * 1e6 - start;
  if (!filter.has(key)) throw new Error("a member is missing");
  return time;
}

const another = new WebAssembly.Memory({ initial: 1 });

/** The least that decoding must do: growing a memory and copying the bytes into it. */
function copy() {
  const start = performance.now() * 1e6;
  const pages = another.grow(Math.ceil(bytes.length / 65536));
  new Uint8Array(another.buffer).set(bytes, pages * 65536);
  const time = performance.now() * 1e6 - start;
  if (new Uint8Array(another.buffer)[pages * 65536] !== bytes[0]) throw new Error("nothing was copied");
  return time;
}

/**
 * Both in turn, once V8 has optimised decoding. No filter's memory is reused, so both memories grow alike: the larger a
 * memory is, the longer V8 takes to grow it.
 */
async function again() {
  const filters = [];
  const { decode } = await import("../dist/bloom.node.js");
  const times = { decode: [], copy: [] };
  for (let round = -3; round < 9; round++) {
    const copying = copy();
    const start = performance.now() * 1e6;
    const filter = decode(bytes);
    const decoding = performance.now() * 1e6 - start;
    if (!filter.has(key)) throw new Error("a member is missing");
    filters.push(filter);
    if (round < 0) continue;
    times.copy.push(copying);
    times.decode.push(decoding);
  }
  return times;
}

/** How many bytes WebAssembly's memory grows by beyond the blob's, while it streams in. */
async function stream(headers) {
  const { load, optimal } = await import("../dist/bloom.node.js");
  optimal(1, 0.5); // starts WebAssembly
  const before = memory.buffer.byteLength;
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += 65536)));
      else controller.close();
    },
  });
  const filter = await load(new Response(body, { headers }));
  if (!filter.has(key)) throw new Error("a member is missing");
  return memory.buffer.byteLength - before - bytes.length;
}

const ways = {
  start,
  first: () => first(reader, bytes, key),
  small,
  decode,
  again,
  copy,
  stream: () => stream({}),
  streamOfLength: () => stream({ "content-length": bytes.length }),
};
console.log(JSON.stringify(await ways[how]()));
