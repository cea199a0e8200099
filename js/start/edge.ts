/** Starts on Vercel's edge. As in Cloudflare Workers, only a deployed file may be compiled there. */

import module from "wasm:module?module";
import { startBy } from "../wasm/instance.js";
import { starting } from "./start.js";

// In local development, Next.js compiles the module outside the sandbox that this runs in, so it isn't an instance of
// the `WebAssembly.Module` here.
export const begin = () => startBy(starting(() => Object.setPrototypeOf(module, WebAssembly.Module.prototype)));
