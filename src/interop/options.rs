//! The options of formats.

use crate::error::{Error, Result};
use crate::filters::foreign::{Format, KeyType};

/// What a format's bytes don't say, and how to make a filter. The names are those of the npm package's options and of
/// the tool's `--option`. A format refuses options that it doesn't have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// `guava`: what the keys are: `"utf8"` (default), `"unencoded-chars"`, `"bytes"`, `"int"` or `"long"`.
    pub funnel: Option<String>,
    /// What the keys are. `spark`: `"string"` (default), `"bytes"` or `"long"`; `parquet-sbbf`: `"string"` (default),
    /// `"bytes"`, `"int32"`, `"int64"`, `"float"` or `"double"`; `pybloomfiltermmap3`: `"string"` (default), `"bytes"` or
    /// `"int"`; `bloom-filter2`: `"string"` (default) or `"bytes"`.
    pub keys: Option<String>,
    /// The number of bits. `redis-bitmap` and `bloom-filter2`: that of the filter to read. A new filter of any format:
    /// instead of the number that follows from count and rate.
    pub bits: Option<u64>,
    /// The number of positions per key. `redis-bitmap` and `bloom-filter2`, and `npm-bloomfilter` if the bytes don't
    /// say it: that of the filter to read. A new filter: together with `bits`.
    pub hashes: Option<u32>,
    /// `npm-bloomfilter`: `"fnv64"` (default, from 0.0.21 on), `"fnv64-odd"` (0.0.20), `"fnv32-triple"` (0.0.19),
    /// `"fnv32-seeded"` (0.0.17, 0.0.18), `"fnv32-b"` (0.0.16) or `"fnv32-b-signedmix"` (0.0.12 to 0.0.15).
    pub generation: Option<String>,
    /// `xor` and `binary-fuse`: `"c"` (default), `"xorf-dma"`, `"xorf-json"` or `"xorf-bincode"`. A new filter:
    /// `go-bloom` `"binary"` (default) or `"json"`, `guava` `"mitz-64"` (default) or `"mitz-32"`, `spark` `"v1"`
    /// (default) or `"v2"`.
    pub layout: Option<String>,
    /// `xor` and `binary-fuse`: the bits of a fingerprint, if the bytes don't say: 8, 16 or 32.
    pub width: Option<u32>,
    /// A new `redisbloom`: each link holds this many times the keys of the one before, by default 2; with 0, it never
    /// grows.
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

    /// The bits and the hashes of a format whose bytes don't say them, or an error with this rule.
    pub(super) fn shape(&self, rule: &'static str) -> Result<(u64, u32)> {
        self.bits.zip(self.hashes).ok_or(Error::rule(rule))
    }

    /// Sets a text option by its name.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if no text option has this name.
    pub fn set_text(&mut self, name: &str, value: String) -> Result<()> {
        match self.slot(name)? {
            Slot::Text(slot) => *slot = Some(value),
            _ => return Err(Error::rule("this option is a number")),
        }
        Ok(())
    }

    /// Sets a numeric option by its name.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if no numeric option has this name, or the value is out of range.
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
    pub(super) fn only(&self, names: &[&str]) -> Result<()> {
        let there = [
            ("funnel", self.funnel.is_some(), "funnel is not an option of this format"),
            ("keys", self.keys.is_some(), "keys is not an option of this format"),
            ("bits", self.bits.is_some(), "bits is not an option of this format"),
            ("hashes", self.hashes.is_some(), "hashes is not an option of this format"),
            ("generation", self.generation.is_some(), "generation is not an option of this format"),
            ("layout", self.layout.is_some(), "layout is not an option of this format"),
            ("width", self.width.is_some(), "width is not an option of this format"),
            ("expansion", self.expansion.is_some(), "expansion is not an option of this format"),
            ("seed", self.seed.is_some(), "seed is not an option of this format"),
        ];
        let unknown = there.iter().find(|(name, there, _)| *there && !names.contains(name));
        unknown.map_or(Ok(()), |(_, _, rule)| Err(Error::rule(rule)))
    }

    /// What the keys are, by the format's option for them.
    pub(super) fn keys(&self, format: Format) -> Result<KeyType> {
        let all = format.keys();
        let chosen = if format == Format::Guava { &self.funnel } else { &self.keys };
        let Some(chosen) = chosen else { return Ok(all[0].1) };
        let found = all.iter().find(|(name, _)| name == chosen);
        found.map(|(_, keys)| *keys).ok_or(Error::rule(match format {
            Format::Guava => "funnel must be utf8, unencoded-chars, bytes, int or long",
            Format::Spark => "keys must be string, bytes or long",
            Format::ParquetSbbf => "keys must be string, bytes, int32, int64, float or double",
            Format::PyBloomFilterMmap3 => "keys must be string, bytes or int",
            Format::BloomFilter2 => "keys must be string or bytes",
            _ => "keys must be one of the format's own",
        }))
    }
}
