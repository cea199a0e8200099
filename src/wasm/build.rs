//! What `bloom-wasm/full` has besides: building and changing filters, reading lists, the formulas.

use alloc::vec::Vec;

use wasm_bindgen::prelude::*;

use super::ask::append_line;
use super::{Held, Slot, done, held, keys, told, two};
use crate::check::{list, password};
use crate::error::{copied, push, zeroed};
use crate::filters::{BloomFilter, CountingBloomFilter, CuckooFilter, Filter, Recipe, ScalableBloomFilter};
use crate::format::{Blob, Profile, text};
use crate::hash::{digest, sort, subtract};
use crate::layers::{Stack, Update};
use crate::lines::lines;
use crate::params;

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
        2 => CountingBloomFilter::new(bits, hashes, counter_bits, seed).map(Filter::from),
        3 => ScalableBloomFilter::new(bits, fpr, growth, tightening, seed).map(Filter::from),
        _ => CuckooFilter::with_capacity(size as u64, fpr, seed).map(Filter::from),
    };
    told(filter).map_or(0, |filter| held().store(Slot::Blob(filter.into())))
}

/// A filter of the digests, which are used up, of the kind with this number. `size` is counting's counter bits and
/// scalable's initial capacity; `allowed` the slot of the digests that must be absent, if it is one; `profile` as
/// [`profile`](super::ask::profile) tells it.
#[allow(clippy::too_many_arguments)]
#[wasm_bindgen]
pub fn build(
    keys: usize,
    allowed: usize,
    kind: u8,
    fpr: f64,
    size: u32,
    growth: u32,
    tightening: f64,
    profile: u8,
) -> usize {
    done(|| {
        let held = &mut held();
        let Slot::Digests { seed, digests } = held.slots.get_mut(keys)? else { return None };
        let (seed, mut digests) = (*seed, core::mem::take(digests));
        let recipe = match kind {
            1 => Recipe::Bloom,
            2 => Recipe::Counting { counter_bits: size },
            3 => Recipe::Scalable { initial_capacity: size, growth, tightening },
            4 => Recipe::Cuckoo,
            _ => Recipe::Ribbon,
        };
        let profile = Profile::from_number(profile);
        let fpr = profile.key_fpr(fpr);
        let filter = if let Some(Slot::Digests { digests: allowed, .. }) = held.slots.get(allowed) {
            told(sort(&mut digests))?;
            let mut members = told(copied(&digests))?;
            let mut stack = Stack::from(told(Filter::from_digests(recipe, &mut members, fpr, seed))?);
            told(stack.update(Update { live: &digests, removed: &[], allowed, fpr: 0.5 }))?;
            stack
        } else {
            told(Filter::from_digests(recipe, &mut digests, fpr, seed))?.into()
        };
        Some(held.store(Slot::Blob(Blob { profile, ..filter.into() })))
    })
}

/// Sets the name, which is the first `length` bytes of a slot, and the creation time; NaN stands for none.
#[wasm_bindgen]
pub fn describe(slot: usize, length: f64, created_at: f64) {
    done(|| {
        let held = &mut held();
        let (blob, name) = held.blob_and_text(slot, length as usize)?;
        let name = if length.is_nan() { None } else { Some(told(text(name))?) };
        told(blob.describe(name, (!created_at.is_nan()).then_some(created_at as u64)))
    })
}

/// Adds the key in the first `length` bytes of the scratch; true = it was definitely not there.
#[wasm_bindgen]
pub fn add(slot: usize, length: usize) -> bool {
    done(|| {
        let held = &mut held();
        let (blob, key) = held.blob_and_text(slot, length)?;
        let digest = digest(blob.filter.seed(), key);
        Some(told(told(blob.filter.base_mut())?.add_digests(&[digest]))? > 0)
    })
}

/// Adds all or, if that fails, none; returns how many were new.
#[wasm_bindgen]
pub fn add_digests(slot: usize, keys: usize) -> usize {
    done(|| {
        let held = &mut held();
        let (blob, digests) = held.blob_and_digests(slot, keys)?;
        told(told(blob.filter.base_mut())?.add_digests(digests))
    })
}

/// Removes the key in the first `length` bytes of the scratch; false = it was definitely not there.
#[wasm_bindgen]
pub fn remove(slot: usize, length: usize) -> bool {
    done(|| {
        let held = &mut held();
        let (blob, key) = held.blob_and_text(slot, length)?;
        match told(blob.filter.base_mut())? {
            Filter::Counting(filter) => Some(filter.remove(key)),
            Filter::Cuckoo(filter) => Some(filter.remove(key)),
            _ => None,
        }
    })
}

#[wasm_bindgen]
pub fn clear(slot: usize) {
    done(|| {
        told(held().blob(slot)?.filter.base_mut())?.clear();
        Some(())
    })
}

/// The union, or else the intersection.
#[wasm_bindgen]
pub fn combine(slot: usize, other: usize, union: bool) {
    done(|| {
        let held = &mut held();
        let (Slot::Blob(blob), Slot::Blob(other)) = two(&mut held.slots, slot, other)? else { return None };
        told(blob.combine(other, union))
    })
}

