//! `guava`: Guava's `BloomFilter.writeTo`, <https://github.com/google/guava>.
//!
//! ```text
//! strategy (i8): 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64; hashes (u8); longs (i32 BE); the longs (i64 BE)
//! ```
//!
//! The funnel, which turns a key into bytes, isn't stored. Java's serialisation of the object is another format.

use super::found::{Found, swap_words};
use super::options::Options;
use crate::error::Result;
use crate::fields::{Cursor, Fields};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Part, Scheme};

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let strategy = file.u8();
    if strategy > 1 {
        file.unsupported("guava's strategy must be 0 or 1");
    }
    let scheme = if strategy == 0 { Scheme::Mitz32 } else { Scheme::Mitz64 };
    let hashes = file.u8().into();
    let longs = file.u32_be();
    file.rule((1..1 << 31).contains(&longs), "guava's number of longs must be 1 to 2^31 - 1");
    let longs = swap_words(file.last(u64::from(longs) * 8))?;
    Found::single(scheme, longs.len() as u64 * 8, hashes, longs)
}

pub(super) fn write(fields: &mut Fields, filter: &ForeignFilter, part: Part) -> Result<()> {
    fields.u8((filter.scheme() == Scheme::Mitz64).into());
    fields.u8(part.hashes.into());
    fields.u32_be(part.bytes / 8);
    fields.slice(&swap_words(filter.as_bytes())?);
    Ok(())
}
