//! The WebAssembly boundary: the only file that names wasm_bindgen. No logic and no public API: `js/` wraps these
//! functions and checks the type and range of every argument before it calls one.
//!
//! What JavaScript holds is the number of a slot here: a run of bytes, a batch of digests, or a filter. Classes of
//! wasm-bindgen would do the same for 180 bytes of wasm and 100 of JavaScript more per method. Bytes cross in one
//! way: JavaScript writes into a bytes slot or reads from one. So the glue allocates nothing, which would trap where
//! memory is short, and every allocation of a size that a caller chose is fallible.
//!
//! Nor does the glue know errors, which would cost 60 bytes a function on either side. A function that fails tells
//! `js/error.ts` so and returns 0; there `checked` throws it.

use alloc::vec::Vec;

use spin::{Mutex, MutexGuard};
use wasm_bindgen::prelude::*;

use crate::error::{Error, Result, push, reserve, zeroed};
use crate::filters::{
    BloomFilter, CountingBloomFilter, CuckooFilter, Filter, RibbonFilter, ScalableBloomFilter,
};
use crate::format::{Blob, text};
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
    fn fail(code: &str, message: &str, a: f64, b: f64);
}

#[wasm_bindgen(raw_module = "./info.js")]
extern "C" {
    /// NaN stands for null.
    #[wasm_bindgen(js_name = takeInfo)]
    fn take_info(
        kind: &str,
        profile: &str,
        count: f64,
        capacity: f64,
        fpr: f64,
        bits: f64,
        hashes: f64,
        bits_per_key: f64,
        byte_length: f64,
        seed: u64,
        layers: u32,
        name: Option<&str>,
        created_at: f64,
        id: u64,
    );
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

/// Whether this is the whole package or the small one for pages, which builds and changes Bloom filters alone. What
/// a call below doesn't reach then isn't in the wasm.
const FULL: bool = cfg!(feature = "full");

/// What the small package says to a caller who wants to build or change a filter of another kind.
#[inline(never)]
fn refuse<T: Default>() -> T {
    fail("unsupported_kind", "only bloom-wasm/full builds or changes filters of this kind", 0.0, 0.0);
    T::default()
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
    if let Some(index) = slots.iter().position(|slot| matches!(slot, Slot::Free)) {
        slots[index] = slot;
        return index;
    }
    told(push(slots, slot)).map_or(0, |()| slots.len() - 1)
}

fn store(slot: Slot) -> usize {
    store_in(&mut slots(), slot)
}

#[inline(never)]
fn store_filter(slots: &mut Vec<Slot>, filter: Result<Filter>) -> usize {
    told(filter).map_or(0, |filter| store_in(slots, Slot::Blob(filter.into())))
}

#[inline(never)]
fn slots() -> MutexGuard<'static, Vec<Slot>> {
    match SLOTS.try_lock() {
        Some(slots) => slots,
        // JavaScript's stack ran out in the middle of an earlier call: better an exception than to wait for ever.
        None => core::arch::wasm32::unreachable(),
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
        match reserve(bytes, length) {
            Ok(()) => bytes.resize(length, 0),
            Err(error) => tell(error),
        }
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

/// The length of the blob that starts with the first `length` bytes; 0 if more must be seen first.
#[wasm_bindgen]
pub fn expected_length(slot: usize, length: usize) -> f64 {
    done(|| {
        let slots = &mut slots();
        let expected = told(Blob::expected_length(bytes(slots, slot)?.get(..length)?))?;
        Some(expected? as f64)
    })
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

/// Takes the lines in the first `length` bytes, but for blank ones.
#[wasm_bindgen]
pub fn digests_push_lines(slot: usize, text: usize, length: usize) {
    done(|| {
        let slots = &mut slots();
        let (seed, digests, text) = digests_and_text(slots, slot, text, length)?;
        let keys = lines(text).filter(|key| !key.is_empty());
        told(keys.map(|key| digest(seed, key)).try_for_each(|digest| push(digests, digest)))
    })
}

/// Turns the bytes in a slot into a filter in the same slot; on failure the slot holds no bytes.
#[wasm_bindgen]
pub fn decode(slot: usize) {
    done(|| {
        let slots = &mut slots();
        let blob = told(Blob::decode(core::mem::take(bytes(slots, slot)?)))?;
        *slots.get_mut(slot)? = Slot::Blob(blob);
        Some(())
    })
}

/// The blob's bytes, in a new slot.
#[wasm_bindgen]
pub fn encode(slot: usize) -> usize {
    done(|| {
        let bytes = told(blob(&mut slots(), slot)?.encode())?;
        Some(store(Slot::Bytes(bytes)))
    })
}

/// An empty filter of the kind with this number. `size` is bloom's and counting's bits, scalable's initial capacity
/// and cuckoo's count.
#[allow(clippy::too_many_arguments)]
#[wasm_bindgen]
pub fn create(
    kind: u8,
    size: f64,
    hashes: u32,
    counter_bits: u32,
    fpr: f64,
    growth: u32,
    tightening: f64,
    seed: u64,
) -> usize {
    let bits = size as u32;
    let filter = match kind {
        1 => BloomFilter::new(bits, hashes, seed).map(Filter::from),
        _ if !FULL => return refuse(),
        2 => CountingBloomFilter::new(bits, hashes, counter_bits, seed).map(Filter::from),
        3 => ScalableBloomFilter::new(bits, fpr, growth, tightening, seed).map(Filter::from),
        _ => CuckooFilter::with_capacity(size as u64, fpr, seed).map(Filter::from),
    };
    store_filter(&mut slots(), filter)
}

/// A filter of the digests, which are used up, of the kind with this number. `size` is counting's counter bits and
/// scalable's initial capacity.
#[wasm_bindgen]
pub fn build(keys: usize, kind: u8, fpr: f64, size: u32, growth: u32, tightening: f64) -> usize {
    let slots = &mut slots();
    let Some(Slot::Digests { seed, digests }) = slots.get_mut(keys) else { return 0 };
    let (seed, mut digests) = (*seed, core::mem::take(digests));
    let digests = &mut digests;
    let filter = match kind {
        1 => BloomFilter::from_digests(digests, fpr, seed).map(Filter::from),
        _ if !FULL => return refuse(),
        2 => CountingBloomFilter::from_digests(digests, fpr, size, seed).map(Filter::from),
        3 => {
            ScalableBloomFilter::from_digests(digests, size, fpr, growth, tightening, seed).map(Filter::from)
        }
        4 => CuckooFilter::from_digests(digests, fpr, seed).map(Filter::from),
        _ => RibbonFilter::from_digests(digests, fpr, seed).map(Filter::from),
    };
    store_filter(slots, filter)
}

/// Sets the name, which is the first `length` bytes of a slot, and the creation time; NaN stands for none.
#[wasm_bindgen]
pub fn describe(slot: usize, name: usize, length: f64, created_at: f64) {
    done(|| {
        let slots = &mut slots();
        let (blob, name) = blob_and_key(slots, slot, name, length as usize)?;
        let name = if length.is_nan() { None } else { Some(told(text(name))?) };
        told(blob.describe(name, (!created_at.is_nan()).then_some(created_at as u64)))
    })
}

/// The kind's number in the blob.
#[wasm_bindgen]
pub fn kind(slot: usize) -> u8 {
    blob(&mut slots(), slot).map_or(0, |blob| blob.filter.base().kind() as u8)
}

/// Hands the description to `takeInfo`.
#[wasm_bindgen]
pub fn info(slot: usize) {
    done(|| {
        let slots = &mut slots();
        let info = told(Info::of(blob(slots, slot)?))?;
        let number = |number: Option<u64>| number.map_or(f64::NAN, |number| number as f64);
        take_info(
            info.kind,
            info.profile,
            number(info.count),
            number(info.capacity),
            info.fpr,
            info.bits as f64,
            number(info.hashes.map(u64::from)),
            info.bits_per_key.unwrap_or(f64::NAN),
            info.byte_length as f64,
            info.seed,
            info.layers,
            info.name,
            number(info.created_at),
            info.id,
        );
        Some(())
    })
}

#[wasm_bindgen]
pub fn seed(slot: usize) -> u64 {
    blob(&mut slots(), slot).map_or(0, |blob| blob.filter.seed())
}

#[wasm_bindgen]
pub fn equals(slot: usize, other: usize) -> bool {
    match two(&mut slots(), slot, other) {
        Some((Slot::Blob(blob), Slot::Blob(other))) => {
            blob.profile == other.profile && blob.filter == other.filter
        }
        _ => false,
    }
}

#[wasm_bindgen]
pub fn estimated_fpr(slot: usize) -> f64 {
    blob(&mut slots(), slot).map_or(0.0, |blob| blob.filter.estimated_fpr())
}

#[wasm_bindgen]
pub fn estimated_count(slot: usize) -> f64 {
    blob(&mut slots(), slot).map_or(0.0, |blob| blob.filter.estimated_count())
}

/// Asks for the key in the first `length` bytes of a slot.
#[wasm_bindgen]
pub fn has(slot: usize, key: usize, length: usize) -> bool {
    blob_and_key(&mut slots(), slot, key, length).is_some_and(|(blob, key)| blob.filter.has(key))
}

/// A byte for each key, in a new slot: 1 maybe present, 0 definitely absent.
#[wasm_bindgen]
pub fn has_digests(slot: usize, keys: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let (blob, digests) = blob_and_digests(slots, slot, keys)?;
        let mut answers = told(zeroed(digests.len()))?;
        for (answer, &digest) in answers.iter_mut().zip(digests) {
            *answer = blob.filter.has_digest(digest).into();
        }
        Some(store_in(slots, Slot::Bytes(answers)))
    })
}

/// A byte for each line in the first `length` bytes, in a new slot.
#[wasm_bindgen]
pub fn has_lines(slot: usize, text: usize, length: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let (blob, text) = blob_and_key(slots, slot, text, length)?;
        let mut answers = told(zeroed(lines(text).count()))?;
        for (answer, key) in answers.iter_mut().zip(lines(text)) {
            *answer = (!key.is_empty() && blob.filter.has(key)).into();
        }
        Some(store_in(slots, Slot::Bytes(answers)))
    })
}

