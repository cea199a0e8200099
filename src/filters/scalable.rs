//! The scalable Bloom filter: keeps its rate without knowing the number of keys. Almeida, Baquero, Preguiça and
//! Hutchison 2007, "Scalable Bloom filters". FORMAT.md section 6.3.
//!
//! It is a list of Bloom filters, its slices. Keys go to the newest; when that is full, a new one is begun, for s times
//! as many keys and with r times the rate. A stranger passes if any slice lets it pass. With p_i = 0.97 fpr (1 - r) r^i
//! the chance of that is at most 1.03 (p_0 + p_1 + …) < fpr, however many slices there are.
//!
//! All slices look at the same digest, so a key's positions in one are about proportional to those in another. That is
//! harmless, since no key is in two slices, and so the bits that the positions meet there come from different keys. The
//! slices let a stranger pass as if they were independent; measured, 0.3 % more often at an fpr of 0.1, and less
//! below.

use alloc::vec::Vec;

use super::bloom::BloomFilter;
use crate::error::{Error, Result, reserve};
use crate::hash::{digest, sort};
use crate::params::{Optimal, check_rate, optimal, power};

/// The largest number of slices. A stranger is looked up in each.
const MAX_SLICES: u32 = 255;

/// [`optimal`] rounds the number of hashes, by which a slice can miss its rate; by less than 3 %.
const ROUNDING: f64 = 0.97;

/// A Bloom filter that grows.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalableBloomFilter {
    seed: u64,
    plan: Plan,
    /// At least one; all but the newest, which is the last, are full.
    slices: Vec<Slice>,
}

#[derive(Debug, Clone, PartialEq)]
struct Slice {
    filter: BloomFilter,
    /// Keys that were added.
    count: u64,
    /// The count at which it is full.
    capacity: u64,
}

/// What the size of every slice follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// Keys in the first slice, at least 1.
    pub(crate) initial_capacity: u32,
    /// The rate of all slices together.
    pub(crate) fpr: f64,
    /// How many times as many keys the next slice holds (s), 1 to 16.
    pub(crate) growth: u32,
    /// The next slice's rate over that of the one before (r), between 0 and 1.
    pub(crate) tightening: f64,
}

impl Plan {
    /// The capacity and the size of slice `i`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for numbers outside their ranges, and for a slice whose rate 64-bit digests can't
    /// give; [`Error::TooLarge`] for a slice of more than 2^32 - 1 bits.
    pub(crate) fn slice(&self, i: u32) -> Result<(u64, Optimal)> {
        check_rate(self.initial_capacity.into(), self.fpr)?;
        check(self.initial_capacity > 0, "the initial capacity must be at least 1")?;
        check(matches!(self.growth, 1..=16), "growth must be a whole number from 1 to 16")?;
        let proper = self.tightening > 0.0 && self.tightening < 1.0;
        check(proper, "tightening must be a number above 0 and below 1")?;
        check(i < MAX_SLICES, "a scalable filter must have 1 to 255 slices")?;
        let capacity = (f64::from(self.initial_capacity) * power(self.growth.into(), i)) as u64;
        let fpr = ROUNDING * self.fpr * (1.0 - self.tightening) * power(self.tightening, i);
        Ok((capacity, optimal(capacity, fpr)?))
    }
}

impl ScalableBloomFilter {
    /// An empty filter whose first slice holds `initial_capacity` keys, and each next one `growth` (1 to 16) times as
    /// many as the one before at `tightening` (between 0 and 1) times its rate.
    ///
    /// The rate stays at `fpr` with any of these; they choose between memory and the number of slices, which takes
    /// time. 2 is a good growth. A tightening near 1 takes more bits for the first slices and fewer for the later: 0.5
    /// suits up to a few times the initial capacity, 0.8 any more. With a growth of 1 take 0.9: thirty or forty halvings
    /// bring a rate below what 64-bit digests can give.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] outside those ranges, otherwise as [`BloomFilter::with_capacity`] for the first
    /// slice, which has a rate of `0.97 * fpr * (1 - tightening)`.
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
    pub fn new(initial_capacity: u32, fpr: f64, growth: u32, tightening: f64, seed: u64) -> Result<Self> {
        let mut filter = ScalableBloomFilter {
            seed,
            plan: Plan { initial_capacity, fpr, growth, tightening },
            slices: Vec::new(),
        };
        filter.grow()?;
        Ok(filter)
    }

    /// The filter of the keys with these digests, added in ascending order. They are sorted.
    ///
    /// # Errors
    /// As [`ScalableBloomFilter::new`] and [`ScalableBloomFilter::add`].
    pub fn from_digests(
        digests: &mut Vec<u64>,
        initial_capacity: u32,
        fpr: f64,
        growth: u32,
        tightening: f64,
        seed: u64,
    ) -> Result<Self> {
        let mut filter = Self::new(initial_capacity, fpr, growth, tightening, seed)?;
        sort(digests)?;
        for &digest in digests.iter() {
            filter.add_digest(digest)?;
        }
        Ok(filter)
    }

