//! The kinds of filter, one algorithm per file, and the enum that holds any of them. A filter knows digests and its
//! seed; it knows nothing of bytes, blobs or metadata.

mod bloom;
mod counting;
mod cuckoo;
pub mod foreign;
mod payload;
mod ribbon;
pub(crate) mod scalable;

pub use bloom::BloomFilter;
pub use counting::CountingBloomFilter;
pub use cuckoo::CuckooFilter;
pub use foreign::ForeignFilter;
pub(crate) use payload::Payload;
pub use ribbon::RibbonFilter;
pub(crate) use ribbon::require_fpr;
pub use scalable::ScalableBloomFilter;

use std::array::from_fn;

use crate::batch::BATCH;
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{Kind, KindOptions};
use crate::vectors::copied;

/// A filter of any kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AnyFilter {
    /// A classic Bloom filter.
    Bloom(BloomFilter),
    /// A Bloom filter with counters.
    Counting(CountingBloomFilter),
    /// A Bloom filter that grows.
    Scalable(ScalableBloomFilter),
    /// A cuckoo filter.
    Cuckoo(CuckooFilter),
    /// A ribbon filter.
    Ribbon(RibbonFilter),
    /// A filter of other software.
    Foreign(ForeignFilter),
}

/// Runs the same expression for a filter of any kind.
macro_rules! each {
    ($self:expr, $filter:ident => $run:expr) => {
        match $self {
            AnyFilter::Bloom($filter) => $run,
            AnyFilter::Counting($filter) => $run,
            AnyFilter::Scalable($filter) => $run,
            AnyFilter::Cuckoo($filter) => $run,
            AnyFilter::Ribbon($filter) => $run,
            AnyFilter::Foreign($filter) => $run,
        }
    };
}

impl AnyFilter {
    /// A filter of the keys with these digests, which may be used up.
    ///
    /// # Errors
    /// Those of the kind's own `from_digests`; [`Error::InvalidParameter`] for an option of another kind;
    /// [`Error::FilterFull`] for a cuckoo filter with more keys than its capacity has room for; [`Error::WrongKind`] for a
    /// foreign one, which hashes keys its own way.
    pub fn from_digests(
        options: KindOptions,
        digests: &mut Vec<u64>,
        fpr: f64,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        options.require_own()?;
        let hashing = hashing.into();
        let KindOptions { kind, capacity, counter_bits, initial_capacity, growth, tightening } = options;
        let empty: Option<AnyFilter> = match (kind, capacity) {
            (Kind::Bloom, Some(count)) => Some(BloomFilter::with_capacity(count, fpr, hashing)?.into()),
            (Kind::Counting, Some(count)) => {
                Some(CountingBloomFilter::with_capacity(count, fpr, counter_bits, hashing)?.into())
            }
            (Kind::Cuckoo, Some(count)) => Some(CuckooFilter::with_capacity(count, fpr, hashing)?.into()),
            _ => None,
        };
        if let Some(mut filter) = empty {
            sort(digests)?;
            filter.add_digests(digests)?;
            return Ok(filter);
        }
        Ok(match kind {
            Kind::Bloom => BloomFilter::from_digests(digests, fpr, hashing)?.into(),
            Kind::Counting => CountingBloomFilter::from_digests(digests, fpr, counter_bits, hashing)?.into(),
            Kind::Scalable => ScalableBloomFilter::from_digests(
                digests,
                initial_capacity,
                fpr,
                growth,
                tightening,
                hashing,
            )?
            .into(),
            Kind::Cuckoo => CuckooFilter::from_digests(digests, fpr, hashing)?.into(),
            Kind::Ribbon => RibbonFilter::from_digests(digests, fpr, hashing)?.into(),
            Kind::Foreign => return Err(Error::WrongKind { kind: kind.name() }),
        })
    }

