/** How Vite builds the site: every index.html is a page, and each gets the same head, header and footer. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { plugin as docs } from "./docs/plugin.js";

const root = fileURLToPath(new URL(".", import.meta.url));
const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");
// The docs have a plugin that knows their pages.
const pages = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
  /^(?!dist|docs|public)([\w-]+\/)?index\.html$/.test(name.replaceAll("\\", "/")),
);

const { name, repository } = JSON.parse(read("../package.json")) as { name: string; repository: { url: string } };
const footer = read("footer.html")
  .replaceAll("{{name}}", name)
  .replaceAll("{{repository}}", repository.url.replace(/^git\+|\.git$/g, ""));

const theme = read("theme.js");
const themeHash = createHash("sha256").update(theme).digest("base64");

/** Only the page that loads blobs from an address may connect to other hosts. */
const policy = (page: string) =>
  [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval' 'sha256-${themeHash}'`,
    "img-src 'self' data:",
    `connect-src 'self'${page === "/index.html" ? " http: https:" : ""}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

/** Puts head.html, header.html and footer.html where a page says so, with policy and theme, and marks the page in the navigation. */
function frame(): Plugin {
  return {
    name: "frame",
    transformIndexHtml: {
      order: "pre",
      handler(html, { path, server }) {
        const here = dirname(path);
        const link = (to: string) => `${relative(here, to) || "."}/`.replace(/^([^.])/, "./$1");
        const header = read("header.html").replace(/href="(\/.*?)"/g, (_, to) => {
          const current = to === "/" ? here === "/" : `${here}/`.startsWith(to);
          return `href="${link(to)}"${current ? ' aria-current="page"' : ""}`;
        });
        // Vite's server for developing puts scripts of its own into the page.
        const csp = server ? "" : `<meta http-equiv="Content-Security-Policy" content="${policy(path)}" />`;
        return html
          .replace("<!-- head -->", () => `${read("head.html")}${csp}<script>${theme}</script>`)
          .replace("<!-- header -->", () => header)
          .replace("<!-- footer -->", () => footer);
      },
    },
  };
}

export default defineConfig(({ mode }) => ({
  root,
  base: "./", // so that it works in any folder of a server
  appType: "mpa", // a missing filter is a 404, not the page
  plugins: mode === "sections" ? [frame()] : [docs(), frame()],
  worker: { format: "es" },
  build: {
    // Most of the time goes into our docs' plugin, which isn't worth a warning.
    rollupOptions: { input: pages.map((page) => `${root}${page}`), checks: { bundlerTimings: false } },
    assetsInlineLimit: 0,
  },
}));
