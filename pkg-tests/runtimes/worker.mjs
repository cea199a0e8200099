/** A Cloudflare Worker that answers with its verdict. The clock stands still while it computes, so there is no time. */
import { verdict } from "./app.mjs";

export default {
  async fetch() {
    return Response.json({ ...(await verdict(0)), ms: undefined });
  },
};
