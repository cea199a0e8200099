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

use super::found::Found;
use super::options::Options;
use crate::error::{Error, Result};
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::{append, copied};

const GEOMETRY: &str = "the lengths of segments and array must fit each other";

#[derive(Clone, Copy, PartialEq)]
enum Layout {
    C,
    Dma,
    Json,
    Bincode,
}

/// The layout, and the width if it was asked for.
fn layout(file: &mut Cursor, options: &Options) -> (Layout, Option<u64>) {
    let width = options.width.map(u64::from);
    file.rule(width.is_none_or(|width| matches!(width, 8 | 16 | 32)), "width must be 8, 16 or 32");
    let layout = match options.layout.as_deref() {
        Some("c") => Layout::C,
        Some("xorf-dma") => Layout::Dma,
        Some("xorf-json") => Layout::Json,
        Some("xorf-bincode") => Layout::Bincode,
        // The seed in C's layout may begin like this too, but then a 0 follows: the high byte of a length.
        None if file.left().starts_with(b"{\"") && !file.left().contains(&0) => Layout::Json,
        found => {
            file.rule(found.is_none(), "layout must be c, xorf-dma, xorf-json or xorf-bincode");
            Layout::C
        }
    };
    (layout, width)
}

/// A copy of all fingerprints that are left, `count` of them, and their width, which follows from the number of bytes
/// and must be the one that was asked for, if any. C's release that counted wrong has 4 `extra` bytes.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn fingerprints(file: &mut Cursor, count: u64, asked: Option<u64>, extra: bool) -> Result<(u64, Vec<u8>)> {
    let mut bytes = file.rest();
    let have = file.at() as u64;
    let missing = count.saturating_sub(bytes.len() as u64);
    if missing > 0 {
        file.refuse(Error::Truncated { needed: have.saturating_add(missing), have });
    }
    if extra && bytes.len() as u64 == 2 * count + 4 {
        bytes = &bytes[..bytes.len() - 4];
    }
    let bits = bytes.len() as u64 * 8;
    let width = [8, 16, 32].into_iter().find(|width| count > 0 && Some(bits) == count.checked_mul(*width));
    let holds = width.is_some() && (asked.is_none() || asked == width);
    file.rule(
        holds,
        match asked {
            None => "there must be 8, 16 or 32 bits for each fingerprint",
            Some(_) => "each fingerprint must have as many bits as width says",
        },
    );
    Ok((width.unwrap_or(8), copied(bytes)?))
}

/// A binary fuse filter. `segments` and `segment` must fit the fingerprints, of which there may be more than are ever
/// looked at.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn fuse(
    file: &mut Cursor,
    segments: u64,
    segment: u64,
    width: u64,
    mut bytes: Vec<u8>,
) -> Result<Found> {
    let used = (segments.saturating_add(segment.saturating_mul(2))).saturating_mul(width / 8);
    file.rule(segment.is_power_of_two() && used <= bytes.len() as u64, GEOMETRY);
    bytes.truncate(used as usize);
    Found::single(Scheme::BinaryFuse, segments, width, bytes)
}

/// A xor filter. The number of fingerprints is three times the block's length, which the filter itself checks.
pub(super) fn read_xor(file: &mut Cursor, options: &Options) -> Result<Found> {
    let (layout, asked) = layout(file, options);
    let (seed, block, (width, bytes));
    if layout == Layout::Json {
        let (numbers, fingerprints) = json(file, asked);
        [seed, block] = [numbers[0], numbers[1]];
        (width, bytes) = (asked.unwrap_or(8), fingerprints);
    } else {
        [seed, block] = [file.u64(), file.u64()];
        let mut count = block.saturating_mul(3);
        match layout {
            Layout::Bincode => count = file.u64(),
            Layout::Dma => file.unsupported("xorf-dma is for binary fuse filters"),
            _ => {}
        }
        (width, bytes) = fingerprints(file, count, asked, false)?;
    }
    Ok(Found { seed, ..Found::single(Scheme::Xor, block, width, bytes)? })
}

pub(super) fn read_fuse(file: &mut Cursor, options: &Options) -> Result<Found> {
    let (layout, asked) = layout(file, options);
    let (seed, segment, segments, (width, bytes));
    if layout == Layout::Json {
        let (numbers, fingerprints) = json(file, asked);
        let mask;
        [seed, _, segment, mask, segments] = numbers;
        file.rule(mask.checked_add(1) == Some(segment), GEOMETRY);
        (width, bytes) = (asked.unwrap_or(8), fingerprints);
    } else {
        if layout == Layout::Bincode {
            file.unsupported("xorf-bincode is for xor filters");
        }
        seed = file.u64();
        let mut next = || u64::from(file.u32());
        let holds;
        if layout == Layout::C {
            let [_size, length, count, all, array] = [next(), next(), next(), next(), next()];
            (segment, segments) = (length, all);
            holds = segments == count * segment && array == segments + 2 * segment && array > 0;
        } else {
            let [length, mask, all] = [next(), next(), next()];
            (segment, segments) = (length, all);
            holds = mask + 1 == segment;
        }
        file.rule(holds, GEOMETRY);
        (width, bytes) = fingerprints(file, segments + 2 * segment, asked, layout == Layout::C)?;
    }
    Ok(Found { seed, ..fuse(file, segments, segment, width, bytes)? })
}

/// Numbers (seed, block_length, segment_length, segment_length_mask, segment_count_length; 0 if missing) and
/// fingerprints of the JSON.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn json(file: &mut Cursor, width: Option<u64>) -> ([u64; 5], Vec<u8>) {
    const NAMES: [&[u8]; 5] =
        [b"seed", b"block_length", b"segment_length", b"segment_length_mask", b"segment_count_length"];
    file.rule(width.is_some(), "the JSON of a xor or binary fuse filter needs width");
    let width = width.unwrap_or(8);
    let mut numbers = [None; 5];
    let mut fingerprints = Vec::new();
    file.begin_text();
    let mut first = true;
    while let Some(name) = file.member(&mut first) {
        if let Some(i) = NAMES.iter().position(|known| *known == name) {
            numbers[i] = Some(file.unsigned());
        } else if name == b"fingerprints" {
            fingerprints.clear();
            let mut first = true;
            while file.item(&mut first) {
                let fingerprint = file.unsigned();
                file.rule(fingerprint >> width == 0, "a fingerprint must be as wide as width says");
                let bytes = fingerprint.to_le_bytes();
                file.keep(append(&mut fingerprints, &bytes[..width as usize / 8]));
            }
        } else {
            file.skip();
        }
    }
    file.end_text();
    file.rule(numbers[0].is_some(), "the JSON must have a seed");
    (numbers.map(Option::unwrap_or_default), fingerprints)
}
