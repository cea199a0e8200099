/** Builds the site into www/dist/, for any static host: the demo filters, and the pages. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { root, run } from "./setup.mjs";

const config = join(root, "www/vite.config.ts");
const source = join(root, "node_modules/eth-phishing-detect");

/** The phishing hosts, and good hosts that look like them. */
function hosts() {
  const { blacklist, whitelist } = JSON.parse(readFileSync(join(source, "src/config.json"), "utf8"));
  return { bad: blacklist, good: whitelist };
}

/** Builds the page's filter with the command-line tool. */
function filter() {
  const { name, version } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-"));
  try {
    const lists = Object.entries(hosts()).map(([name, list]) => {
      const path = join(folder, `${name}.txt`);
      writeFileSync(path, list.join("\n"));
      return path;
    });
    mkdirSync(join(root, "www/public"), { recursive: true });
    const cli = ["run", "--release", "--quiet", "--locked", "--"];
    const options = ["-o", "www/public/phishing.bloom", "--profile", "url", "--fpr", "0.001"];
    run("cargo", ...cli, "build", lists[0], "--allow", lists[1], ...options, "--name", `${name} ${version}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Builds the site from a built package. */
export async function site() {
  filter();
  const vite = await import("vite");
  await vite.build({ configFile: config, logLevel: "warn" });
}

/** Serves the built site. Port 0 means any free port. Returns the URL and how to stop. */
export async function serve({ port }) {
  const { preview } = await import("vite");
  const server = await preview({
    configFile: config,
    logLevel: "warn",
    preview: { port, strictPort: true, host: "localhost" },
  });
  return { url: `http://localhost:${server.httpServer.address().port}/`, close: () => server.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    if (!process.argv.includes("--built")) await build(false);
    await site();
  } catch (error) {
    console.error(`bloom-wasm: ${error.message}`);
    process.exit(1);
  }
}
