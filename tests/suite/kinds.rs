//! What holds for every kind of our own filters.

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::{Hashing, Secret, digest};
use bloom_wasm::layers::Stack;
use bloom_wasm::{BloomFilter, CountingBloomFilter, Filter, Kind};
use proptest::prelude::*;

pub const KINDS: [Kind; 5] = [Kind::Bloom, Kind::Counting, Kind::Scalable, Kind::Cuckoo, Kind::Ribbon];

fn digests(keys: std::ops::Range<u64>, hashing: Hashing) -> Vec<u64> {
    keys.map(|i| hashing.digest(&i.to_le_bytes())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each key is there once, however often and in whatever order it comes; and a blob gives the filter back.
    #[test]
    fn order_and_repetition_do_not_matter(
        count in prop_oneof![0..500_u64, 1100..1400_u64, 5000..20_000_u64],
        repeats in 1..4_usize,
        fpr in 1e-6..0.9_f64,
        seed: u64,
    ) {
        let hashing = Hashing::from(seed);
        for kind in KINDS {
            let build = |mut digests| AnyFilter::from_digests(kind.into(), &mut digests, fpr, hashing).unwrap();
            let expected = build(digests(0..count, hashing));
            let mut shuffled = digests(0..count, hashing).repeat(repeats);
            shuffled.sort_by_key(|key| digest(!seed, &key.to_le_bytes()));
            prop_assert_eq!(&build(shuffled), &expected);
            if matches!(kind, Kind::Cuckoo | Kind::Ribbon) {
                prop_assert_eq!(expected.count(), Some(count));
            }
            let bytes = Filter::from(expected.clone()).encode().unwrap();
            let read = Filter::decode(bytes.clone()).unwrap();
            prop_assert_eq!(read.stack().base(), &expected);
            prop_assert_eq!(read.encode().unwrap(), bytes);
            prop_assert!((0..count).all(|i| read.stack().has(&i.to_le_bytes())), "{:?}: a false negative", kind);
        }
    }
}

/// With a secret and without.
#[test]
fn no_member_is_lost_and_the_rate_holds() {
    for kind in KINDS {
        for (keys, fpr) in [(1, 0.01), (63, 0.1), (1000, 0.001), (50_000, 0.01)] {
            for hashing in [Hashing::from(keys), Hashing::keyed(&Secret::from([3; 16]), keys)] {
                let filter =
                    AnyFilter::from_digests(kind.into(), &mut digests(0..keys, hashing), fpr, hashing);
                let stack = Stack::from(filter.unwrap());
                let what = format!("{kind:?}, {keys} keys at {fpr}, {hashing:?}");
                assert!((0..keys).all(|i| stack.has(&i.to_le_bytes())), "{what}: a false negative");
                let nonmembers: Vec<_> = (keys..keys + 200_000).map(u64::to_le_bytes).collect();
                let hits = stack.has_many(&nonmembers).unwrap().into_iter().filter(|&hit| hit).count() as f64;
                let most = 200_000.0 * fpr;
                // A filter of one key has a fixed fill, and its own rate.
                let slack = if keys < 1000 { 2.0 } else { 1.1 };
                assert!(hits <= slack * most + 5.0 * most.sqrt(), "{what}: {hits} hits");
            }
        }
    }
}

/// Only Bloom filters, and only counting ones, can be merged, and only if all of their shape is equal.
#[test]
fn what_is_merged() {
    let bloom = |bits, hashes, seed| AnyFilter::from(BloomFilter::new(bits, hashes, seed).unwrap());
    let counting = |bits, hashes, counter, seed| {
        AnyFilter::from(CountingBloomFilter::new(bits, hashes, counter, seed).unwrap())
    };
    let full = |mut filter: AnyFilter| {
        filter.add_digests(&[1, 2, 3]).unwrap();
        filter
    };
    let (one, other) = (full(bloom(100, 3, 7)), full(counting(100, 3, 4, 7)));
    for (filter, others, code) in [
        (&one, vec![bloom(101, 3, 7), bloom(100, 4, 7), bloom(100, 3, 8)], "incompatible"),
        (
            &other,
            vec![
                counting(101, 3, 4, 7),
                counting(100, 4, 4, 7),
                counting(100, 3, 8, 7),
                counting(100, 3, 4, 8),
            ],
            "incompatible",
        ),
        (&one, vec![other.clone()], "not_mergeable"),
        (&other, vec![one.clone()], "not_mergeable"),
    ] {
        for other in others {
            for union in [true, false] {
                let mut both = filter.clone();
                assert_eq!(both.combine(&other, union).unwrap_err().code(), code);
                assert_eq!(&both, filter);
            }
        }
    }
}
