/** Builds the package and the site, and serves the site until Ctrl-C. */
import { build } from "./build.mjs";
import { serve, site } from "./www.mjs";

try {
  await build(false);
  await site();
  const { url } = await serve({ port: Number(process.env.PORT ?? 4173) });
  console.log(`bloom-wasm: open ${url}`);
} catch (error) {
  console.error(`bloom-wasm: ${error.message}`);
  process.exit(1);
}
