//! `go-bloom`: Go's <https://github.com/bits-and-blooms/bloom>, version 3 (and willf/bloom from 2.0 on).
//!
//! ```text
//! binary  m (u64 BE), k (u64 BE), length of the bit set (u64 BE), its words (u64 BE)
//! JSON    {"m":m,"k":k,"b":"..."}, b being the length and the words in base64 for URLs
//! ```
//!
//! Two global switches of Go's bit set make length and words little-endian, and the base64 standard. The length is m,
//! except in filters that were put together by hand; a position past it is 0.

use super::found::{Found, swap_words};
use super::json::{BYTE_ORDER_MARK, from_base64, to_base64};
use super::options::Options;
use crate::error::{Error, Result};
use crate::fields::{Cursor, Fields};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{MAX_HASHES, Part, Scheme};
use crate::vectors::{append, copied};

const JSON: u8 = 1;
const LITTLE_ENDIAN: u8 = 2;
const STANDARD: u8 = 4;

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    // No m begins with a brace or with a byte order mark: it would be 2^56 or more.
    let text = file.left();
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim_ascii_start().first() != Some(&b'{') {
        let (m, k) = (file.u64_be(), file.u64_be());
        return bit_set(m, k, file.rest(), 0);
    }
    file.begin_text();
    let (mut m, mut k, mut set) = (None, None, None);
    let mut first = true;
    while let Some(name) = file.member(&mut first) {
        match name.as_slice() {
            b"m" => m = Some(file.unsigned()),
            b"k" => k = Some(file.unsigned()),
            b"b" => {
                let text = file.string();
                set = Some(file.keep(from_base64(&text)));
            }
            _ => file.skip(),
        }
    }
    file.end_text();
    file.rule(m.is_some() && k.is_some() && set.is_some(), "the JSON must have m, k and b");
    let (set, standard) = set.unwrap_or_default();
    bit_set(m.unwrap_or(0), k.unwrap_or(0), &set, JSON | if standard { STANDARD } else { 0 })
}

/// The filter of a bit set's length and words. Only the length tells their byte order, since it must fit.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn bit_set(m: u64, k: u64, bytes: &[u8], layout: u8) -> Result<Found> {
    let mut cursor = Cursor::new(bytes);
    let little = cursor.u64();
    let words = |length: u64| length.div_ceil(64).saturating_mul(8);
    let left = cursor.left().len() as u64;
    let swapped = words(little.swap_bytes()) != left && words(little) == left;
    let length = if swapped { little } else { little.swap_bytes() };
    let words = cursor.last(words(length));
    cursor.done()?;
    let mut words = if swapped { copied(words)? } else { swap_words(words)? };
    if let Some(last) = words.last_chunk_mut::<8>().filter(|_| length % 64 != 0) {
        // Go never looks at the bits after the length.
        *last = (u64::from_le_bytes(*last) & ((1 << (length % 64)) - 1)).to_le_bytes();
    }
    let mut note = Vec::new();
    if length != m {
        append(&mut note, &length.to_le_bytes())?;
    }
    let layout = layout | if swapped { LITTLE_ENDIAN } else { 0 };
    Ok(Found { layout, note, ..Found::single(Scheme::Go, m, k.min(u64::from(MAX_HASHES) + 1), words)? })
}

pub(super) fn write(fields: &mut Fields, filter: &ForeignFilter, part: Part) -> Result<()> {
    let length = filter.note().first_chunk().map_or(part.bits, |&length| u64::from_le_bytes(length));
    let mut set = Fields::default();
    if filter.layout() & LITTLE_ENDIAN != 0 {
        set.u64(length);
        set.slice(filter.as_bytes());
    } else {
        set.u64_be(length);
        set.slice(&swap_words(filter.as_bytes())?);
    }
    let set = set.finish()?;
    let (m, k) = (part.bits, part.hashes);
    if filter.layout() & JSON != 0 {
        fields.slice(format!("{{\"m\":{m},\"k\":{k},\"b\":\"").as_bytes());
        fields.slice(&to_base64(&set, filter.layout() & STANDARD != 0)?);
        fields.slice(b"\"}");
    } else {
        fields.u64_be(m);
        fields.u64_be(k.into());
        fields.slice(&set);
    }
    Ok(())
}

/// The layout of this name.
pub(super) fn layout(name: Option<&str>) -> Result<u8> {
    match name {
        None | Some("binary") => Ok(0),
        Some("json") => Ok(JSON),
        Some(_) => Err(Error::rule("layout must be binary or json")),
    }
}
