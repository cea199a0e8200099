/** The main script of a page that forbids WebAssembly, as most policies do: the cases of the entry that needs none. */
import { run } from "./cases.mjs";
import { golden } from "./golden.mjs";

const first = performance.now();
globalThis.verdict = import("bloom-wasm/reader").then((reader) => run({ reader, golden }, first));

/** The error of the first call of the entry that needs it. */
globalThis.ofFull = () =>
  import("bloom-wasm")
    .then(({ optimal }) => optimal(1, 0.5))
    .then(
      () => "started",
      ({ name, code, message }) => `${name} ${code}: ${message}`,
    );
