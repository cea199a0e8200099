/** What Vercel's edge does and `next start` leaves out: it compiles no bytes. */
WebAssembly.Module = new Proxy(WebAssembly.Module, {
  construct() {
    throw new WebAssembly.CompileError("Wasm code generation disallowed by embedder");
  },
});
