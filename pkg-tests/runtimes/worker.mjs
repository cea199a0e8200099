/** A Cloudflare Worker: golden files in, verdict out. Its clock stands still while it computes, so it has no time. */
import { verdict } from "./app.mjs";

export default {
  async fetch(request) {
    return Response.json({ ...(await verdict(await request.json(), 0)), ms: undefined });
  },
};
