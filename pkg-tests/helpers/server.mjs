/** A server of node:http, for requests made with `fetch`. */
import { createServer as create } from "node:http";

/**
 * Like `createServer`, but it never closes an idle connection. By default it does so after five seconds, which may be
 * just when a client on a busy machine sends its next request: that fails with ECONNRESET.
 */
export const createServer = (respond) => create({ keepAliveTimeout: 0 }, respond);

/** Starts a server on a free port: a URL of each path and host, and how to close it without waiting for clients. */
export async function listen(respond) {
  const server = createServer(respond);
  await new Promise((listening) => server.listen(0, listening));
  return {
    at: (path = "", host = "localhost") => `http://${host}:${server.address().port}/${path}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
