/**
 * The entry points for browsers, workers and bundlers, "bloom-wasm" and "bloom-wasm/full": they carry their wasm in
 * themselves, so there is no file to serve.
 */

import { start } from "./start.js";
import base64 from "./bloom.wasm";

start(() => {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  // Not Uint8Array.from, which takes three times as long in a script that has just started.
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
});

export * from "./index.js";