    /// A filter from its stored parts: the count and the bytes of each slice. The caller has made sure that the bytes
    /// are as many as [`Plan::slice`] says.
    pub(crate) fn from_parts(seed: u64, plan: Plan, parts: Vec<(u64, Vec<u8>)>) -> Result<Self> {
        let mut slices: Vec<Slice> = Vec::new();
        reserve(&mut slices, parts.len())?;
        for (i, (count, bytes)) in (0..).zip(parts) {
            let (capacity, size) = plan.slice(i)?;
            let in_turn = slices.last().is_none_or(|before| before.count == before.capacity && count > 0);
            check(in_turn, "a slice must be full before there is a key in the next")?;
            check(count <= capacity, "a slice must not hold more keys than its capacity")?;
            let filter = BloomFilter::from_parts(seed, size.bits, size.hashes, bytes)?;
            slices.push(Slice { filter, count, capacity });
        }
        check(!slices.is_empty(), "a scalable filter must have 1 to 255 slices")?;
        Ok(ScalableBloomFilter { seed, plan, slices })
    }

    /// The seed of the digests.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The capacity of the first slice.
    pub fn initial_capacity(&self) -> u32 {
        self.plan.initial_capacity
    }

    /// The rate that all slices together stay below.
    pub fn fpr(&self) -> f64 {
        self.plan.fpr
    }

    /// How many times as many keys each slice holds as the one before.
    pub fn growth(&self) -> u32 {
        self.plan.growth
    }

    /// Each slice's rate over that of the one before.
    pub fn tightening(&self) -> f64 {
        self.plan.tightening
    }

    /// The slices, the oldest first, with the number of keys that each holds.
    pub fn slices(&self) -> impl ExactSizeIterator<Item = (&BloomFilter, u64)> {
        self.slices.iter().map(|slice| (&slice.filter, slice.count))
    }

    /// The number of bits of all slices.
    pub fn bits(&self) -> u64 {
        self.slices().map(|(filter, _)| u64::from(filter.bits())).sum()
    }

    /// How many keys were added that were definitely not there before. Some new ones, a share of about
    /// `fpr` at most, are taken for old ones and not counted.
    pub fn count(&self) -> u64 {
        self.slices().map(|(_, count)| count).sum()
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(digest(self.seed, key))
    }

    /// As [`ScalableBloomFilter::has`], for a key's digest under this filter's seed.
    pub fn has_digest(&self, digest: u64) -> bool {
        // The newest first: with a growth of 2 it holds half of the keys.
        self.slices.iter().rev().any(|slice| slice.filter.has_digest(digest))
    }

    /// Adds a key. True = it was definitely not there before; false = it may have been, and nothing is changed.
    ///
    /// # Errors
    /// When a new slice is due, and the filter is unchanged: [`Error::TooLarge`] if it can't have so many bits,
    /// [`Error::FilterFull`] if there are 255 or if 64-bit digests can't give its rate.
    pub fn add(&mut self, key: &[u8]) -> Result<bool> {
        self.add_digest(digest(self.seed, key))
    }

    /// As [`ScalableBloomFilter::add`], for a key's digest under this filter's seed.
    pub fn add_digest(&mut self, digest: u64) -> Result<bool> {
        if self.has_digest(digest) {
            return Ok(false);
        }
        if self.slices.last().is_none_or(|slice| slice.count == slice.capacity) {
            self.grow()?;
        }
        if let Some(slice) = self.slices.last_mut() {
            slice.filter.add_digest(digest);
            slice.count += 1;
        }
        Ok(true)
    }

    /// Begins a slice.
    fn grow(&mut self) -> Result<()> {
        let old = self.slices.len();
        let (capacity, size) = self.plan.slice(old as u32).map_err(|error| match error {
            // The parameters were right for the slices that are there.
            Error::InvalidParameter { .. } if old > 0 => Error::FilterFull { count: self.count() },
            _ => error,
        })?;
        let filter = BloomFilter::new(size.bits, size.hashes, self.seed)?;
        reserve(&mut self.slices, old + 1)?;
        self.slices.push(Slice { filter, count: 0, capacity });
        Ok(())
    }

    /// Forgets every key, and is as small as at first.
    pub fn clear(&mut self) {
        self.slices.truncate(1);
        for slice in &mut self.slices {
            slice.filter.clear();
            slice.count = 0;
        }
    }

    /// The chance that a key which was never added is "maybe present": that not every slice says no.
    pub fn estimated_fpr(&self) -> f64 {
        // 1 - (1 - a)(1 - b) = a + (1 - a) b, which keeps the digits of small rates.
        self.slices().map(|(filter, _)| filter.estimated_fpr()).fold(0.0, |any, fpr| any + (1.0 - any) * fpr)
    }
}

