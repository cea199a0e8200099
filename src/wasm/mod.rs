//! The WebAssembly boundary: this folder alone names wasm_bindgen. No logic and no public API: `js/` wraps these
//! functions and checks the type and range of every argument before it calls one.
//!
//! What JavaScript holds is the number of a slot here: a run of bytes, a blob that arrives, a batch of digests, or a
//! filter. Classes of wasm-bindgen would do the same for 180 bytes of wasm and 100 of JavaScript more per method. Bytes
//! cross in one way: JavaScript writes into the scratch or an arriving blob, or reads from a slot. So the glue allocates
//! nothing, which would trap where memory is short, and every allocation of a size that a caller chose is fallible.
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
use crate::hash::Checksum;

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
    /// A blob that arrives by the piece.
    Incoming {
        bytes: Vec<u8>,
        checksum: Checksum,
    },
    #[cfg(feature = "full")]
    Digests {
        seed: u64,
        digests: Vec<u64>,
    },
    Blob(Blob),
}

/// What JavaScript holds, and the bytes through which its keys and texts pass.
struct Held {
    scratch: Vec<u8>,
    slots: Vec<Slot>,
}

/// There is one thread and no call from within a call, so the lock is always free.
static HELD: Mutex<Held> = Mutex::new(Held { scratch: Vec::new(), slots: Vec::new() });

#[cfg_attr(feature = "full", inline(always))]
#[cfg_attr(not(feature = "full"), inline(never))]
fn held() -> MutexGuard<'static, Held> {
    match HELD.try_lock() {
        Some(held) => held,
        // JavaScript's stack ran out in the middle of an earlier call, and what that left behind is not to be trusted.
        None => {
            stop();
            core::arch::wasm32::unreachable()
        }
    }
}

// A call on a slot of another type, which `js/` never makes, does nothing and returns 0.

impl Held {
    /// Puts a text at the start of the scratch and returns its length. The scratch never becomes shorter.
    #[inline(never)]
    fn answer(&mut self, text: &[u8]) -> Option<usize> {
        self.room(text.len())?;
        self.scratch.get_mut(..text.len())?.copy_from_slice(text);
        Some(text.len())
    }

    /// Makes the scratch at least `length` bytes long.
    fn room(&mut self, length: usize) -> Option<()> {
        if self.scratch.len() < length { told(resize(&mut self.scratch, length)) } else { Some(()) }
    }

    /// Puts something into a free slot, and returns its number.
    #[inline(never)]
    fn store(&mut self, slot: Slot) -> usize {
        let slots = &mut self.slots;
        if let Some((index, free)) = slots.iter_mut().enumerate().find(|(_, slot)| matches!(slot, Slot::Free))
        {
            *free = slot;
            return index;
        }
        told(push(slots, slot)).map_or(0, |()| slots.len() - 1)
    }

    #[inline(never)]
    fn blob(&mut self, slot: usize) -> Option<&mut Blob> {
        if let Slot::Blob(blob) = self.slots.get_mut(slot)? { Some(blob) } else { None }
    }

    #[inline(never)]
    fn bytes(&mut self, slot: usize) -> Option<&mut Vec<u8>> {
        match self.slots.get_mut(slot)? {
            Slot::Bytes(bytes) | Slot::Incoming { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// A filter's blob and the first `length` bytes of the scratch.
    #[cfg_attr(feature = "full", inline(always))]
    #[cfg_attr(not(feature = "full"), inline(never))]
    fn blob_and_text(&mut self, slot: usize, length: usize) -> Option<(&mut Blob, &[u8])> {
        match self.slots.get_mut(slot)? {
            Slot::Blob(blob) => Some((blob, self.scratch.get(..length)?)),
            _ => None,
        }
    }
}

#[inline(never)]
fn two(slots: &mut [Slot], a: usize, b: usize) -> Option<(&mut Slot, &mut Slot)> {
    slots.get_disjoint_mut([a, b]).ok().map(|[a, b]| (a, b))
}

/// Empties a slot of any type, for another to be stored there.
#[wasm_bindgen]
pub fn free(slot: usize) {
    if let Some(slot) = held().slots.get_mut(slot) {
        *slot = Slot::Free;
    }
}

/// Makes the scratch at least `length` bytes long and returns its address, which holds until the next call that may
/// allocate.
#[wasm_bindgen]
pub fn scratch(length: usize) -> usize {
    let held = &mut held();
    held.room(length);
    held.scratch.as_ptr().addr()
}

/// A slot of no bytes.
#[wasm_bindgen]
pub fn bytes_new() -> usize {
    held().store(Slot::Bytes(Vec::new()))
}

/// The address, which holds until the next call that may allocate.
#[wasm_bindgen]
pub fn bytes_address(slot: usize) -> usize {
    held().bytes(slot).map_or(0, |bytes| bytes.as_ptr().addr())
}

#[wasm_bindgen]
pub fn bytes_length(slot: usize) -> usize {
    held().bytes(slot).map_or(0, |bytes| bytes.len())
}

/// The keys in a text, which begins with the lengths of `count` keys (u32, little-endian) and goes on with the keys.
fn keys(text: &[u8], count: usize) -> impl Iterator<Item = &[u8]> {
    let (lengths, mut rest) = text.split_at_checked(4 * count).unwrap_or_default();
    lengths.as_chunks().0.iter().map_while(move |&length| {
        let (key, after) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
        rest = after;
        Some(key)
    })
}
