//! `go-bloom`: Go's <https://github.com/bits-and-blooms/bloom>, version 3 (and willf/bloom from 2.0 on).
//!
//! ```text
//! binary  m (u64 BE), k (u64 BE), length of the bit set (u64 BE), its words (u64 BE)
//! JSON    {"m":m,"k":k,"b":"..."}, b being the length and the words in base64 for URLs
//! ```
//!
//! Two global switches of Go's bit set make length and words little-endian, and the base64 standard. The length is m but for
//! filters that were put together by hand; a position past it is 0.

use super::json::{Json, from_base64, to_base64};
use super::{Cursor, MAX_HASHES, only, single, swap_words};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::{append, copied};

const JSON: u8 = 1;
const LITTLE_ENDIAN: u8 = 2;
const STANDARD: u8 = 4;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignFilter> {
    // No m begins with such a byte: it would be 2^56 and more.
    if Json::new(bytes).peek() != Some(b'{') {
        let mut cursor = Cursor::new(bytes);
        let (m, k) = (cursor.u64_be()?, cursor.u64_be()?);
        return bit_set(m, k, cursor.rest(), 0);
    }
    let (mut m, mut k, mut set) = (None, None, None);
    let mut json = Json::new(bytes);
    json.object(&mut |json, name| {
        match name {
            b"m" => m = Some(json.unsigned()?),
            b"k" => k = Some(json.unsigned()?),
            b"b" => set = Some(from_base64(json.string()?)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    json.end()?;
    let (Some(m), Some(k), Some((set, standard))) = (m, k, set) else {
        return Err(Error::rule("the JSON must have m, k and b"));
    };
    bit_set(m, k, &set, JSON | if standard { STANDARD } else { 0 })
}

/// The filter of a bit set's length and words. Nothing tells their order but the length, which must fit.
fn bit_set(m: u64, k: u64, bytes: &[u8], layout: u8) -> Result<ForeignFilter> {
    let mut cursor = Cursor::new(bytes);
    let little = cursor.u64()?;
    let words = |length: u64| length.div_ceil(64).saturating_mul(8);
    let swapped = words(little.swap_bytes()) != cursor.left() && words(little) == cursor.left();
    let length = if swapped { little } else { little.swap_bytes() };
    let words = copied(cursor.last(words(length))?)?;
    let mut words = if swapped { words } else { swap_words(words) };
    if let Some(last) = words.last_chunk_mut::<8>().filter(|_| length % 64 != 0) {
        // Go never looks at them.
        *last = (u64::from_le_bytes(*last) & ((1 << (length % 64)) - 1)).to_le_bytes();
    }
    let mut note = Vec::new();
    if length != m {
        append(&mut note, &length.to_le_bytes())?;
    }
    let layout = layout | if swapped { LITTLE_ENDIAN } else { 0 };
    single(
        Scheme::Go,
        Format::GoBloom.keys()[0].1,
        layout,
        0,
        (m, k.min(u64::from(MAX_HASHES) + 1)),
        note,
        words,
    )
}

pub(super) fn write(filter: &ForeignFilter) -> Result<Vec<u8>> {
    let (part, words) = only(filter)?;
    let length = filter.note().first_chunk().map_or(part.bits, |&length| u64::from_le_bytes(length));
    let mut set = Vec::new();
    if filter.layout() & LITTLE_ENDIAN != 0 {
        append(&mut set, &length.to_le_bytes())?;
        append(&mut set, words)?;
    } else {
        append(&mut set, &length.to_be_bytes())?;
        append(&mut set, &swap_words(copied(words)?))?;
    }
    let mut bytes = Vec::new();
    let (m, k) = (part.bits, u64::from(part.hashes));
    if filter.layout() & JSON != 0 {
        append(&mut bytes, format!("{{\"m\":{m},\"k\":{k},\"b\":\"").as_bytes())?;
        append(&mut bytes, &to_base64(&set, filter.layout() & STANDARD != 0)?)?;
        append(&mut bytes, b"\"}")?;
    } else {
        append(&mut bytes, &m.to_be_bytes())?;
        append(&mut bytes, &k.to_be_bytes())?;
        append(&mut bytes, &set)?;
    }
    Ok(bytes)
}

/// The layout of this name.
pub(super) fn layout(name: Option<&str>) -> Result<u8> {
    match name {
        None | Some("binary") => Ok(0),
        Some("json") => Ok(JSON),
        Some(_) => Err(Error::rule("layout must be binary or json")),
    }
}
