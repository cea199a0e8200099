//! Many keys looked up at once, compared with one by one: at every length around the size of a batch, for every kind.

use bloom_wasm::hash::digest;
use bloom_wasm::layers::{Stack, Update};
use bloom_wasm::{BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter};

const MEMBERS: u64 = 1_000;

fn text(i: u64) -> String {
    format!("key {i}")
}

fn digests(range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(|i| digest(7, text(i).as_bytes())).collect()
}

/// A filter of every kind, and of every way in which a ribbon filter and a Bloom filter store a rate: only planes, only
/// columns, both, a single hash.
fn stacks() -> Vec<Stack> {
    let members = || digests(0..MEMBERS);
    let mut all = Vec::new();
    for fpr in [0.6, 0.1, 0.03, 0.01, 1.0 / 256.0, 1e-3, 1e-4, 1.0 / 65_536.0, 1e-6, 1e-9] {
        all.push(Stack::from(RibbonFilter::from_digests(&mut members(), fpr, 7).unwrap()));
        all.push(Stack::from(BloomFilter::from_digests(&mut members(), fpr, 7).unwrap()));
    }
    all.push(Stack::from(RibbonFilter::from_digests(&mut Vec::new(), 0.01, 7).unwrap()));
    all.push(Stack::from(BloomFilter::new(1, 1, 7).unwrap()));
    let mut counting = CountingBloomFilter::with_capacity(MEMBERS, 0.01, 4, 7).unwrap();
    let mut scalable = ScalableBloomFilter::new(100, 0.01, 2, 0.5, 7).unwrap();
    let mut cuckoo = CuckooFilter::with_capacity(MEMBERS, 0.01, 7).unwrap();
    for digest in members() {
        counting.add_digest(digest);
        scalable.add_digest(digest).unwrap();
        cuckoo.add_digest(digest).unwrap();
    }
    all.extend([Stack::from(counting), Stack::from(scalable), Stack::from(cuckoo)]);
    // Two updates over a ribbon filter, which leave three layers at least.
    let mut layered = Stack::from(RibbonFilter::from_digests(&mut members(), 0.05, 7).unwrap());
    for (added, removed) in [(1_200, 0..100), (1_300, 0..150)] {
        let (live, removed) = (digests(removed.end..added), digests(removed));
        layered.update(Update { live: &live, removed: &removed, allowed: &[], fpr: 0.01 }).unwrap();
    }
    assert!(layered.layers().len() > 2);
    all.push(layered);
    all
}

#[test]
fn answers_are_those_of_one_by_one() {
    let lengths: Vec<u64> = (0..4).chain(254..=258).chain(510..=514).chain([767, 768, 769, 2_000]).collect();
    for (number, stack) in stacks().iter().enumerate() {
        for &length in &lengths {
            // Members and non-members, from the first place of a batch to its last.
            for first in [0, MEMBERS - length / 2, MEMBERS] {
                let range = first..first + length;
                let keys: Vec<String> = range.clone().map(text).collect();
                let expected: Vec<bool> = keys.iter().map(|key| stack.has(key.as_bytes())).collect();
                assert_eq!(stack.has_many(&keys).unwrap(), expected, "filter {number}, {range:?}");
                let digests = digests(range.clone());
                assert_eq!(stack.has_many_digests(&digests).unwrap(), expected, "filter {number}, {range:?}");
            }
        }
    }
}

/// Filters of more than 4 MiB are read ahead: the first two bits of a Bloom filter, then the others.
#[test]
fn answers_of_a_large_filter() {
    let mut filter = BloomFilter::new(40_000_000, 3, 7).unwrap();
    for digest in digests(0..400_000) {
        filter.add_digest(digest);
    }
    let stack = Stack::from(filter);
    let keys = digests(300_000..500_000);
    let expected: Vec<bool> = keys.iter().map(|&key| stack.has_digest(key)).collect();
    assert_eq!(stack.has_many_digests(&keys).unwrap(), expected);
}

#[test]
#[ignore = "long: npm run test:all"]
fn answers_of_large_filters() {
    let members = |count: u64| (0..count).map(|i| digest(7, &i.to_le_bytes())).collect::<Vec<_>>();
    let check = |stack: Stack, bytes: usize, count: u64| {
        assert!(bytes > 1 << 22, "{bytes} bytes");
        // Members, the last rows among theirs, and non-members.
        let keys = (0..count + 200_000).step_by(7).map(|i| digest(7, &i.to_le_bytes())).collect::<Vec<_>>();
        let answers = stack.has_many_digests(&keys).unwrap();
        assert!(answers.iter().zip(&keys).all(|(&answer, &key)| answer == stack.has_digest(key)));
        assert!(answers[..count as usize / 7].iter().all(|&answer| answer), "a false negative");
    };
    // Only columns, both, four planes.
    for (count, fpr) in [(5_100_000, 0.01), (3_700_000, 1e-3), (1_200_000, 2.4e-10)] {
        let filter = RibbonFilter::from_digests(&mut members(count), fpr, 7).unwrap();
        let bytes = filter.as_bytes().len();
        check(filter.into(), bytes, count);
    }
    for hashes in [1, 2, 7] {
        let mut filter = BloomFilter::new(40_000_000, hashes, 7).unwrap();
        members(2_000_000).into_iter().for_each(|digest| _ = filter.add_digest(digest));
        let bytes = filter.as_bytes().len();
        check(filter.into(), bytes, 2_000_000);
    }
}
