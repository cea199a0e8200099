/**
 * Builds the site into www/dist/, a folder for any static host, from a built package; and serves it. `--built` doesn't
 * build the package first, and `--sections` leaves out the docs.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build as buildPackage } from "./build.mjs";
import { LISTS, text } from "./lists.mjs";
import { record } from "./recording.mjs";
import { packages, root, run } from "./setup.mjs";

const www = join(root, "www");
const dist = join(www, "dist");
const configFile = join(www, "vite.config.ts");

/** Builds the demo filters. Returns the size of each list as text, in bytes. */
async function filters() {
  const { RibbonFilter } = await import("bloom-wasm");
  mkdirSync(join(www, "public"), { recursive: true });
  const bytes = {};
  for (const [name, list] of Object.entries(LISTS)) {
    const { source, keys, allow, profile } = list();
    const filter = RibbonFilter.from(keys, { profile, allow, name: source });
    writeFileSync(join(www, "public", `${name}.bloom`), filter.toBytes());
    filter.free();
    bytes[name] = Buffer.byteLength(text(keys));
  }
  return bytes;
}

/** The files of a folder and its subfolders, as paths with slashes. */
export function files(folder, suffix = "") {
  return readdirSync(folder, { recursive: true })
    .map((name) => name.split(sep).join("/"))
    .filter((name) => name.endsWith(suffix) && statSync(join(folder, name)).isFile())
    .sort();
}

/** The service worker, with a list of what it keeps for offline use: the whole site except rustdoc's pages. */
async function serviceWorker() {
  const kept = files(dist).filter((url) => !/^docs\/(rust|files)\//.test(url));
  const manifest = kept.map((url) => {
    const revision = createHash("sha256")
      .update(readFileSync(join(dist, url)))
      .digest("hex")
      .slice(0, 16);
    return { url, revision };
  });
  const { build } = await import("esbuild");
  await build({
    entryPoints: [join(www, "sw.ts")],
    outfile: join(dist, "sw.js"),
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    define: { "self.__WB_MANIFEST": JSON.stringify(manifest), "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
}

/** Runs rustdoc on the library with its features, in a target folder of its own. */
function rustdoc() {
  const library = ["--package", "bloom-wasm", "--lib", "--no-deps", "--features", "interop,native"];
  run("cargo", "doc", ...library, "--locked", "--quiet", "--target-dir", "target/www");
}

/** Builds the site, or only its sections: the docs take most of the time. */
export async function site({ sections = false } = {}) {
  if (!sections) {
    if (!packages("www/docs")) throw new Error("npm could not install the packages of www/docs/package-lock.json");
    rustdoc();
  }
  const bytes = await filters();
  record(join(www, "public/recording"));
  const { build } = await import("vite");
  const mode = sections ? "sections" : "production";
  await build({ configFile, mode, logLevel: "warn", define: { LIST_BYTES: JSON.stringify(bytes) } });
  await serviceWorker();
  const all = files(dist);
  const size = all.reduce((sum, path) => sum + statSync(join(dist, path)).size, 0);
  console.log(`www: ${all.length} files with ${size} bytes in ${relative(root, dist)}`);
}

/** Serves the built site. Port 0 means any free port. Returns the URL and how to stop. */
export async function serve({ port }) {
  const { preview } = await import("vite");
  const server = await preview({
    configFile,
    logLevel: "warn",
    preview: { port, strictPort: true, host: "localhost" },
  });
  return { url: `http://localhost:${server.httpServer.address().port}/`, close: () => server.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    if (!process.argv.includes("--built")) await buildPackage(false);
    await site({ sections: process.argv.includes("--sections") });
  } catch (error) {
    console.error(`bloom-wasm: ${error.message}`);
    process.exit(1);
  }
}
