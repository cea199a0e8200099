/** What Vercel's edge does but `next start` doesn't: refuse to compile bytes. */
WebAssembly.Module = new Proxy(WebAssembly.Module, {
  construct() {
    throw new WebAssembly.CompileError("Wasm code generation disallowed by embedder");
  },
});
