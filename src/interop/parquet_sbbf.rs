//! `parquet-sbbf`: a column's Bloom filter in a row group of a Parquet file: at `bloom_filter_offset` a
//! BloomFilterHeader in Thrift's compact protocol and the bit set, or only the bit set.
//! <https://parquet.apache.org/docs/file-format/bloomfilter/>

use super::found::Found;
use super::options::Options;
use crate::error::{Error, Result};
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    // A header is shorter than a block.
    let set = if file.left().len().is_multiple_of(32) { file.rest() } else { header(file) };
    Found::single(Scheme::Sbbf, set.len() as u64 * 8, 8, copied(set)?)
}

/// Reads {1: i32 numBytes, 2: algorithm, 3: hash, 4: compression}, of which the last three are unions, each of structs
/// without fields and each with its only member so far, 1. Returns the bit set.
fn header<'a>(file: &mut Cursor<'a>) -> &'a [u8] {
    const UNSUPPORTED: &str = "the header must be that of uncompressed blocks by XXHASH";
    let (mut bytes, mut chosen) = (0, 0);
    let mut id = 0;
    while let Some(kind) = field(file, &mut id) {
        match (kind, id) {
            (I32, 1) => bytes = varint(file),
            (STRUCT, 2..=4) => {
                let mut member = 0;
                if field(file, &mut member) != Some(STRUCT) || member != 1 {
                    file.unsupported(UNSUPPORTED);
                }
                // That struct's end, and the union's.
                let ends = [field(file, &mut 0), field(file, &mut 0)];
                file.rule(ends == [None; 2], "a header's unions must have one empty member");
                chosen |= 1 << id;
            }
            _ => file.unsupported(UNSUPPORTED),
        }
    }
    let rule = "the header must have numBytes, algorithm, hash and compression";
    file.rule(bytes > 0 && chosen == 0b11100, rule);
    // The lowest bit is the sign.
    file.rule(bytes % 64 == 0, "numBytes must be a multiple of 32 above 0");
    file.last(bytes >> 1)
}

const I32: u8 = 5;
const STRUCT: u8 = 12;

/// The next field's type, or none at the struct's end. `id` is the number of the last field, and becomes that of this
/// one.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn field(file: &mut Cursor, id: &mut u64) -> Option<u8> {
    let byte = file.u8();
    if byte == 0 {
        return None;
    }
    *id = match byte >> 4 {
        // The number itself, not a difference.
        0 => varint(file) >> 1,
        more => *id + u64::from(more),
    };
    Some(byte & 15)
}

/// A number of 7 bits per byte, the lowest first, with at most 32 bits.
fn varint(file: &mut Cursor) -> u64 {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let byte = file.u8();
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    file.refuse(Error::rule("a number in the header must have 32 bits"));
    0
}
