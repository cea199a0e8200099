//! The scalable Bloom filter against a naive one made of sets of positions, and its rate after growing a thousandfold.

use std::collections::HashSet;

use bloom_wasm::filters::ScalableBloomFilter;
use bloom_wasm::hash::digest;
use proptest::prelude::*;

use crate::naive;

/// A slice as FORMAT.md describes it, with wide arithmetic and the standard library's logarithms.
struct Slice {
    bits: u128,
    hashes: u32,
    capacity: u64,
    count: u64,
    set: HashSet<u128>,
}

impl Slice {
    fn new(capacity: u64, fpr: f64) -> Self {
        let n = capacity.max(100) as f64;
        let ln2 = 2_f64.ln();
        let bits = match (-fpr.ln() / ln2).round() as u32 {
            0 | 1 => -1.0 / (1.0 - fpr).ln(),
            2 => -2.0 / (1.0 - fpr.sqrt()).ln(),
            _ => -fpr.ln() / (ln2 * ln2),
        };
        let bits = (n * (bits * 1024.0).ceil() / 1024.0).ceil();
        let hashes = (bits / n * ln2).round().max(1.0) as u32;
        let (bits, count, set) = (bits as u128, 0, HashSet::new());
        Slice { bits, hashes, capacity, count, set }
    }

    fn positions(&self, digest: u64) -> HashSet<u128> {
        naive::positions(digest, self.bits, self.hashes).into_iter().collect()
    }

    fn has(&self, digest: u64) -> bool {
        self.positions(digest).is_subset(&self.set)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bits.div_ceil(8) as usize];
        self.set.iter().for_each(|&bit| bytes[bit as usize / 8] |= 1 << (bit % 8));
        bytes
    }
}

struct Naive {
    slices: Vec<Slice>,
    growth: u64,
    tightening: f64,
    next_rate: f64,
}

impl Naive {
    fn new(initial_capacity: u32, fpr: f64, growth: u32, tightening: f64) -> Self {
        let first_rate = 0.9 * fpr * (1.0 - tightening);
        let slices = vec![Slice::new(initial_capacity.into(), first_rate)];
        Naive { slices, growth: growth.into(), tightening, next_rate: first_rate * tightening }
    }

    fn has(&self, digest: u64) -> bool {
        self.slices.iter().any(|slice| slice.has(digest))
    }

    fn add(&mut self, digest: u64) -> bool {
        if self.has(digest) {
            return false;
        }
        let newest = self.slices.last().unwrap();
        if newest.count == newest.capacity {
            self.slices.push(Slice::new(newest.capacity * self.growth, self.next_rate));
            self.next_rate *= self.tightening;
        }
        let newest = self.slices.last_mut().unwrap();
        newest.set.extend(newest.positions(digest));
        newest.count += 1;
        true
    }

    /// The shape of each slice, and the bytes of all.
    fn parts(&self) -> (Vec<(u32, u32)>, Vec<u8>) {
        let shape = |slice: &Slice| (slice.bits as u32, slice.hashes);
        (self.slices.iter().map(shape).collect(), self.slices.iter().flat_map(Slice::bytes).collect())
    }
}

fn parts(filter: &ScalableBloomFilter) -> (Vec<(u32, u32)>, Vec<u8>) {
    (filter.shapes().collect(), filter.as_bytes().to_vec())
}

