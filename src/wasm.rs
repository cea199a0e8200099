//! The WebAssembly boundary: the only file that names wasm_bindgen. No logic and no public API: `js/` wraps these
//! functions and checks the type and range of every argument before it calls one.
//!
//! What JavaScript holds is the number of a slot here: a run of bytes, a batch of digests, or a filter. Classes of
//! wasm-bindgen would do the same for 180 bytes of wasm and 100 of JavaScript more per method. Bytes cross in one
//! way: JavaScript writes into a bytes slot or reads from one. So the glue allocates nothing, which would trap where
//! memory is short, and every allocation of a size that a caller chose is fallible.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use spin::Mutex;
use wasm_bindgen::prelude::*;

use crate::error::{Error, Result, reserve};
use crate::filters::{BloomFilter, Filter};
use crate::format::Blob;
use crate::hash::digest;
use crate::info::Info;
use crate::lines::lines;
use crate::params;

#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Nothing here panics; if it did, a message would cost every page 4 kB.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

#[wasm_bindgen(raw_module = "./error.js")]
extern "C" {
    type FilterError;
    #[wasm_bindgen(constructor)]
    fn new(code: &str, message: &str, a: f64, b: f64) -> FilterError;
}

#[wasm_bindgen(raw_module = "./info.js")]
extern "C" {
    #[wasm_bindgen(js_name = filterInfo)]
    fn filter_info(
        kind: &str,
        profile: &str,
        count: Option<f64>,
        capacity: Option<f64>,
        fpr: f64,
        bits: f64,
        hashes: Option<u32>,
        bits_per_key: Option<f64>,
        byte_length: f64,
        seed: u64,
        layers: u32,
        name: Option<&str>,
        created_at: Option<f64>,
        id: u64,
    ) -> JsValue;
}

