/** The entry point for browsers, workers and bundlers: carries the wasm in itself, so there is no file to serve. */

import { start } from "./start.js";
import base64 from "./wasm-base64.js";

start(() => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));

export * from "./index.js";
