//! The kinds of filter: their names, their numbers in a blob, and the options to build each.
// Imports only `error`.

use crate::error::{Error, Result};
use strum::{EnumMessage, EnumString, FromRepr, IntoStaticStr};

/// The kinds of filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, FromRepr, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// A classic Bloom filter; keys can be added later.
    Bloom = 1,
    /// A Bloom filter with counters; keys can be added and removed later.
    Counting = 2,
    /// A Bloom filter that grows, from 1,000 keys on.
    Scalable = 3,
    /// Small at low rates; keys can be added and removed later.
    Cuckoo = 4,
    /// Read-only, and the smallest.
    Ribbon = 5,
    /// Other software's; its format has a name of its own.
    Foreign = 6,
}

impl Kind {
    /// The name of the kind: `"bloom"`, `"counting"`, `"scalable"`, `"cuckoo"`, `"ribbon"` or `"foreign"`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What it is for: "Read-only, and the smallest" and so on.
    pub fn purpose(self) -> &'static str {
        self.get_documentation().unwrap_or(self.name()).trim_end_matches('.')
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The kind's number in a blob, 1 to 6.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The kind of this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::from_repr(number)
    }
}

/// The options for building a filter, besides keys, rate and seed. A builder refuses an option of another kind, unless it
/// has its default value.
///
/// ```
/// use bloom_wasm::{Builder, Kind, KindOptions, Profile};
///
/// let options = KindOptions { capacity: Some(1_000_000), ..Kind::Cuckoo.into() };
/// let mut filter = Builder::new(Profile::Url).kind(options).keys(["evil.example"]).build()?;
/// assert!(filter.add("other.example")?);
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KindOptions {
    /// The kind.
    pub kind: Kind,
    /// Bloom, counting and cuckoo: the number of keys that the filter is sized for. None = the number that it is built from.
    pub capacity: Option<u64>,
    /// Counting: the bits per counter, 4 (the default) or 8.
    pub counter_bits: u32,
    /// Scalable: the keys in the first slice, 1 to 2^32 - 1. Default 1000.
    pub initial_capacity: u32,
    /// Scalable: each slice holds this many times the keys of the one before, 1 to 16. Default 2.
    pub growth: u32,
    /// Scalable: each slice's rate is this many times that of the one before, above 0 and below 1. Default 0.5.
    pub tightening: f64,
}

impl From<Kind> for KindOptions {
    /// The defaults, in the package and in the tool.
    fn from(kind: Kind) -> Self {
        KindOptions {
            kind,
            capacity: None,
            counter_bits: 4,
            initial_capacity: 1000,
            growth: 2,
            tightening: 0.5,
        }
    }
}

impl KindOptions {
    /// Fails for an option of another kind, which this one would ignore.
    pub(crate) fn require_own(&self) -> Result<()> {
        let KindOptions { kind, capacity, counter_bits, initial_capacity, growth, tightening } = *self;
        let defaults = KindOptions::from(kind);
        let is_sized = matches!(kind, Kind::Bloom | Kind::Counting | Kind::Cuckoo);
        Error::unless(is_sized || capacity.is_none(), "capacity goes with kind bloom, counting or cuckoo")?;
        let counts = kind == Kind::Counting || counter_bits == defaults.counter_bits;
        Error::unless(counts, "counter_bits goes with kind counting")?;
        let grows = kind == Kind::Scalable
            || initial_capacity == defaults.initial_capacity
                && growth == defaults.growth
                && tightening == defaults.tightening;
        Error::unless(grows, "initial_capacity, growth and tightening go with kind scalable")
    }
}
