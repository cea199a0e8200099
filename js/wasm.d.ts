/** The wasm file in base64, as the build's bundler hands it over. */
declare module "*/bloom.wasm" {
  const base64: string;
  export default base64;
}

/** Whether this is bloom-wasm/full, which builds and changes filters too. */
declare const FULL: boolean;
