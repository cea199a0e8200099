//! The classic Bloom filter. Each key sets k of m bits, and a key whose k bits are all set is maybe present. Bloom
//! 1970, "Space/time trade-offs in hash coding with allowable errors". FORMAT.md section 6.1.
//!
//! Each probe comes from a state of its own, one [round] after that of the previous probe. So the k probes aren't
//! evenly spaced as in double hashing, which misses its rate by 20 % at 2^-16.

use crate::batch::{BATCH, Places, fetch};
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::payload::Payload;
use crate::hash::{Hashing, halves, joined, mix, round, spread};
use crate::params::{optimal, power, require_shape};
use crate::vectors::zeroed;

/// A Bloom filter of `bits` bits, with `hashes` probes per key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilter {
    hashing: Hashing,
    bits: u32,
    hashes: u32,
    /// Bit i is byte i / 8, mask 1 << i % 8; the bits past the last are 0.
    bytes: Payload,
}

impl BloomFilter {
    /// An empty filter of `bits` bits (1 to 2^32 - 1) and `hashes` hashes (1 to 64).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] outside those ranges, [`Error::TooLarge`] if there is no memory.
    pub fn new(bits: u32, hashes: u32, hashing: impl Into<Hashing>) -> Result<Self> {
        let filter = Self::shaped(bits, hashes, hashing.into())?;
        Ok(BloomFilter { bytes: zeroed(filter.byte_length())?.into(), ..filter })
    }

    /// An empty filter that `count` keys fill to a false-positive rate of `fpr`, sized by [`optimal`]. The last argument is the
    /// seed, such as 0, or a [`Hashing`].
    ///
    /// # Errors
    /// As [`optimal`] and [`BloomFilter::new`].
    ///
    /// ```
    /// # use bloom_wasm::BloomFilter;
    /// let mut seen = BloomFilter::with_capacity(1_000_000, 0.001, 0)?;
    /// assert!(seen.add(b"first")); // it was definitely not there before
    /// assert!(!seen.add(b"first"));
    /// # Ok::<(), bloom_wasm::Error>(())
    /// ```
    pub fn with_capacity(count: u64, fpr: f64, hashing: impl Into<Hashing>) -> Result<Self> {
        let size = optimal(count, fpr)?;
        Self::new(size.bits, size.hashes, hashing)
    }

    /// Builds a filter from the digests of keys, sized by the number of different ones. The vector is sorted, and
    /// repeated digests are dropped.
    ///
    /// # Errors
    /// As [`BloomFilter::with_capacity`].
    pub fn from_digests(digests: &mut Vec<u64>, fpr: f64, hashing: impl Into<Hashing>) -> Result<Self> {
        sort(digests)?;
        let mut filter = Self::with_capacity(digests.len() as u64, fpr, hashing)?;
        for &digest in digests.iter() {
            filter.add_digest(digest);
        }
        Ok(filter)
    }

    /// A filter with its shape, still without its bytes.
    pub(crate) fn shaped(bits: u32, hashes: u32, hashing: Hashing) -> Result<Self> {
        require_shape(bits, hashes)?;
        Ok(BloomFilter { hashing, bits, hashes, bytes: Payload::default() })
    }

