//! The one crossing made by hand: JavaScript writes a key into this scratch, and tells its length. A string of 60
//! characters takes 45 ns so, with its hash, and 130 as wasm-bindgen's `&str`, which allocates. `js/scratch.ts` is the other
//! side.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

use crate::error::Result;
use crate::vectors::resize;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes the scratch at least `length` bytes long and returns its address; for 0 its memory is given back. It moves only
/// when it grows. Whenever the memory grows, JavaScript's views of it end.
#[wasm_bindgen]
pub fn scratch(length: usize) -> Result<usize> {
    SCRATCH.with_borrow_mut(|scratch| {
        if length == 0 {
            *scratch = Vec::new();
        }
        if scratch.len() < length {
            resize(scratch, length)?;
        }
        Ok(scratch.as_ptr().addr())
    })
}

/// Runs with the first `length` bytes of the scratch.
pub fn with<T>(length: usize, run: impl FnOnce(&[u8]) -> T) -> T {
    SCRATCH.with_borrow(|scratch| run(scratch.get(..length).unwrap_or_default()))
}

/// The `count` keys in a text that begins with their lengths (u32, little-endian).
pub fn keys(text: &[u8], count: usize) -> impl Iterator<Item = &[u8]> {
    let (lengths, mut rest) = text.split_at_checked(4 * count).unwrap_or_default();
    lengths.as_chunks().0.iter().map_while(move |&length| {
        let (key, after) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
        rest = after;
        Some(key)
    })
}
