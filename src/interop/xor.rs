//! `xor` and `binary-fuse`: static filters of 64-bit keys, as <https://github.com/FastFilter/xor_singleheader> in C and
//! <https://github.com/ayazhafiz/xorf> in Rust store them. All little-endian:
//!
//! ```text
//! xor          c             seed (u64), block length (u64), 3 block lengths of fingerprints
//!              xorf-bincode  seed (u64), block length (u64), count (u64), fingerprints
//!              xorf-json     {"seed","block_length","fingerprints":[...]}
//! binary-fuse  c             seed (u64), size, segment length, segments, their length together, array length (u32 each),
//!                            fingerprints; and of 16 bits perhaps 4 bytes more, by which a release counted wrong
//!              xorf-dma      seed (u64), segment length, mask, segments' length together (u32 each), fingerprints
//!              xorf-json     {"seed","segment_length","segment_length_mask","segment_count_length","fingerprints":[...]}
//! ```

use super::json::Json;
use super::{Cursor, Keys, Options, single};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::Scheme;
use crate::vectors::{append, copied};

const GEOMETRY: &str = "the lengths of segments and array must fit each other";

#[derive(PartialEq)]
enum Layout {
    C,
    Dma,
    Json,
    Bincode,
}

/// The layout, and the width if it was asked for.
fn layout(options: &Options, bytes: &[u8]) -> Result<(Layout, Option<u64>)> {
    let width = options.width.map(u64::from);
    Error::unless(width.is_none_or(|width| matches!(width, 8 | 16 | 32)), "width must be 8, 16 or 32")?;
    let layout = match options.layout.as_deref() {
        Some("c") => Layout::C,
        Some("xorf-dma") => Layout::Dma,
        Some("xorf-json") => Layout::Json,
        Some("xorf-bincode") => Layout::Bincode,
        Some(_) => return Err(Error::rule("layout must be c, xorf-dma, xorf-json or xorf-bincode")),
        None if bytes.starts_with(b"{\"") => Layout::Json,
        None => Layout::C,
    };
    Ok((layout, width))
}

/// The width of fingerprints, by their number and their bytes; the one that was asked for, if it was.
fn width(count: u64, bytes: u64, asked: Option<u64>) -> Result<u64> {
    let found =
        [8, 16, 32].into_iter().find(|width| count > 0 && bytes.checked_mul(8) == count.checked_mul(*width));
    found.filter(|width| asked.is_none_or(|asked| asked == *width)).ok_or(Error::rule(match asked {
        None => "there must be 8, 16 or 32 bits for each fingerprint",
        Some(_) => "there must be as many bits for each fingerprint as width says",
    }))
}

/// A xor filter. The number of fingerprints is three times the block's length, which [`ForeignFilter`] checks.
pub(super) fn xor(keys: Keys, seed: u64, block: u64, width: u64, bytes: Vec<u8>) -> Result<ForeignFilter> {
    single(Scheme::Xor, keys, 0, seed, (block, width), Vec::new(), bytes)
}

/// A binary fuse filter, of which `segments` and `segment` must fit the fingerprints. More of these may be there than are
/// ever looked at.
pub(super) fn fuse(
    keys: Keys,
    seed: u64,
    (segments, segment): (u64, u64),
    width: u64,
    mut bytes: Vec<u8>,
) -> Result<ForeignFilter> {
    let used = (segments.saturating_add(segment.saturating_mul(2))).saturating_mul(width / 8);
    Error::unless(segment.is_power_of_two() && used <= bytes.len() as u64, GEOMETRY)?;
    bytes.truncate(used as usize);
    single(Scheme::BinaryFuse, keys, 0, seed, (segments, width), Vec::new(), bytes)
}

