/** Starts in Cloudflare Workers, where only a file that was uploaded may be compiled. */

import { start } from "../start.js";
import module from "wasm:module";

start(() => module);