proptest! {
    #[test]
    fn agrees_with_a_naive_filter(
        initial_capacity in 1..20_u32,
        fpr in prop_oneof![1e-4..0.95_f64, Just(0.01)],
        growth in 1..=4_u32,
        tightening in prop_oneof![0.3..0.95_f64, Just(0.5)],
        seed: u64,
        keys in prop::collection::vec(0..1000_u32, 0..300),
    ) {
        let keys = &keys[..keys.len().min(20 * initial_capacity as usize)];
        let mut filter = ScalableBloomFilter::new(initial_capacity, fpr, growth, tightening, seed).unwrap();
        let mut naive = Naive::new(initial_capacity, fpr, growth, tightening);
        for key in keys {
            let key = key.to_le_bytes();
            let new = naive.add(digest(seed, &key));
            prop_assert_eq!(filter.add(&key), Ok(new));
        }
        for key in 0..1000_u32 {
            let key = key.to_le_bytes();
            prop_assert_eq!(filter.has(&key), naive.has(digest(seed, &key)));
        }
        prop_assert!(keys.iter().all(|key| filter.has(&key.to_le_bytes())));
        prop_assert_eq!(parts(&filter), naive.parts());
        prop_assert_eq!(filter.count(), naive.slices.iter().map(|slice| slice.count).sum::<u64>());
        prop_assert_eq!(u128::from(filter.bits()), naive.slices.iter().map(|slice| slice.bits).sum::<u128>());
        let none = |slice: &Slice| 1.0 - (slice.set.len() as f64 / slice.bits as f64).powi(slice.hashes as i32);
        let any = 1.0 - naive.slices.iter().map(none).product::<f64>();
        prop_assert!((filter.estimated_fpr() - any).abs() < 1e-12);

        filter.clear();
        prop_assert_eq!(filter, ScalableBloomFilter::new(initial_capacity, fpr, growth, tightening, seed).unwrap());
    }

    #[test]
    fn from_digests_adds_in_ascending_order(
        keys in prop::collection::vec(0..400_u32, 0..500),
        growth in 1..=4_u32,
        seed: u64,
    ) {
        let mut digests: Vec<u64> = keys.iter().map(|key| digest(seed, &key.to_le_bytes())).collect();
        let filter = ScalableBloomFilter::from_digests(&mut digests.clone(), 30, 0.01, growth, 0.8, seed).unwrap();
        digests.sort();
        let mut naive = Naive::new(30, 0.01, growth, 0.8);
        digests.iter().for_each(|&digest| { naive.add(digest); });
        prop_assert_eq!(parts(&filter), naive.parts());
    }
}

/// Fills a filter to `times` times its initial capacity. Its rate must match that of its slices one by one, and stay
/// below the target. `sorted` = from digests in ascending order.
fn measure(initial_capacity: u32, times: u64, fpr: f64, growth: u32, tightening: f64, sorted: bool) {
    let count = u64::from(initial_capacity) * times;
    let filter = if sorted {
        let mut digests: Vec<u64> = (0..count).map(|i| digest(1, &i.to_le_bytes())).collect();
        ScalableBloomFilter::from_digests(&mut digests, initial_capacity, fpr, growth, tightening, 1).unwrap()
    } else {
        let mut filter = ScalableBloomFilter::new(initial_capacity, fpr, growth, tightening, 1).unwrap();
        (0..count).for_each(|i| {
            filter.add(&i.to_le_bytes()).unwrap();
        });
        filter
    };
    assert!((0..count).step_by(7).all(|i| filter.has(&i.to_le_bytes())), "a false negative");
    // New keys that were taken for old ones.
    let missed = (count - filter.count()) as f64;
    let most = 1.2 * fpr * count as f64;
    assert!(missed < most + 4.0 * most.sqrt(), "{missed} of {count} missed");

    let probes = (500.0 / fpr).max(1e6) as u64;
    let hits = (0..probes).filter(|i| filter.has(&(i | 1 << 63).to_le_bytes())).count() as f64;
    let expected = filter.estimated_fpr() * probes as f64;
    let what = format!("fpr {fpr}, growth {growth}, tightening {tightening}, sorted {sorted}");
    assert!((hits - expected).abs() < 4.0 * expected.sqrt(), "{what}: {hits} hits for {expected}");

    assert!(filter.estimated_fpr() < fpr, "{what}: {:e}", filter.estimated_fpr());
    // Apart from chance: 500 hits are expected at the target, with a standard deviation of 22.
    let most = fpr * probes as f64;
    assert!(hits < most + 4.0 * most.sqrt(), "{what}: {hits} hits, and at most {most}");
}

