//! `spark`: `writeTo` of Apache Spark's `org.apache.spark.util.sketch.BloomFilter`, which `df.stat.bloomFilter` makes.
//!
//! ```text
//! V1  1 (i32 BE), hashes (i32 BE), words (i32 BE); the words (i64 BE)
//! V2  2 (i32 BE), hashes (i32 BE), seed (i32 BE), words (i32 BE); the words (i64 BE)
//! ```
//!
//! Spark up to 4.0 has only V1. 4.1 makes V2 unless told otherwise, and reads both.

use super::found::{Found, swap_words};
use super::options::Options;
use crate::error::Result;
use crate::fields::{Cursor, Fields};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{MAX_HASHES, Part, Scheme};

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let version = file.u32_be();
    if !matches!(version, 1 | 2) {
        file.unsupported("spark's version must be 1 or 2");
    }
    let hashes = file.u32_be().min(MAX_HASHES + 1).into();
    let (scheme, seed) =
        if version == 2 { (Scheme::Spark2, file.u32_be() as i32 as u64) } else { (Scheme::Spark1, 0) };
    let words = file.u32_be();
    file.rule((1..1 << 31).contains(&words), "spark's number of words must be 1 to 2^31 - 1");
    let words = swap_words(file.last(u64::from(words) * 8))?;
    Ok(Found { seed, ..Found::single(scheme, words.len() as u64 * 8, hashes, words)? })
}

pub(super) fn write(fields: &mut Fields, filter: &ForeignFilter, part: Part) -> Result<()> {
    let second = filter.scheme() == Scheme::Spark2;
    fields.u32_be(if second { 2 } else { 1 });
    fields.u32_be(part.hashes.into());
    if second {
        fields.u32_be(filter.seed() as u32);
    }
    fields.u32_be(part.bytes / 8);
    fields.slice(&swap_words(filter.as_bytes())?);
    Ok(())
}