/// Adds the key in the first `length` bytes; true = it was definitely not there.
#[wasm_bindgen]
pub fn add(slot: usize, key: usize, length: usize) -> bool {
    done(|| {
        let slots = &mut slots();
        let (blob, key) = blob_and_key(slots, slot, key, length)?;
        let digest = digest(blob.filter.seed(), key);
        Some(add_all(told(blob.filter.base_mut())?, &[digest]) > 0)
    })
}

/// Adds all or, if that fails, none; returns how many were new.
#[wasm_bindgen]
pub fn add_digests(slot: usize, keys: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let (blob, digests) = blob_and_digests(slots, slot, keys)?;
        Some(add_all(told(blob.filter.base_mut())?, digests))
    })
}

#[inline(never)]
fn add_all(filter: &mut Filter, digests: &[u64]) -> usize {
    match filter {
        Filter::Bloom(filter) => digests.iter().filter(|&&digest| filter.add_digest(digest)).count(),
        _ if !FULL => refuse(),
        _ => told(filter.add_digests(digests)).unwrap_or_default(),
    }
}

/// Removes the key in the first `length` bytes; false = it was definitely not there.
#[wasm_bindgen]
pub fn remove(slot: usize, key: usize, length: usize) -> bool {
    done(|| {
        let slots = &mut slots();
        let (blob, key) = blob_and_key(slots, slot, key, length)?;
        match told(blob.filter.base_mut())? {
            _ if !FULL => refuse(),
            Filter::Counting(filter) => Some(filter.remove(key)),
            Filter::Cuckoo(filter) => Some(filter.remove(key)),
            _ => None,
        }
    })
}