fn measure_all(fpr: f64) {
    for tightening in [0.5, 0.8, 0.9] {
        for growth in [2, 4] {
            measure(500, 1000, fpr, growth, tightening, false);
        }
        // With 0.5 the thirtieth equal slice or so would have a rate below what digests can give.
        measure(1000, if tightening < 0.8 { 25 } else { 50 }, fpr, 1, tightening, false);
    }
    // A handful of keys fills a slice unevenly.
    for (initial_capacity, growth, tightening) in [(1, 2, 0.5), (3, 2, 0.9), (10, 4, 0.8), (50, 2, 0.5)] {
        measure(initial_capacity, 30_000 / u64::from(initial_capacity), fpr, growth, tightening, false);
    }
    measure(10, 20, fpr, 1, 0.9, false);
    measure(500, 1000, fpr, 2, 0.8, true);
    measure(500, 200, fpr, 4, 0.5, true);
}

#[test]
#[ignore = "long: npm run test:all"]
fn rates() {
    [0.1, 0.01, 1e-3, 1e-4].into_iter().for_each(measure_all);
}

#[test]
fn rate() {
    measure(500, 1000, 0.01, 2, 0.8, false);
    measure(1000, 25, 0.01, 1, 0.5, false);
    measure(3, 10_000, 0.01, 2, 0.9, false);
    measure(500, 200, 0.01, 4, 0.5, true);
}

#[test]
fn errors() {
    let new = |initial_capacity, fpr, growth, tightening| {
        ScalableBloomFilter::new(initial_capacity, fpr, growth, tightening, 0).map_err(|error| error.code())
    };
    assert!(new(1, 0.99, 1, 0.01).is_ok() && new(1, 1e-6, 16, 0.99).is_ok());
    for wrong in [
        new(1, 0.01, u32::MAX, 0.5),
        new(1, 0.01, 2, -0.5),
        new(1000, 1e-15, 2, 0.5),
        new(1000, 1e-5, 2, 1.0 - 1e-16),
    ] {
        assert_eq!(wrong, Err("invalid_parameter"));
    }
    assert_eq!(new(u32::MAX, 0.01, 2, 0.5), Err("too_large"));
}

/// A filter that can't grow says so, stays as it is, and still answers.
#[test]
fn the_end_of_growth() {
    // A third slice would have a rate of 1e-15 for 256 keys, of which digests collide more often; or there are 255.
    for (growth, tightening, room) in [(16, 1e-6, 1 + 16), (1, 0.99, 255)] {
        let mut filter = ScalableBloomFilter::new(1, 1e-3, growth, tightening, 0).unwrap();
        let mut keys = (0_u64..).map(u64::to_le_bytes);
        while filter.count() < room {
            filter.add(&keys.next().unwrap()).unwrap();
        }
        let before = filter.clone();
        let refused = keys.find(|key| !filter.has(key)).unwrap();
        let error = filter.add(&refused).unwrap_err();
        assert_eq!(error.code(), "filter_full");
        assert_eq!(
            error.to_string(),
            format!("the filter is full with {room} keys; build one with a higher capacity")
        );
        assert_eq!(filter, before);
        assert_eq!(filter.add(&0_u64.to_le_bytes()), Ok(false));
    }
}

/// Many keys at once are all added or none, also when the filter had to grow on the way to where it could not.
#[test]
fn all_or_none() {
    let digests =
        |range: std::ops::Range<u64>| -> Vec<u64> { range.map(|i| digest(0, &i.to_le_bytes())).collect() };
    // Slices of 4 and 64 keys; there can't be a third.
    for already in [0, 1, 3, 4, 5, 40, 67] {
        let mut filter = ScalableBloomFilter::new(4, 1e-3, 16, 1e-6, 0).unwrap();
        assert_eq!(filter.add_digests(&digests(0..already)), Ok(already as usize));
        let before = filter.clone();
        assert_eq!(filter.add_digests(&digests(0..100)).unwrap_err().code(), "filter_full");
        assert_eq!(filter, before);
        assert_eq!(filter.add_digests(&digests(0..68)), Ok(68 - already as usize));
        assert!(digests(0..68).iter().all(|&digest| filter.has_digest(digest)));
    }
}
