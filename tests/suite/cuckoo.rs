//! The cuckoo filter against a naive one, which knows only how many copies there are of each fingerprint and pair of
//! buckets; and how full it gets, how large it is and how often it errs.

use std::collections::HashMap;

use bloom_wasm::filters::CuckooFilter;
use bloom_wasm::hash::digest;
use bloom_wasm::{Error, Filter, FilterInfo};
use proptest::prelude::*;

use crate::naive;

/// A fingerprint with its two buckets, the even one first. Keys of the same place are the same key to the filter.
type Place = (u32, [u32; 2]);

/// The filter as FORMAT.md describes it, with wide arithmetic and a multiset of places.
struct Naive {
    buckets: u128,
    bits: u32,
    copies: HashMap<Place, u64>,
}

impl Naive {
    fn new(buckets: u32, bits: u32) -> Self {
        Naive { buckets: buckets.into(), bits, copies: HashMap::new() }
    }

    fn of(filter: &CuckooFilter) -> Self {
        Naive::new(filter.buckets(), filter.fingerprint_bits())
    }

    /// The place of a fingerprint that is in this bucket.
    fn place(&self, fingerprint: u128, bucket: u128) -> Place {
        let sum = naive::place(naive::mix(fingerprint as u64, 0), self.buckets);
        let sum = if sum.is_multiple_of(2) { sum + 1 } else { sum };
        let other = (self.buckets + sum - bucket) % self.buckets;
        let (even, odd) = if bucket.is_multiple_of(2) { (bucket, other) } else { (other, bucket) };
        assert_eq!((even % 2, odd % 2), (0, 1));
        (fingerprint as u32, [even as u32, odd as u32])
    }

    fn place_of(&self, digest: u64) -> Place {
        let state = naive::mix(digest, 0);
        let fingerprint = 1 + state % (1 << 32) * ((1 << self.bits) - 1) / (1 << 32);
        self.place(fingerprint, naive::place(state, self.buckets))
    }

    /// What a filter's bytes hold, read bit by bit: the fingerprints in each bucket.
    fn unpack(&self, bytes: &[u8]) -> Vec<Vec<u32>> {
        let bits = self.bits as usize;
        assert_eq!(bytes.len() * 8, self.buckets as usize * 4 * bits);
        let bit = |i: usize| u32::from(bytes[i / 8] >> (i % 8) & 1);
        let slot = |slot: usize| (0..bits).map(|i| bit(slot * bits + i) << i).sum();
        (0..self.buckets as usize)
            .map(|bucket| {
                (bucket * 4..bucket * 4 + 4).map(slot).filter(|&fingerprint| fingerprint != 0).collect()
            })
            .collect()
    }

