//! `--kind`, `--from` and `--to`: kinds of filter, our own and other software's.

use anyhow::Context;
use bloom_wasm::Kind;
use bloom_wasm::interop::Format;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A kind of filter, our own or another software's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnyKind {
    /// Our own.
    Own(Kind),
    /// Another software's.
    Foreign(Format),
}

/// Our own kinds, in the order of the help.
const KINDS: [(Kind, &str); 5] = [
    (Kind::Ribbon, "Read-only, and the smallest"),
    (Kind::Bloom, "A classic Bloom filter; keys can be added later"),
    (Kind::Counting, "A Bloom filter with counters; keys can be added and removed later"),
    (Kind::Scalable, "A Bloom filter that grows, from 1,000 keys on"),
    (Kind::Cuckoo, "Small at low rates; keys can be added and removed later"),
];

/// The formats that are written.
const WRITTEN: [Format; 5] =
    [Format::GoBloom, Format::Guava, Format::Spark, Format::RedisBitmap, Format::RedisBloom];

/// Reads a kind that a filter can be built of.
pub fn parse_kind() -> impl TypedValueParser<Value = AnyKind> {
    let own = KINDS.map(|(kind, help)| (kind.name(), help, AnyKind::Own(kind)));
    let foreign = WRITTEN.map(|format| (format.name(), software(format), AnyKind::Foreign(format)));
    one_of(own.into_iter().chain(foreign))
}

/// Reads the name of a format.
pub fn parse_format() -> impl TypedValueParser<Value = Format> {
    one_of(Format::ALL.iter().map(|&format| (format.name(), software(format), format)))
}

/// Reads one of some values, each with its name and what the help says of it.
fn one_of<T: Copy + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let named = values.iter().map(|(name, help, _)| PossibleValue::new(name).help(help));
    let names = PossibleValuesParser::new(named);
    names.try_map(move |given| {
        let value = values.iter().find(|(name, ..)| *name == given).map(|(.., value)| *value);
        value.context("this is none of the values")
    })
}

/// Whose a format is.
fn software(format: Format) -> &'static str {
    match format {
        Format::GoBloom => "Go's bits-and-blooms/bloom, version 3",
        Format::Guava => "Guava's BloomFilter",
        Format::Spark => "Apache Spark's BloomFilter",
        Format::RedisBitmap => "A bitmap in Redis, hashed by mmh3 with the seeds 0, 1, 2 and so on",
        Format::RedisBloom => "The RedisBloom module's BF.SCANDUMP, or DUMP",
        Format::NpmBloomfilter => "The npm package bloomfilter",
        Format::NpmBloomFilters => "The npm package bloom-filters, 2.x and 3.x",
        Format::ParquetSbbf => "The Bloom filter of a Parquet column",
        Format::Xor => "Xor filters of xor_singleheader and xorf",
        Format::BinaryFuse => "Binary fuse filters of xor_singleheader and xorf",
        Format::FilterPassword => "FilterPassword",
        Format::PyBloomFilterMmap3 => "Python's pybloomfiltermmap3",
        Format::PyProbables => "Python's pyprobables",
        Format::Rbloom => "Python's rbloom, hashed by mmh3.hash128, signed",
    }
}