/// A counting filter's Bloom filter, in a new slot.
#[wasm_bindgen]
pub fn to_bloom(slot: usize) -> usize {
    done(|| {
        let held = &mut held();
        let blob = held.blob(slot)?;
        let Filter::Counting(filter) = told(blob.filter.base_mut())? else { return None };
        let bloom = Filter::from(told(filter.to_bloom())?);
        let bloom = Blob { profile: blob.profile, ..bloom.into() };
        Some(held.store(Slot::Blob(bloom)))
    })
}

/// The positions of a key's bits, in a new slot, four little-endian bytes each.
#[wasm_bindgen]
pub fn locations(slot: usize, length: usize) -> usize {
    done(|| {
        let held = &mut held();
        let (blob, key) = held.blob_and_text(slot, length)?;
        let Filter::Bloom(filter) = blob.filter.base() else { return None };
        let mut positions = told(zeroed(filter.hashes() as usize * 4))?;
        for (bytes, position) in positions.as_chunks_mut().0.iter_mut().zip(filter.locations(key)) {
            *bytes = position.to_le_bytes();
        }
        Some(held.store(Slot::Bytes(positions)))
    })
}

impl Held {
    fn blob_and_digests(&mut self, slot: usize, keys: usize) -> Option<(&mut Blob, &[u64])> {
        match two(&mut self.slots, slot, keys)? {
            (Slot::Blob(blob), Slot::Digests { digests, .. }) => Some((blob, digests)),
            _ => None,
        }
    }

    /// Digests with their seed, and the first `length` bytes of the scratch.
    fn digests_and_text(&mut self, slot: usize, length: usize) -> Option<(u64, &mut Vec<u64>, &[u8])> {
        match self.slots.get_mut(slot)? {
            Slot::Digests { seed, digests } => Some((*seed, digests, self.scratch.get(..length)?)),
            _ => None,
        }
    }
}

/// A slot of no digests.
#[wasm_bindgen]
pub fn digests_new(seed: u64) -> usize {
    held().store(Slot::Digests { seed, digests: Vec::new() })
}

/// Takes the `count` keys in the first `length` bytes of the scratch.
#[wasm_bindgen]
pub fn digests_push(slot: usize, count: usize, length: usize) {
    done(|| {
        let held = &mut held();
        let (seed, digests, text) = held.digests_and_text(slot, length)?;
        told(keys(text, count).try_for_each(|key| push(digests, digest(seed, key))))
    })
}

/// Takes the lines in the first `length` bytes of the scratch, but for blank ones.
#[wasm_bindgen]
pub fn digests_push_lines(slot: usize, length: usize) {
    done(|| {
        let held = &mut held();
        let (seed, digests, text) = held.digests_and_text(slot, length)?;
        let mut keys = lines(text).filter(|key| !key.is_empty());
        told(keys.try_for_each(|key| push(digests, digest(seed, key))))
    })
}

/// Sorts digests and drops repeated ones.
#[wasm_bindgen]
pub fn digests_sort(slot: usize) {
    done(|| {
        let held = &mut held();
        let Slot::Digests { digests, .. } = held.slots.get_mut(slot)? else { return None };
        told(sort(digests))
    })
}

/// Whether the key in the first `length` bytes of the scratch is among sorted digests.
#[wasm_bindgen]
pub fn digests_have(slot: usize, length: usize) -> bool {
    done(|| {
        let held = &mut held();
        let (seed, digests, key) = held.digests_and_text(slot, length)?;
        Some(digests.binary_search(&digest(seed, key)).is_ok())
    })
}

/// Takes out of sorted digests those that are among others, sorted too.
#[wasm_bindgen]
pub fn digests_subtract(slot: usize, others: usize) {
    done(|| {
        let held = &mut held();
        let (Slot::Digests { digests, .. }, Slot::Digests { digests: others, .. }) =
            two(&mut held.slots, slot, others)?
        else {
            return None;
        };
        subtract(digests, others);
        Some(())
    })
}

/// Puts what is in a line of a list of URLs, which is the first `length` bytes of the scratch, in its place: the URLs and
/// hosts, each after a `+`, and why there is none, after a `-`; each with a line end. Returns their length.
#[wasm_bindgen]
pub fn list_entries(length: usize) -> usize {
    done(|| {
        let held = &mut held();
        let mut found = Vec::new();
        for entry in list::entries(held.scratch.get(..length)?) {
            let (sign, text) = match entry {
                Ok(text) => (b'+', text),
                Err(skip) => (b'-', skip.code().as_bytes()),
            };
            told(push(&mut found, sign))?;
            told(append_line(&mut found, text))?;
        }
        held.answer(&found)
    })
}

/// Puts the hash in a line of a list of hashes, which is the first `length` bytes of the scratch, in its place, and
/// returns its count; -1 if it is none.
#[wasm_bindgen]
pub fn hash_line(length: usize) -> f64 {
    done(|| {
        let held = &mut held();
        let Ok((hash, count)) = password::hash_line(held.scratch.get(..length)?) else { return Some(-1.0) };
        held.answer(&hash)?;
        Some(count as f64)
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