    /// The filter holds exactly these copies, each in one of its own two buckets.
    fn check(&self, filter: &CuckooFilter) {
        let mut found = HashMap::new();
        for (bucket, fingerprints) in self.unpack(filter.as_bytes()).iter().enumerate() {
            for &fingerprint in fingerprints {
                *found.entry(self.place(fingerprint.into(), bucket as u128)).or_insert(0) += 1;
            }
        }
        assert_eq!(found, self.copies);
        assert_eq!(filter.count(), self.copies.values().sum::<u64>());
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Add,
    Remove,
}

proptest! {
    /// Fingerprints of few bits and few buckets: keys share places, buckets overflow, the filter gets full.
    #[test]
    fn agrees_with_a_naive_filter(
        buckets in prop_oneof![1..4_u32, 1..20_u32].prop_map(|pairs| 2 * pairs),
        bits in prop_oneof![1..6_u32, 1..=32_u32],
        seed: u64,
        keys in 1..=u8::MAX,
        steps in prop::collection::vec(
            (any::<u8>(), prop_oneof![3 => Just(Step::Add), 1 => Just(Step::Remove)]),
            0..120,
        ),
    ) {
        let mut filter = CuckooFilter::new(buckets, bits, seed).unwrap();
        let mut naive = Naive::new(buckets, bits);
        for (key, step) in steps {
            let key = [key % keys];
            let place = naive.place_of(digest(seed, &key));
            let copies = naive.copies.get(&place).copied().unwrap_or(0);
            match step {
                Step::Add => {
                    let before = filter.clone();
                    match filter.add(&key) {
                        Ok(new) => {
                            prop_assert_eq!(new, copies == 0);
                            naive.copies.insert(place, copies + 1);
                        }
                        Err(error) => {
                            prop_assert_eq!(error, Error::FilterFull { count: before.count() });
                            prop_assert_eq!(&filter, &before);
                            let unpacked = naive.unpack(filter.as_bytes());
                            prop_assert!(place.1.iter().all(|&bucket| unpacked[bucket as usize].len() == 4));
                        }
                    }
                }
                // Also of a key that was never added: it takes the copy of a key with the same place.
                Step::Remove => {
                    prop_assert_eq!(filter.remove(&key), copies > 0);
                    match copies {
                        0 | 1 => naive.copies.remove(&place),
                        more => naive.copies.insert(place, more - 1),
                    };
                }
            }
            naive.check(&filter);
            for key in 0..keys {
                let there = naive.copies.contains_key(&naive.place_of(digest(seed, &[key])));
                prop_assert_eq!(filter.has(&[key]), there);
            }
        }
        filter.clear();
        prop_assert_eq!(filter, CuckooFilter::new(buckets, bits, seed).unwrap());
    }
}

/// Key number `i` of a list; lists have no keys in common.
fn key(list: u64, i: u64) -> [u8; 16] {
    (u128::from(list) << 64 | u128::from(i)).to_le_bytes()
}

/// A filter with the first `count` keys of list 0.
fn fill(mut filter: CuckooFilter, count: u64) -> CuckooFilter {
    let shape = (filter.buckets(), filter.fingerprint_bits());
    for i in 0..count {
        assert_eq!(filter.add(&key(0, i)).map(drop), Ok(()), "{shape:?}: key {i} of {count}");
    }
    assert!((0..count).all(|i| filter.has(&key(0, i))), "{shape:?}: a false negative");
    assert_eq!(filter.count(), count);
    filter
}

#[test]
fn the_example_of_the_specification() {
    let mut filter = CuckooFilter::new(1000, 12, 0).unwrap();
    assert_eq!(filter.add(b"abc"), Ok(true));
    // Fingerprint 706 in slot 0 of bucket 727, that is in the bits from 727 · 4 · 12 = 4362 · 8 on.
    let mut bytes = vec![0; 6000];
    bytes[4362..4364].copy_from_slice(&[0x06, 0x07]);
    assert_eq!(filter.as_bytes(), bytes);
    // The first four copies fill the first bucket, the fifth goes to bucket 438.
    for _ in 0..4 {
        filter.add(b"abc").unwrap();
    }
    bytes[4362..4368].copy_from_slice(&[0x06, 0x67, 0x70, 0x06, 0x67, 0x70]);
    bytes[438 * 6..438 * 6 + 2].copy_from_slice(&[0x06, 0x07]);
    assert_eq!(filter.as_bytes(), bytes);
}

#[test]
fn fills_to_95_percent() {
    let at = |capacity: u64, bits: u32| {
        let buckets = (5 * capacity).div_ceil(19).next_multiple_of(2) as u32;
        let filter = CuckooFilter::new(buckets, bits, 0).unwrap();
        assert!(filter.capacity() >= capacity);
        let capacity = filter.capacity();
        fill(filter, capacity);
    };
    for bits in 7..=32 {
        for capacity in [1_000, 1_001, 4_096, 12_345] {
            at(capacity, bits);
        }
    }
    for bits in [7, 8, 13, 32] {
        at(100_000, bits);
    }
    at(1_000_000, 7);
    at(1_000_000, 13);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256 / crate::every(4) as u32))]

    /// No byte changes either, whatever was there: also gaps in a bucket that removals left.
    #[test]
    fn nothing_is_left_of_what_did_not_fit(
        pairs in 1_u32..40,
        bits in 1_u32..=32,
        removed in 0_u64..300,
        seed: u64,
    ) {
        let digests = |list, count| (0..count).map(|i| digest(seed, &key(list, i))).collect::<Vec<_>>();
        let mut filter = CuckooFilter::new(2 * pairs, bits, seed).unwrap();
        for &digest in &digests(0, 400) {
            let _ = filter.add_digest(digest);
        }
        for &digest in &digests(0, removed) {
            filter.remove_digest(digest);
        }
        let before = filter.clone();
        let error = filter.add_digests(&digests(1, 400)).unwrap_err();
        prop_assert_eq!(error.code(), "filter_full");
        prop_assert_eq!(filter.as_bytes(), before.as_bytes());
    }
}

