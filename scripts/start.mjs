/**
 * `npm start`: builds the package, shows in the terminal what it is for, then builds the site, and serves it until
 * Ctrl-C.
 */
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "./build.mjs";
import { LISTS, text } from "./lists.mjs";
import { serve, site } from "./www.mjs";

/** Not Vite's own port: the service worker would keep showing this site when another one is previewed there. */
const PORT = 4180;

const count = (number) => number.toLocaleString("en");

/** Prints what a server does with a list, and a client with its blob. */
export async function show() {
  const { RibbonFilter } = await import("bloom-wasm");
  const { decode } = await import("bloom-wasm/reader");
  const { keys, allow, profile, source } = LISTS.phishing();
  const began = performance.now();
  const blob = RibbonFilter.from(keys, { profile, allow, fpr: 0.001 }).toBytes();
  const took = performance.now() - began;
  const bytes = ({ length }) => `${count(length).padStart(7)} bytes`;
  console.log(`
${count(keys.length)} phishing hosts, from the npm package ${source}

  as text    ${bytes(Buffer.from(text(keys)))}
  gzipped    ${bytes(gzipSync(text(keys), { level: 9 }))}
  as a blob  ${bytes(blob)}, built in ${count(Math.ceil(took))} ms

What plain JavaScript answers, which has nothing but the blob:
`);
  const filter = decode(blob);
  const answer = (url) => (filter.hasUrl(url) ? "maybe present    " : "definitely absent");
  const listed = ["https://metamaskapp.io/", "HTTP://www.MetamaskApp.io:8080/login?from=mail"];
  for (const url of [...listed, "https://metamask.io/", "https://github.com/login"])
    console.log(`  ${answer(url)}  ${url}`);
  const missed = keys.filter((host) => !filter.hasUrl(`https://${host}/`));
  if (missed.length > 0) throw new Error(`${missed.length} listed hosts are missing, such as ${missed[0]}`);
  console.log(`  maybe present      all of the ${count(keys.length)} hosts, asked one by one\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await build(false);
    await show();
    console.log("Now the site is built, which takes a minute or two ...");
    await site();
    const { url } = await serve({ port: Number(process.env.PORT ?? PORT) });
    console.log(`bloom-wasm: open ${url}`);
  } catch (error) {
    console.error(`bloom-wasm: ${error.message}`);
    process.exit(1);
  }
}