fn check(holds: bool, rule: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::InvalidParameter { rule }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { initial_capacity: 10, fpr: 0.01, growth: 3, tightening: 0.5 };

    fn parts(filter: &ScalableBloomFilter) -> Vec<(u64, Vec<u8>)> {
        let part = |(slice, count): (&BloomFilter, u64)| (count, slice.as_bytes().to_vec());
        filter.slices().map(part).collect()
    }

    fn filled(keys: u32) -> ScalableBloomFilter {
        let mut filter = ScalableBloomFilter::new(10, 0.01, 3, 0.5, 7).unwrap();
        for key in 0..keys {
            filter.add(&key.to_le_bytes()).unwrap();
        }
        filter
    }

    #[test]
    fn parts_round_trip() {
        for keys in [0, 1, 9, 10, 11, 41, 300] {
            let filter = filled(keys);
            assert_eq!(ScalableBloomFilter::from_parts(7, PLAN, parts(&filter)), Ok(filter));
        }
    }

    type Parts = Vec<(u64, Vec<u8>)>;

    #[test]
    fn hostile_parts() {
        let good = parts(&filled(45));
        assert_eq!(good.iter().map(|part| part.0).collect::<Vec<_>>(), [10, 30, 5]);
        let refused = |change: &dyn Fn(&mut Parts)| {
            let mut parts = good.clone();
            change(&mut parts);
            ScalableBloomFilter::from_parts(7, PLAN, parts).unwrap_err().code() == "invalid_parameter"
        };
        assert!(refused(&|parts| parts.clear()));
        assert!(refused(&|parts| parts[0].0 = 9));
        assert!(refused(&|parts| parts[0].0 = 11));
        assert!(refused(&|parts| parts[1].0 = 0));
        assert!(refused(&|parts| parts[2].0 = 0));
        assert!(refused(&|parts| parts[2].0 = 91));
        assert!(refused(&|parts| parts[2].0 = u64::MAX));
        assert!(refused(&|parts| *parts[2].1.last_mut().unwrap() |= 0x80));
        assert!(!refused_plan(PLAN, &good));
        for plan in [
            Plan { initial_capacity: 0, ..PLAN },
            Plan { fpr: 1.0, ..PLAN },
            Plan { fpr: f64::NAN, ..PLAN },
            Plan { growth: 0, ..PLAN },
            Plan { growth: 17, ..PLAN },
            Plan { tightening: 0.0, ..PLAN },
            Plan { tightening: 1.0, ..PLAN },
            Plan { tightening: f64::NAN, ..PLAN },
        ] {
            assert!(refused_plan(plan, &good), "{plan:?}");
        }
    }

    fn refused_plan(plan: Plan, parts: &[(u64, Vec<u8>)]) -> bool {
        ScalableBloomFilter::from_parts(7, plan, parts.to_vec())
            .is_err_and(|error| error.code() == "invalid_parameter")
    }

    /// The last slice that there can be, and what stands in the way of the next.
    #[test]
    fn the_end_of_growth() {
        let ends = |initial_capacity, fpr, growth, tightening| {
            let plan = Plan { initial_capacity, fpr, growth, tightening };
            let (i, error) = (0..).find_map(|i| plan.slice(i).err().map(|error| (i, error))).unwrap();
            (i, error.code())
        };
        assert_eq!(ends(1, 0.5, 1, 0.99), (255, "invalid_parameter"));
        assert_eq!(ends(1000, 0.01, 1, 0.5), (40, "invalid_parameter"));
        assert_eq!(ends(1000, 0.01, 2, 0.5), (17, "too_large"));
        assert_eq!(ends(u32::MAX, 0.01, 1, 0.5), (0, "too_large"));
        assert_eq!(ends(1, 0.01, 1, f64::MIN_POSITIVE), (1, "invalid_parameter"));
        for i in [16, 64, 254, u32::MAX] {
            assert!(Plan { growth: 16, ..PLAN }.slice(i).is_err());
        }
    }

    /// However many slices there are, they stay below the target together.
    #[test]
    fn rates_add_up() {
        for tightening in [0.1, 0.5, 0.8, 0.9] {
            for fpr in [0.9, 0.5, 0.1, 0.02, 0.01, 1e-3, 1e-4, 1e-6] {
                let plan = Plan { initial_capacity: 1_000_000, fpr, growth: 1, tightening };
                let passes = |(count, size): (u64, Optimal)| {
                    1.0 - crate::params::fpr_for(count, size.bits, size.hashes).unwrap()
                };
                let none: f64 = (0..255).map_while(|i| plan.slice(i).ok()).map(passes).product();
                assert!(1.0 - none < fpr, "{} for {fpr}, {tightening}", 1.0 - none);
            }
        }
    }
}
