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
 * Builds the app in a folder from which the package can be imported, for an entry such as "bloom-wasm/reader". Returns
 * how many bytes the app grows by, gzipped, its scripts, and the number of its WebAssembly files.
 */
export async function weigh(app, entry) {
  const empty = await built(app, 'document.title = "yes";');
  const [names, start] = entry.endsWith("slim") ? ["init, load", "await init(); "] : ["load", ""];
  const ask =
    'const filter = await load("phishing.bloom"); document.title = filter.hasUrl(location.href) ? "no" : "yes";';
  const files = await built(app, `import { ${names} } from "${entry}"; (async () => { ${start}${ask} })();`);
  const scripts = files.flatMap(({ file }) => (typeof file === "string" ? [file] : [])).join("");
  const wasm = files.filter(({ fileName }) => fileName.endsWith(".wasm")).length;
  return { grown: gzipped(files) - gzipped(empty), scripts, wasm };
}
