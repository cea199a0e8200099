/** A route on the server. */
import { verdict } from "../../../app.mjs";

export const dynamic = "force-dynamic";

export const GET = async () => Response.json(await verdict(performance.now()));