/// The rate that `info` gives is that of a filter that is as full as `info` says, even if a fingerprint has one bit.
#[test]
fn the_rate_at_capacity_is_met() {
    for bits in [1, 2, 3, 5, 8, 12] {
        let mut blob = Filter::from(CuckooFilter::new(2_000, bits, 5).unwrap());
        let FilterInfo { fpr, capacity, .. } = blob.info().unwrap();
        let filter = blob.stack_mut().base_mut().unwrap();
        let (mut list, mut added) = (0, 0);
        // With short fingerprints some keys have no room before the others have filled the slots.
        while added < capacity.unwrap() && list < 30_000 {
            added += u64::from(filter.add_digests(&[digest(5, &key(0, list))]).is_ok());
            list += 1;
        }
        let hits = (0..200_000).filter(|&i| filter.has_digest(digest(5, &key(1, i)))).count();
        let measured = hits as f64 / 200_000.0;
        // The deviation due to the keys that are looked up, and to the places that are taken.
        let places = 1_000.0 * f64::from((1 << bits) - 1);
        let sigma = (fpr / 200_000.0 + fpr / places).sqrt();
        assert!((0.0..=1.0).contains(&fpr), "{bits} bits: {fpr}");
        // Keys that had no room share their places with others, so those are fewer.
        let least = if bits < 5 { 0.6 * fpr } else { fpr - 4.0 * sigma };
        assert!((least..=fpr + 4.0 * sigma).contains(&measured), "{bits} bits: {measured} for {fpr}");
    }
}

#[test]
fn there_is_room_for_eight_copies_of_a_key() {
    for (buckets, bits) in [(2, 1), (10, 8), (1_000, 12), (100_000, 32)] {
        let mut filter = CuckooFilter::new(buckets, bits, 0).unwrap();
        let added: Vec<_> = (0..100).map(|_| filter.add(b"key")).collect();
        assert_eq!(added[0], Ok(true));
        assert_eq!(added[1..8], [Ok(false); 7]);
        assert!(added[8..].iter().all(|&result| result == Err(Error::FilterFull { count: 8 })));
        for left in (0..8).rev() {
            assert!(filter.has(b"key"));
            assert!(filter.remove(b"key"));
            assert_eq!(filter.count(), left);
        }
        assert!(!filter.has(b"key"));
        assert!(!filter.remove(b"key"));
    }
}

/// Rates with the bits of a fingerprint, ceil(log2(1 / fpr) + 3).
const RATES: [(f64, u32); 8] =
    [(0.1, 7), (0.05, 8), (0.01, 10), (0.003, 12), (1e-3, 13), (1e-4, 17), (1e-5, 20), (1e-6, 23)];

#[test]
fn size() {
    for (fpr, bits) in RATES {
        for count in [1_000, 1_001, 1_004, 4_096, 12_345, 100_000, 1_000_000] {
            let filter = CuckooFilter::with_capacity(count, fpr, 0).unwrap();
            assert_eq!(filter.fingerprint_bits(), bits, "fpr {fpr}");
            assert!(filter.capacity() >= count);
            let size = filter.as_bytes().len() as f64 * 8.0;
            let limit = 1.03 * f64::from(bits) / 0.95 * count as f64 + f64::from(2 * 4 * bits);
            assert!(size <= limit, "n = {count}, fpr {fpr}: {size} bits, more than {limit}");
        }
    }
}

#[test]
fn fingerprints_are_as_short_as_the_rate_allows() {
    let bits = |fpr: f64| CuckooFilter::with_capacity(100, fpr, 0).map(|filter| filter.fingerprint_bits());
    for exponent in 2..29 {
        let power = 0.5_f64.powi(exponent);
        assert_eq!(bits(power.next_up()), Ok(exponent as u32 + 3));
        assert_eq!(bits(power), Ok(exponent as u32 + 3));
        assert_eq!(bits(power.next_down()), Ok(exponent as u32 + 4));
    }
    assert_eq!(bits(0.5_f64.powi(29)), Ok(32));
    assert_eq!(bits(0.999), Ok(5));
}

/// Chance must not leave a small list without room, whatever the seed.
#[test]
fn small_lists_fit() {
    for fpr in RATES.map(|(fpr, _)| fpr).into_iter().chain([0.9, 0.5, 0.25, 2e-9]) {
        for count in [0, 1, 2, 3, 10, 38, 57] {
            for seed in 0..300 {
                fill(CuckooFilter::with_capacity(count, fpr, seed).unwrap(), count);
            }
        }
    }
}

