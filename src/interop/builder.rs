//! Makes filters for other software: sized by that software's own formulas, and filled key by key.

use std::f64::consts::LN_2;

use super::formats::making_options;
use super::found::Found;
use super::options::Options;
use super::{go_bloom, redisbloom};
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, KeyType, MAX_HASHES, Scheme};
use crate::hash::digest;
use crate::vectors::{append, push, zeroed};

/// A filter of a writable format that is being made: `go-bloom`, `guava`, `spark`, `redis-bitmap` or `redisbloom`.
///
/// ```
/// use bloom_wasm::interop::{Builder, Format, Options, write};
///
/// let mut builder = Builder::new(Format::Guava, &Options::default(), 1_000_000, 0.01)?;
/// assert!(builder.add(b"evil.example")?);
/// let bytes = write(&builder.finish()?)?; // for BloomFilter.readFrom(stream, Funnels.stringFunnel(UTF_8))
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    filter: ForeignFilter,
}

impl Builder {
    /// A filter for `count` keys at a false-positive rate of `fpr`, above 0 and below 1; or with the `bits` and
    /// `hashes` of the options, which then replace `count` and `fpr`. It is as large as its own software would make it,
    /// so the true rate may differ: with few keys it can be many times as high. See [`ForeignFilter::estimated_fpr`].
    ///
    /// # Errors
    /// [`Error::UnsupportedFormat`] for a format that is only read, [`Error::InvalidParameter`] for a rate or an option out
    /// of its range, [`Error::TooLarge`] without the memory.
    pub fn new(format: Format, options: &Options, count: u64, fpr: f64) -> Result<Self> {
        options.only(making_options(format)?)?;
        Error::unless(fpr > 0.0 && fpr < 1.0, "fpr must be above 0 and below 1")?;
        let keys = options.keys(format)?;
        if format == Format::RedisBloom {
            let found = redisbloom::create(count, fpr, options.expansion.unwrap_or(2))?;
            return Ok(Builder { filter: found.filter(format, keys)? });
        }
        let name = options.layout.as_deref();
        let layout = if format == Format::GoBloom { go_bloom::layout(name)? } else { 0 };
        let scheme = match (format, name) {
            (Format::GoBloom, _) => Scheme::Go,
            (Format::Guava, None) => Scheme::Mitz64,
            (Format::Spark, None) => Scheme::Spark1,
            (Format::Guava | Format::Spark, Some(name)) => {
                let rule = "layout must be mitz-64 or mitz-32 for guava, and v1 or v2 for spark";
                Scheme::from_name(format, name).ok_or(Error::rule(rule))?
            }
            _ => Scheme::Mmh3,
        };
        let (bits, hashes) = match (options.bits, options.hashes) {
            (Some(bits), Some(hashes)) => (bits, hashes.into()),
            (None, None) => sized(format, count.max(1) as f64, fpr),
            _ => return Err(Error::rule("bits and hashes must be given together")),
        };
        Error::unless(format != Format::Guava || hashes <= 255, "a filter of guava has at most 255 hashes")?;
        let seeded = scheme == Scheme::Spark2 || options.seed.is_none();
        Error::unless(seeded, "seed is only for the layout v2: spark's v1 has none")?;
        // Java's longs and Go's words have 64 bits, and only Go remembers that some of the last bits are unused.
        let (bits, bytes) = match format {
            Format::RedisBitmap => (bits, bits.div_ceil(8)),
            Format::GoBloom => (bits, bits.div_ceil(64).saturating_mul(8)),
            _ => (bits.div_ceil(64).saturating_mul(64), bits.div_ceil(64).saturating_mul(8)),
        };
        // SETBIT takes no position from 2^32 on.
        let most = if format == Format::RedisBitmap { 1 << 32 } else { 1 << 40 };
        Error::unless(
            bits <= most && hashes <= MAX_HASHES.into(),
            "a filter has at most 1,024 hashes and 2^40 bits (redis-bitmap: 2^32)",
        )?;
        // Checked before the memory is taken: no part has more.
        let bytes = u32::try_from(bytes).map_err(|_| Error::TooLarge { bytes })?;
        let seed = options.seed.unwrap_or(0) as u64;
        let found = Found { layout, seed, ..Found::single(scheme, bits, hashes, zeroed(bytes as usize)?)? };
        Ok(Builder { filter: found.filter(format, keys)? })
    }

    /// What the keys are.
    pub fn keys(&self) -> KeyType {
        self.filter.keys()
    }

