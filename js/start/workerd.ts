/** Starts in Cloudflare Workers, where only an uploaded file may be compiled. */

import module from "wasm:module";
import { start } from "./start.js";

export const begin = () => start(() => module);
