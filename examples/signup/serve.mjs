/** Serves the form, the package's files that it needs, and a welcome page after signing up. Run `node serve.mjs`. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

const here = new URL("./", import.meta.url);
const dist = new URL("./", import.meta.resolve("bloom-wasm/reader"));
const types = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css",
  ".js": "text/javascript",
  ".bloom": "application/octet-stream",
};

async function answer(request, response) {
  const [pathname] = request.url.split("?");
  if (request.method === "POST") {
    // A real server checks the password again here, because not every request comes from this form.
    request.resume();
    return response
      .writeHead(pathname === "/welcome" ? 200 : 404, { "Content-Type": types[".html"] })
      .end("<h1>Welcome!</h1>");
  }
  const [, folder, name = ""] =
    /^\/(bloom-wasm\/)?(\w[\w.-]*)$/.exec(pathname === "/" ? "/index.html" : pathname) ?? [];
  const type = types[extname(name)];
  const bytes = type && (await readFile(new URL(name, folder ? dist : here)).catch(() => undefined));
  if (!bytes) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": type, "Content-Length": bytes.length }).end(bytes);
}

/** Starts the server. Port 0 means any free port. */
export function serve(port) {
  const server = createServer(answer);
  return new Promise((resolve, reject) => server.on("error", reject).listen(port, "localhost", () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await serve(Number(process.env.PORT ?? 8080));
  console.log(`open http://localhost:${server.address().port}/`);
}
