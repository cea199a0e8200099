/** A user's app, as every runtime gets it: it names the package's entries, and runs the cases with them. */
import * as full from "bloom-wasm";
import * as reader from "bloom-wasm/reader";
import { run } from "./cases.mjs";
import { golden } from "./golden.mjs";

export const verdict = (first) => run({ full, reader, golden }, first);
