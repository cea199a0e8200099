//! The options of formats.

use crate::error::{Error, Result};
use crate::filters::foreign::{Format, KeyType};

/// What a format's bytes don't say, and how a filter is to be made. The names are those of the package's options and of the
/// tool's `--option`. A format refuses an option that it hasn't got.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// `guava`: what the keys are: `"utf8"` (default), `"unencoded-chars"`, `"bytes"`, `"int"` or `"long"`.
    pub funnel: Option<String>,
    /// What the keys are. `spark`: `"string"` (default), `"bytes"` or `"long"`; `parquet-sbbf`: `"string"` (default),
    /// `"bytes"`, `"int32"`, `"int64"`, `"float"` or `"double"`; `pybloomfiltermmap3`: `"string"` (default), `"bytes"` or
    /// `"int"`; `bloom-filter2`: `"string"` (default) or `"bytes"`.
    pub keys: Option<String>,
    /// `redis-bitmap` and `bloom-filter2`: positions; and of a new filter of any format, in place of those that count and
    /// rate give.
    pub bits: Option<u64>,
    /// `redis-bitmap` and `bloom-filter2`, and `npm-bloomfilter` where the bytes don't say: positions for each key; and of a
    /// new filter, with `bits`.
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

    /// The bits and the hashes of a format whose bytes don't say them, or the rule that it needs them.
    pub(super) fn shape(&self, rule: &'static str) -> Result<(u64, u32)> {
        self.bits.zip(self.hashes).ok_or(Error::rule(rule))
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
    pub(super) fn only(&self, names: &[&str]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An error's text is fixed, so this is built to compare with it.
    #[test]
    fn what_is_told_of_wrong_keys_names_those_of_the_format() {
        let wrong = || Some("wrong".to_owned());
        let options = Options { funnel: wrong(), keys: wrong(), ..Options::default() };
        for &format in Format::ALL {
            let names: Vec<_> = format.keys().iter().map(|(name, _)| *name).collect();
            let [others @ .., last] = &names[..] else { panic!("{} has no keys", format.name()) };
            if others.is_empty() {
                continue;
            }
            let option = if format == Format::Guava { "funnel" } else { "keys" };
            let expected = format!("{option} must be {} or {last}", others.join(", "));
            assert_eq!(options.keys(format).unwrap_err().to_string(), expected, "{}", format.name());
        }
    }
}
