//! The scalable Bloom filter: keeps its rate without knowing the number of keys. Almeida, Baquero, Preguiça and
//! Hutchison 2007, "Scalable Bloom filters". FORMAT.md section 6.3.
//!
//! It is a list of Bloom filters, called slices. Keys go into the newest slice. When it is full, a new slice is
//! started, for s times as many keys and with r times the rate. An absent key is a false positive if it is one in any
//! slice. With p_i = 0.9 fpr (1 - r) r^i the chance of that is below p_0 + p_1 + … < 0.9 fpr, however many slices there
//! are.
//!
//! All slices use the same digest, so a key's positions in one slice are roughly proportional to those in another. That
//! is harmless: no key is in two slices, so the bits at these positions come from different keys. False positives are
//! about as frequent as with independent slices: measured, 0.3 % more at an fpr of 0.1, and less below.

use super::bloom;
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::payload::Payload;
use crate::hash::Hashing;
use crate::params::{bits_per_key, power, require_rate, sized};
use crate::vectors::{copied, push};

/// The largest number of slices. An absent key is looked up in each of them.
const MAX_SLICES: usize = 255;

/// The share of the target rate that the slices get. [`sized`] rounds the number of hashes, so a slice can miss its
/// rate by 3 %. The fill of a slice of a thousand keys varies by a few percent more.
const SHARE: f64 = 0.9;

/// The fewest keys that a slice is sized for. For a handful of keys, the rate is up to four times what [`sized`] says;
/// from this number on, it is at most 4 % more, down to an fpr of 1e-12.
const LEAST: u64 = 100;

/// A Bloom filter that grows.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalableBloomFilter {
    hashing: Hashing,
    plan: Plan,
    /// Keys that were added.
    count: u64,
    /// At least one. The last one is the newest; all others are full.
    slices: Vec<Slice>,
    /// The slices' bits, one slice after another.
    bytes: Payload,
}

/// A Bloom filter within the bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slice {
    bits: u32,
    hashes: u32,
    /// Where its bytes begin and end.
    start: usize,
    end: usize,
    /// The slice is full when it and all slices before hold this many keys.
    full: u64,
}

/// The parameters that determine the size of every slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// Keys in the first slice, at least 1.
    pub(crate) initial_capacity: u32,
    /// The rate of all slices together.
    pub(crate) fpr: f64,
    /// Each slice holds this many times the keys of the one before (s), 1 to 16.
    pub(crate) growth: u32,
    /// Each slice's rate is this many times that of the one before (r), between 0 and 1.
    pub(crate) tightening: f64,
}

impl Plan {
    /// The slice that comes after these.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for numbers out of range, and for a slice with a rate that 64-bit digests can't
    /// give; [`Error::TooLarge`] for a slice of more than 2^32 - 1 bits.
    fn next(&self, slices: &[Slice]) -> Result<Slice> {
        require_rate(self.initial_capacity.into(), self.fpr)?;
        Error::unless(self.initial_capacity > 0, "the initial capacity must be at least 1")?;
        Error::unless(matches!(self.growth, 1..=16), "growth must be a whole number from 1 to 16")?;
        let proper = self.tightening > 0.0 && self.tightening < 1.0;
        Error::unless(proper, "tightening must be a number above 0 and below 1")?;
        Error::unless(slices.len() < MAX_SLICES, "a scalable filter must have at most 255 slices")?;
        // Multiplied from the left, so that every reader rounds at the same places.
        let power = |base: f64| slices.iter().fold(1.0, |product, _| product * base);
        let capacity = (f64::from(self.initial_capacity) * power(self.growth.into())) as u64;
        let fpr = SHARE * self.fpr * (1.0 - self.tightening) * power(self.tightening);
        require_rate(capacity, fpr)?;
        // Readers whose logarithms differ in the last bit agree after rounding.
        let size = sized(capacity.max(LEAST), libm::ceil(1024.0 * bits_per_key(fpr)) / 1024.0)?;
        let (start, full) = slices.last().map_or((0, 0), |slice| (slice.end, slice.full));
        // At most 255 slices of fewer than 2^32 bits: the sums can overflow only with 32-bit addresses.
        let end =
            start.checked_add(size.bytes as usize).ok_or(Error::TooLarge { bytes: size.bytes.into() })?;
        Ok(Slice { bits: size.bits, hashes: size.hashes, start, end, full: full + capacity })
    }
}

