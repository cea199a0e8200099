//! The kinds of filter, one algorithm a file, and the enum that holds any of them. A filter knows digests and
//! its seed; it knows nothing of bytes, blobs or metadata.

mod bloom;

pub use bloom::BloomFilter;

/// The kinds, with their numbers in a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A classic Bloom filter.
    Bloom = 1,
}

impl Kind {
    /// The name of the kind: `"bloom"`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bloom => "bloom",
        }
    }
}

/// A filter of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// A classic Bloom filter.
    Bloom(BloomFilter),
}

impl Filter {
    /// Which kind this is.
    pub fn kind(&self) -> Kind {
        match self {
            Filter::Bloom(_) => Kind::Bloom,
        }
    }

    /// The seed of the digests that this filter is asked with.
    pub fn seed(&self) -> u64 {
        match self {
            Filter::Bloom(filter) => filter.seed(),
        }
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(crate::hash::digest(self.seed(), key))
    }

    /// As [`Filter::has`], for a key's [digest](crate::hash::digest) under [`Filter::seed`].
    pub fn has_digest(&self, digest: u64) -> bool {
        match self {
            Filter::Bloom(filter) => filter.has_digest(digest),
        }
    }

    /// The chance that a key which was never added is "maybe present", from the present fill: 0 to 1.
    pub fn estimated_fpr(&self) -> f64 {
        match self {
            Filter::Bloom(filter) => filter.estimated_fpr(),
        }
    }

    /// About how many different keys the filter holds; infinite when it is too full to tell.
    pub fn estimated_count(&self) -> f64 {
        match self {
            Filter::Bloom(filter) => filter.estimated_count(),
        }
    }
}

impl From<BloomFilter> for Filter {
    fn from(filter: BloomFilter) -> Self {
        Filter::Bloom(filter)
    }
}
