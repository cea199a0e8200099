/** Builds the package and the site, and serves the site until Ctrl-C. */
import { build } from "./build.mjs";
import { serve, site } from "./www.mjs";

/** Not Vite's own port: the service worker would keep showing this site when another one is previewed there. */
const PORT = 4180;

try {
  await build(false);
  await site();
  const { url } = await serve({ port: Number(process.env.PORT ?? PORT) });
  console.log(`bloom-wasm: open ${url}`);
} catch (error) {
  console.error(`bloom-wasm: ${error.message}`);
  process.exit(1);
}
