//! What every page downloads: reading a filter and asking it.

use alloc::vec::Vec;

use wasm_bindgen::prelude::*;

use super::{Slot, blob, blob_and_digests, blob_and_key, bytes, done, slots, store, store_in, told, two};
use crate::check::password;
use crate::check::url::{Canonical, canonicalize};
use crate::error::{Result, append, zeroed};
use crate::filters::Filter;
use crate::format::{Blob, Profile};
use crate::info::Info;
use crate::lines::lines;

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

/// The length of the blob that starts with the first `length` bytes; 0 if more must be seen first.
#[wasm_bindgen]
pub fn expected_length(slot: usize, length: usize) -> f64 {
    done(|| {
        let slots = &mut slots();
        let expected = told(Blob::expected_length(bytes(slots, slot)?.get(..length)?))?;
        Some(expected? as f64)
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

/// The kind's number in the blob.
#[wasm_bindgen]
pub fn kind(slot: usize) -> u8 {
    blob(&mut slots(), slot).map_or(0, |blob| blob.filter.base().kind() as u8)
}

/// What the keys are: 0 raw, 1 URLs, 2 passwords; 4 more if they were lower-cased, 8 more if they were hashed.
#[wasm_bindgen]
pub fn profile(slot: usize) -> u8 {
    blob(&mut slots(), slot).map_or(0, |blob| blob.profile.to_number())
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

/// The canonical form of the URL in the first `length` bytes.
#[inline(never)]
fn canonical(bytes: &[u8], length: usize) -> Option<Canonical> {
    told(canonicalize(bytes.get(..length)?))?
}

/// Puts the canonical form of the URL in the first `length` bytes in their place and returns its length; 0 if it has
/// none.
#[wasm_bindgen]
pub fn canonicalize_url(slot: usize, length: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let bytes = bytes(slots, slot)?;
        *bytes = canonical(bytes, length)?.into_bytes();
        Some(bytes.len())
    })
}

/// Puts the keys of the URL in the first `length` bytes in their place, each with a line end, and returns their length.
#[wasm_bindgen]
pub fn url_keys(slot: usize, length: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let bytes = bytes(slots, slot)?;
        let url = canonical(bytes, length)?;
        bytes.clear();
        for key in url.expressions() {
            told(append_line(bytes, key))?;
        }
        Some(bytes.len())
    })
}

pub(super) fn append_line(bytes: &mut Vec<u8>, line: &[u8]) -> Result<()> {
    append(bytes, line)?;
    append(bytes, b"\n")
}

/// Asks for all keys of the URL in the first `length` bytes. Puts the one that is maybe present in their place and
/// returns its length; 0 if none is.
#[wasm_bindgen]
pub fn match_url(slot: usize, url: usize, length: usize) -> usize {
    done(|| {
        let slots = &mut slots();
        let (Slot::Blob(blob), Slot::Bytes(bytes)) = two(slots, slot, url)? else { return None };
        let url = canonical(bytes, length)?;
        let found = url.expressions().find(|key| blob.filter.has(key))?;
        bytes.clear();
        told(append(bytes, found))?;
        Some(found.len())
    })
}

/// Asks for the password in the first `length` bytes of a slot, which is in its normal form.
#[wasm_bindgen]
pub fn has_password(slot: usize, password: usize, length: usize) -> bool {
    done(|| {
        let slots = &mut slots();
        let (blob, password) = blob_and_key(slots, slot, password, length)?;
        let hashed = matches!(blob.profile, Profile::Password { sha1: true, .. });
        Some(if hashed { blob.filter.has(&password::sha1(password)) } else { blob.filter.has(password) })
    })
}
