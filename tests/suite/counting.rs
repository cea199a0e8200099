//! The counting Bloom filter against a naive one with a map of counters, and against the Bloom filter of the keys that
//! are left.

use std::collections::{HashMap, HashSet};

use bloom_wasm::filters::{BloomFilter, CountingBloomFilter};
use bloom_wasm::hash::digest;
use proptest::prelude::*;

use crate::naive;

/// The filter as FORMAT.md describes it, with wide arithmetic.
struct Naive {
    seed: u64,
    bits: u128,
    hashes: u32,
    max: u32,
    counters: HashMap<u128, u32>,
}

impl Naive {
    fn positions(&self, key: u8) -> HashSet<u128> {
        naive::positions(digest(self.seed, &[key]), self.bits, self.hashes).into_iter().collect()
    }

    fn counter(&self, position: u128) -> u32 {
        self.counters.get(&position).copied().unwrap_or(0)
    }

    fn count(&self, key: u8) -> u32 {
        self.positions(key).into_iter().map(|position| self.counter(position)).min().unwrap()
    }

    fn add(&mut self, key: u8) {
        for position in self.positions(key) {
            let counter = self.counters.entry(position).or_default();
            *counter = self.max.min(*counter + 1);
        }
    }

    fn remove(&mut self, key: u8) {
        if self.count(key) == 0 {
            return;
        }
        for position in self.positions(key) {
            let counter = self.counters.get_mut(&position).unwrap();
            if *counter < self.max {
                *counter -= 1;
            }
        }
    }

    fn bytes(&self, counter_bits: u32) -> Vec<u8> {
        let mut bytes = vec![0; (self.bits as usize * counter_bits as usize).div_ceil(8)];
        for (&position, &counter) in &self.counters {
            match (counter_bits, position % 2) {
                (4, 0) => bytes[position as usize / 2] += counter as u8,
                (4, _) => bytes[position as usize / 2] += 16 * counter as u8,
                _ => bytes[position as usize] = counter as u8,
            }
        }
        bytes
    }
}

/// Few bits, so that keys meet and counters saturate, or enough of them.
fn shapes() -> impl Strategy<Value = (u32, u32, u32)> {
    let bits = prop_oneof![1..20_u32, 1..3000_u32];
    let hashes = prop_oneof![1..8_u32, 1..=64_u32];
    (bits, hashes, prop_oneof![Just(4_u32), Just(8_u32)])
}

fn of(keys: &[u8], (bits, hashes, counter_bits): (u32, u32, u32)) -> CountingBloomFilter {
    let mut filter = CountingBloomFilter::new(bits, hashes, counter_bits, 7).unwrap();
    for &key in keys {
        filter.add(&[key]);
    }
    filter
}

