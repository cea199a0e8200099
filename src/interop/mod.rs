//! The filters of other software: their bytes to a [`ForeignFilter`] and back, one format a file, and building one. How a
//! filter is asked is in [`filters::foreign`](crate::filters::foreign); here is what a client of a wrapped blob never needs.
//!
//! Every reader checks what the bytes say before it makes room for it, and ends in a filter or in a typed error.
//!
//! ```
//! use bloom_wasm::interop::{self, Format, Options};
//! use bloom_wasm::{Blob, Error};
//!
//! // What Go's `filter.WriteTo` wrote: 64 bits and one hash, nothing added.
//! let bytes = [64_u64, 1, 64, 0].map(u64::to_be_bytes).concat();
//! let filter = interop::read(Format::GoBloom, &Options::default(), &bytes)?;
//! assert!(!filter.has(b"key"));
//! let blob = Blob::from(filter).encode()?;
//!
//! let blob = Blob::decode(blob)?;
//! assert_eq!(interop::export(blob.filter().base(), Format::GoBloom)?, bytes);
//! # Ok::<(), Error>(())
//! ```

mod builder;
mod filterpassword;
mod go_bloom;
mod guava;
mod json;
mod npm_bloom_filters;
mod npm_bloomfilter;
mod parquet_sbbf;
mod pybloomfiltermmap3;
mod pyprobables;
mod rbloom;
mod redis_bitmap;
mod redisbloom;
mod spark;
mod xor;

pub use builder::Builder;

pub use crate::filters::foreign::{Format, Keys};

use crate::error::{Error, Result};
use crate::fields::{Cursor, Fields};
use crate::filters::foreign::{MAX_HASHES, Part, Scheme};
use crate::filters::{Filter, ForeignFilter};
use crate::vectors::{copied, push};

/// What a format's bytes don't say, and how a filter is to be made. The names are those of the package's options and of the
/// tool's flags. A format refuses an option that it hasn't got.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// `guava`: what the keys are: `"utf8"` (default), `"unencoded-chars"`, `"bytes"`, `"int"` or `"long"`.
    pub funnel: Option<String>,
    /// What the keys are. `spark`: `"string"` (default), `"bytes"` or `"long"`; `parquet-sbbf`: `"string"` (default),
    /// `"bytes"`, `"int32"`, `"int64"`, `"float"` or `"double"`; `pybloomfiltermmap3`: `"string"` (default), `"bytes"` or
    /// `"int"`.
    pub keys: Option<String>,
    /// `redis-bitmap`: positions; and of a new filter of any format, in place of those that count and rate give.
    pub bits: Option<u64>,
    /// `redis-bitmap`, and `npm-bloomfilter` where the bytes don't say: positions for each key; and of a new filter, with
    /// `bits`.
    pub hashes: Option<u32>,
    /// `npm-bloomfilter`: `"fnv64"` (default, from 0.0.21 on), `"fnv64-odd"` (0.0.20), `"fnv32-triple"` (0.0.19),
    /// `"fnv32-seeded"` (0.0.17, 0.0.18), `"fnv32-b"` (0.0.16) or `"fnv32-b-signedmix"` (0.0.12 to 0.0.15).
    pub generation: Option<String>,
    /// `xor` and `binary-fuse`: `"c"` (default), `"xorf-dma"`, `"xorf-json"` or `"xorf-bincode"`. Of a new filter: `go-bloom`
    /// `"binary"` (default) or `"json"`, `guava` `"mitz-64"` (default) or `"mitz-32"`, `spark` `"v1"` (default) or `"v2"`.
    pub layout: Option<String>,
    /// `xor` and `binary-fuse`: the bits of a fingerprint where the bytes don't say: 8, 16 or 32.
    pub width: Option<u32>,
    /// A new `redisbloom`: how many times as many keys each link holds as the one before, 2 if none; 0 never grows.
    pub expansion: Option<u32>,
    /// A new `spark` filter of the layout `v2`: its seed.
    pub seed: Option<i32>,
}