    /// Adds a key. True = it was definitely not there before; false = it may have been.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if the keys are numbers and this one has another length; [`Error::FilterFull`] for a full
    /// `redisbloom` that must not grow; [`Error::TooLarge`] without the memory. Nothing is changed then.
    pub fn add(&mut self, key: &[u8]) -> Result<bool> {
        let key = self.filter.hashed(key)?;
        if self.filter.has_hashed(&key) {
            return Ok(false);
        }
        if self.filter.format() == Format::RedisBloom {
            redisbloom::count_one(&mut self.filter)?;
        }
        self.filter.set_hashed(&key)?;
        Ok(true)
    }

    /// The filter.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn finish(self) -> Result<ForeignFilter> {
        let Builder { mut filter } = self;
        if filter.format() == Format::RedisBitmap {
            // Redis's string ends with the last byte that has a bit.
            let end = filter.as_bytes().iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let (_, parts, bytes) = filter.parts_mut();
            parts.iter_mut().for_each(|part| part.bytes = end as u32);
            bytes.truncate(end);
        }
        Ok(filter)
    }
}

/// The keys of a filter to be made. All are held in memory: the size of the filter depends on how many differ, and its
/// hash needs the keys themselves.
///
/// ```
/// use bloom_wasm::interop::{Format, KeyBuffer, Options};
///
/// let mut keys = KeyBuffer::default();
/// for key in ["a", "b", "a"] {
///     keys.push(key.as_bytes())?;
/// }
/// let (filter, distinct) = keys.build(Format::GoBloom, &Options::default(), None, 0.001)?;
/// assert!(filter.has(b"a") && distinct == 2);
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct KeyBuffer {
    /// Each key after its length (u32, little-endian).
    keys: Vec<u8>,
    digests: Vec<u64>,
}

impl KeyBuffer {
    /// Takes a key.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for one of 2^32 bytes or more, [`Error::TooLarge`] without the memory.
    pub fn push(&mut self, key: &[u8]) -> Result<()> {
        let rule = Error::InvalidKey { reason: "a key must have less than 2^32 bytes" };
        let length = u32::try_from(key.len()).map_err(|_| rule)?;
        append(&mut self.keys, &length.to_le_bytes())?;
        append(&mut self.keys, key)?;
        push(&mut self.digests, digest(0, key))
    }

    /// Each key after its length (u32, little-endian).
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.keys
    }

    /// Takes the keys of another.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn append(&mut self, more: &KeyBuffer) -> Result<()> {
        append(&mut self.keys, &more.keys)?;
        append(&mut self.digests, &more.digests)
    }

    /// How many keys there are, repeated ones included.
    pub fn count(&self) -> u64 {
        self.digests.len() as u64
    }

    /// A filter of these keys, sized for `capacity` keys or else for the number of distinct ones, which is also
    /// returned.
    ///
    /// # Errors
    /// Those of [`Builder::new`] and [`Builder::add`].
    pub fn build(
        self,
        format: Format,
        options: &Options,
        capacity: Option<u64>,
        fpr: f64,
    ) -> Result<(ForeignFilter, u64)> {
        let KeyBuffer { keys, mut digests } = self;
        sort(&mut digests)?;
        let distinct = digests.len() as u64;
        drop(digests);
        let mut builder = Builder::new(format, options, capacity.unwrap_or(distinct), fpr)?;
        let mut rest = &keys[..];
        while let Some((&length, after)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(length) as usize;
            builder.add(&after[..length])?;
            rest = &after[length..];
        }
        Ok((builder.finish()?, distinct))
    }
}

/// The bits and hashes that a format's own software would use for `count` keys.
fn sized(format: Format, count: f64, fpr: f64) -> (u64, u64) {
    let bits = -count * libm::log(fpr) / (LN_2 * LN_2);
    let rounded = |bits: f64| libm::floor(bits / count * LN_2 + 0.5);
    let (bits, hashes) = match format {
        Format::GoBloom => {
            let bits = libm::ceil(bits);
            (bits, libm::ceil(LN_2 * bits / count))
        }
        Format::RedisBitmap => {
            let bits = libm::ceil(bits);
            (bits, rounded(bits))
        }
        // Java's cast drops the fraction, before the bits are rounded up to whole words.
        _ => {
            let bits = libm::trunc(bits);
            (bits, rounded(bits))
        }
    };
    (bits.max(1.0) as u64, hashes.max(1.0) as u64)
}
