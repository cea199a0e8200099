//! The counting Bloom filter: a Bloom filter with small counters instead of bits, so that keys can be removed.
//! Fan, Cao, Almeida and Broder 2000, "Summary cache: a scalable wide-area web cache sharing protocol". FORMAT.md
//! section 6.2.
//!
//! A counter says how many keys have it among their positions. The positions are those of the Bloom filter with the
//! same bits, hashes and seed. If two probes of one key meet, they count once. So every key counts the same, and each
//! counter of a key is at least the number of times that the key was added.
//!
//! A counter that has reached its maximum stays there. It may stand for more keys than it can count, and counting down
//! could reach 0 while one of them is still there: a false negative. That is rare. If half of the counters are above 0,
//! their values are Poisson distributed with mean ln 2, and a counter of 4 bits reaches 15 with a chance of 1.6e-15.

use super::bloom::{self, BloomFilter, probes, require_rest};
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::payload::Payload;
use crate::hash::Hashing;
use crate::params::{optimal, power, require_shape};
use crate::vectors::zeroed;

/// A Bloom filter of `bits` counters, with `hashes` probes per key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountingBloomFilter {
    hashing: Hashing,
    bits: u32,
    hashes: u32,
    counter_bits: u32,
    /// One counter per byte; or two, the first in the low half, with 0 after the last one.
    counters: Payload,
}

impl CountingBloomFilter {
    /// An empty filter of `bits` counters (1 to 2^32 - 1) with `counter_bits` bits each (4 or 8), and `hashes`
    /// hashes (1 to 64).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] outside those ranges, [`Error::TooLarge`] if there is no memory.
    pub fn new(bits: u32, hashes: u32, counter_bits: u32, hashing: impl Into<Hashing>) -> Result<Self> {
        let filter = Self::shaped(bits, hashes, counter_bits, hashing.into())?;
        Ok(CountingBloomFilter { counters: zeroed(filter.byte_length())?.into(), ..filter })
    }

    /// An empty filter that `count` keys fill to a false-positive rate of `fpr`, sized by [`optimal`]. A counter has 4 bits,
    /// as those of a [`Builder`](crate::Builder) do, or 8. The last argument is the seed, such as 0, or a [`Hashing`].
    ///
    /// # Errors
    /// As [`optimal`] and [`CountingBloomFilter::new`].
    ///
    /// ```
    /// # use bloom_wasm::filters::CountingBloomFilter;
    /// let mut open = CountingBloomFilter::with_capacity(1_000, 0.001, 4, 0)?;
    /// open.add(b"session");
    /// assert!(open.remove(b"session"));
    /// assert!(!open.has(b"session"));
    /// # Ok::<(), bloom_wasm::Error>(())
    /// ```
    pub fn with_capacity(
        count: u64,
        fpr: f64,
        counter_bits: u32,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        let size = optimal(count, fpr)?;
        Self::new(size.bits, size.hashes, counter_bits, hashing)
    }

    /// Builds a filter from the digests of keys. Each different key is added once. The vector is sorted, and repeated
    /// digests are dropped.
    ///
    /// # Errors
    /// As [`CountingBloomFilter::with_capacity`].
    pub fn from_digests(
        digests: &mut Vec<u64>,
        fpr: f64,
        counter_bits: u32,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        sort(digests)?;
        let mut filter = Self::with_capacity(digests.len() as u64, fpr, counter_bits, hashing)?;
        for &digest in digests.iter() {
            filter.add_digest(digest);
        }
        Ok(filter)
    }

    /// A filter with its shape, still without its counters.
    pub(crate) fn shaped(bits: u32, hashes: u32, counter_bits: u32, hashing: Hashing) -> Result<Self> {
        require_shape(bits, hashes)?;
        if !matches!(counter_bits, 4 | 8) {
            return Err(Error::rule("a counter must have 4 or 8 bits"));
        }
        Ok(CountingBloomFilter { hashing, bits, hashes, counter_bits, counters: Payload::default() })
    }

