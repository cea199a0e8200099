//! Layers over a filter, against plain sets: no live key is lost, allowed keys are absent, removed ones come back only
//! at the rate of an include, and excludes have the promised size.

use std::collections::HashSet;

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::digest;
use bloom_wasm::layers::{LayerKind, Stack, Update};
use bloom_wasm::{BloomFilter, CountingBloomFilter, CuckooFilter, Error, RibbonFilter, ScalableBloomFilter};

fn key(i: u64) -> u64 {
    digest(0, &i.to_le_bytes())
}

fn keys(range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(key).collect()
}

/// A stack over a ribbon filter.
fn ribbon(members: &[u64], fpr: f64) -> Stack {
    Stack::from(RibbonFilter::from_digests(&mut members.to_vec(), fpr, 0).unwrap())
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 += 1;
        digest(99, &self.0.to_le_bytes()) % limit
    }

    /// About one in `every` of the digests, some of them twice.
    fn some(&mut self, digests: &[u64], every: u64) -> Vec<u64> {
        let mut chosen: Vec<u64> = digests.iter().copied().filter(|_| self.below(every) == 0).collect();
        chosen.extend_from_within(..chosen.len() / 3);
        chosen
    }
}

/// The expected number plus four standard deviations.
fn bound(expected: f64) -> usize {
    (expected + 4.0 * expected.sqrt()) as usize
}

fn hits<'a>(stack: &Stack, digests: impl IntoIterator<Item = &'a u64>) -> usize {
    digests.into_iter().filter(|&&digest| stack.has_digest(digest)).count()
}

/// Updates and compares with what the lists say. Returns how many removed keys are maybe present.
fn update(stack: &mut Stack, update: Update) -> usize {
    stack.update(update).unwrap();
    let live: HashSet<u64> = update.live.iter().copied().collect();
    let removed: HashSet<u64> = update.removed.iter().copied().filter(|key| !live.contains(key)).collect();
    let allowed: HashSet<u64> = update.allowed.iter().copied().filter(|key| !live.contains(key)).collect();
    assert_eq!(hits(stack, &live), live.len(), "a live key was lost");
    assert_eq!(hits(stack, &allowed), 0, "an allowed key is a maybe");
    assert_eq!(stack.count(), Some(live.len() as u64));
    let back = hits(stack, &removed);
    // Three more, because over thousands of updates some are less likely than four standard deviations.
    assert!(back <= 3 + bound(removed.len() as f64 * update.fpr), "{back} of {} are back", removed.len());
    back
}

#[test]
fn every_size() {
    let sizes = [0, 1, 2, 10, 1000, 50_000];
    let (mut back, mut removals) = (0, 0);
    for (i, size) in sizes.into_iter().enumerate() {
        for seed in 0..[300, 300, 300, 300, 40, 3][i] {
            let mut random = Random(seed << 32 | size << 8);
            let mut live = keys(seed << 32..(seed << 32) + size);
            let mut stack = ribbon(&live, [0.5, 0.1, 0.01, 1e-3][seed as usize % 4]);
            let mut allowed = keys(1 << 62..(1 << 62) + 2 * size);
            for round in 1..4 {
                let every = random.below(8) + 1;
                let removed = random.some(&live, every);
                let gone: HashSet<u64> = removed.iter().copied().collect();
                live.retain(|key| !gone.contains(key));
                let new = seed << 32 | round << 20;
                live.extend(keys(new..new + sizes[random.below(i as u64 + 1) as usize]));
                // Some members are allowed too; they stay members.
                allowed.extend(random.some(&live, 20));
                removals += gone.len();
                back += update(
                    &mut stack,
                    Update { live: &live, removed: &removed, allowed: &allowed, fpr: 1e-3 },
                );
            }
        }
    }
    let expected = removals as f64 * 1e-3;
    assert!(back > 0 && back <= bound(expected), "{back} of {removals} are back");
}

