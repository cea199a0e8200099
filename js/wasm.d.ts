/** The wasm file in base64, as the build's bundler hands it over. */
declare module "*/bloom.wasm" {
  const base64: string;
  export default base64;
}

/** The wasm file of bloom-wasm/full, as workerd's bundlers hand it over. */
declare module "*/full.wasm" {
  const module: WebAssembly.Module;
  export default module;
}

/** The same, as the bundlers for Vercel's edge hand it over. */
declare module "*/full.wasm?module" {
  const module: WebAssembly.Module;
  export default module;
}

/** Whether this is bloom-wasm/full, which builds and changes filters too. */
declare const FULL: boolean;
