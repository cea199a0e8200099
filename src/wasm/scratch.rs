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

/// The longest scratch that is kept, in bytes: a key of half a gigabyte would leave no room for filters.
const KEPT: usize = 4 << 20;

/// Makes the scratch at least `length` bytes long, and returns its address. It moves only when it grows, or when it was
/// longer than what is kept. Whenever the memory grows, JavaScript's views of it end.
#[wasm_bindgen]
pub fn scratch(length: usize) -> Result<usize> {
    give_back();
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < length {
            resize(scratch, length)?;
        }
        Ok(scratch.as_ptr().addr())
    })
}

/// Runs with the first `length` bytes of the scratch.
pub fn with<T>(length: usize, run: impl FnOnce(&[u8]) -> T) -> T {
    let answer = SCRATCH.with_borrow(|scratch| run(scratch.get(..length).unwrap_or_default()));
    give_back();
    answer
}

/// Gives back a scratch that is longer than what is kept. JavaScript keeps no view of such a one.
pub fn give_back() {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() > KEPT {
            *scratch = Vec::new();
        }
    });
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
