/** A server of node:http, for whatever is asked by `fetch`. */
import { createServer as create } from "node:http";

/**
 * As `createServer`, but it never closes an idle connection. By default it does after five seconds, just when a client on a
 * busy machine may send its next request, which then fails with ECONNRESET.
 */
export const createServer = (respond) => create({ keepAliveTimeout: 0 }, respond);