pub(super) fn read_xor(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let (layout, asked) = layout(options, bytes)?;
    if layout == Layout::Json {
        let (width, [seed, block, ..], fingerprints) = json(bytes, asked)?;
        return xor(Keys::Uint64, seed, block, width, fingerprints);
    }
    let mut cursor = Cursor::new(bytes);
    let (seed, block) = (cursor.u64()?, cursor.u64()?);
    let count = match layout {
        Layout::C => block.saturating_mul(3),
        Layout::Bincode => cursor.u64()?,
        _ => return Err(Error::UnsupportedFormat { reason: "xorf-dma is for binary fuse filters" }),
    };
    enough(&cursor, bytes, count)?;
    let fingerprints = cursor.rest();
    let width = width(count, fingerprints.len() as u64, asked)?;
    xor(Keys::Uint64, seed, block, width, copied(fingerprints)?)
}

/// Fails if there isn't a byte for each fingerprint.
pub(super) fn enough(cursor: &Cursor, bytes: &[u8], count: u64) -> Result<()> {
    let have = bytes.len() as u64;
    if cursor.left() >= count {
        return Ok(());
    }
    Err(Error::Truncated { needed: (have - cursor.left()).saturating_add(count), have })
}

pub(super) fn read_fuse(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let (layout, asked) = layout(options, bytes)?;
    let mut cursor = Cursor::new(bytes);
    match layout {
        Layout::C => {
            let seed = cursor.u64()?;
            let mut next = || cursor.u32().map(u64::from);
            let [_size, segment, count, segments, array] = [next()?, next()?, next()?, next()?, next()?];
            Error::unless(
                segments == count * segment && array == segments + 2 * segment && array > 0,
                GEOMETRY,
            )?;
            enough(&cursor, bytes, array)?;
            let fingerprints = cursor.rest();
            let length = fingerprints.len() as u64;
            let length = if length == 2 * array + 4 { 2 * array } else { length };
            let width = width(array, length, asked)?;
            fuse(Keys::Uint64, seed, (segments, segment), width, copied(&fingerprints[..length as usize])?)
        }
        Layout::Dma => {
            let seed = cursor.u64()?;
            let mut next = || cursor.u32().map(u64::from);
            let [segment, mask, segments] = [next()?, next()?, next()?];
            Error::unless(mask.checked_add(1) == Some(segment), GEOMETRY)?;
            let count = segments + 2 * segment;
            enough(&cursor, bytes, count)?;
            let fingerprints = cursor.rest();
            let width = width(count, fingerprints.len() as u64, asked)?;
            fuse(Keys::Uint64, seed, (segments, segment), width, copied(fingerprints)?)
        }
        Layout::Json => {
            let (width, [seed, _, segment, mask, segments], fingerprints) = json(bytes, asked)?;
            Error::unless(mask.checked_add(1) == Some(segment), GEOMETRY)?;
            fuse(Keys::Uint64, seed, (segments, segment), width, fingerprints)
        }
        Layout::Bincode => Err(Error::UnsupportedFormat { reason: "xorf-bincode is for xor filters" }),
    }
}

/// Width, numbers (seed, block_length, segment_length, segment_length_mask, segment_count_length; 0 if it isn't there) and
/// fingerprints of the JSON.
fn json(bytes: &[u8], width: Option<u64>) -> Result<(u64, [u64; 5], Vec<u8>)> {
    let width = width.ok_or(Error::rule("the JSON of a xor or binary fuse filter needs width"))?;
    let mut json = Json::new(bytes);
    let mut numbers = [0; 5];
    let (mut seeded, mut fingerprints) = (false, Vec::new());
    json.object(&mut |json, name| {
        let i = match name {
            b"seed" => 0,
            b"block_length" => 1,
            b"segment_length" => 2,
            b"segment_length_mask" => 3,
            b"segment_count_length" => 4,
            b"fingerprints" => {
                fingerprints.clear();
                json.array(&mut |json| {
                    let fingerprint = json.unsigned()?;
                    Error::unless(fingerprint >> width == 0, "a fingerprint must be as wide as width says")?;
                    append(&mut fingerprints, &fingerprint.to_le_bytes()[..width as usize / 8])
                })?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        numbers[i] = json.unsigned()?;
        seeded |= i == 0;
        Ok(true)
    })?;
    json.end()?;
    Error::unless(seeded, "the JSON must have a seed")?;
    Ok((width, numbers, fingerprints))
}
