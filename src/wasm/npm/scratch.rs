//! The one crossing that is made by hand: JavaScript writes a key into this scratch, and passes its length. For a
//! string of 60 characters that takes 45 ns, including its hash. wasm-bindgen's `&str` allocates, and takes 130 ns.
//! `js/wasm/scratch.ts` is the other side.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

use crate::error::Result;
use crate::vectors::resize;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The longest scratch that is kept, in bytes. The scratch of a key of half a gigabyte would leave no room for filters.
const KEPT: usize = 4 << 20;

/// Makes the scratch at least `length` bytes long, and returns its address. It moves only when it grows, or when it was
/// too long to be kept. Whenever the memory grows, JavaScript's views of it become invalid.
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

/// Calls `run` with the first `length` bytes of the scratch. JavaScript wrote them to be read only once: a long scratch
/// is freed afterwards. A second read throws an error that ends all use of the module, since no answer could be right.
pub fn with<T>(length: usize, run: impl FnOnce(&[u8]) -> T) -> T {
    let answer = SCRATCH.with_borrow(|scratch| scratch.get(..length).map(run));
    give_back();
    answer.unwrap_or_else(|| unwritten())
}

/// Like [`with`], but if `run` has no answer, the scratch stays as it is for the next call, which JavaScript makes at
/// once with the same key.
pub fn first<T>(length: usize, run: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let answer = SCRATCH.with_borrow(|scratch| scratch.get(..length).map(run));
    let answer = answer.unwrap_or_else(|| unwritten());
    if answer.is_some() {
        give_back();
    }
    answer
}

/// Not a panic, on which WebAssembly would end without a message.
#[cold]
fn unwritten() -> ! {
    wasm_bindgen::throw_str("the scratch has fewer bytes than it was said to have")
}

/// Frees a scratch that is too long to be kept. JavaScript keeps no view of such a scratch.
pub fn give_back() {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() > KEPT {
            *scratch = Vec::new();
        }
    });
}

/// The `count` keys in a text that begins with their lengths (u32, little-endian).
pub fn keys(text: &[u8], count: usize) -> impl Iterator<Item = &[u8]> {
    let (lengths, mut rest) = text.split_at_checked(4 * count).unwrap_or_else(|| unwritten());
    lengths.as_chunks().0.iter().map(move |&length| {
        let (key, after) =
            rest.split_at_checked(u32::from_le_bytes(length) as usize).unwrap_or_else(|| unwritten());
        rest = after;
        key
    })
}