impl ScalableBloomFilter {
    /// An empty filter. The first slice holds `initial_capacity` keys. Each further slice holds `growth` (1 to 16)
    /// times the keys of the one before, at `tightening` (between 0 and 1) times its rate. The last argument is the seed, such
    /// as 0, or a [`Hashing`].
    ///
    /// With any of these, the rate stays below `fpr`. They trade memory for the number of slices, and thus for time. A
    /// growth of 2 is good. A tightening near 1 takes more bits for the first slices and fewer for the later ones: 0.5
    /// is good up to a few times the initial capacity, and 0.8 beyond that. With a growth of 1, use 0.9: after thirty
    /// or forty halvings a rate is too low for 64-bit digests.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] outside those ranges, otherwise as
    /// [`BloomFilter::with_capacity`](super::BloomFilter::with_capacity) for the first slice, which has a rate of
    /// `0.9 * fpr * (1 - tightening)`.
    ///
    /// ```
    /// # use bloom_wasm::filters::ScalableBloomFilter;
    /// let mut seen = ScalableBloomFilter::new(100, 0.01, 2, 0.8, 0)?;
    /// for i in 0..100_000_u32 {
    ///     seen.add(&i.to_le_bytes())?;
    /// }
    /// assert!(seen.estimated_fpr() < 0.01);
    /// # Ok::<(), bloom_wasm::Error>(())
    /// ```
    pub fn new(
        initial_capacity: u32,
        fpr: f64,
        growth: u32,
        tightening: f64,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        let plan = Plan { initial_capacity, fpr, growth, tightening };
        let mut filter = Self::shaped(plan, 0, hashing.into())?;
        filter.make_room()?;
        Ok(filter)
    }

    /// Builds a filter from the digests of keys, added in ascending order. The vector is sorted, and repeated digests
    /// are dropped.
    ///
    /// # Errors
    /// As [`ScalableBloomFilter::new`] and [`ScalableBloomFilter::add`].
    pub fn from_digests(
        digests: &mut Vec<u64>,
        initial_capacity: u32,
        fpr: f64,
        growth: u32,
        tightening: f64,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        let mut filter = Self::new(initial_capacity, fpr, growth, tightening, hashing)?;
        sort(digests)?;
        filter.add_digests(digests)?;
        Ok(filter)
    }

    /// A filter of `count` keys with its shape, still without its bytes.
    pub(crate) fn shaped(plan: Plan, count: u64, hashing: Hashing) -> Result<Self> {
        let mut filter =
            ScalableBloomFilter { hashing, plan, count, slices: Vec::new(), bytes: Payload::default() };
        filter.push_slice()?;
        while filter.slices.last().is_some_and(|slice| slice.full < count) {
            filter.push_slice()?;
        }
        Ok(filter)
    }

    fn push_slice(&mut self) -> Result<()> {
        let slice = self.plan.next(&self.slices)?;
        push(&mut self.slices, slice)
    }

    /// How many bytes the slices take.
    pub(crate) fn byte_length(&self) -> usize {
        self.slices.last().map_or(0, |slice| slice.end)
    }

    /// Gives the filter its bytes, [`ScalableBloomFilter::byte_length`] of them.
    pub(crate) fn set_bytes(&mut self, bytes: Payload) -> Result<()> {
        debug_assert_eq!(bytes.len(), self.byte_length());
        self.bytes = bytes;
        self.slices().try_for_each(|(slice, bytes)| bloom::require_rest(bytes, slice.bits))
    }

    /// How keys become digests.
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    pub(crate) fn plan(&self) -> Plan {
        self.plan
    }

    /// The capacity of the first slice.
    pub fn initial_capacity(&self) -> u32 {
        self.plan.initial_capacity
    }

    /// The rate that all slices together stay below.
    pub fn fpr(&self) -> f64 {
        self.plan.fpr
    }

    /// Each slice holds this many times the keys of the one before.
    pub fn growth(&self) -> u32 {
        self.plan.growth
    }

    /// Each slice's rate is this many times that of the one before.
    pub fn tightening(&self) -> f64 {
        self.plan.tightening
    }