proptest! {
    /// Any keys added and removed, also ones that were never there, many times over.
    #[test]
    fn agrees_with_a_naive_filter(
        (bits, hashes, counter_bits) in shapes(),
        seed: u64,
        steps in prop::collection::vec((0..8_u8, -40..=40_i32), 1..30),
    ) {
        let mut filter = CountingBloomFilter::new(bits, hashes, counter_bits, seed).unwrap();
        let max = if counter_bits == 4 { 15 } else { 255 };
        let mut naive = Naive { seed, bits: bits.into(), hashes, max, counters: HashMap::new() };
        for (key, times) in steps {
            for _ in 0..times.abs() {
                let there = naive.count(key) != 0;
                if times > 0 {
                    naive.add(key);
                    prop_assert_eq!(filter.add(&[key]), !there);
                } else {
                    naive.remove(key);
                    prop_assert_eq!(filter.remove(&[key]), there);
                }
            }
            for key in 0..10 {
                prop_assert_eq!(filter.count(&[key]), naive.count(key));
                prop_assert_eq!(filter.has(&[key]), naive.count(key) != 0);
            }
        }
        prop_assert_eq!(filter.as_bytes(), naive.bytes(counter_bits));
        let fill = naive.counters.values().filter(|&&counter| counter != 0).count() as f64 / f64::from(bits);
        prop_assert!((filter.estimated_fpr() - fill.powi(hashes as i32)).abs() < 1e-12);
        filter.clear();
        prop_assert_eq!(filter, CountingBloomFilter::new(bits, hashes, counter_bits, seed).unwrap());
    }

    /// Fewer keys than make a counter saturate: nothing is lost, and nothing stays.
    #[test]
    fn what_is_left_is_the_bloom_filter_of_what_was_not_removed(
        (bits, hashes, counter_bits) in shapes(),
        keys in prop::collection::vec((0..20_u8, any::<bool>()), 0..15),
    ) {
        let (removed, left): (Vec<_>, Vec<_>) = keys.iter().partition(|(_, remove)| *remove);
        let mut filter = of(&keys.iter().map(|(key, _)| *key).collect::<Vec<_>>(), (bits, hashes, counter_bits));
        for &(key, _) in removed {
            prop_assert!(filter.remove(&[key]));
        }
        let mut bloom = BloomFilter::new(bits, hashes, 7).unwrap();
        for (key, _) in &left {
            bloom.add(&[*key]);
            let times = left.iter().filter(|other| other.0 == *key).count();
            prop_assert!(filter.count(&[*key]) as usize >= times);
        }
        prop_assert_eq!(filter.to_bloom().unwrap(), bloom);
        let left: Vec<_> = left.iter().map(|(key, _)| *key).collect();
        prop_assert_eq!(filter, of(&left, (bits, hashes, counter_bits)));
    }

    /// Enough keys to saturate most counters.
    #[test]
    fn no_false_negative_after_saturation(
        (bits, hashes, counter_bits) in shapes(),
        keys in prop::collection::vec((any::<u8>(), any::<bool>()), 0..600),
    ) {
        let mut filter = of(&keys.iter().map(|(key, _)| *key).collect::<Vec<_>>(), (bits, hashes, counter_bits));
        for &(key, _) in keys.iter().filter(|(_, remove)| *remove) {
            prop_assert!(filter.remove(&[key]));
        }
        for &(key, _) in keys.iter().filter(|(_, remove)| !remove) {
            prop_assert!(filter.has(&[key]));
        }
    }

    #[test]
    fn union_is_the_filter_of_both_lists(
        shape in shapes(),
        a in prop::collection::vec(any::<u8>(), 0..300),
        b in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut union = of(&a, shape);
        union.union(&of(&b, shape)).unwrap();
        prop_assert_eq!(union, of(&[a, b].concat(), shape));
    }

    /// The lower one of each pair of counters, found by unpacking them; so no key that both hold is lost.
    #[test]
    fn intersection_keeps_the_lesser_counters(
        shape in shapes(),
        a in prop::collection::vec(any::<u8>(), 0..300),
        b in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let counters = |filter: &CountingBloomFilter| {
            let halves = |byte: &u8| [byte & 15, byte >> 4];
            match filter.counter_bits() {
                4 => filter.as_bytes().iter().flat_map(halves).collect::<Vec<_>>(),
                _ => filter.as_bytes().to_vec(),
            }
        };
        let (one, other) = (of(&a, shape), of(&b, shape));
        let mut both = one.clone();
        both.intersect(&other).unwrap();
        let lesser: Vec<u8> =
            counters(&one).into_iter().zip(counters(&other)).map(|(one, other)| one.min(other)).collect();
        prop_assert_eq!(counters(&both), lesser);
        prop_assert!(a.iter().filter(|key| b.contains(key)).all(|&key| both.has(&[key])));
    }
}

/// If all probes of a key meet in one counter, each key still counts once.
#[test]
fn counters_stick_at_their_maximum() {
    for (counter_bits, max) in [(4, 15), (8, 255)] {
        let mut filter = CountingBloomFilter::new(1, 64, counter_bits, 0).unwrap();
        for added in 1..max {
            filter.add(b"key");
            assert_eq!(filter.count(b"key"), added);
        }
        for left in (0..max - 1).rev() {
            assert!(filter.remove(b"key"));
            assert_eq!(filter.count(b"key"), left);
        }
        assert!(!filter.remove(b"key"));

        (0..max).for_each(|_| assert_eq!(filter.add(b"key"), filter.count(b"key") == 1));
        (0..2 * max).for_each(|_| assert!(filter.remove(b"key")));
        assert_eq!(filter.count(b"key"), max);
        filter.clear();
        assert_eq!((filter.count(b"key"), filter.has(b"key")), (0, false));
    }
}
