//! `spark`: `writeTo` of Apache Spark's `org.apache.spark.util.sketch.BloomFilter`, which `df.stat.bloomFilter` makes.
//!
//! ```text
//! V1  1 (i32 BE), hashes (i32 BE), words (i32 BE); the words (i64 BE)
//! V2  2 (i32 BE), hashes (i32 BE), seed (i32 BE), words (i32 BE); the words (i64 BE)
//! ```
//!
//! Spark up to 4.0 has V1 alone. 4.1 makes V2 unless told otherwise, and reads both.

use super::{Cursor, MAX_HASHES, Options, only, single, swap_words};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::{append, copied};

pub(super) fn read(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let mut cursor = Cursor::new(bytes);
    let scheme = match cursor.u32_be()? {
        1 => Scheme::Spark1,
        2 => Scheme::Spark2,
        _ => return Err(Error::UnsupportedFormat { reason: "spark's version must be 1 or 2" }),
    };
    let hashes = cursor.u32_be()?.min(MAX_HASHES + 1).into();
    let seed = if scheme == Scheme::Spark2 { cursor.u32_be()? as i32 as u64 } else { 0 };
    let words = cursor.u32_be()?;
    Error::unless((1..1 << 31).contains(&words), "spark's number of words must be 1 to 2^31 - 1")?;
    let words = cursor.last(u64::from(words) * 8)?;
    let keys = options.keys(Format::Spark)?;
    single(scheme, keys, 0, seed, (words.len() as u64 * 8, hashes), Vec::new(), swap_words(copied(words)?))
}

pub(super) fn write(filter: &ForeignFilter) -> Result<Vec<u8>> {
    let (part, words) = only(filter)?;
    let (version, seed) = match filter.scheme() {
        Scheme::Spark2 => (2, Some(filter.seed() as u32)),
        _ => (1, None),
    };
    let head = [Some(version), Some(part.hashes.into()), seed, Some(part.bytes / 8)];
    let mut bytes = Vec::new();
    for number in head.into_iter().flatten() {
        append(&mut bytes, &u32::to_be_bytes(number))?;
    }
    append(&mut bytes, &swap_words(copied(words)?))?;
    Ok(bytes)
}