/// Any key may be in any of the lists, whatever it was before.
#[test]
#[ignore = "long: npm run test:all"]
fn overlapping_lists() {
    for seed in 0..300 {
        let mut random = Random(seed << 32);
        let all = keys(0..[3, 30, 300, 3000][seed as usize % 4]);
        let mut stack = ribbon(&random.some(&all, 2), 0.1);
        let mut was_live: Vec<u64> = all.iter().copied().filter(|&key| stack.has_digest(key)).collect();
        for _ in 0..5 {
            let [live, removed, allowed] = [3, 2, 4].map(|every| {
                let every = random.below(every) + 1;
                random.some(&all, every)
            });
            // Keys that are no longer live were removed.
            let removed = [&removed[..], &was_live].concat();
            update(&mut stack, Update { live: &live, removed: &removed, allowed: &allowed, fpr: 1e-6 });
            was_live = live;
        }
    }
}

#[test]
fn all_or_nothing() {
    for size in [1, 2, 64, 5000] {
        let all = keys(0..size);
        let none: &[u64] = &[];
        for mask in 0..8 {
            let [live, removed, allowed] = [1, 2, 4].map(|bit| if mask & bit == 0 { none } else { &all[..] });
            let mut stack = ribbon(&all, 0.01);
            let back = update(&mut stack, Update { live, removed, allowed, fpr: 0.9 });
            assert_eq!(back, 0, "without an include nothing comes back");
            let excludes = if mask & 1 == 0 && mask > 0 { 1 } else { 0 };
            assert_eq!(stack.layers().len(), excludes, "{live:?} {removed:?} {allowed:?}");
        }
    }
}

/// No layer if nothing has changed, or if the stack already answers correctly.
#[test]
fn no_empty_layers() {
    let members = keys(0..1000);
    let mut stack = ribbon(&members, 0.01);
    let nonmembers: Vec<u64> =
        keys(5000..9000).into_iter().filter(|&digest| !stack.has_digest(digest)).collect();
    update(&mut stack, Update { live: &members, removed: &nonmembers, allowed: &nonmembers, fpr: 0.1 });
    assert_eq!(stack, ribbon(&members, 0.01));
    assert!(stack.base_mut().is_ok());

    // An added key that is maybe present by chance needs no include, and later excludes still spare it.
    let lucky = keys(1 << 40..(1 << 40) + 1000).into_iter().find(|&digest| stack.has_digest(digest)).unwrap();
    let mut live = [&members[..], &[lucky]].concat();
    update(&mut stack, Update { live: &live, removed: &[], allowed: &[], fpr: 0.1 });
    assert_eq!(stack.layers(), []);
    let removed = live.drain(..500).collect::<Vec<_>>();
    update(&mut stack, Update { live: &live, removed: &removed, allowed: &[], fpr: 0.1 });
    assert_eq!(stack.layers().len(), 1);
}

#[test]
fn keys_go_and_come_back() {
    let members = keys(0..2000);
    let mut stack = ribbon(&members, 0.01);
    let (first, second) = members.split_at(1000);
    for _ in 0..5 {
        // The first half lives in the base, later in an include that is removed in its turn.
        update(&mut stack, Update { live: second, removed: first, allowed: &[], fpr: 1e-6 });
        assert_eq!(hits(&stack, first), 0);
        update(&mut stack, Update { live: &members, removed: &[], allowed: &[], fpr: 1e-6 });
    }
    assert_eq!(stack.layers().len(), 10);
    // An allowed key becomes a member, and then no longer is.
    let both = [&members[..], &keys(5000..5010)].concat();
    for live in [&both[..], &members] {
        update(&mut stack, Update { live, removed: &both, allowed: &both, fpr: 1e-6 });
    }
}

#[test]
fn every_kind_of_base() {
    let members = keys(0..3000);
    let mut scalable = ScalableBloomFilter::new(100, 0.02, 2, 0.5, 0).unwrap();
    members.iter().for_each(|&digest| assert!(scalable.add_digest(digest).is_ok()));
    let bases: [AnyFilter; 5] = [
        BloomFilter::from_digests(&mut members.clone(), 0.02, 0).unwrap().into(),
        CountingBloomFilter::from_digests(&mut members.clone(), 0.02, 4, 0).unwrap().into(),
        scalable.into(),
        CuckooFilter::from_digests(&mut members.clone(), 0.02, 0).unwrap().into(),
        RibbonFilter::from_digests(&mut members.clone(), 0.02, 0).unwrap().into(),
    ];
    for base in bases {
        let mut stack = Stack::from(base.clone());
        assert_eq!(stack.base(), &base);
        assert_eq!((stack.count(), stack.estimated_count()), (base.count(), base.estimated_count()));
        assert_eq!(
            (stack.hashing().seed(), stack.estimated_fpr()),
            (base.hashing().seed(), base.estimated_fpr())
        );
        assert_eq!(stack.base_mut().unwrap(), &base);
        let members = [&members[1000..], &keys(4000..5000)].concat();
        let good = keys(10_000..20_000);
        update(&mut stack, Update { live: &members, removed: &keys(0..1000), allowed: &good, fpr: 1e-3 });
        assert_eq!(stack.base(), &base);
        assert_eq!((stack.count(), stack.estimated_count()), (Some(3000), 3000.0));
        assert_eq!(stack.base_mut().unwrap_err(), Error::Layered);
        check_rate(&stack, 1_000_000);
    }
}

