//! The ribbon filter: no false negatives, the rate that was asked for, the promised size, and the same bytes for the
//! same keys.

use bloom_wasm::hash::digest;
use bloom_wasm::params::optimal;
use bloom_wasm::{Blob, RibbonFilter};
use proptest::prelude::*;

fn digests(count: u64) -> Vec<u64> {
    (0..count).map(|i| digest(0, &i.to_le_bytes())).collect()
}

fn build(count: u64, fpr: f64) -> RibbonFilter {
    RibbonFilter::from_digests(&mut digests(count), fpr, 0).unwrap()
}

/// False positives among so many keys that no filter of these tests holds.
fn false_positives(filter: &RibbonFilter, probes: u64) -> u64 {
    (0..probes).filter(|i| filter.has(&(i | 1 << 63).to_le_bytes())).count() as u64
}

/// All members present, and no more strangers than `fpr` and four standard deviations allow.
fn check(filter: &RibbonFilter, count: u64, fpr: f64, probes: u64) {
    assert!((0..count).all(|i| filter.has(&i.to_le_bytes())), "{count} keys at {fpr}: a false negative");
    let (hits, expected) = (false_positives(filter, probes) as f64, fpr * probes as f64);
    assert!(
        hits <= expected + 4.0 * expected.sqrt() + 4.0,
        "{count} keys at {fpr}: {hits} hits for {expected}"
    );
    let expected = filter.estimated_fpr() * probes as f64;
    assert!(
        (hits - expected).abs() <= 4.0 * expected.sqrt() + 4.0,
        "{count} keys at {fpr}: {hits} for {expected}"
    );
    assert!(filter.estimated_fpr() <= fpr);
}

const RATES: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-6, 1.0 / 256.0];

#[test]
fn every_size() {
    let mut counts: Vec<u64> = (0..=20).collect();
    counts.extend((5..=21).step_by(2).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]));
    counts.extend([1199, 1200, 1201, 3_000_000]);
    counts.extend((11_480..=11_521).step_by(4));
    for (i, count) in counts.into_iter().enumerate() {
        let fpr = RATES[i % RATES.len()];
        check(&build(count, fpr), count, fpr, 400_000);
    }
}

#[test]
fn every_rate() {
    for fpr in
        [0.999, 0.9, 0.7, 0.5, 0.49, 0.3, 0.25, 0.1, 0.05, 1.0 / 64.0, 0.004, 1e-5, 1e-7, 1e-9, 2.4e-10]
    {
        for count in [1, 40, 64, 700, 20_000] {
            check(&build(count, fpr), count, fpr, 400_000);
        }
    }
    check(&build(100_000, 1e-6), 100_000, 1e-6, 100_000_000);
    check(&build(100_000, 0.01), 100_000, 0.01, 20_000_000);
    assert_eq!(
        RibbonFilter::from_digests(&mut digests(10), 2.3e-10, 0).unwrap_err().code(),
        "invalid_parameter"
    );
    assert_eq!(RibbonFilter::from_digests(&mut digests(10), 1.0, 0).unwrap_err().code(), "invalid_parameter");
}

/// The promise, header and checksum counted, in units of n log2(1/fpr).
#[test]
fn size() {
    for fpr in RATES {
        for (count, bound, bound_at_1e_2) in
            [(1_000_000, 1.01, 1.02), (100_000, 1.02, 1.02), (10_000, 1.05, 1.06), (1_000, 1.15, 1.15)]
        {
            let bytes = Blob::from(build(count, fpr)).encode().unwrap().len() as f64;
            let ratio = bytes * 8.0 / (count as f64 * -fpr.log2());
            let bound = if fpr == 1e-2 { bound_at_1e_2 } else { bound };
            assert!(ratio <= bound, "{count} keys at {fpr}: {ratio}");
        }
        for count in (0..200).chain((200..5000).step_by(101)).chain([20_000, 50_000]) {
            let bytes = Blob::from(build(count, fpr)).encode().unwrap().len();
            let bloom = optimal(count, fpr).unwrap().bytes as usize + 29;
            assert!(bytes <= bloom + 64, "{count} keys at {fpr}: {bytes} for a Bloom filter's {bloom}");
        }
    }
}

/// Two filters of the same digests under different seeds have no false positives in common but by chance.
#[test]
fn seeds_are_independent() {
    let of = |seed| {
        let mut digests = (0..10_000_u64).map(|i| digest(seed, &i.to_le_bytes())).collect();
        RibbonFilter::from_digests(&mut digests, 0.01, seed).unwrap()
    };
    let (one, other) = (of(1), of(2));
    let both = (1 << 63..(1 << 63) + 1_000_000_u64)
        .filter(|key| one.has(&key.to_le_bytes()) && other.has(&key.to_le_bytes()))
        .count();
    assert!((both as f64 - 100.0).abs() < 4.0 * 10.0, "{both}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn order_and_repetition_do_not_matter(
        count in prop_oneof![0..200_u64, 1100..1400_u64, 5000..20_000_u64],
        repeated in 0..3000_usize,
        fpr in 1e-6..0.9_f64,
        salt: u64,
    ) {
        let expected = RibbonFilter::from_digests(&mut digests(count), fpr, 0).unwrap();
        let mut shuffled = digests(count);
        shuffled.extend_from_within(..repeated.min(count as usize));
        shuffled.sort_by_key(|&x| digest(salt, &x.to_le_bytes()));
        prop_assert_eq!(RibbonFilter::from_digests(&mut shuffled, fpr, 0).unwrap(), expected);
    }

    #[test]
    fn survives_the_blob(count in 0..3000_u64, fpr in 1e-9..0.9_f64, seed: u64) {
        let mut digests: Vec<u64> = (0..count).map(|i| digest(seed, &i.to_le_bytes())).collect();
        let blob = Blob::from(RibbonFilter::from_digests(&mut digests, fpr, seed).unwrap());
        let bytes = blob.encode().unwrap();
        let read = Blob::decode(bytes.clone()).unwrap();
        prop_assert_eq!(&read, &blob);
        prop_assert_eq!(read.encode().unwrap(), bytes);
        prop_assert!((0..count).all(|i| read.filter().has(&i.to_le_bytes())));
    }

    /// Digests as an enemy would choose them: all in one bucket, or with their low bits in a pattern.
    #[test]
    fn adversarial_digests(count in 1..3000_u64, shift in 0..64_u32, base: u64) {
        let chosen: Vec<u64> = (0..count).map(|i| base.wrapping_add(i << shift)).collect();
        let filter = RibbonFilter::from_digests(&mut chosen.clone(), 0.01, 0).unwrap();
        prop_assert!(chosen.iter().all(|&digest| filter.has_digest(digest)));
    }
}
