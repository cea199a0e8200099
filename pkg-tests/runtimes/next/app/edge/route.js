/** A route on the edge. */
import "./strict.js";
import { verdict } from "../../../app.mjs";

export const runtime = "edge";

export const GET = async () => Response.json(await verdict(performance.now()));
