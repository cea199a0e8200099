//! The kinds of filter, one algorithm a file, and the enum that holds any of them. A filter knows digests and
//! its seed; it knows nothing of bytes, blobs or metadata.

mod bloom;
#[cfg(feature = "dynamic")]
mod counting;
#[cfg(feature = "dynamic")]
pub(crate) mod cuckoo;
mod ribbon;
#[cfg(feature = "dynamic")]
pub(crate) mod scalable;

pub use bloom::BloomFilter;
#[cfg(feature = "dynamic")]
pub use counting::CountingBloomFilter;
#[cfg(feature = "dynamic")]
pub use cuckoo::CuckooFilter;
pub use ribbon::RibbonFilter;
#[cfg(feature = "dynamic")]
pub use scalable::ScalableBloomFilter;

/// The kinds, with their numbers in a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A classic Bloom filter.
    Bloom = 1,
    /// A Bloom filter with counters, from which keys can be removed.
    Counting = 2,
    /// A Bloom filter that grows.
    Scalable = 3,
    /// A cuckoo filter.
    Cuckoo = 4,
    /// A ribbon filter: read-only and the smallest.
    Ribbon = 5,
}

impl Kind {
    /// The name of the kind: `"bloom"`, `"counting"`, `"scalable"`, `"cuckoo"` or `"ribbon"`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bloom => "bloom",
            Kind::Counting => "counting",
            Kind::Scalable => "scalable",
            Kind::Cuckoo => "cuckoo",
            Kind::Ribbon => "ribbon",
        }
    }
}

/// A filter of any kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// A classic Bloom filter.
    Bloom(BloomFilter),
    #[cfg(feature = "dynamic")]
    /// A Bloom filter with counters.
    Counting(CountingBloomFilter),
    #[cfg(feature = "dynamic")]
    /// A Bloom filter that grows.
    Scalable(ScalableBloomFilter),
    #[cfg(feature = "dynamic")]
    /// A cuckoo filter.
    Cuckoo(CuckooFilter),
    /// A ribbon filter.
    Ribbon(RibbonFilter),
}

/// The same expression for the filter of whatever kind.
macro_rules! each {
    ($self:expr, $filter:ident => $run:expr) => {
        match $self {
            Filter::Bloom($filter) => $run,
            #[cfg(feature = "dynamic")]
            Filter::Counting($filter) => $run,
            #[cfg(feature = "dynamic")]
            Filter::Scalable($filter) => $run,
            #[cfg(feature = "dynamic")]
            Filter::Cuckoo($filter) => $run,
            Filter::Ribbon($filter) => $run,
        }
    };
}

impl Filter {
    /// Which kind this is.
    pub fn kind(&self) -> Kind {
        match self {
            Filter::Bloom(_) => Kind::Bloom,
            #[cfg(feature = "dynamic")]
            Filter::Counting(_) => Kind::Counting,
            #[cfg(feature = "dynamic")]
            Filter::Scalable(_) => Kind::Scalable,
            #[cfg(feature = "dynamic")]
            Filter::Cuckoo(_) => Kind::Cuckoo,
            Filter::Ribbon(_) => Kind::Ribbon,
        }
    }

    /// The seed of the digests that this filter is asked with.
    pub fn seed(&self) -> u64 {
        each!(self, filter => filter.seed())
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(crate::hash::digest(self.seed(), key))
    }

    /// As [`Filter::has`], for a key's [digest](crate::hash::digest) under [`Filter::seed`].
    pub fn has_digest(&self, digest: u64) -> bool {
        each!(self, filter => filter.has_digest(digest))
    }

    /// The chance that a key which was never added is "maybe present", from the present fill: 0 to 1.
    pub fn estimated_fpr(&self) -> f64 {
        each!(self, filter => filter.estimated_fpr())
    }

    /// The number of keys, where the structure knows it; none for a Bloom filter and a counting one.
    pub fn count(&self) -> Option<u64> {
        match self {
            Filter::Bloom(_) => None,
            #[cfg(feature = "dynamic")]
            Filter::Counting(_) => None,
            #[cfg(feature = "dynamic")]
            Filter::Scalable(filter) => Some(filter.count()),
            #[cfg(feature = "dynamic")]
            Filter::Cuckoo(filter) => Some(filter.count()),
            Filter::Ribbon(filter) => Some(filter.count().into()),
        }
    }

    /// [`Filter::count`], or else about how many different keys the filter holds; infinite when it is too full to
    /// tell.
    pub fn estimated_count(&self) -> f64 {
        match self {
            Filter::Bloom(filter) => filter.estimated_count(),
            #[cfg(feature = "dynamic")]
            Filter::Counting(filter) => filter.estimated_count(),
            _ => self.count().unwrap_or_default() as f64,
        }
    }
}

macro_rules! from {
    ($($kind:ident($filter:ident)),*) => {$(
        impl From<$filter> for Filter {
            fn from(filter: $filter) -> Self {
                Filter::$kind(filter)
            }
        }
    )*};
}

from!(Bloom(BloomFilter), Ribbon(RibbonFilter));
#[cfg(feature = "dynamic")]
from!(Counting(CountingBloomFilter), Scalable(ScalableBloomFilter), Cuckoo(CuckooFilter));