    /// A copy to change. Unlike `clone`, it fails without the memory for it.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory, and [`Error::WrongKind`] for kinds that are read-only.
    pub(crate) fn try_clone(&self) -> Result<Self> {
        let mut copy: AnyFilter = match self {
            AnyFilter::Bloom(filter) => {
                BloomFilter::shaped(filter.bits(), filter.hashes(), *filter.hashing())?.into()
            }
            AnyFilter::Counting(filter) => {
                let (bits, hashes) = (filter.bits(), filter.hashes());
                CountingBloomFilter::shaped(bits, hashes, filter.counter_bits(), *filter.hashing())?.into()
            }
            AnyFilter::Scalable(filter) => {
                ScalableBloomFilter::shaped(filter.plan(), filter.count(), *filter.hashing())?.into()
            }
            AnyFilter::Cuckoo(filter) => {
                CuckooFilter::shaped(filter.buckets(), filter.fingerprint_bits(), *filter.hashing())?.into()
            }
            AnyFilter::Ribbon(_) | AnyFilter::Foreign(_) => {
                return Err(Error::WrongKind { kind: self.name() });
            }
        };
        copy.set_bytes(copied(self.as_bytes())?.into())?;
        Ok(copy)
    }

    /// Which kind this is.
    pub fn kind(&self) -> Kind {
        match self {
            AnyFilter::Bloom(_) => Kind::Bloom,
            AnyFilter::Counting(_) => Kind::Counting,
            AnyFilter::Scalable(_) => Kind::Scalable,
            AnyFilter::Cuckoo(_) => Kind::Cuckoo,
            AnyFilter::Ribbon(_) => Kind::Ribbon,
            AnyFilter::Foreign(_) => Kind::Foreign,
        }
    }