    /// How many bytes the counters take.
    pub(crate) fn byte_length(&self) -> usize {
        if self.counter_bits == 4 { self.bits.div_ceil(2) as usize } else { self.bits as usize }
    }

    /// Gives the filter its counters, [`CountingBloomFilter::byte_length`] bytes of them.
    pub(crate) fn set_bytes(&mut self, counters: Payload) -> Result<()> {
        debug_assert_eq!(counters.len(), self.byte_length());
        self.counters = counters;
        require_rest(&self.counters, self.bits.wrapping_mul(self.counter_bits))
    }

    /// The number of counters (m).
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of hashes (k).
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The bits of a counter, 4 or 8.
    pub fn counter_bits(&self) -> u32 {
        self.counter_bits
    }

    /// How keys become digests.
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// The counters, one to a byte, or two, the first in the low half.
    pub fn as_bytes(&self) -> &[u8] {
        &self.counters
    }

    /// As [`BloomFilter::capacity`].
    pub fn capacity(&self) -> u64 {
        bloom::capacity(self.bits, self.hashes)
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(self.hashing.digest(key))
    }

    /// Like [`CountingBloomFilter::has`], for a key's digest under [`CountingBloomFilter::hashing`].
    pub fn has_digest(&self, digest: u64) -> bool {
        probes(digest, self.bits, self.hashes).all(|position| self.counter(position) != 0)
    }

    /// How often a key was added and not removed; other keys can make the number too high. It is the lowest of the
    /// key's counters. The largest value, 15 or 255, means "this many or more", and stays whatever is removed.
    pub fn count(&self, key: &[u8]) -> u32 {
        self.count_digest(self.hashing.digest(key))
    }

    /// Like [`CountingBloomFilter::count`], for a key's digest under [`CountingBloomFilter::hashing`].
    pub fn count_digest(&self, digest: u64) -> u32 {
        let mut least = self.max();
        for position in probes(digest, self.bits, self.hashes) {
            least = least.min(self.counter(position));
        }
        least.into()
    }

    /// Adds a key, or adds it once more. True = it was definitely not there before; false = it may have been.
    pub fn add(&mut self, key: &[u8]) -> bool {
        self.add_digest(self.hashing.digest(key))
    }

    /// Like [`CountingBloomFilter::add`], for a key's digest under [`CountingBloomFilter::hashing`].
    pub fn add_digest(&mut self, digest: u64) -> bool {
        let there = self.has_digest(digest);
        self.step(digest, 1);
        !there
    }

