//! What every page downloads: reading a filter and asking it.

use alloc::vec::Vec;

use wasm_bindgen::prelude::*;

use super::{Held, Slot, done, held, keys, told, two};
use crate::check::password;
use crate::check::url::{Canonical, canonicalize, plain};
use crate::error::{Result, append, copied, push, reserve, resize};
use crate::filters::Filter;
use crate::format::{Blob, Profile};
use crate::hash::Checksum;
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

/// A slot for a blob that arrives by the piece.
#[wasm_bindgen]
pub fn incoming() -> usize {
    held().store(Slot::Incoming { bytes: Vec::new(), checksum: Checksum::default() })
}

/// Makes a blob in a slot `length` bytes longer, with room for `room` in all, and returns their address: there JavaScript
/// puts them before it calls again. By then they are in the processor's cache, and the checksum goes on over them.
#[wasm_bindgen]
pub fn arrive(slot: usize, length: usize, room: usize) -> usize {
    done(|| {
        let held = &mut held();
        let Slot::Incoming { bytes, checksum } = held.slots.get_mut(slot)? else { return None };
        // The last 8 bytes may be the checksum to compare with.
        checksum.advance(bytes.split_last_chunk::<8>().map_or(&[], |(body, _)| body));
        told(reserve(bytes, room))?;
        let at = bytes.len();
        told(resize(bytes, at + length))?;
        Some(bytes.as_ptr().addr() + at)
    })
}

/// The length of the blob that has begun to arrive in a slot; 0 if more must be seen first.
#[wasm_bindgen]
pub fn expected_length(slot: usize) -> f64 {
    done(|| Some(told(Blob::expected_length(held().bytes(slot)?))?? as f64))
}

/// Turns what has arrived in a slot into a filter in the same slot; on failure the slot holds nothing.
#[wasm_bindgen]
pub fn decode(slot: usize) {
    done(|| {
        let held = &mut held();
        let slot = held.slots.get_mut(slot)?;
        let Slot::Incoming { bytes, checksum } = core::mem::take(slot) else { return None };
        *slot = Slot::Blob(told(Blob::decode_checked(bytes, checksum))?);
        Some(())
    })
}

/// The blob's bytes, in a new slot.
#[wasm_bindgen]
pub fn encode(slot: usize) -> usize {
    done(|| {
        let held = &mut held();
        let bytes = told(held.blob(slot)?.encode())?;
        Some(held.store(Slot::Bytes(bytes)))
    })
}

/// The kind's number in the blob.
#[wasm_bindgen]
pub fn kind(slot: usize) -> u8 {
    held().blob(slot).map_or(0, |blob| blob.filter.base().kind() as u8)
}

/// What the keys are: 0 raw, 1 URLs, 2 passwords; 4 more if they were lower-cased, 8 more if they were hashed.
#[wasm_bindgen]
pub fn profile(slot: usize) -> u8 {
    held().blob(slot).map_or(0, |blob| blob.profile.to_number())
}

