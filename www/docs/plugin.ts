/** Gives the site the docs: their pages are pages like all others, but no file has their HTML. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { normalizePath, type Plugin } from "vite";
import { layout } from "./layout.js";
import { docs } from "./pages.js";
import { searchIndex } from "./searchindex.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
/** Where scripts/www.mjs lets `cargo doc` write. */
const RUSTDOC = join(root, "target/www/doc");

export function plugin(): Plugin {
  let made: Awaited<ReturnType<typeof docs>>;
  let html: Map<string, string>; // by the path of a file that doesn't exist
  return {
    name: "docs",
    apply: "build",
    enforce: "pre",
    async config() {
      made = await docs();
      html = new Map(made.pages.map((page) => [normalizePath(join(here, page.url)), layout(made.pages, page)]));
      return { build: { rollupOptions: { input: [...html.keys()] } } };
    },
    resolveId: (id) => (html.has(id) ? id : undefined),
    load: (id) => html.get(id),
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "docs/search.json", source: searchIndex(made.pages, RUSTDOC) });
      for (const file of made.files)
        this.emitFile({ type: "asset", fileName: `docs/files/${file}`, source: readFileSync(join(root, file)) });
    },
    writeBundle({ dir }) {
      cpSync(RUSTDOC, join(dir!, "docs/rust"), { recursive: true });
      // rustdoc's own pages of help and settings link to it.
      const forward =
        '<!doctype html><title>bloom_wasm</title><meta http-equiv="refresh" content="0; url=bloom_wasm/">';
      writeFileSync(join(dir!, "docs/rust/index.html"), `${forward}<a href="bloom_wasm/">The crate</a>\n`);
    },
  };
}
