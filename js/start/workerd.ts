/** Starts in Cloudflare Workers, where only an uploaded file may be compiled. */

import module from "wasm:module";
import { startBy } from "../wasm/instance.js";
import { starting } from "./start.js";

export const begin = () => startBy(starting(() => module));
