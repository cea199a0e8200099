/** How Vite builds the page. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./", // so that it works in any folder of a server
  appType: "mpa", // a missing filter is a 404, not the page
});
