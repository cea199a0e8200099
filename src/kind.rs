//! The kinds of filter: their names, their numbers in a blob, and the options to build each. Imports no other module.

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

/// The options for building a filter, besides keys, rate and seed. Each kind ignores the options of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KindOptions {
    /// The kind.
    pub kind: Kind,
    /// Bloom and counting: the number of keys that the filter is sized for. None = the number that it is built from.
    pub capacity: Option<u64>,
    /// Counting: the bits per counter, 4 or 8.
    pub counter_bits: u32,
    /// Scalable: the keys in the first slice, 1 to 2^32 - 1.
    pub initial_capacity: u32,
    /// Scalable: each slice holds this many times the keys of the one before, 1 to 16.
    pub growth: u32,
    /// Scalable: each slice's rate is this many times that of the one before, above 0 and below 1.
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