/// How many times a counting filter holds the key in the first `length` bytes, at most.
#[wasm_bindgen]
pub fn count(slot: usize, key: usize, length: usize) -> u32 {
    done(|| {
        let slots = &mut slots();
        let (blob, key) = blob_and_key(slots, slot, key, length)?;
        if let Filter::Counting(filter) = told(blob.filter.base_mut())? {
            Some(filter.count(key))
        } else {
            None
        }
    })
}

/// A counting filter's Bloom filter, in a new slot.
#[wasm_bindgen]
pub fn to_bloom(slot: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let Filter::Counting(filter) = told(blob(slots, slot)?.filter.base_mut())? else { return None };
        if !FULL {
            return refuse();
        }
        let bloom = filter.to_bloom().map(Filter::from);
        Some(store_filter(slots, bloom))
    })
}

/// The union, or else the intersection.
#[wasm_bindgen]
pub fn combine(slot: usize, other: usize, union: bool) {
    done(|| {
        let slots = &mut slots();
        let (Slot::Blob(blob), Slot::Blob(other)) = two(slots, slot, other)? else { return None };
        if blob.profile != other.profile {
            return told(Err(Error::Incompatible));
        }
        told(match (told(blob.filter.base_mut())?, told(other.filter.base_mut())?) {
            (Filter::Bloom(filter), Filter::Bloom(other)) => filter.combine(other, union),
            _ if !FULL => return refuse(),
            (Filter::Counting(filter), Filter::Counting(other)) => filter.combine(other, union),
            _ => Err(Error::Incompatible),
        })
    })
}

#[wasm_bindgen]
pub fn clear(slot: usize) {
    done(|| {
        let slots = &mut slots();
        match told(blob(slots, slot)?.filter.base_mut())? {
            Filter::Bloom(filter) => filter.clear(),
            _ if !FULL => refuse(),
            filter => filter.clear(),
        }
        Some(())
    })
}

/// The positions of a key's bits, in a new slot, four little-endian bytes each.
#[wasm_bindgen]
pub fn locations(slot: usize, key: usize, length: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let (blob, key) = blob_and_key(slots, slot, key, length)?;
        let Filter::Bloom(filter) = blob.filter.base() else { return None };
        let mut positions = told(zeroed(filter.hashes() as usize * 4))?;
        for (bytes, position) in positions.as_chunks_mut().0.iter_mut().zip(filter.locations(key)) {
            *bytes = position.to_le_bytes();
        }
        Some(store_in(slots, Slot::Bytes(positions)))
    })
}

/// The hashes times 2^32, plus the bits.
#[wasm_bindgen]
pub fn optimal(count: f64, fpr: f64) -> f64 {
    told(params::optimal(count as u64, fpr))
        .map_or(0.0, |optimal| f64::from(optimal.hashes) * 4_294_967_296.0 + f64::from(optimal.bits))
}

#[wasm_bindgen]
pub fn fpr_for(count: f64, bits: u32, hashes: u32) -> f64 {
    told(params::fpr_for(count as u64, bits, hashes)).unwrap_or_default()
}

#[wasm_bindgen]
pub fn count_for(bits: u32, fpr: f64) -> f64 {
    told(params::count_for(bits, fpr)).map_or(0.0, |count| count as f64)
}
