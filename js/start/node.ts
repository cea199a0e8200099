/** Starts in Node: reads the wasm file beside it. */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startBy } from "../wasm/instance.js";
import { starting } from "./start.js";

export const begin = () => startBy(starting(file, 32));

function file(): Buffer<ArrayBuffer> {
  // An import would take 1 ms more, because Node then inspects everything in the module.
  const { readFileSync } = process.getBuiltinModule("node:fs");
  return readFileSync(join(dirname(fileURLToPath(import.meta.url)), "bloom.wasm"));
}