/// An option by its name.
enum Slot<'a> {
    Text(&'a mut Option<String>),
    Number(&'a mut Option<u64>),
    Small(&'a mut Option<u32>),
    Seed(&'a mut Option<i32>),
}

impl Options {
    fn slot(&mut self, name: &str) -> Result<Slot<'_>> {
        Ok(match name {
            "funnel" => Slot::Text(&mut self.funnel),
            "keys" => Slot::Text(&mut self.keys),
            "generation" => Slot::Text(&mut self.generation),
            "layout" => Slot::Text(&mut self.layout),
            "bits" => Slot::Number(&mut self.bits),
            "hashes" => Slot::Small(&mut self.hashes),
            "width" => Slot::Small(&mut self.width),
            "expansion" => Slot::Small(&mut self.expansion),
            "seed" => Slot::Seed(&mut self.seed),
            _ => return Err(Error::rule("no foreign format has an option of this name")),
        })
    }

    /// Sets an option that is a text, by its name.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if no text has this name.
    pub fn set_text(&mut self, name: &str, value: String) -> Result<()> {
        match self.slot(name)? {
            Slot::Text(slot) => *slot = Some(value),
            _ => return Err(Error::rule("this option is a number")),
        }
        Ok(())
    }

    /// Sets an option that is a whole number, by its name.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if no number has this name, or the value is out of its range.
    pub fn set_number(&mut self, name: &str, value: i64) -> Result<()> {
        const RULE: Error = Error::rule("this option's number is out of its range");
        match self.slot(name)? {
            Slot::Text(_) => return Err(Error::rule("this option is a text")),
            Slot::Number(slot) => *slot = Some(value.try_into().map_err(|_| RULE)?),
            Slot::Small(slot) => *slot = Some(value.try_into().map_err(|_| RULE)?),
            Slot::Seed(slot) => *slot = Some(value.try_into().map_err(|_| RULE)?),
        }
        Ok(())
    }

    /// Fails if there is an option that isn't among these names.
    fn only(&self, names: &[&str]) -> Result<()> {
        let there = [
            ("funnel", self.funnel.is_some(), "funnel is an option that the format hasn't got"),
            ("keys", self.keys.is_some(), "keys is an option that the format hasn't got"),
            ("bits", self.bits.is_some(), "bits is an option that the format hasn't got"),
            ("hashes", self.hashes.is_some(), "hashes is an option that the format hasn't got"),
            ("generation", self.generation.is_some(), "generation is an option that the format hasn't got"),
            ("layout", self.layout.is_some(), "layout is an option that the format hasn't got"),
            ("width", self.width.is_some(), "width is an option that the format hasn't got"),
            ("expansion", self.expansion.is_some(), "expansion is an option that the format hasn't got"),
            ("seed", self.seed.is_some(), "seed is an option that the format hasn't got"),
        ];
        let unknown = there.iter().find(|(name, there, _)| *there && !names.contains(name));
        unknown.map_or(Ok(()), |(_, _, rule)| Err(Error::rule(rule)))
    }

    /// What the keys are, by the option of the format's choice.
    fn keys(&self, format: Format) -> Result<Keys> {
        let all = format.keys();
        let chosen = if format == Format::Guava { &self.funnel } else { &self.keys };
        let Some(chosen) = chosen else { return Ok(all[0].1) };
        let found = all.iter().find(|(name, _)| name == chosen);
        found.map(|(_, keys)| *keys).ok_or(Error::rule(match format {
            Format::Guava => "funnel must be utf8, unencoded-chars, bytes, int or long",
            Format::Spark => "keys must be string, bytes or long",
            Format::ParquetSbbf => "keys must be string, bytes, int32, int64, float or double",
            _ => "keys must be string, bytes or int",
        }))
    }
}

/// Reads what other software wrote. With an absent option goes the format's default.
///
/// # Errors
/// [`Error::InvalidParameter`] for options that the format hasn't got, lacks or can't take, and for bytes that break its
/// rules; [`Error::NotAFilter`], [`Error::Truncated`], [`Error::TrailingBytes`] and [`Error::ChecksumMismatch`] as for our
/// own blobs; [`Error::UnsupportedFormat`] for a variant that isn't read; [`Error::TooLarge`] without the memory.
pub fn read(format: Format, options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    type Reader = fn(&mut Cursor, &Options) -> Result<Found>;
    let (read, has): (Reader, &[&str]) = match format {
        Format::GoBloom => (go_bloom::read, &[]),
        Format::Guava => (guava::read, &["funnel"]),
        Format::Spark => (spark::read, &["keys"]),
        Format::RedisBitmap => (redis_bitmap::read, &["bits", "hashes"]),
        Format::RedisBloom => (redisbloom::read, &[]),
        Format::NpmBloomfilter => (npm_bloomfilter::read, &["hashes", "generation"]),
        Format::NpmBloomFilters => (npm_bloom_filters::read, &[]),
        Format::ParquetSbbf => (parquet_sbbf::read, &["keys"]),
        Format::Xor => (xor::read_xor, &["layout", "width"]),
        Format::BinaryFuse => (xor::read_fuse, &["layout", "width"]),
        Format::FilterPassword => (filterpassword::read, &[]),
        Format::PyBloomFilterMmap3 => (pybloomfiltermmap3::read, &["keys"]),
        Format::PyProbables => (pyprobables::read, &[]),
        Format::Rbloom => (rbloom::read, &[]),
    };
    options.only(has)?;
    let keys = options.keys(format)?;
    let mut file = Cursor::new(bytes);
    let found = read(&mut file, options);
    // What was made of the zeros after a fault doesn't matter.
    file.done()?;
    found?.filter(keys)
}

/// Writes a filter as its own software does: the bytes that were read, where the format is written one way only. FORMAT.md
/// section 6.6 says what else.
///
/// # Errors
/// [`Error::UnsupportedFormat`] for a format that is only read; [`Error::TooLarge`] without the memory.
pub fn write(filter: &ForeignFilter) -> Result<Vec<u8>> {
    type Writer = fn(&mut Fields, &ForeignFilter, Part) -> Result<()>;
    let write: Writer = match filter.format() {
        Format::GoBloom => go_bloom::write,
        Format::Guava => guava::write,
        Format::Spark => spark::write,
        Format::RedisBitmap => redis_bitmap::write,
        Format::RedisBloom => redisbloom::write,
        _ => return Err(READ_ONLY),
    };
    let part = filter.parts().first().ok_or(Error::rule("the filter must have a part"))?;
    let mut fields = Fields::default();
    write(&mut fields, filter, *part)?;
    fields.finish()
}

const READ_ONLY: Error = Error::UnsupportedFormat { reason: "this format is only read, not written" };

/// As [`write`](fn@write), of any filter. What one hash made can't become another's.
///
/// # Errors
/// [`Error::Incompatible`] unless the filter is of this format; and those of [`write`](fn@write).
pub fn export(filter: &Filter, to: Format) -> Result<Vec<u8>> {
    match filter {
        Filter::Foreign(filter) if filter.format() == to => write(filter),
        _ => Err(Error::Incompatible),
    }
}

/// What a reader makes of a file: everything of a filter but its keys.
struct Found {
    scheme: Scheme,
    layout: u8,
    seed: u64,
    parts: Vec<Part>,
    note: Vec<u8>,
    bytes: Vec<u8>,
}

impl Found {
    /// One array, without layout, seed and note.
    #[inline(never)]
    fn single(scheme: Scheme, bits: u64, hashes: u64, bytes: Vec<u8>) -> Result<Self> {
        let mut parts = Vec::new();
        push(&mut parts, part(bits, bytes.len() as u64, hashes)?)?;
        Ok(Found { scheme, layout: 0, seed: 0, parts, note: Vec::new(), bytes })
    }

    #[inline(never)]
    fn filter(self, keys: Keys) -> Result<ForeignFilter> {
        let Found { scheme, layout, seed, parts, note, bytes } = self;
        ForeignFilter::shaped(scheme, keys, layout, seed, parts, note)?.with_bytes(bytes)
    }
}

/// A part of these bits, bytes and hashes.
#[inline(never)]
fn part(bits: u64, bytes: u64, hashes: u64) -> Result<Part> {
    let most = u64::from(MAX_HASHES);
    Error::unless((1..=most).contains(&hashes), "the filter must have 1 to 1,024 hashes")?;
    Error::unless((1..=1 << 40).contains(&bits), "the filter must have 1 to 2^40 bits")?;
    let bytes = u32::try_from(bytes).map_err(|_| Error::TooLarge { bytes })?;
    Ok(Part { bits, bytes, hashes: hashes as u16 })
}

/// A copy with the bytes of each 64-bit word turned around, from the big-endian to ours or back.
#[inline(never)]
fn swap_words(words: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = copied(words)?;
    bytes.chunks_mut(8).for_each(<[u8]>::reverse);
    Ok(bytes)
}