/// The share of absent keys that are maybe present is the estimate, within four standard deviations.
fn check_rate(stack: &Stack, probes: u64) {
    let hits = (1 << 63..(1 << 63) + probes).filter(|&i| stack.has_digest(key(i))).count() as f64;
    let rate = stack.estimated_fpr();
    let (expected, deviation) = (probes as f64 * rate, (probes as f64 * rate * (1.0 - rate)).sqrt());
    assert!((hits - expected).abs() <= 4.0 * deviation, "{hits} for {expected}");
}

/// Digests as an enemy would choose them, next to each other or with most bits in common, over a base that says yes
/// to everything.
#[test]
fn chosen_digests() {
    let mut full = BloomFilter::new(1, 1, 0).unwrap();
    full.add(b"");
    for shift in 0..64 {
        for count in [2, 3, 8, 100, 2000] {
            let all: Vec<u64> = (0..count).map(|i: u64| key(7).wrapping_add(i << shift)).collect();
            let every_second: Vec<u64> = all.iter().copied().step_by(2).collect();
            for live in [&all[..1], &all[..all.len() / 2], &every_second] {
                let mut stack = Stack::from(full.clone());
                update(&mut stack, Update { live, removed: &all, allowed: &[], fpr: 0.5 });
                let live: HashSet<&u64> = live.iter().collect();
                assert_eq!(stack.layers().len(), usize::from(all.iter().any(|key| !live.contains(key))));
            }
        }
    }
}

/// Keys that must be absent are false positives of the base. If a level derived the same from a digest as the base,
/// they would crowd into some of its rows: under the salt 0, such a level over a Bloom filter was up to twice as large.
#[test]
fn false_positives_of_a_base_are_spread_evenly_over_a_level() {
    let members = keys(0..20);
    let allowed = keys(1 << 40..(1 << 40) + 200_000);
    let filters: [AnyFilter; 4] = [
        BloomFilter::from_digests(&mut members.clone(), 0.05, 0).unwrap().into(),
        CountingBloomFilter::from_digests(&mut members.clone(), 0.05, 4, 0).unwrap().into(),
        CuckooFilter::from_digests(&mut members.clone(), 0.05, 0).unwrap().into(),
        RibbonFilter::from_digests(&mut members.clone(), 0.05, 0).unwrap().into(),
    ];
    for filter in filters {
        let name = filter.name();
        let mut stack = Stack::from(filter);
        update(&mut stack, Update { live: &members, removed: &[], allowed: &allowed, fpr: 0.01 });
        let level = &stack.layers()[0].levels()[0];
        let least = f64::from(level.count()) * -level.fpr().log2() / 8.0;
        assert!(level.count() > 2000, "{name}: {} false positives", level.count());
        let size = level.as_bytes().len() as f64;
        assert!(size < 1.03 * least + 32.0, "{name}: {size} bytes, and {least:.0} at least");
    }
}

