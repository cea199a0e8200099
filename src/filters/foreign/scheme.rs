//! Which software a filter is from, and by which of its schemes a key becomes positions or a fingerprint: their names,
//! and their numbers in a blob.

use strum::{EnumMessage, FromRepr, IntoStaticStr, VariantArray, VariantNames};

use super::keys::KeyType;
use crate::error::{Error, Result};

/// The software that a filter is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Format {
    /// Go's bits-and-blooms/bloom, version 3.
    GoBloom,
    /// Guava's BloomFilter.
    Guava,
    /// Apache Spark's BloomFilter.
    Spark,
    /// A bitmap in Redis, hashed by mmh3 with the seeds 0, 1, 2 and so on.
    RedisBitmap,
    /// The RedisBloom module's BF.SCANDUMP, or DUMP.
    #[strum(serialize = "redisbloom")]
    RedisBloom,
    /// The npm package bloomfilter.
    NpmBloomfilter,
    /// Three filters of the npm package bloom-filters, 3.x.
    NpmBloomFilters,
    /// The Bloom filter of a Parquet column.
    ParquetSbbf,
    /// Xor filters of xor_singleheader and xorf.
    Xor,
    /// Binary fuse filters of xor_singleheader and xorf.
    BinaryFuse,
    /// FilterPassword.
    #[strum(serialize = "filterpassword")]
    FilterPassword,
    /// Python's pybloomfiltermmap3.
    #[strum(serialize = "pybloomfiltermmap3")]
    PyBloomFilterMmap3,
    /// Python's pyprobables.
    #[strum(serialize = "pyprobables")]
    PyProbables,
    /// Python's rbloom, hashed by mmh3.hash128, signed.
    Rbloom,
    /// DCSO's bloom of Go, and flor of Python.
    Flor,
    /// Python's bloom_filter2, in a file.
    #[strum(serialize = "bloom-filter2")]
    BloomFilter2,
}

impl Format {
    /// All formats.
    pub const ALL: &'static [Format] = <Format as VariantArray>::VARIANTS;

    /// The format's name: `"go-bloom"`, `"guava"` and so on.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The software that it is from: "Guava's BloomFilter" and so on.
    pub fn software(self) -> &'static str {
        self.get_documentation().unwrap_or(self.name()).trim_end_matches('.')
    }

    /// The format of this name.
    ///
    /// # Errors
    /// [`Error::UnsupportedFormat`], which lists all names, if there is none.
    pub fn from_name(name: &str) -> Result<Self> {
        let known = <Format as VariantNames>::VARIANTS;
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.name() == name)
            .ok_or(Error::UnsupportedFormat { reason: "no format has this name", known })
    }

    /// The types of keys that the format can have, with the values of the option that chooses one; the first is the
    /// default.
    pub fn keys(self) -> &'static [(&'static str, KeyType)] {
        match self {
            Format::Guava => &[
                ("utf8", KeyType::JavaText),
                ("unencoded-chars", KeyType::Utf16),
                ("bytes", KeyType::Bytes),
                ("int", KeyType::Int32),
                ("long", KeyType::Int64),
            ],
            Format::Spark => {
                &[("string", KeyType::JavaText), ("bytes", KeyType::Bytes), ("long", KeyType::Int64)]
            }
            Format::ParquetSbbf => &[
                ("string", KeyType::Text),
                ("bytes", KeyType::Bytes),
                ("int32", KeyType::Int32),
                ("int64", KeyType::Int64),
                ("float", KeyType::Float),
                ("double", KeyType::Double),
            ],
            Format::PyBloomFilterMmap3 => {
                &[("string", KeyType::Text), ("bytes", KeyType::Bytes), ("int", KeyType::Python)]
            }
            Format::BloomFilter2 => &[("string", KeyType::Utf32), ("bytes", KeyType::Bytes)],
            Format::NpmBloomfilter => &[("string", KeyType::Utf16)],
            Format::NpmBloomFilters => &[("string", KeyType::XxhashJs)],
            Format::PyProbables => &[("string", KeyType::Utf32)],
            Format::Xor | Format::BinaryFuse => &[("uint64", KeyType::Uint64)],
            Format::FilterPassword => &[("string", KeyType::Sha1)],
            Format::GoBloom | Format::RedisBitmap | Format::RedisBloom | Format::Rbloom | Format::Flor => {
                &[("string", KeyType::Text)]
            }
        }
    }
}

/// How a key becomes positions or a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr, VariantArray)]
#[repr(u8)]
pub enum Scheme {
    /// `go-bloom`: four words of two MurmurHash3_x64_128.
    Go = 1,
    /// `guava`: MURMUR128_MITZ_64.
    Mitz64 = 2,
    /// `guava`: MURMUR128_MITZ_32.
    Mitz32 = 3,
    /// `spark`: version 1.
    Spark1 = 4,
    /// `spark`: version 2.
    Spark2 = 5,
    /// `redis-bitmap`: a MurmurHash3_x86_32 for each position.
    Mmh3 = 6,
    /// `redisbloom`: MurmurHash64A.
    Murmur64A = 7,
    /// `redisbloom` up to 1.1: MurmurHash2.
    Murmur2 = 8,
    /// `npm-bloomfilter` from 0.0.21 on.
    Fnv64 = 9,
    /// `npm-bloomfilter` 0.0.20.
    Fnv64Odd = 10,
    /// `npm-bloomfilter` 0.0.19.
    Fnv32Triple = 11,
    /// `npm-bloomfilter` 0.0.17 and 0.0.18.
    Fnv32Seeded = 12,
    /// `npm-bloomfilter` 0.0.16.
    Fnv32B = 13,
    /// `npm-bloomfilter` 0.0.12 to 0.0.15.
    Fnv32BSignedMix = 14,
    /// `npm-bloom-filters`: two halves of XXH64.
    Xxh32Pair = 15,
    /// `parquet-sbbf`: XXH64, a bit in each word of a block.
    Sbbf = 16,
    /// `xor` and `filterpassword`: three fingerprints.
    Xor = 17,
    /// `binary-fuse` and `filterpassword`: three fingerprints in segments.
    BinaryFuse = 18,
    /// `filterpassword`: eight bits in eight words.
    Bloom12 = 19,
    /// `pybloomfiltermmap3`: a seeded MurmurHash3_x64_128 for each position.
    Seeds = 20,
    /// `pyprobables`: an FNV-1a for each position.
    FnvStarts = 21,
    /// `rbloom`: a generator of 128 bits, from MurmurHash3_x64_128.
    Lcg128 = 22,
    /// `flor`: FNV-1, multiplied modulo a prime.
    Fnv1Prime = 23,
    /// `npm-bloom-filters`: two halves of XXH64, and a slice for each position.
    Xxh32Slices = 24,
    /// `bloom-filter2`: a generator modulo 2^127 - 1, from sums of remainders by it and by 2^257 - 1.
    Mersenne = 25,
}

