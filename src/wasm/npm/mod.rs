//! What `js/` composes into the npm package. Keys cross by hand, through the [`scratch`]: JavaScript writes them into a
//! buffer in WebAssembly's memory (`js/wasm/scratch.ts`), so a question allocates nothing. A string of 60 characters takes
//! 45 ns that way, hashing included, and 130 ns as wasm-bindgen's `&str`. A loop copies short strings, because `encodeInto`
//! takes at least 40 ns in Node and 200 ns in Chrome. Many strings cross together in one `encodeInto`.
//!
//! [`Incoming`](incoming::Incoming) is a blob that is still arriving, [`DigestList`](builder::DigestList) makes filters, and [`Foreign`](foreign::Foreign) reads and makes those of other
//! software.
//!
//! The allocator is talc, which is 2.5 kB smaller than std's.

mod builder;
mod filter;
mod foreign;
mod incoming;
mod rescue;
pub(super) mod scratch;

use js_sys::Uint8Array;

use super::extend;
use crate::error::Result;

#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// How many bytes of a long text or blob cross at once.
const PIECE: usize = 1 << 16;

/// Hands a text to `run`, in chunks of whole lines.
fn each_chunk(text: &Uint8Array, mut run: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut chunk = Vec::new();
    for (start, end) in pieces(text.length()) {
        let rest = chunk.len();
        extend(&mut chunk, &text.subarray(start, end))?;
        let line_end = chunk[rest..].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| rest + at + 1);
        let whole = if end == text.length() { chunk.len() } else { line_end };
        run(&chunk[..whole])?;
        chunk.drain(..whole);
    }
    Ok(())
}

/// The start and the end of each piece. A piece is copied, and used while it is in the processor's cache.
fn pieces(length: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..length).step_by(PIECE).map(move |start| (start, length.min(start.saturating_add(PIECE as u32))))
}
