/** Starts in browsers, workers and bundlers. The script contains its wasm, so there is no file to serve. */

import base64 from "wasm:base64";
import { startBy } from "../wasm/instance.js";
import { starting } from "./start.js";

export const begin = () => startBy(starting(bytes));

function bytes(): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  // Not Uint8Array.from, which takes three times as long in a fresh script.
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