/// No two levels of a stack have the same salt.
#[test]
fn salts_differ() {
    let members = keys(0..3000);
    let mut stack = ribbon(&members, 0.01);
    for i in 0..6 {
        let live = [&members[100 * i..], &keys(5000..5000 + 10 * i as u64)].concat();
        let (removed, good) = (&members[..100 * i], keys(1 << 62..(1 << 62) + 3000));
        update(&mut stack, Update { live: &live, removed, allowed: &good, fpr: 0.01 });
    }
    let layer_salts = |layer: &std::sync::Arc<bloom_wasm::layers::Layer>| {
        (layer.salt()..).take(layer.levels().len()).collect::<Vec<_>>()
    };
    let salts: Vec<u32> = stack.layers().iter().flat_map(layer_salts).collect();
    assert!(salts.len() > 20, "{}", salts.len());
    assert_eq!(salts.iter().collect::<HashSet<_>>().len(), salts.len());
    for layer in stack.layers() {
        assert!(layer.levels().len() <= if layer.kind() == LayerKind::Exclude { 2 } else { 1 });
        for (i, level) in layer.levels().iter().enumerate() {
            assert_eq!(level.fpr(), if i == 0 { layer.fpr() } else { 0.5 });
            assert_eq!(level.hashing().seed(), stack.hashing().seed());
        }
    }
}

#[test]
fn errors_change_nothing() {
    let members = keys(0..1000);
    let mut stack = ribbon(&members, 0.01);
    let (removed, live) = members.split_at(100);
    let new = [live, &keys(5000..5100)].concat();
    update(&mut stack, Update { live, removed, allowed: &[], fpr: 0.01 });
    let before = stack.clone();
    for fpr in [0.0, -1.0, 1.0, 2.0, f64::NAN, f64::INFINITY, 1e-10] {
        // With and without anything to exclude first, and to include then.
        for (live, removed) in [(&new[50..], &live[..50]), (live, &[])] {
            let error = stack.update(Update { live, removed, allowed: &[], fpr }).unwrap_err();
            assert_eq!(error.code(), "invalid_parameter");
            assert_eq!(stack, before);
        }
    }
    assert_eq!(Error::Layered.code(), "layered");
}

#[test]
fn at_most_255_layers() {
    let mut stack = ribbon(&keys(0..10), 0.01);
    let mut live = keys(0..10);
    // Keys that aren't maybe present by chance.
    let mut new = (100..).map(key);
    while stack.layers().len() < 254 {
        live.push(new.next().unwrap());
        update(&mut stack, Update { live: &live, removed: &[], allowed: &[], fpr: 1e-9 });
    }
    // An exclude fits, and an include over it doesn't.
    let before = stack.clone();
    live.push(key(1000));
    let removed = [live.swap_remove(0)];
    let error = stack.update(Update { live: &live, removed: &removed, allowed: &[], fpr: 1e-9 }).unwrap_err();
    assert_eq!(error.code(), "invalid_parameter");
    assert_eq!(stack, before);
    live.pop();
    live.retain(|&digest| digest != key(1000));
    update(&mut stack, Update { live: &live, removed: &removed, allowed: &[], fpr: 1e-9 });
    assert_eq!(stack.layers().len(), 255);
}

/// Two levels take log2(live / excluded) + 1.92 bits for each excluded key; 4 % and a few bytes a level are for the
/// ribbon filters.
#[test]
#[ignore = "long: npm run test:all"]
fn size_of_an_exclude() {
    for (live, excluded) in
        [(1_000_000, 10_000), (1_000_000, 1000), (100_000, 10_000), (10_000, 100), (1000, 10), (100_000, 1)]
    {
        let mut stack = ribbon(&keys(0..live), 1.0 / 256.0);
        let removed = keys(0..excluded);
        let live = keys(excluded..live + excluded);
        // The new keys are there to keep the number of live ones; their include doesn't count here.
        update(&mut stack, Update { live: &live, removed: &removed, allowed: &[], fpr: 1e-6 });
        let layer = &stack.layers()[0];
        assert_eq!(layer.kind(), LayerKind::Exclude);
        let bytes: usize = layer.levels().iter().map(|level| level.as_bytes().len()).sum();
        let bits = excluded.max(8) as f64 * ((live.len() as f64 / excluded as f64).log2() + 1.92);
        let most = bits / 8.0 * 1.04 + 2.0 * layer.levels().len() as f64 + 8.0;
        println!("{excluded} of {}: {bytes} bytes, {} levels", live.len(), layer.levels().len());
        assert!(bytes as f64 <= most, "{excluded} of {}: {bytes} bytes, {most} allowed", live.len());
        assert!(layer.levels().len() <= 2, "{} levels", layer.levels().len());
    }
}