    /// The name of the kind; for a foreign filter, that of its [format](foreign::Format).
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn name(&self) -> &'static str {
        match self {
            AnyFilter::Foreign(filter) => filter.format().name(),
            _ => self.kind().name(),
        }
    }

    /// How keys become the digests that this filter looks up; for a foreign filter, only its seed.
    #[inline]
    pub fn hashing(&self) -> &Hashing {
        each!(self, filter => filter.hashing())
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        each!(self, filter => filter.has(key))
    }

    /// As [`AnyFilter::has`], for a key's digest under [`AnyFilter::hashing`]. A foreign filter hashes keys its own way, so
    /// for it every digest is maybe present.
    pub fn has_digest(&self, digest: u64) -> bool {
        match self {
            AnyFilter::Bloom(filter) => filter.has_digest(digest),
            AnyFilter::Counting(filter) => filter.has_digest(digest),
            AnyFilter::Scalable(filter) => filter.has_digest(digest),
            AnyFilter::Cuckoo(filter) => filter.has_digest(digest),
            AnyFilter::Ribbon(filter) => filter.has_digest(digest),
            AnyFilter::Foreign(_) => true,
        }
    }

    /// As [`AnyFilter::has_digest`], for up to [`BATCH`] digests. The answers after those of the digests mean nothing.
    pub(crate) fn has_batch(&self, digests: &[u64]) -> [bool; BATCH] {
        match self {
            AnyFilter::Bloom(filter) => filter.has_batch(digests),
            AnyFilter::Ribbon(filter) => filter.has_batch(digests),
            _ => from_fn(|place| digests.get(place).is_some_and(|&digest| self.has_digest(digest))),
        }
    }

    /// Everything besides the parameters: the payload of a blob.
    // One copy in the wasm.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn as_bytes(&self) -> &[u8] {
        each!(self, filter => filter.as_bytes())
    }

    /// How many bytes the payload has.
    pub(crate) fn byte_length(&self) -> usize {
        each!(self, filter => filter.byte_length())
    }

    /// Gives a filter with only its shape its bytes, [`AnyFilter::byte_length`] of them.
    pub(crate) fn set_bytes(&mut self, bytes: Payload) -> Result<()> {
        each!(self, filter => filter.set_bytes(bytes))
    }

    /// Adds the keys with these digests; returns how many were definitely not there before.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for a ribbon filter, which is read-only, and a foreign one, and those of
    /// [`ScalableBloomFilter::add`] and [`CuckooFilter::add`]. Either all are added or none.
    pub fn add_digests(&mut self, digests: &[u64]) -> Result<usize> {
        match self {
            AnyFilter::Bloom(filter) => {
                Ok(digests.iter().filter(|&&digest| filter.add_digest(digest)).count())
            }
            AnyFilter::Counting(filter) => {
                Ok(digests.iter().filter(|&&digest| filter.add_digest(digest)).count())
            }
            AnyFilter::Scalable(filter) => filter.add_digests(digests),
            AnyFilter::Cuckoo(filter) => filter.add_digests(digests),
            AnyFilter::Ribbon(_) | AnyFilter::Foreign(_) => Err(Error::WrongKind { kind: self.name() }),
        }
    }

    /// Removes the key with this digest; false = it was definitely not there.
    ///
    /// # Errors
    /// [`Error::WrongKind`] unless it is a counting or a cuckoo filter.
    pub fn remove_digest(&mut self, digest: u64) -> Result<bool> {
        match self {
            AnyFilter::Counting(filter) => Ok(filter.remove_digest(digest)),
            AnyFilter::Cuckoo(filter) => Ok(filter.remove_digest(digest)),
            other => Err(Error::WrongKind { kind: other.name() }),
        }
    }

    /// The union with another filter of the same kind, or else the intersection: [`BloomFilter::union`] and its like.
    ///
    /// # Errors
    /// [`Error::NotMergeable`] unless both are bloom filters or both are counting ones, and [`Error::Incompatible`] if
    /// their shapes differ. Nothing is changed then.
    pub fn combine(&mut self, other: &Self, union: bool) -> Result<()> {
        match (self, other) {
            (AnyFilter::Bloom(filter), AnyFilter::Bloom(other)) => filter.combine(other, union),
            (AnyFilter::Counting(filter), AnyFilter::Counting(other)) => filter.combine(other, union),
            _ => Err(Error::NotMergeable),
        }
    }

    /// Forgets every key.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for a ribbon filter and a foreign one, which are read-only.
    pub fn clear(&mut self) -> Result<()> {
        match self {
            AnyFilter::Bloom(filter) => filter.clear(),
            AnyFilter::Counting(filter) => filter.clear(),
            AnyFilter::Scalable(filter) => filter.clear(),
            AnyFilter::Cuckoo(filter) => filter.clear(),
            AnyFilter::Ribbon(_) | AnyFilter::Foreign(_) => {
                return Err(Error::WrongKind { kind: self.name() });
            }
        }
        Ok(())
    }

    /// The chance that a key which was never added is "maybe present", from the present fill: 0 to 1.
    pub fn estimated_fpr(&self) -> f64 {
        each!(self, filter => filter.estimated_fpr())
    }

    /// The number of keys, if the structure knows it; none for a Bloom, a counting and a foreign filter. In a cuckoo
    /// filter a key counts as often as it was added.
    pub fn count(&self) -> Option<u64> {
        match self {
            AnyFilter::Bloom(_) => None,
            AnyFilter::Counting(_) | AnyFilter::Foreign(_) => None,
            AnyFilter::Scalable(filter) => Some(filter.count()),
            AnyFilter::Cuckoo(filter) => Some(filter.count()),
            AnyFilter::Ribbon(filter) => Some(filter.count().into()),
        }
    }

    /// [`AnyFilter::count`], or else about how many different keys the filter holds; infinite when it is too full to
    /// tell.
    pub fn estimated_count(&self) -> f64 {
        match self {
            AnyFilter::Bloom(filter) => filter.estimated_count(),
            AnyFilter::Counting(filter) => filter.estimated_count(),
            AnyFilter::Foreign(filter) => filter.estimated_count(),
            AnyFilter::Scalable(filter) => filter.count() as f64,
            AnyFilter::Cuckoo(filter) => filter.count() as f64,
            AnyFilter::Ribbon(filter) => filter.count().into(),
        }
    }
}

macro_rules! from {
    ($($kind:ident($filter:ident)),*) => {$(
        impl From<$filter> for AnyFilter {
            fn from(filter: $filter) -> Self {
                AnyFilter::$kind(filter)
            }
        }
    )*};
}

from!(
    Bloom(BloomFilter),
    Counting(CountingBloomFilter),
    Scalable(ScalableBloomFilter),
    Cuckoo(CuckooFilter),
    Ribbon(RibbonFilter),
    Foreign(ForeignFilter)
);
