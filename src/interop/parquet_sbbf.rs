//! `parquet-sbbf`: a column's Bloom filter in a row group of a Parquet file: at `bloom_filter_offset` a BloomFilterHeader in
//! Thrift's compact protocol and the bit set, or the bit set alone.
//! <https://parquet.apache.org/docs/file-format/bloomfilter/>

use super::{Cursor, Options, single};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::copied;

const UNSUPPORTED: Error =
    Error::UnsupportedFormat { reason: "the header must be that of uncompressed blocks by XXHASH" };

pub(super) fn read(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let keys = options.keys(Format::ParquetSbbf)?;
    let mut cursor = Cursor::new(bytes);
    // A header is shorter than a block.
    let set = if bytes.len().is_multiple_of(32) { cursor.rest() } else { header(&mut cursor)? };
    single(Scheme::Sbbf, keys, 0, 0, (set.len() as u64 * 8, 8), Vec::new(), copied(set)?)
}

/// Reads {1: i32 numBytes, 2: algorithm, 3: hash, 4: compression}, of which the last three are unions, each of structs
/// without fields and each with its only member so far, 1. Returns the bit set.
fn header<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let (mut bytes, mut chosen) = (None, 0);
    let mut id = 0;
    while let Some(kind) = field(cursor, &mut id)? {
        match (id, kind) {
            (1, I32) => bytes = Some(varint(cursor)?),
            (2..=4, STRUCT) => {
                let mut member = 0;
                if field(cursor, &mut member)? != Some(STRUCT) || member != 1 {
                    return Err(UNSUPPORTED);
                }
                // That struct's end, and the union's.
                let ends = [field(cursor, &mut 0)?, field(cursor, &mut 0)?];
                Error::unless(ends == [None; 2], "a header's unions must have one empty member")?;
                chosen |= 1 << id;
            }
            _ => return Err(UNSUPPORTED),
        }
    }
    let rule = "the header must have numBytes, algorithm, hash and compression";
    let bytes = bytes.filter(|_| chosen == 0b11100).ok_or(Error::rule(rule))?;
    // The lowest bit is the sign.
    Error::unless(bytes > 0 && bytes % 64 == 0, "numBytes must be a multiple of 32 above 0")?;
    cursor.last(bytes >> 1)
}

const I32: u8 = 5;
const STRUCT: u8 = 12;

/// The next field's type, or none at the struct's end, with its number counted on from the last one's.
fn field(cursor: &mut Cursor, id: &mut u64) -> Result<Option<u8>> {
    let byte = cursor.u8()?;
    if byte == 0 {
        return Ok(None);
    }
    *id = match byte >> 4 {
        // Not counted on, but said.
        0 => varint(cursor)? >> 1,
        more => *id + u64::from(more),
    };
    Ok(Some(byte & 15))
}

/// A number by 7 bits a byte, the lowest first; no more than 32 bits are of use here.
fn varint(cursor: &mut Cursor) -> Result<u64> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let byte = cursor.u8()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::rule("a number in the header must have 32 bits"))
}
