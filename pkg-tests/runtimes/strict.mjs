/** The main script of a page that forbids WebAssembly, as most policies do: the cases of the entry that needs none. */
import { run } from "./cases.mjs";
import { golden } from "./golden.mjs";

const first = performance.now();
globalThis.verdict = import("bloom-wasm/nano").then((nano) => run({ nano, golden }, first));

/** What an entry says that needs it. */
globalThis.ofReader = () =>
  import("bloom-wasm/reader").then(
    () => "started",
    ({ name, code, message }) => `${name} ${code}: ${message}`,
  );
