/** A server of node:http, for requests made with `fetch`. */
import { createServer as create } from "node:http";

/**
 * Like `createServer`, but it never closes an idle connection. By default it does so after five seconds, which may be
 * just when a client on a busy machine sends its next request: that fails with ECONNRESET.
 */
export const createServer = (respond) => create({ keepAliveTimeout: 0 }, respond);