impl From<Error> for JsValue {
    #[inline(never)]
    fn from(error: Error) -> Self {
        let (code, message, [a, b]) = error.parts();
        FilterError::new(code, message, a as f64, b as f64).into()
    }
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

fn store(slot: Slot) -> Result<usize> {
    let slots = &mut *SLOTS.lock();
    if let Some(index) = slots.iter().position(|slot| matches!(slot, Slot::Free)) {
        slots[index] = slot;
        return Ok(index);
    }
    if slots.len() == slots.capacity() {
        reserve(slots, slots.len() * 2 + 8)?;
    }
    slots.push(slot);
    Ok(slots.len() - 1)
}

/// Runs on one slot's contents. `None` = not a slot of that type, for which `js/` never asks.
fn with<T>(slot: usize, run: impl FnOnce(&mut Slot) -> Option<T>) -> Option<T> {
    SLOTS.lock().get_mut(slot).and_then(run)
}

/// Runs on the contents of two different slots.
fn with_two<T>(a: usize, b: usize, run: impl FnOnce(&mut Slot, &mut Slot) -> Option<T>) -> Option<T> {
    SLOTS.lock().get_disjoint_mut([a, b]).ok().and_then(|[a, b]| run(a, b))
}

/// What a call on a slot of the wrong type comes to: an error and not a trap.
fn or_bad<T>(result: Option<Result<T>>) -> Result<T> {
    result.unwrap_or(Err(Error::InvalidParameter { rule: "a slot of another type was expected" }))
}

impl Slot {
    fn bytes(&mut self) -> Option<&mut Vec<u8>> {
        if let Slot::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// The first `length` bytes.
    fn prefix(&mut self, length: usize) -> Option<&[u8]> {
        self.bytes()?.get(..length)
    }

    fn digests(&mut self) -> Option<(u64, &mut Vec<u64>)> {
        if let Slot::Digests { seed, digests } = self { Some((*seed, digests)) } else { None }
    }

    fn blob(&mut self) -> Option<&mut Blob> {
        if let Slot::Blob(blob) = self { Some(blob) } else { None }
    }

    fn bloom(&mut self) -> Option<&mut BloomFilter> {
        if let Filter::Bloom(bloom) = &mut self.blob()?.filter { Some(bloom) } else { None }
    }
}

/// The instance's memory.
#[wasm_bindgen]
pub fn linear_memory() -> JsValue {
    wasm_bindgen::memory()
}

/// Empties a slot of any type, for another to be stored there.
#[wasm_bindgen]
pub fn free(slot: usize) {
    with(slot, |slot| Some(core::mem::take(slot)));
}

/// A slot of no bytes.
#[wasm_bindgen]
pub fn bytes_new() -> Result<usize> {
    store(Slot::Bytes(Vec::new()))
}

/// Makes it `length` bytes long, keeping what fits; returns the address, which holds until the next call.
#[wasm_bindgen]
pub fn bytes_resize(slot: usize, length: usize) -> Result<*const u8> {
    or_bad(with(slot, |slot| {
        let bytes = slot.bytes()?;
        Some(reserve(bytes, length).map(|()| {
            bytes.resize(length, 0);
            bytes.as_ptr()
        }))
    }))
}

#[wasm_bindgen]
pub fn bytes_address(slot: usize) -> *const u8 {
    with(slot, |slot| Some(slot.bytes()?.as_ptr())).unwrap_or(core::ptr::null())
}

#[wasm_bindgen]
pub fn bytes_length(slot: usize) -> usize {
    with(slot, |slot| Some(slot.bytes()?.len())).unwrap_or_default()
}

/// The length of the blob that starts with the first `length` bytes; undefined if more must be seen first.
#[wasm_bindgen]
pub fn expected_length(slot: usize, length: usize) -> Result<Option<f64>> {
    let expected = or_bad(with(slot, |slot| Some(Blob::expected_length(slot.prefix(length)?))))?;
    Ok(expected.map(|length| length as f64))
}

/// A slot of no digests.
#[wasm_bindgen]
pub fn digests_new(seed: u64) -> Result<usize> {
    store(Slot::Digests { seed, digests: Vec::new() })
}

/// Takes the keys in the first `length` bytes, each after its length (u32, little-endian).
#[wasm_bindgen]
pub fn digests_push(slot: usize, keys: usize, length: usize) -> Result<()> {
    or_bad(with_two(slot, keys, |slot, keys| {
        let (seed, digests) = slot.digests()?;
        let mut rest = keys.prefix(length)?;
        while let Some((&size, after)) = rest.split_first_chunk() {
            let (key, after) = after.split_at_checked(u32::from_le_bytes(size) as usize)?;
            rest = after;
            if let Err(error) = push(digests, digest(seed, key)) {
                return Some(Err(error));
            }
        }
        Some(Ok(()))
    }))
}

/// Takes the lines in the first `length` bytes, but for blank ones.
#[wasm_bindgen]
pub fn digests_push_lines(slot: usize, text: usize, length: usize) -> Result<()> {
    or_bad(with_two(slot, text, |slot, text| {
        let (seed, digests) = slot.digests()?;
        let keys = lines(text.prefix(length)?).filter(|key| !key.is_empty());
        Some(keys.map(|key| digest(seed, key)).try_for_each(|digest| push(digests, digest)))
    }))
}

fn push(digests: &mut Vec<u64>, digest: u64) -> Result<()> {
    if digests.len() == digests.capacity() {
        reserve(digests, (digests.len() * 2).max(1024))?;
    }
    digests.push(digest);
    Ok(())
}

/// Turns the bytes in a slot into a filter in the same slot; on failure the slot holds no bytes.
#[wasm_bindgen]
pub fn decode(slot: usize) -> Result<()> {
    or_bad(with(slot, |slot| {
        let bytes = core::mem::take(slot.bytes()?);
        Some(Blob::decode(bytes).map(|blob| *slot = Slot::Blob(blob)))
    }))
}

/// The blob's bytes, in a new slot.
#[wasm_bindgen]
pub fn encode(slot: usize) -> Result<usize> {
    or_bad(with(slot, |slot| Some(slot.blob()?.encode()))).and_then(|bytes| store(Slot::Bytes(bytes)))
}

#[wasm_bindgen]
pub fn bloom_new(bits: u32, hashes: u32, seed: u64) -> Result<usize> {
    store(Slot::Blob(BloomFilter::new(bits, hashes, seed)?.into()))
}

#[wasm_bindgen]
pub fn bloom_from(digests: usize, fpr: f64) -> Result<usize> {
    let filter = or_bad(with(digests, |slot| {
        let (seed, digests) = slot.digests()?;
        Some(BloomFilter::from_digests(digests, fpr, seed))
    }))?;
    store(Slot::Blob(filter.into()))
}

/// Sets the name, which is the first `name_length` bytes of a slot unless undefined, and the creation time.
#[wasm_bindgen]
pub fn describe(slot: usize, name: usize, name_length: Option<u32>, created_at: Option<f64>) -> Result<()> {
    or_bad(with_two(slot, name, |slot, name| {
        let name = match name_length {
            Some(length) => Some(str::from_utf8(name.prefix(length as usize)?).ok()?.to_owned()),
            None => None,
        };
        Some(slot.blob()?.describe(name, created_at.map(|time| time as u64)))
    }))
}

/// The kind's number in the blob.
#[wasm_bindgen]
pub fn kind(slot: usize) -> u8 {
    with(slot, |slot| Some(slot.blob()?.filter.kind() as u8)).unwrap_or_default()
}

#[wasm_bindgen(unchecked_return_type = "import('./info.js').FilterInfo")]
pub fn info(slot: usize) -> Result<JsValue, JsValue> {
    let info = or_bad(with(slot, |slot| Some(Info::of(slot.blob()?))))?;
    Ok(filter_info(
        info.kind,
        info.profile,
        info.count.map(|count| count as f64),
        info.capacity.map(|capacity| capacity as f64),
        info.fpr,
        info.bits as f64,
        info.hashes,
        info.bits_per_key,
        info.byte_length as f64,
        info.seed,
        info.layers,
        info.name.as_deref(),
        info.created_at.map(|time| time as f64),
        info.id,
    ))
}

#[wasm_bindgen]
pub fn seed(slot: usize) -> u64 {
    with(slot, |slot| Some(slot.blob()?.filter.seed())).unwrap_or_default()
}

#[wasm_bindgen]
pub fn equals(slot: usize, other: usize) -> bool {
    with_two(slot, other, |slot, other| Some(slot.blob()?.filter == other.blob()?.filter)).unwrap_or_default()
}

#[wasm_bindgen]
pub fn estimated_fpr(slot: usize) -> f64 {
    with(slot, |slot| Some(slot.blob()?.filter.estimated_fpr())).unwrap_or_default()
}

#[wasm_bindgen]
pub fn estimated_count(slot: usize) -> f64 {
    with(slot, |slot| Some(slot.blob()?.filter.estimated_count())).unwrap_or_default()
}

/// Asks for the key in the first `length` bytes of a slot.
#[wasm_bindgen]
pub fn has(slot: usize, key: usize, length: usize) -> bool {
    with_two(slot, key, |slot, key| Some(slot.blob()?.filter.has(key.prefix(length)?))).unwrap_or(true)
}

/// A byte for each key, in a new slot: 1 maybe present, 0 definitely absent.
#[wasm_bindgen]
pub fn has_digests(slot: usize, keys: usize) -> Result<usize> {
    let answers = or_bad(with_two(slot, keys, |slot, keys| {
        let (filter, (_, digests)) = (&slot.blob()?.filter, keys.digests()?);
        Some(answers(digests.len(), digests.iter().map(|&digest| filter.has_digest(digest))))
    }))?;
    store(Slot::Bytes(answers))
}

/// A byte for each line in the first `length` bytes, in a new slot.
#[wasm_bindgen]
pub fn has_lines(slot: usize, text: usize, length: usize) -> Result<usize> {
    let answers = or_bad(with_two(slot, text, |slot, text| {
        let (filter, text) = (&slot.blob()?.filter, text.prefix(length)?);
        Some(answers(lines(text).count(), lines(text).map(|key| !key.is_empty() && filter.has(key))))
    }))?;
    store(Slot::Bytes(answers))
}

fn answers(count: usize, answers: impl Iterator<Item = bool>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, count)?;
    bytes.extend(answers.map(u8::from));
    Ok(bytes)
}

/// Adds the key in the first `length` bytes; true = it was definitely not there.
#[wasm_bindgen]
pub fn add(slot: usize, key: usize, length: usize) -> bool {
    with_two(slot, key, |slot, key| Some(slot.bloom()?.add(key.prefix(length)?))).unwrap_or_default()
}

/// Adds all; returns how many were new.
#[wasm_bindgen]
pub fn add_digests(slot: usize, keys: usize) -> usize {
    let added = with_two(slot, keys, |slot, keys| {
        let (bloom, (_, digests)) = (slot.bloom()?, keys.digests()?);
        Some(digests.iter().filter(|&&digest| bloom.add_digest(digest)).count())
    });
    added.unwrap_or_default()
}

/// The union, or else the intersection.
#[wasm_bindgen]
pub fn combine(slot: usize, other: usize, union: bool) -> Result<()> {
    or_bad(with_two(slot, other, |slot, other| Some(slot.bloom()?.combine(other.bloom()?, union))))
}

#[wasm_bindgen]
pub fn clear(slot: usize) {
    with(slot, |slot| slot.bloom().map(BloomFilter::clear));
}

/// The positions of a key's bits, in a new slot, four little-endian bytes each.
#[wasm_bindgen]
pub fn locations(slot: usize, key: usize, length: usize) -> Result<usize> {
    let positions = or_bad(with_two(slot, key, |slot, key| {
        Some(Ok(slot.bloom()?.locations(key.prefix(length)?).flat_map(u32::to_le_bytes).collect()))
    }))?;
    store(Slot::Bytes(positions))
}

/// The hashes times 2^32, plus the bits.
#[wasm_bindgen]
pub fn optimal(count: f64, fpr: f64) -> Result<f64> {
    let optimal = params::optimal(count as u64, fpr)?;
    Ok(f64::from(optimal.hashes) * 4_294_967_296.0 + f64::from(optimal.bits))
}

#[wasm_bindgen]
pub fn fpr_for(count: f64, bits: u32, hashes: u32) -> Result<f64> {
    params::fpr_for(count as u64, bits, hashes)
}

#[wasm_bindgen]
pub fn count_for(bits: u32, fpr: f64) -> Result<f64> {
    Ok(params::count_for(bits, fpr)? as f64)
}