    /// Undoes one [`CountingBloomFilter::add`] of a key. False = it was definitely not there, and nothing is changed.
    ///
    /// Remove only what you added: removing a false positive lowers the counters of other keys, which may then become
    /// "definitely absent".
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.remove_digest(self.hashing.digest(key))
    }

    /// Like [`CountingBloomFilter::remove`], for a key's digest under [`CountingBloomFilter::hashing`].
    pub fn remove_digest(&mut self, digest: u64) -> bool {
        let there = self.has_digest(digest);
        if there {
            self.step(digest, -1);
        }
        there
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.counters.fill(0);
    }

    /// Adds every key of `other`, as often as it is there.
    ///
    /// # Errors
    /// [`Error::Incompatible`] unless bits, hashes, counter bits and seed are equal; otherwise nothing is changed.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.combine(other, true)
    }

    /// Keeps the lower of each pair of counters. Keys that were added to both filters stay, with the lower of their two
    /// counts.
    ///
    /// # Errors
    /// As [`CountingBloomFilter::union`].
    pub fn intersect(&mut self, other: &Self) -> Result<()> {
        self.combine(other, false)
    }

    /// The union, or the intersection if `union` is false.
    pub(crate) fn combine(&mut self, other: &Self, union: bool) -> Result<()> {
        let shape = |filter: &Self| (filter.bits, filter.hashes, filter.counter_bits, filter.hashing);
        if shape(self) != shape(other) {
            return Err(Error::Incompatible);
        }
        // The first counter of a byte has the bits of `max`. The second has the other bits; with 8-bit counters there
        // are none. A second counter that overflows makes all bits 1, and the mask keeps its own.
        let max = self.max();
        for (byte, &other) in self.counters.iter_mut().zip(other.counters.iter()) {
            let both = |mask: u8| match union {
                true => (*byte & mask).saturating_add(other & mask),
                false => (*byte & mask).min(other & mask),
            };
            *byte = both(max).min(max) | both(!max) & !max;
        }
        Ok(())
    }

    /// The Bloom filter of the same keys, for clients that never remove any. A bit is set where the counter isn't 0.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if there is no memory.
    pub fn to_bloom(&self) -> Result<BloomFilter> {
        let mut bytes = zeroed(self.bits.div_ceil(8) as usize)?;
        for (byte, first) in bytes.iter_mut().zip((0..self.bits).step_by(8)) {
            for bit in 0..8.min(self.bits - first) {
                *byte |= u8::from(self.counter(first + bit) != 0) << bit;
            }
        }
        let mut bloom = BloomFilter::shaped(self.bits, self.hashes, self.hashing)?;
        bloom.set_bytes(bytes.into())?;
        Ok(bloom)
    }

    /// As [`BloomFilter::estimated_fpr`].
    pub fn estimated_fpr(&self) -> f64 {
        power(self.fill(), self.hashes.into())
    }

    /// As [`BloomFilter::estimated_count`]; a key that was added twice counts once.
    pub fn estimated_count(&self) -> f64 {
        bloom::estimated_count(self.bits, self.hashes, self.fill())
    }

    /// The share of counters that aren't 0. Not inlined: wasm has two callers.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn fill(&self) -> f64 {
        let max = self.max();
        let used = |byte: u8| u64::from(byte & max != 0) + u64::from(byte & !max != 0);
        let used: u64 = self.counters.iter().map(|&byte| used(byte)).sum();
        used as f64 / f64::from(self.bits)
    }

    /// The largest value of a counter, and the mask of the first one in a byte.
    fn max(&self) -> u8 {
        if self.counter_bits == 4 { 15 } else { 255 }
    }

    /// The byte that a counter is in, and the bit at which it begins there.
    #[inline]
    fn place(&self, position: u32) -> (usize, u32) {
        let halves = u32::from(self.counter_bits == 4);
        ((position >> halves) as usize, (position & halves) * 4)
    }

    fn counter(&self, position: u32) -> u8 {
        let (byte, shift) = self.place(position);
        debug_assert!(byte < self.counters.len(), "a decoded filter has all of its counters");
        self.counters.get(byte).map_or(0, |byte| byte >> shift & self.max())
    }

    /// Adds 1 or -1 to each counter of a key, except those at the maximum. With -1, none of them is 0.
    fn step(&mut self, digest: u64, step: i8) {
        for (i, position) in probes(digest, self.bits, self.hashes).enumerate() {
            let seen = probes(digest, self.bits, self.hashes).take(i).any(|before| before == position);
            let (byte, shift) = self.place(position);
            if !seen
                && self.counter(position) != self.max()
                && let Some(byte) = self.counters.get_mut(byte)
            {
                *byte = byte.wrapping_add_signed(step << shift);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_of_a_byte_after_the_last_counter_is_0() {
        for (bits, last, is_legal) in [(3, 0x0f, true), (3, 0x10, false), (4, 0xff, true)] {
            let mut filter = CountingBloomFilter::shaped(bits, 1, 4, 9.into()).unwrap();
            assert_eq!(filter.set_bytes(vec![0xff, last].into()).is_ok(), is_legal, "{bits} {last:x}");
        }
    }
}
