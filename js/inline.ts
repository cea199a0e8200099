/**
 * The entry points for browsers, workers and bundlers, "bloom-wasm" and "bloom-wasm/full": they carry their wasm in
 * themselves, so there is no file to serve.
 */

import { start } from "./start.js";
import base64 from "./bloom.wasm";

start(() => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));

export * from "./index.js";
