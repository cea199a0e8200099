/** A server of the folder in which the package is installed, for pages and extensions that post their verdict to it. */
import { EventEmitter, once } from "node:events";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { json } from "node:stream/consumers";
import { app, fileForPages, folder } from "./installed.mjs";
import { createServer } from "./server.mjs";

/** What each page may run: the strict one only files of its server, so neither WebAssembly nor `eval`. */
const POLICIES = { "strict.html": "script-src 'self'" };

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript" };

/** What was posted, by path. */
const heard = new EventEmitter();
const server = createServer(async (request, response) => {
  if (request.method === "POST") heard.emit(request.url, await json(request));
  const file = join(folder, request.url);
  if (!existsSync(file) || !TYPES[extname(file)]) return response.writeHead(404).end();
  const policy = POLICIES[basename(file)];
  const headers = { "Content-Type": TYPES[extname(file)], ...(policy && { "Content-Security-Policy": policy }) };
  response.writeHead(200, headers).end(readFileSync(file));
});
server.listen(0, "localhost");
await once(server, "listening");
// It ends with this process, and doesn't keep it running.
server.unref();

/** The URL of a path in the folder. */
export const at = (path) => `http://localhost:${server.address().port}/${path}`;

/**
 * The app without a bundler, as pages and as an extension that posts its verdict. Workers and extensions have no import
 * maps, so each name becomes the file that the package's manifest has for browsers.
 */
export function plain(name, manifest) {
  const here = app(name);
  cpSync(join(folder, "node_modules/bloom-wasm"), join(here, "bloom-wasm"), { recursive: true });
  for (const script of ["app.mjs", "strict.mjs"]) {
    const source = readFileSync(join(here, script), "utf8");
    const file = (entry) => fileForPages(join(here, "bloom-wasm"), `.${entry}`);
    const named = source.replace(/"bloom-wasm(.*?)"/g, (_, entry) => `"./bloom-wasm/${file(entry)}"`);
    writeFileSync(join(here, script), named);
  }
  const post = `fetch("${at(name)}", { method: "POST", mode: "no-cors", body: JSON.stringify(verdict) })`;
  writeFileSync(
    join(here, "extension.mjs"),
    `import "./background.mjs";\nglobalThis.verdict.then((verdict) => ${post});\n`,
  );
  const content_security_policy = { extension_pages: "script-src 'self' 'wasm-unsafe-eval'" };
  writeFileSync(
    join(here, "manifest.json"),
    JSON.stringify({ manifest_version: 3, name, version: "1", content_security_policy, ...manifest }),
  );
  return { path: here, verdict: once(heard, `/${name}`) };
}
