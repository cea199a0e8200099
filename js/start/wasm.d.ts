/** What the build (scripts/build.mjs) fills in for each entry point. */

/** The wasm in base64. */
declare module "wasm:base64" {
  const base64: string;
  export default base64;
}

/** The compiled wasm file, as the bundlers for workerd and for Vercel's edge provide it. */
declare module "wasm:module*" {
  const module: WebAssembly.Module;
  export default module;
}