    /// How many bytes the bits take.
    pub(crate) fn byte_length(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Gives the filter its bytes, [`BloomFilter::byte_length`] of them.
    pub(crate) fn set_bytes(&mut self, bytes: Payload) -> Result<()> {
        debug_assert_eq!(bytes.len(), self.byte_length());
        self.bytes = bytes;
        require_rest(&self.bytes, self.bits)
    }

    /// The number of bits (m).
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of hashes (k).
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// How keys become digests.
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// The bits, eight to a byte, the lowest first.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of keys that sets half of the bits, m/k ln 2. A filter of this shape works best there; with more
    /// keys, its rate is above 2^-k.
    pub fn capacity(&self) -> u64 {
        capacity(self.bits, self.hashes)
    }

    /// The positions of the bits that a key sets and tests, each below [`BloomFilter::bits`]; two may be equal.
    pub fn locations(&self, key: &[u8]) -> impl Iterator<Item = u32> + use<> {
        probes(self.hashing.digest(key), self.bits, self.hashes)
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(self.hashing.digest(key))
    }

    /// Like [`BloomFilter::has`], for a key's digest under [`BloomFilter::hashing`].
    #[inline]
    pub fn has_digest(&self, digest: u64) -> bool {
        has(&self.bytes, self.bits, self.hashes, digest)
    }

    /// As [`BloomFilter::has_digest`], for up to [`BATCH`] digests: two probes of each key, and then the other probes
    /// of the keys that are left.
    pub(crate) fn has_batch(&self, digests: &[u64]) -> [bool; BATCH] {
        let bytes = self.as_bytes();
        let probed = |digest| probes(digest, self.bits, self.hashes).map(|bit| (bit / 8) as usize);
        fetch(bytes, digests.iter().flat_map(|&digest| probed(digest).take(2)));
        let left = Places::filter(digests, |_, digest| {
            let mut two = probes(digest, self.bits, 2);
            // With a single hash, there is no second probe.
            two.next().is_some_and(|bit| is_set(bytes, bit))
                & two.next().is_some_and(|bit| self.hashes == 1 || is_set(bytes, bit))
        });
        fetch(bytes, left.iter().flat_map(|place| probed(digests[place]).skip(2)));
        let mut answers = [false; BATCH];
        for place in left.iter() {
            answers[place] =
                probes(digests[place], self.bits, self.hashes).skip(2).all(|bit| is_set(bytes, bit));
        }
        answers
    }

    /// Adds a key. True = it was definitely not there before; false = it may have been.
    pub fn add(&mut self, key: &[u8]) -> bool {
        self.add_digest(self.hashing.digest(key))
    }

    /// Like [`BloomFilter::add`], for a key's digest under [`BloomFilter::hashing`].
    #[inline]
    pub fn add_digest(&mut self, digest: u64) -> bool {
        add(&mut self.bytes, self.bits, self.hashes, digest)
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// Adds every key of `other`. The result is the filter of both sets of keys together.
    ///
    /// # Errors
    /// [`Error::Incompatible`] unless bits, hashes and seed are equal; otherwise nothing is changed.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.combine(other, true)
    }

    /// Keeps the bits that both filters have, so keys that were added to both stay. The false-positive rate is at most
    /// the lower of the two, and may be above that of a filter of only the common keys.
    ///
    /// # Errors
    /// As [`BloomFilter::union`].
    pub fn intersect(&mut self, other: &Self) -> Result<()> {
        self.combine(other, false)
    }

    /// The union, or the intersection if `union` is false.
    pub(crate) fn combine(&mut self, other: &Self, union: bool) -> Result<()> {
        if (self.bits, self.hashes, self.hashing) != (other.bits, other.hashes, other.hashing) {
            return Err(Error::Incompatible);
        }
        for (byte, &other) in self.bytes.iter_mut().zip(other.bytes.iter()) {
            *byte = if union { *byte | other } else { *byte & other };
        }
        Ok(())
    }

    /// The chance that a key which was never added is "maybe present": (set bits / m)^k.
    pub fn estimated_fpr(&self) -> f64 {
        power(fill(&self.bytes, self.bits), self.hashes.into())
    }

    /// About how many different keys were added: -m/k ln(1 - set bits / m); infinite when every bit is set.
    /// Swamidass and Baldi 2007, "Mathematical correction for fingerprint similarity measures".
    pub fn estimated_count(&self) -> f64 {
        estimated_count(self.bits, self.hashes, fill(&self.bytes, self.bits))
    }
}

/// The positions of a digest among `bits` bits. A counting filter uses them too.
#[inline]
pub(super) fn probes(digest: u64, bits: u32, hashes: u32) -> impl Iterator<Item = u32> {
    let (mut high, mut low) = halves(mix(digest, 0));
    (0..hashes).map(move |_| {
        let probe = spread(joined(high, low), bits);
        (high, low) = round(high, low);
        probe
    })
}

/// Whether a bit is 1.
#[inline]
fn is_set(bytes: &[u8], bit: u32) -> bool {
    debug_assert!((bit / 8) < bytes.len() as u32, "a decoded filter has all of its bits");
    bytes.get((bit / 8) as usize).is_some_and(|byte| byte & 1 << (bit % 8) != 0)
}

/// [`BloomFilter::has_digest`] over the bytes of any Bloom filter.
#[inline]
pub(super) fn has(bytes: &[u8], bits: u32, hashes: u32, digest: u64) -> bool {
    probes(digest, bits, hashes).all(|bit| is_set(bytes, bit))
}

/// [`BloomFilter::add_digest`] over the bytes of any Bloom filter.
#[inline]
pub(super) fn add(bytes: &mut [u8], bits: u32, hashes: u32, digest: u64) -> bool {
    let mut missing = 0;
    for bit in probes(digest, bits, hashes) {
        if let Some(byte) = bytes.get_mut((bit / 8) as usize) {
            let mask = 1 << (bit % 8);
            missing |= !*byte & mask;
            *byte |= mask;
        }
    }
    missing != 0
}

/// The share of `bits` bits that are set, 0 to 1.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn fill(bytes: &[u8], bits: u32) -> f64 {
    let ones = |chunk: &[u8]| chunk.iter().map(|byte| byte.count_ones()).sum::<u32>();
    bytes.chunks(1 << 16).map(|chunk| u64::from(ones(chunk))).sum::<u64>() as f64 / f64::from(bits)
}

/// Fails if a bit is set in the last byte after `bits` bits.
pub(super) fn require_rest(bytes: &[u8], bits: u32) -> Result<()> {
    let used = bits % 8;
    if used != 0 && bytes.last().is_some_and(|last| last >> used != 0) {
        return Err(Error::rule("the bits after the last one must be 0"));
    }
    Ok(())
}

/// [`BloomFilter::capacity`] of any filter of that shape.
pub(super) fn capacity(bits: u32, hashes: u32) -> u64 {
    (f64::from(bits) / f64::from(hashes) * std::f64::consts::LN_2) as u64
}

/// [`BloomFilter::estimated_count`] of any filter of that shape, `fill` being its share of set bits.
pub(super) fn estimated_count(bits: u32, hashes: u32, fill: f64) -> f64 {
    libm::round(f64::from(bits) / f64::from(hashes) * libm::log(1.0 - fill)).abs()
}
