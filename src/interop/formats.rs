//! The table of the formats: how each is read, with which options, and how it is written. What is needed just to query
//! a filter, its keys and schemes, is with [`Format`] itself.

use super::found::{Found, READ_ONLY};
use super::options::Options;
use super::{
    bloom_filter2, filterpassword, flor, go_bloom, guava, npm_bloom_filters, npm_bloomfilter, parquet_sbbf,
    pybloomfiltermmap3, pyprobables, rbloom, redis_bitmap, redisbloom, spark, xor,
};
use crate::error::{Error, Result};
use crate::fields::{Cursor, Fields};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Part};

type Reader = fn(&mut Cursor, &Options) -> Result<Found>;
type Writer = fn(&mut Fields, &ForeignFilter, Part) -> Result<()>;

/// What there is to know of a format, besides what [`Format`] has for queries.
pub(super) struct Row {
    format: Format,
    pub(super) read: Reader,
    /// The options for reading, which say what the bytes don't.
    pub(super) reading: &'static [&'static str],
    /// The options of a new filter, and how it is written. None if the format is only read.
    pub(super) written: Option<(&'static [&'static str], Writer)>,
}

/// All formats.
const ROWS: &[Row] = &[
    Row {
        format: Format::GoBloom,
        read: go_bloom::read,
        reading: &[],
        written: Some((&["layout", "bits", "hashes"], go_bloom::write)),
    },
    Row {
        format: Format::Guava,
        read: guava::read,
        reading: &["funnel"],
        written: Some((&["funnel", "layout", "bits", "hashes"], guava::write)),
    },
    Row {
        format: Format::Spark,
        read: spark::read,
        reading: &["keys"],
        written: Some((&["keys", "layout", "seed", "bits", "hashes"], spark::write)),
    },
    Row {
        format: Format::RedisBitmap,
        read: redis_bitmap::read,
        reading: &["bits", "hashes"],
        written: Some((&["bits", "hashes"], redis_bitmap::write)),
    },
    Row {
        format: Format::RedisBloom,
        read: redisbloom::read,
        reading: &[],
        written: Some((&["expansion"], redisbloom::write)),
    },
    Row {
        format: Format::NpmBloomfilter,
        read: npm_bloomfilter::read,
        reading: &["hashes", "generation"],
        written: None,
    },
    Row { format: Format::NpmBloomFilters, read: npm_bloom_filters::read, reading: &[], written: None },
    Row { format: Format::ParquetSbbf, read: parquet_sbbf::read, reading: &["keys"], written: None },
    Row { format: Format::Xor, read: xor::read_xor, reading: &["layout", "width"], written: None },
    Row { format: Format::BinaryFuse, read: xor::read_fuse, reading: &["layout", "width"], written: None },
    Row { format: Format::FilterPassword, read: filterpassword::read, reading: &[], written: None },
    Row {
        format: Format::PyBloomFilterMmap3,
        read: pybloomfiltermmap3::read,
        reading: &["keys"],
        written: None,
    },
    Row { format: Format::PyProbables, read: pyprobables::read, reading: &[], written: None },
    Row { format: Format::Rbloom, read: rbloom::read, reading: &[], written: None },
    Row { format: Format::Flor, read: flor::read, reading: &[], written: None },
    Row {
        format: Format::BloomFilter2,
        read: bloom_filter2::read,
        reading: &["keys", "bits", "hashes"],
        written: None,
    },
];

/// The row of a format.
pub(super) fn row(format: Format) -> Result<&'static Row> {
    let reason = "this format is neither read nor written";
    ROWS.iter().find(|row| row.format == format).ok_or(Error::unsupported(reason))
}

/// The names of the options for reading a format.
///
/// # Errors
/// [`Error::UnsupportedFormat`] for a format without a reader. At present, all formats have one.
pub fn reading_options(format: Format) -> Result<&'static [&'static str]> {
    Ok(row(format)?.reading)
}

/// The names of the options for making a filter of a format.
///
/// # Errors
/// [`Error::UnsupportedFormat`] for a format that is only read.
pub fn making_options(format: Format) -> Result<&'static [&'static str]> {
    Ok(row(format)?.written.ok_or(READ_ONLY)?.0)
}