/// Measures the rate of filters with `count` keys over at least `probes` non-members.
///
/// The keys fall into M = n (2^f - 1) / 2 places, and the rate is the share of places that hold a key: that of the
/// occupied cells in the classic occupancy problem, with mean M (1 - e^-c) and variance M (e^-c - (1 + c) e^-2c) at c
/// keys to a place.
fn measure(count: u64, fpr: f64, seeds: u64, probes: u64) {
    let (mut hits, mut expected, mut variance) = (0, 0.0, 0.0);
    let each = probes.div_ceil(seeds);
    for seed in 0..seeds {
        let filter = fill(CuckooFilter::with_capacity(count, fpr, seed).unwrap(), count);
        hits += (0..each).filter(|&i| filter.has(&key(1, i))).count();
        let rate = filter.estimated_fpr();
        let places = f64::from(filter.buckets()) * (2_f64.powi(filter.fingerprint_bits() as i32) - 1.0) / 2.0;
        let c = count as f64 / places;
        let stray = ((-c).exp() - (1.0 + c) * (-2.0 * c).exp()) / places;
        expected += rate * each as f64;
        variance += rate * each as f64 + stray * (each as f64).powi(2);
    }
    let (hits, sigma) = (hits as f64, variance.sqrt());
    assert!(
        (hits - expected).abs() <= 4.0 * sigma,
        "n = {count}, fpr {fpr}: {hits} hits for {expected} ± {sigma}"
    );
    let limit = fpr * (each * seeds) as f64;
    assert!(hits <= limit + 4.0 * sigma, "n = {count}, fpr {fpr}: {hits} hits, more than {limit}");
}

/// The rate at the count that a filter was made for.
fn measure_all(fpr: f64) {
    let probes = (100.0 / fpr).max(2e6) as u64;
    for (count, seeds) in [(1, 200), (10, 200), (1_000, 20), (12_345, 1), (1_000_000, 1)] {
        measure(count, fpr, seeds, probes);
    }
}

#[test]
fn rates() {
    measure_all(0.1);
    measure_all(0.01);
}

#[test]
#[ignore = "long: npm run test:all"]
fn low_rates() {
    measure_all(1e-3);
    measure_all(1e-4);
    measure(12_345, 1e-6, 1, 100_000_000);
}

/// Nine digests that share a place at the first size and not at another: the filter grows until they fit.
#[test]
fn from_digests_makes_room() {
    let fpr = 0.01;
    let first = CuckooFilter::with_capacity(9, fpr, 0).unwrap();
    let naive = Naive::of(&first);
    // The states of one bucket, from the first to the last; the low half, and with it the fingerprint, stays.
    let width = (1 << 32) / u64::from(first.buckets());
    let start = width * 3 + 3;
    let state = |i: u64| (start + i * (width / 9)) << 32 | 0x1234_5678;
    let mut digests: Vec<u64> = (0..9).map(|i| naive::unmix(state(i))).collect();
    assert!(digests.iter().all(|&digest| naive.place_of(digest) == naive.place_of(digests[0])));
    let filter = CuckooFilter::from_digests(&mut digests, fpr, 0).unwrap();
    assert!(filter.buckets() > first.buckets());
    assert!(filter.buckets().is_multiple_of(2) && filter.buckets() <= 2 * first.buckets());
    assert_eq!(filter.count(), 9);
    assert!(digests.iter().all(|&digest| filter.has_digest(digest)));

    // Digests that share a place at every size.
    let mut same: Vec<u64> = (0..9).map(|i| naive::unmix(0x1234_5678_9abc_0000 + i)).collect();
    assert_eq!(CuckooFilter::from_digests(&mut same, fpr, 0), Err(Error::FilterFull { count: 8 }));
    same.truncate(8);
    assert_eq!(CuckooFilter::from_digests(&mut same, fpr, 0).map(|filter| filter.count()), Ok(8));
}

#[test]
fn edges() {
    let code = |result: Result<CuckooFilter, Error>| result.unwrap_err().code();
    assert_eq!(code(CuckooFilter::new(1 << 27, 32, 0)), "too_large");
    assert_eq!(code(CuckooFilter::new(u32::MAX - 1, 32, 0)), "too_large");
    assert_eq!(code(CuckooFilter::with_capacity(1 << 40, 0.01, 0)), "too_large");
    for fpr in [0.0, -0.1, 1.0, 2.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 0.5_f64.powi(29).next_down()]
    {
        assert_eq!(code(CuckooFilter::with_capacity(10, fpr, 0)), "invalid_parameter", "{fpr}");
    }
    // 64-bit digests can't tell this many keys apart at this rate.
    assert_eq!(code(CuckooFilter::with_capacity(1 << 30, 4e-9, 0)), "invalid_parameter");
    assert_eq!(code(CuckooFilter::with_capacity(u64::MAX, 0.5, 0)), "invalid_parameter");

    let filter = CuckooFilter::new(6, 3, 9).unwrap();
    assert_eq!((filter.buckets(), filter.fingerprint_bits(), filter.hashing().seed()), (6, 3, 9));
    assert_eq!((filter.capacity(), filter.count(), filter.as_bytes()), (22, 0, &[0; 9][..]));
    assert_eq!(filter.estimated_fpr(), 0.0);
}