    /// The slices' bits, the oldest slice first, each in whole bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bits (m) and hashes (k) of each slice, the oldest first.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.slices.iter().map(|slice| (slice.bits, slice.hashes))
    }

    fn slices(&self) -> impl DoubleEndedIterator<Item = (&Slice, &[u8])> {
        self.slices.iter().map(|slice| (slice, &self.bytes[slice.start..slice.end]))
    }

    /// The number of bits of all slices.
    pub fn bits(&self) -> u64 {
        self.shapes().map(|(bits, _)| u64::from(bits)).sum()
    }

    /// How many keys were added that were definitely not there before. Some new keys, at most about a share of `fpr`,
    /// look as if they were there already and are not counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(self.hashing.digest(key))
    }

    /// Like [`ScalableBloomFilter::has`], for a key's digest under [`ScalableBloomFilter::hashing`].
    pub fn has_digest(&self, digest: u64) -> bool {
        // The newest first: with a growth of 2 it holds half of the keys.
        self.slices().rev().any(|(slice, bytes)| bloom::has(bytes, slice.bits, slice.hashes, digest))
    }

    /// Adds a key. True = it was definitely not there before; false = it may have been, and nothing is changed.
    ///
    /// # Errors
    /// If a new slice is needed: [`Error::TooLarge`] if the slice would have too many bits, [`Error::FilterFull`] if
    /// there are 255 slices or if 64-bit digests can't give its rate. The filter is then unchanged.
    pub fn add(&mut self, key: &[u8]) -> Result<bool> {
        self.add_digest(self.hashing.digest(key))
    }

    /// Like [`ScalableBloomFilter::add`], for a key's digest under [`ScalableBloomFilter::hashing`].
    pub fn add_digest(&mut self, digest: u64) -> Result<bool> {
        if self.has_digest(digest) {
            return Ok(false);
        }
        if self.slices.last().is_none_or(|slice| slice.full == self.count) {
            self.grow()?;
        }
        if let Some(slice) = self.slices.last()
            && let Some(bytes) = self.bytes.get_mut(slice.start..slice.end)
        {
            bloom::add(bytes, slice.bits, slice.hashes, digest);
            self.count += 1;
        }
        Ok(true)
    }

    /// Adds keys, given by their digests under this filter's hashing. Returns how many were definitely not there.
    ///
    /// # Errors
    /// As [`ScalableBloomFilter::add`]; none is added then.
    pub fn add_digests(&mut self, digests: &[u64]) -> Result<usize> {
        let (before, slices) = (self.count, self.slices.len());
        let newest = *self.slices.last().ok_or(Error::rule("a scalable filter has at least one slice"))?;
        // A copy of all that can change if the filter grows midway and then can't grow further.
        let mut copy = Vec::new();
        if newest.full - before < digests.len() as u64 {
            copy = copied(&self.bytes[newest.start..])?;
        }
        let added = digests.iter().try_for_each(|&digest| self.add_digest(digest).map(drop));
        if added.is_err() {
            self.count = before;
            self.slices.truncate(slices);
            self.make_room()?;
            let changed = &mut self.bytes[newest.start..];
            changed.iter_mut().zip(copy).for_each(|(byte, before)| *byte = before);
        }
        added.map(|()| (self.count - before) as usize)
    }

    /// Starts a slice.
    fn grow(&mut self) -> Result<()> {
        self.push_slice().map_err(|error| match error {
            // The parameters were valid for the existing slices.
            Error::InvalidParameter { .. } => Error::FilterFull { count: self.count },
            _ => error,
        })?;
        self.make_room().inspect_err(|_| self.slices.truncate(self.slices.len() - 1))
    }

    /// Gives the slices all bytes that they need; new ones are 0.
    fn make_room(&mut self) -> Result<()> {
        self.bytes.resize(self.byte_length())
    }

    /// Removes all keys, and all slices except the first.
    pub fn clear(&mut self) {
        self.count = 0;
        self.slices.truncate(1);
        let shorter = self.make_room();
        debug_assert!(shorter.is_ok(), "shrinking takes no memory");
        self.bytes.fill(0);
    }

    /// The chance that a key which was never added is "maybe present", that is, in at least one slice.
    pub fn estimated_fpr(&self) -> f64 {
        // 1 - (1 - a)(1 - b) = a + (1 - a) b, which keeps the digits of small rates.
        self.slices()
            .map(|(slice, bytes)| power(bloom::fill(bytes, slice.bits), slice.hashes.into()))
            .fold(0.0, |any, fpr| any + (1.0 - any) * fpr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All slices that a plan can have, and why there can't be another.
    fn all(plan: Plan) -> (Vec<Slice>, Error) {
        let mut slices = Vec::new();
        loop {
            match plan.next(&slices) {
                Ok(slice) => slices.push(slice),
                Err(error) => return (slices, error),
            }
        }
    }

    #[test]
    fn the_end_of_growth() {
        let ends = |initial_capacity, fpr, growth, tightening| {
            let (slices, error) = all(Plan { initial_capacity, fpr, growth, tightening });
            (slices.len(), error.code())
        };
        assert_eq!(ends(1, 0.5, 1, 0.99), (255, "invalid_parameter"));
        assert_eq!(ends(1000, 0.01, 1, 0.5), (40, "invalid_parameter"));
        assert_eq!(ends(1000, 0.01, 2, 0.5), (17, "too_large"));
        assert_eq!(ends(u32::MAX, 0.01, 1, 0.5), (0, "too_large"));
        assert_eq!(ends(1, 0.01, 1, f64::MIN_POSITIVE), (1, "invalid_parameter"));
    }

    /// However many slices there are, they stay below the target together.
    #[test]
    fn rates_add_up() {
        for tightening in [0.1, 0.5, 0.8, 0.9] {
            for fpr in [0.9, 0.5, 0.1, 0.02, 0.01, 1e-3, 1e-4, 1e-6] {
                let plan = Plan { initial_capacity: 1_000_000, fpr, growth: 1, tightening };
                let passes =
                    |slice: Slice| 1.0 - crate::params::fpr_for(1_000_000, slice.bits, slice.hashes).unwrap();
                let none: f64 = all(plan).0.into_iter().map(passes).product();
                assert!(1.0 - none < 0.94 * fpr, "{} for {fpr}, {tightening}", 1.0 - none);
            }
        }
    }
}