impl Scheme {
    /// The scheme of this number in a blob.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::from_repr(number)
    }

    /// The formats that have it.
    fn formats(self) -> &'static [Format] {
        match self {
            Scheme::Go => &[Format::GoBloom],
            Scheme::Mitz64 | Scheme::Mitz32 => &[Format::Guava],
            Scheme::Spark1 | Scheme::Spark2 => &[Format::Spark],
            Scheme::Mmh3 => &[Format::RedisBitmap],
            Scheme::Murmur64A | Scheme::Murmur2 => &[Format::RedisBloom],
            Scheme::Fnv64
            | Scheme::Fnv64Odd
            | Scheme::Fnv32Triple
            | Scheme::Fnv32Seeded
            | Scheme::Fnv32B
            | Scheme::Fnv32BSignedMix => &[Format::NpmBloomfilter],
            Scheme::Xxh32Pair | Scheme::Xxh32Slices => &[Format::NpmBloomFilters],
            Scheme::Sbbf => &[Format::ParquetSbbf],
            Scheme::Xor => &[Format::Xor, Format::FilterPassword],
            Scheme::BinaryFuse => &[Format::BinaryFuse, Format::FilterPassword],
            Scheme::Bloom12 => &[Format::FilterPassword],
            Scheme::Seeds => &[Format::PyBloomFilterMmap3],
            Scheme::FnvStarts => &[Format::PyProbables],
            Scheme::Lcg128 => &[Format::Rbloom],
            Scheme::Fnv1Prime => &[Format::Flor],
            Scheme::Mersenne => &[Format::BloomFilter2],
        }
    }

    /// The format that has it with these keys. A blob stores nothing else about its format.
    pub(crate) fn format(self, keys: KeyType) -> Option<Format> {
        let has_keys = |format: &Format| format.keys().iter().any(|(_, known)| *known == keys);
        self.formats().iter().copied().find(has_keys)
    }

    /// The format's name for the scheme, if the format has several.
    pub(crate) fn name(self) -> Option<&'static str> {
        Some(match self {
            Scheme::Mitz64 => "mitz-64",
            Scheme::Mitz32 => "mitz-32",
            Scheme::Spark1 => "v1",
            Scheme::Spark2 => "v2",
            Scheme::Fnv64 => "fnv64",
            Scheme::Fnv64Odd => "fnv64-odd",
            Scheme::Fnv32Triple => "fnv32-triple",
            Scheme::Fnv32Seeded => "fnv32-seeded",
            Scheme::Fnv32B => "fnv32-b",
            Scheme::Fnv32BSignedMix => "fnv32-b-signedmix",
            Scheme::Murmur64A => "murmur64a",
            Scheme::Murmur2 => "murmur2",
            Scheme::Xor => "xor",
            Scheme::BinaryFuse => "binary-fuse",
            Scheme::Bloom12 => "bloom12",
            Scheme::Xxh32Pair => "bloom",
            Scheme::Xxh32Slices => "partitioned",
            _ => return None,
        })
    }

    /// The scheme of this name in a format.
    #[cfg(feature = "interop")]
    pub(crate) fn from_name(format: Format, name: &str) -> Option<Self> {
        Self::VARIANTS
            .iter()
            .copied()
            .find(|scheme| scheme.formats().contains(&format) && scheme.name() == Some(name))
    }

    /// Whether a key is a fingerprint in three places, not a set of bits.
    pub(crate) fn is_static(self) -> bool {
        matches!(self, Scheme::Xor | Scheme::BinaryFuse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_scheme_for_each_of_its_keys() {
        for format in Format::ALL {
            for (name, keys) in format.keys() {
                let found = Scheme::VARIANTS.iter().any(|scheme| scheme.format(*keys) == Some(*format));
                assert!(found, "Scheme::formats: no scheme is of {}, with {name} as keys", format.name());
            }
        }
    }

    #[test]
    fn no_two_formats_have_a_scheme_and_a_key_type_in_common() {
        for scheme in Scheme::VARIANTS {
            let mut seen = Vec::new();
            for (_, keys) in scheme.formats().iter().flat_map(|format| format.keys()) {
                assert!(
                    !seen.contains(&keys),
                    "{scheme:?} with {keys:?} is two formats'; a blob stores only these two, so give one of them \
                     other keys, or a scheme of its own (a new number, FORMAT-FOREIGN.md)"
                );
                seen.push(keys);
            }
            assert!(!seen.is_empty(), "{scheme:?}");
        }
    }
}
