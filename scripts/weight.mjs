/** What an entry of the package adds to a page: a small app that loads a blob and asks it, built by Vite. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const gzipped = (files) => files.reduce((sum, { file }) => sum + gzipSync(file, { level: 9 }).length, 0);

async function built(app, script) {
  const { build } = await import("vite");
  mkdirSync(app, { recursive: true });
  writeFileSync(join(app, "index.html"), '<!doctype html><script type="module" src="app.js"></script>');
  writeFileSync(join(app, "app.js"), script);
  const { output } = await build({ root: app, configFile: false, logLevel: "error", build: { write: false } });
  return output.map(({ code, source, fileName }) => ({ fileName, file: code ?? Buffer.from(source) }));
}

/**
 * Builds an app of this script in a folder from which its imports resolve. Returns by how many bytes it is larger than an
 * empty one, gzipped, and its files.
 */
export async function grow(app, script) {
  const empty = await built(app, 'document.title = "yes";');
  const files = await built(app, script);
  return { grown: gzipped(files) - gzipped(empty), files };
}

/**
 * Builds the app in a folder from which the package can be imported, for an entry such as "bloom-wasm/reader". Returns
 * how many bytes the app grows by, gzipped, its scripts, and the number of its WebAssembly files.
 */
export async function weigh(app, entry) {
  const [names, start] = entry.endsWith("slim") ? ["init, load", "await init(); "] : ["load", ""];
  const ask =
    'const filter = await load("phishing.bloom"); document.title = filter.hasUrl(location.href) ? "no" : "yes";';
  const script = `import { ${names} } from "${entry}"; (async () => { ${start}${ask} })();`;
  const { grown, files } = await grow(app, script);
  const scripts = files.flatMap(({ file }) => (typeof file === "string" ? [file] : [])).join("");
  const wasm = files.filter(({ fileName }) => fileName.endsWith(".wasm")).length;
  return { grown, scripts, wasm };
}
