//! The WebAssembly boundary: this folder alone names wasm_bindgen. No logic and no public API: `js/` wraps these
//! functions and checks the type and range of every argument before it calls one.
//!
//! What JavaScript holds is the number of a slot here: a run of bytes, a batch of digests, or a filter. Classes of
//! wasm-bindgen would do the same for 180 bytes of wasm and 100 of JavaScript more per method. Bytes cross in one
//! way: JavaScript writes into a bytes slot or reads from one. So the glue allocates nothing, which would trap where
//! memory is short, and every allocation of a size that a caller chose is fallible.
//!
//! Nor does the glue know errors, which would cost 60 bytes a function on either side. A function that fails tells
//! `js/error.ts` so and returns 0; there `checked` throws it.
//!
//! Here are the slots; `ask` has what every page downloads, and `build` what only `bloom-wasm/full` has.

mod ask;
#[cfg(feature = "full")]
mod build;

use alloc::vec::Vec;

use spin::{Mutex, MutexGuard};
use wasm_bindgen::prelude::*;

use crate::error::{Error, Result, push, resize};
use crate::format::Blob;
use crate::hash::digest;

#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Nothing here panics; if it did, a message would cost every page 4 kB.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

#[wasm_bindgen(raw_module = "./error.js")]
extern "C" {
    fn fail(code: &str, message: &str, a: f64, b: f64);
    /// Throws.
    fn stop();
}

/// The value, or nothing after the error was told.
fn told<T>(result: Result<T>) -> Option<T> {
    result.map_err(tell).ok()
}

#[inline(never)]
fn tell(error: Error) {
    let (code, message, [a, b]) = error.parts();
    fail(code, message, a as f64, b as f64);
}

/// The value, or else 0.
fn done<T: Default>(run: impl FnOnce() -> Option<T>) -> T {
    run().unwrap_or_default()
}

/// What a slot holds.
#[derive(Default)]
enum Slot {
    #[default]
    Free,
    Bytes(Vec<u8>),
    Digests {
        seed: u64,
        digests: Vec<u64>,
    },
    Blob(Blob),
}

/// There is one thread and no call from within a call, so the lock is always free.
static SLOTS: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// Puts something into a free slot, and returns its number.
#[inline(never)]
fn store_in(slots: &mut Vec<Slot>, slot: Slot) -> usize {
    if let Some((index, free)) = slots.iter_mut().enumerate().find(|(_, slot)| matches!(slot, Slot::Free)) {
        *free = slot;
        return index;
    }
    told(push(slots, slot)).map_or(0, |()| slots.len() - 1)
}

fn store(slot: Slot) -> usize {
    store_in(&mut slots(), slot)
}

#[inline(never)]
fn slots() -> MutexGuard<'static, Vec<Slot>> {
    match SLOTS.try_lock() {
        Some(slots) => slots,
        // JavaScript's stack ran out in the middle of an earlier call, and what that left behind is not to be trusted.
        None => {
            stop();
            core::arch::wasm32::unreachable()
        }
    }
}

// A call on a slot of another type, which `js/` never makes, does nothing and returns 0.

#[inline(never)]
fn blob(slots: &mut [Slot], slot: usize) -> Option<&mut Blob> {
    if let Slot::Blob(blob) = slots.get_mut(slot)? { Some(blob) } else { None }
}

#[inline(never)]
fn bytes(slots: &mut [Slot], slot: usize) -> Option<&mut Vec<u8>> {
    if let Slot::Bytes(bytes) = slots.get_mut(slot)? { Some(bytes) } else { None }
}

#[inline(never)]
fn two(slots: &mut [Slot], a: usize, b: usize) -> Option<(&mut Slot, &mut Slot)> {
    slots.get_disjoint_mut([a, b]).ok().map(|[a, b]| (a, b))
}

/// A filter's blob and the first `length` bytes of another slot.
#[inline(never)]
fn blob_and_key(slots: &mut [Slot], slot: usize, key: usize, length: usize) -> Option<(&mut Blob, &[u8])> {
    match two(slots, slot, key)? {
        (Slot::Blob(blob), Slot::Bytes(key)) => Some((blob, key.get(..length)?)),
        _ => None,
    }
}

#[inline(never)]
fn blob_and_digests(slots: &mut [Slot], slot: usize, keys: usize) -> Option<(&mut Blob, &[u64])> {
    match two(slots, slot, keys)? {
        (Slot::Blob(blob), Slot::Digests { digests, .. }) => Some((blob, digests)),
        _ => None,
    }
}

/// Digests with their seed, and the first `length` bytes of another slot.
#[inline(never)]
fn digests_and_text(
    slots: &mut [Slot],
    slot: usize,
    text: usize,
    length: usize,
) -> Option<(u64, &mut Vec<u64>, &[u8])> {
    match two(slots, slot, text)? {
        (Slot::Digests { seed, digests }, Slot::Bytes(text)) => Some((*seed, digests, text.get(..length)?)),
        _ => None,
    }
}

/// Empties a slot of any type, for another to be stored there.
#[wasm_bindgen]
pub fn free(slot: usize) {
    if let Some(slot) = slots().get_mut(slot) {
        *slot = Slot::Free;
    }
}

/// A slot of no bytes.
#[wasm_bindgen]
pub fn bytes_new() -> usize {
    store(Slot::Bytes(Vec::new()))
}

/// Makes it `length` bytes long, keeping what fits.
#[wasm_bindgen]
pub fn bytes_resize(slot: usize, length: usize) {
    if let Some(bytes) = bytes(&mut slots(), slot) {
        told(resize(bytes, length));
    }
}

/// The address, which holds until the next call that may allocate.
#[wasm_bindgen]
pub fn bytes_address(slot: usize) -> usize {
    bytes(&mut slots(), slot).map_or(0, |bytes| bytes.as_ptr().addr())
}

#[wasm_bindgen]
pub fn bytes_length(slot: usize) -> usize {
    bytes(&mut slots(), slot).map_or(0, |bytes| bytes.len())
}

/// A slot of no digests.
#[wasm_bindgen]
pub fn digests_new(seed: u64) -> usize {
    store(Slot::Digests { seed, digests: Vec::new() })
}

/// Takes the keys in the first `length` bytes, each after its length (u32, little-endian).
#[wasm_bindgen]
pub fn digests_push(slot: usize, keys: usize, length: usize) {
    done(|| {
        let slots = &mut slots();
        let (seed, digests, mut rest) = digests_and_text(slots, slot, keys, length)?;
        while let Some((&size, after)) = rest.split_first_chunk() {
            let (key, after) = after.split_at_checked(u32::from_le_bytes(size) as usize)?;
            rest = after;
            told(push(digests, digest(seed, key)))?;
        }
        Some(())
    })
}
