//! `guava`: Guava's `BloomFilter.writeTo`, <https://github.com/google/guava>.
//!
//! ```text
//! strategy (i8): 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64; hashes (u8); longs (i32 BE); the longs (i64 BE)
//! ```
//!
//! The funnel, which makes bytes of a key, isn't stored. Java's serialisation of the object is another format.

use super::{Cursor, Options, only, single, swap_words};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::{append, copied};

pub(super) fn read(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let mut cursor = Cursor::new(bytes);
    let scheme = match cursor.u8()? {
        0 => Scheme::Mitz32,
        1 => Scheme::Mitz64,
        _ => return Err(Error::UnsupportedFormat { reason: "guava's strategy must be 0 or 1" }),
    };
    let hashes = cursor.u8()?.into();
    let longs = cursor.u32_be()?;
    Error::unless((1..1 << 31).contains(&longs), "guava's number of longs must be 1 to 2^31 - 1")?;
    let longs = cursor.last(u64::from(longs) * 8)?;
    let keys = options.keys(Format::Guava)?;
    single(scheme, keys, 0, 0, (longs.len() as u64 * 8, hashes), Vec::new(), swap_words(copied(longs)?))
}

pub(super) fn write(filter: &ForeignFilter) -> Result<Vec<u8>> {
    let (part, longs) = only(filter)?;
    let mut bytes = Vec::new();
    append(&mut bytes, &[(filter.scheme() == Scheme::Mitz64).into(), part.hashes as u8])?;
    append(&mut bytes, &(part.bytes / 8).to_be_bytes())?;
    append(&mut bytes, &swap_words(copied(longs)?))?;
    Ok(bytes)
}
