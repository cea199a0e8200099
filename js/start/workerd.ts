/** Starts in Cloudflare Workers, where only a file that was uploaded may be compiled. */

import module from "wasm:module";
import { start } from "../start.js";

start(() => module);