/// Hands the description to `takeInfo`.
#[wasm_bindgen]
pub fn info(slot: usize) {
    done(|| {
        let held = &mut held();
        let info = told(Info::of(held.blob(slot)?))?;
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
    held().blob(slot).map_or(0, |blob| blob.filter.seed())
}

#[wasm_bindgen]
pub fn equals(slot: usize, other: usize) -> bool {
    done(|| {
        let slots = &mut held().slots;
        let (Slot::Blob(blob), Slot::Blob(other)) = two(slots, slot, other)? else { return None };
        told(blob.equals(other))
    })
}

#[wasm_bindgen]
pub fn estimated_fpr(slot: usize) -> f64 {
    held().blob(slot).map_or(0.0, |blob| blob.filter.estimated_fpr())
}

#[wasm_bindgen]
pub fn estimated_count(slot: usize) -> f64 {
    held().blob(slot).map_or(0.0, |blob| blob.filter.estimated_count())
}

/// Asks for the key in the first `length` bytes of the scratch.
#[wasm_bindgen]
pub fn has(slot: usize, length: usize) -> bool {
    held().blob_and_text(slot, length).is_some_and(|(blob, key)| blob.filter.has(key))
}

/// Appends to a slot of bytes one for each of the `count` keys in the first `length` bytes of the scratch: 1 maybe
/// present, 0 definitely absent.
#[wasm_bindgen]
pub fn has_keys(slot: usize, count: usize, length: usize, answers: usize) {
    done(|| {
        let Held { scratch, slots } = &mut *held();
        let (Slot::Blob(blob), Slot::Bytes(answers)) = two(slots, slot, answers)? else { return None };
        let mut keys = keys(scratch.get(..length)?, count);
        told(keys.try_for_each(|key| push(answers, blob.filter.has(key).into())))
    })
}

/// As [`has_keys`], for the lines in the first `length` bytes of the scratch; a blank one is absent.
#[wasm_bindgen]
pub fn has_lines(slot: usize, length: usize, answers: usize) {
    done(|| {
        let Held { scratch, slots } = &mut *held();
        let (Slot::Blob(blob), Slot::Bytes(answers)) = two(slots, slot, answers)? else { return None };
        let mut lines = lines(scratch.get(..length)?);
        told(lines.try_for_each(|key| push(answers, (!key.is_empty() && blob.filter.has(key)).into())))
    })
}

/// How many times a counting filter holds the key in the first `length` bytes of the scratch, at most.
#[wasm_bindgen]
pub fn count(slot: usize, length: usize) -> u32 {
    done(|| {
        let held = &mut held();
        let (blob, key) = held.blob_and_text(slot, length)?;
        if let Filter::Counting(filter) = told(blob.filter.base_mut())? {
            Some(filter.count(key))
        } else {
            None
        }
    })
}

/// What a URL and the slots give for an answer.
type Make<'a> = &'a dyn Fn(&[Slot], &Canonical) -> Option<Vec<u8>>;

/// Puts what `make` makes of the URL in the first `length` bytes of the scratch in their place and returns its length; 0
/// if there is none, and -1 if the WHATWG parser has to go first, and the text isn't `parsed`.
#[inline(never)]
fn about_url(length: usize, parsed: bool, make: Make) -> isize {
    let held = &mut held();
    let text = held.scratch.get(..length).unwrap_or_default();
    let url = if parsed { told(canonicalize(text)).flatten() } else { plain(text) };
    let Some(url) = url else { return if parsed { 0 } else { -1 } };
    let made = make(&held.slots, &url);
    made.and_then(|made| held.answer(&made)).map_or(0, |length| length as isize)
}

/// The canonical form of a URL, as [`about_url`].
#[wasm_bindgen]
pub fn canonicalize_url(length: usize, parsed: bool) -> isize {
    about_url(length, parsed, &|_, url| told(copied(url.as_bytes())))
}

/// The keys of a URL, each with a line end, as [`about_url`].
#[wasm_bindgen]
pub fn url_keys(length: usize, parsed: bool) -> isize {
    about_url(length, parsed, &|_, url| {
        let mut keys = Vec::new();
        told(url.expressions().try_for_each(|key| append_line(&mut keys, key)))?;
        Some(keys)
    })
}

pub(super) fn append_line(bytes: &mut Vec<u8>, line: &[u8]) -> Result<()> {
    append(bytes, line)?;
    append(bytes, b"\n")
}

/// The first key of a URL that is maybe present, as [`about_url`].
#[wasm_bindgen]
pub fn match_url(slot: usize, length: usize, parsed: bool) -> isize {
    about_url(length, parsed, &|slots, url| {
        let Slot::Blob(blob) = slots.get(slot)? else { return None };
        told(copied(url.expressions().find(|key| blob.filter.has(key))?))
    })
}

/// Asks for the password in the first `length` bytes of the scratch, which is in its normal form.
#[wasm_bindgen]
pub fn has_password(slot: usize, length: usize) -> bool {
    done(|| {
        let held = &mut held();
        let (blob, password) = held.blob_and_text(slot, length)?;
        let hashed = matches!(blob.profile, Profile::Password { sha1: true, .. });
        Some(if hashed { blob.filter.has(&password::sha1(password)) } else { blob.filter.has(password) })
    })
}
